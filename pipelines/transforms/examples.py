"""Transforms from documents to examples for pre-training."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from corpora.datasets.columns import batch_of
from corpora.document import Rejected
from corpora.entities.vocabulary import EntityVocab
from corpora.examples.lost_mentions import FirstMentions
from corpora.examples.maker import COLUMNS, UNSPLIT, WRITTEN, ExampleMaker, in_chunks
from corpora.examples.validation import COLUMNS as RATED
from corpora.examples.validation import NOBODY, merge, ratio_range, read_ranges, threshold
from corpora.runs.plan import InputFile, Unit, named
from corpora.runs.record_errors import read_rows
from corpora.system.parsing import read_json
from corpora.system.writing import write_json, write_text
from corpora.tokenization.tokenizers import Tokenizer
from pipelines.graph import Run
from pipelines.outcomes import Counts, Filtered, Outcome, Rows, Written, Yield
from pipelines.transforms.documents import read_documents

if TYPE_CHECKING:
    from pipelines.documents_to_examples import Options

RATIOS, TOKENIZER = "shares.json", "tokenizer"
"""Names in the folder of tables of a run: a file and a folder."""
_WRITTEN = Written(())


def find_ratios(unit: Unit, options: "Options", _: Run) -> Iterator[Rows]:
    """Find the lowest and the highest hash ratio of documents, which decide the validation set.

    A row of ``shares`` for each unit.
    """
    batches = read_documents(unit, columns=RATED)
    ranges = (ratio_range(batch, seed=options.seed) for batch in batches)
    found = reduce(lambda one, other: merge([one, other]), ranges, NOBODY)
    yield Rows("shares", batch_of("document_shares", ([ratio] for ratio in found)))


def prepare(_: Unit, options: "Options", run: Run) -> None:
    """Merge the ratios that ``find_ratios`` found for all units, and write the tokenizer.

    It is written into the run, in the form that units and the published folder use. Raises
    ``InputChangedError`` where a file has changed.
    """
    work = run.work
    write_json(work.tables / RATIOS, merge(read_ranges(work.shards("shares"))))
    opened = "" if options.is_folder else options.tokenizer.name
    into = work.tables / TOKENIZER
    into.mkdir(exist_ok=True)
    with TemporaryDirectory(
        dir=work.folder, ignore_cleanup_errors=True
    ) as folder:  # files from a bucket lie apart
        for file in named("tokenizer ", run.auxiliary):
            (Path(folder) / Path(file.path).name).write_bytes(file.read())
        tokenizer = Tokenizer.open(Path(folder) / opened)
    for name, lines in tokenizer.files().items():
        write_text(into / name, lines)


def make_examples(unit: Unit, options: "Options", run: Run) -> Iterator[Yield]:
    """Make examples from documents: packed sentences, their subwords, words and entities.

    It needs what ``prepare`` wrote. The requested fraction for validation is adapted so that at
    least one of several documents is for validation. Without an entity vocabulary, examples have no
    entities. Raises ``InputChangedError`` where a shard of it has changed.
    """
    vocab = tuple(named("entity vocabulary ", run.auxiliary))
    shards = tuple(file.check() for file in vocab) if options.entity_vocab else None
    tables, rules = run.work.tables, options.rules
    rules = replace(rules, validation=threshold(rules.validation, read_json(tables / RATIOS)))
    opened = _opened(tables / TOKENIZER, shards, vocab)
    maker, listing = ExampleMaker(*opened, rules), FirstMentions()
    for chunk in chain.from_iterable(map(in_chunks, read_documents(unit, columns=COLUMNS))):
        for rows, made in read_rows(chunk, maker.make):
            if isinstance(made, Rejected):
                yield made
                continue
            yield from map(_outcome, rows.column("id").to_pylist(), made.fates)
            yield Rows("", made.examples)
            yield Counts(made.counters, notes=listing.take(made.lost))


@lru_cache(maxsize=1)  # each worker opens them once, unless the files change
def _opened(
    tokenizer: Path, shards: tuple[Path, ...] | None, _: tuple[InputFile, ...]
) -> tuple[Tokenizer, EntityVocab | None]:
    return Tokenizer.open(tokenizer), None if shards is None else EntityVocab(shards)


def _outcome(id: str, fate: str) -> Outcome:
    if fate == WRITTEN:
        return _WRITTEN
    if fate != UNSPLIT:
        return Filtered(fate)
    message = (
        f"{id}: has text, but no sentences. Make the documents again with a pipeline that cuts "
        "sentences."
    )
    return Rejected(source=id, position="", reason=fate, message=message)
