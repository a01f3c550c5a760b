"""Documents and a dictionary of surface forms to documents with more mentions.

Examples:
  python -m pipelines.augment_mentions --input build/dawiki/documents --forms build/vocab
      --policy gated --match-case --output build/augmented --workers 2
  python -m pipelines.augment_mentions --input build/letters/documents --forms names.tsv
      --output build/augmented
  python -m pipelines.augment_mentions --input build/novels --forms build/lexicon
      --output build/augmented
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import repeat
from pathlib import Path
from typing import Any

from corpora.build import Scratch
from corpora.document import Rejected
from corpora.errors import CorpusError, UsageError
from corpora.plan import InputFile, Plan, Stage, Unit, describe_file
from pipelines.options import CommonOptions, option
from pipelines.outcomes import Counts, Rows, Written, Yield
from pipelines.run import run

ABOUT = __doc__
DATASETS = {"": "documents"}
TABLE = "table of forms"
VOCAB = "vocabulary "
LEXICON = "lexicon "


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``augment_mentions`` asks for."""

    forms: Path = option(
        type=Path,
        metavar="DIR|FILE",
        help="what to look for: an entity vocabulary, a lexicon, or lines of form, entity and, if "
        "they are known, prior and link probability, with tabs between",
    )
    policy: str = option(
        "all",
        choices=("all", "gated"),
        help="all forms, or those that pass --min-link-prob and --min-prior (default: all)",
    )
    min_link_prob: float = option(
        0.05,
        type=float,
        metavar="SHARE",
        help="of the places where a form stands, those that must be mentions (default: 0.05)",
    )
    min_prior: float = option(
        0.5,
        type=float,
        metavar="SHARE",
        help="of a form's mentions, those that must mean the same entity (default: 0.5)",
    )
    right: str = option(
        "word",
        choices=("word", "prefix"),
        help="a form ends where a word ends, or may be its beginning (windmill|s; only the form "
        "becomes a mention)",
    )
    match_case: bool = option(
        False,  # noqa: FBT003 - the default of a flag
        action="store_true",
        help="upper and lower case count",
    )
    overlap: str = option(
        "leftmost_longest",
        choices=("leftmost_longest", "longest_cover"),
        help="of forms that overlap: the leftmost, and there the longest (default), or those whose "
        "squared lengths have the largest sum",
    )
    entities: str = option(
        "group",
        choices=("group", "global"),
        help="words of a lexicon: each document has those of its own lexicon, GROUP:WORD "
        "(default), or all have all, lexicon:WORD",
    )
    origin: str = option(
        "lexicon",
        choices=("lexicon", "title_match"),
        help="of the mentions that are added (default: lexicon)",
    )
    lang: str | None = option(
        None, metavar="TAG", help="whose rules for words and case apply, if not as the input says"
    )


def plan(options: Options) -> Plan:
    """Find the shards: a unit each; first of all, one unit chooses among the forms."""
    from corpora.dataset_inputs import find_shards

    is_gated = options.policy == "gated"
    gate = {"min_link_prob": options.min_link_prob, "min_prior": options.min_prior}
    for name, value in gate.items():
        if not 0 <= value <= 1:
            raise UsageError(f"--{name.replace('_', '-')} {value}: must be between 0 and 1.")
    files = find_shards(options.input, "documents", exclude=options.exclude)[: options.limit]
    forms = _forms_files(options.forms)
    lexicon = _lexicon_of(options, is_gated=is_gated)
    settings = {
        "gate": gate if is_gated else None,
        "lexicon": lexicon,
        "overlap": options.overlap,
        "right": options.right,
        "ignore_case": not options.match_case,
        "origin": options.origin,
        "lang": options.lang or _language_of(files),
    }
    chosen = {"chosen": "chosen_forms", "groups": "chosen_groups"}
    return Plan(
        pipeline="augment_mentions",
        datasets=DATASETS,
        parameters=settings | {"limit": options.limit, "exclude": list(options.exclude)},
        units=tuple(Unit(number, (file,), {}, settings) for number, file in enumerate(files)),
        auxiliary=forms,
        stages=(Stage("choose", (Unit(0, (), forms, settings),), chosen),),
    )


def _language_of(files: Sequence[InputFile]) -> str | None:
    """The language of the first document."""
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    for file in files:
        for batch in read_batches(file.check(), SCHEMAS["documents"], columns=("lang",)):
            return batch.column("lang")[0].as_py()  # type: ignore[no-any-return]
    return None


def _forms_files(path: Path) -> dict[str, InputFile]:
    from corpora.shards import open_dataset

    if path.is_file():
        return {TABLE: describe_file(TABLE, path)}
    if not path.exists():
        raise UsageError(f"--forms {path}: there is nothing.")
    dataset = open_dataset(path)
    kinds = {"entities": VOCAB, "lexicon": LEXICON}
    if dataset.schema.name not in kinds:
        raise UsageError(
            f"--forms {path}: holds {dataset.schema.name}. Name an entity vocabulary or a lexicon."
        )
    kind = kinds[dataset.schema.name]
    names = [shard.name for shard in dataset.shards]
    return {f"{kind}{name}": describe_file(f"{kind}{name}", path / name) for name in names}


def _lexicon_of(options: Options, *, is_gated: bool) -> dict[str, str | None] | None:
    """The column that says which lexicon is that of a document, if any; None for other forms."""
    from corpora.shards import open_dataset

    if options.forms.is_file():
        return None
    dataset = open_dataset(options.forms)
    if dataset.schema.name != "lexicon":
        return None
    if is_gated:
        raise UsageError(
            "--policy gated: the words of a lexicon have no link probabilities. Choose --policy "
            "all; the lexicon's own --top decides how many words there are."
        )
    per = dataset.description["plan"]["parameters"]["per"]
    columns = {"group": "group", "document": "id", "all": None}
    return {"of": columns[per] if options.entities == "group" else None}


def choose(unit: Unit, _: Scratch) -> Iterator[Yield]:
    """Choose what each form means, and the forms that pass."""
    from corpora.form_dictionary import Gate, choose_forms

    if unit.settings["lexicon"]:
        yield from _choose_words(unit)
        return
    meanings = _meanings(unit.auxiliary)
    limits = unit.settings["gate"]
    if limits and not len(meanings.column("link_probability").drop_null()):
        raise CorpusError(
            "--policy gated: no form has a link probability. Choose --policy all, or make the "
            "vocabulary with link probabilities."
        )
    gate = limits and Gate(
        min_link_probability=limits["min_link_prob"], min_prior=limits["min_prior"]
    )
    chosen, counters = choose_forms(
        meanings, gate=gate, ignore_case=unit.settings["ignore_case"], lang=unit.settings["lang"]
    )
    for batch in chosen.to_batches(max_chunksize=1 << 16):
        yield Rows("chosen", batch)
    yield Counts(counters)


def _choose_words(unit: Unit) -> Iterator[Yield]:
    """Take all words of a lexicon."""
    import pyarrow as pa

    from corpora.lexicon.words import chosen_words, group_ends, read_words
    from corpora.schemas import SCHEMAS

    is_grouped = unit.settings["lexicon"]["of"] is not None
    words = read_words(file.check() for file in unit.auxiliary.values())
    chosen = chosen_words(words, is_grouped=is_grouped)
    for batch in chosen.to_batches(max_chunksize=1 << 16):
        yield Rows("chosen", batch)
    if is_grouped:
        rows = [{"group": group, "end": end} for group, end in group_ends(words)]
        schema = SCHEMAS["chosen_groups"].columns
        yield Rows("groups", pa.RecordBatch.from_pylist(rows, schema=schema))
    yield Counts({"forms.kept": len(chosen)})


def _meanings(files: Mapping[str, InputFile]) -> Any:
    from corpora.form_dictionary import read_meanings, read_meanings_file

    if TABLE in files:
        return read_meanings_file(files[TABLE].check())
    return read_meanings(file.check() for file in files.values())


def write(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Add mentions to the documents of a shard."""
    from corpora.columns import Mentions
    from corpora.record_errors import read_rows
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    settings = unit.settings
    matching = tuple(settings[name] for name in ("lang", "right", "ignore_case", "overlap"))
    of = settings["lexicon"] and settings["lexicon"]["of"]
    n_before = n_added = 0
    for batch in read_batches(unit.inputs[0].check(), SCHEMAS["documents"]):
        n_before += len(Mentions.of(batch).structs)
        for group, documents in _by(batch, of):
            dictionary = _dictionary(scratch.folder, group, matching)
            add_to = partial(dictionary.add_to, origin=settings["origin"])
            for rows, made in read_rows(documents, add_to):
                if isinstance(made, Rejected):
                    yield made
                    continue
                augmented, n = made
                n_added += n
                yield Rows("", augmented)
                yield from repeat(Written(()), rows.num_rows)
    yield Counts({"mentions.before": n_before, "mentions.added": n_added})


def _by(batch: Any, column: str | None) -> Iterator[tuple[str | None, Any]]:
    """The documents with the same value of a column that stand in a row."""
    import pyarrow.compute as pc

    if column is None:
        yield None, batch
        return
    runs = pc.run_end_encode(batch.column(column))
    begin = 0
    for value, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield value, batch.slice(begin, end - begin)
        begin = end


@lru_cache(maxsize=4)  # a worker makes each once, where the documents of a group stand together
def _dictionary(folder: Path, group: str | None, matching: tuple[Any, ...]) -> Any:
    """The forms for the documents of a group, or of all where ``group`` is None."""
    from corpora.form_dictionary import FormDictionary

    chosen, ends = _chosen(folder)
    if group is not None:
        begin, end = ends.get(group, (0, 0))
        chosen = chosen.slice(begin, end - begin)
    names = ("lang", "right", "ignore_case", "overlap")
    return FormDictionary(chosen, **dict(zip(names, matching, strict=True)))


@lru_cache(maxsize=1)
def _chosen(folder: Path) -> tuple[Any, dict[str, tuple[int, int]]]:
    """All forms, and where those of each group begin and end."""
    from itertools import pairwise

    import pyarrow as pa

    from corpora.form_dictionary import CHOSEN
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    scratch = Scratch(folder)
    batches = read_batches(scratch.shard("chosen", 0), SCHEMAS["chosen_forms"])
    chosen = pa.Table.from_batches(batches, schema=CHOSEN)
    rows = [
        row
        for batch in read_batches(scratch.shard("groups", 0), SCHEMAS["chosen_groups"])
        for row in batch.to_pylist()
    ]
    ends = pairwise([0, *(row["end"] for row in rows)])
    return chosen, {row["group"]: end for row, end in zip(rows, ends, strict=True)}


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    output = options.output
    return [
        f"made  {output} (dataset)",
        f"next  python -m corpora.shards verify {output}",
        f"      python -m corpora.shards show {output} --limit 1",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline."""
    return run("pipelines.augment_mentions", argv)


if __name__ == "__main__":
    sys.exit(main())
