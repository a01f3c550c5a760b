"""The files beside examples: ``report.md`` and ``_entities.ipc``, from the finished shards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_shards
from corpora.entities.vocabulary import SPECIAL, limited_ids, read_vocab
from corpora.examples.lost_mentions import section
from corpora.examples.maker import TRAIN, VALIDATION
from corpora.examples.mentions import LOSSES
from corpora.reports import markdown_table

Counts = npt.NDArray[np.int64]
_BARS = 16  # bars of the histogram of lengths
_BAR_WIDTH = 40
_MENTIONS = (0, 1, 2, 5, 10, 20, 50, 100)  # least entities of an example in each class
_COLUMNS = ("document_id", "split", "input_ids", "entity_ids", "entity_origins")


class ExampleCounts:
    """Counts of the content of examples; takes 24 bytes for each entity of the vocabulary."""

    def __init__(self, *, length: int, n_entities: int) -> None:
        """Begin at 0; ``length``: most subwords of an example; ``n_entities``: number of ids."""
        self.length = length
        self.lengths = np.zeros(length + 1, np.int64)
        """The number of examples by their number of subwords."""
        self.mentions: Counts = np.zeros(1, np.int64)
        """The number of examples by their number of entities."""
        self.by_split = {split: np.zeros(4, np.int64) for split in (TRAIN, VALIDATION)}
        """The numbers of documents, examples, subwords and entities of each split."""
        self.train, self.links, self.all = (np.zeros(n_entities, np.int64) for _ in range(3))
        """The occurrences of each entity, by id: in training examples, as links, and in all."""
        self.with_links, self.with_any = np.zeros(2, np.int64), np.zeros(2, np.int64)
        """The numbers of examples, and of their subwords, that have a link, or any entity."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Count examples; the batch has whole documents."""
        sizes, n_entities = (
            np.asarray(pc.list_value_length(batch.column(name)), np.int64)
            for name in ("input_ids", "entity_ids")
        )
        self.lengths += np.bincount(sizes, minlength=len(self.lengths))
        self.mentions = _sum(self.mentions, np.bincount(n_entities))
        example = np.repeat(np.arange(len(sizes)), n_entities)
        ids = np.asarray(batch.column("entity_ids").flatten())
        is_link = _bools(pc.equal(batch.column("entity_origins").flatten(), "link"))
        self.all += np.bincount(ids, minlength=len(self.all))
        self.links += np.bincount(ids[is_link], minlength=len(self.all))
        self.with_any += _n_and_subwords(example, sizes)
        self.with_links += _n_and_subwords(example[is_link], sizes)
        for split in self.by_split:
            is_of = _bools(pc.equal(batch.column("split"), split))
            documents = batch.column("document_id").filter(pa.array(is_of)).unique()
            amounts = (len(documents), is_of.sum(), sizes[is_of].sum(), n_entities[is_of].sum())
            self.by_split[split] += amounts
            if split == TRAIN:
                self.train += np.bincount(ids[is_of[example]], minlength=len(self.all))


def summarize(shards: Iterable[Path], *, length: int, n_entities: int) -> ExampleCounts:
    """Count what the examples in shards hold."""
    summary = ExampleCounts(length=length, n_entities=n_entities)
    for batch in read_shards(shards, SCHEMAS["examples"], columns=_COLUMNS):
        summary.add(batch)
    return summary


def _n_and_subwords(examples: Counts, sizes: Counts) -> tuple[int, int]:
    """Count distinct examples, and their subwords."""
    different = np.unique(examples)
    return len(different), int(sizes[different].sum())


def _bools(array: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    return np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)


def _sum(a: Counts, b: Counts) -> Counts:
    short, long = sorted((a, b), key=len)
    total = long.copy()
    total[: len(short)] += short
    return total


def write_entities(path: Path, vocab: Iterable[Path], train: Counts, *, min_count: int) -> None:
    """Write the entities with their counts in the vocabulary and in the examples to train on."""
    schema = SCHEMAS["example_entities"]
    table = read_vocab(vocab, columns=("id", "entity", "count"))
    limited = limited_ids(np.asarray(table.column("count"), np.int64), min_count)
    kept = table.filter(pa.array(limited >= 0)).set_column(0, "id", pa.array(limited[limited >= 0]))
    with ShardWriter(path, schema) as writer:
        for batch in kept.append_column("mentions", pa.array(train)).to_batches():
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema.columns))


def report(
    summary: ExampleCounts,
    counters: Mapping[str, int],
    parameters: Mapping[str, object],
    *,
    named: Sequence[Mapping[str, str | int]] = (),
) -> str:
    """Write the text of ``report.md``: what the examples hold, and what was lost and why.

    ``named`` are lost mentions, as ``corpora.examples.lost_mentions`` lists them.
    """
    sections = (
        _options(parameters),
        _amounts(summary, counters),
        _bar_chart(summary),
        _entities(summary, counters),
        _augmentation(summary),
        _losses(counters),
        section(named, counters),
        _numbers(counters),
    )
    return "\n".join(line for lines in sections for line in lines)


def _options(parameters: Mapping[str, object]) -> Iterator[str]:
    lists = {n: ", ".join(map(str, v)) for n, v in parameters.items() if isinstance(v, list)}
    rows = ((name, lists.get(name, str(value))) for name, value in parameters.items())
    yield from ("# Examples", "", *markdown_table(("option", "value"), rows), "")


def _amounts(summary: ExampleCounts, counters: Mapping[str, int]) -> Iterator[str]:
    head = ("split", "documents", "examples", "subwords", "entities")
    rows = ((split, *counts) for split, counts in summary.by_split.items())
    yield from ("## What was made", "", *markdown_table(head, rows), "")
    n_subwords, n_examples = counters.get("subwords", 0), counters.get("examples", 0)
    fill = n_subwords / max(n_examples * summary.length, 1)
    n_words, n_unknown = counters.get("words", 0), counters.get("subwords.unknown", 0)
    yield (
        f"- Examples are filled to {fill:.1%}: {n_subwords:,} subwords in {n_examples:,} examples "
        f"of at most {summary.length:,}."
    )
    yield f"- {n_words:,} words, {n_subwords / max(n_words, 1):.3f} subwords a word."
    unknown = n_unknown / max(n_subwords, 1)
    yield f"- Unknown to the tokenizer: {n_unknown:,} subwords ({unknown:.4%})."
    if summary.by_split[TRAIN][0] and not summary.by_split[VALIDATION][0]:
        yield "- No document is for validation."
    yield ""


def _bar_chart(summary: ExampleCounts) -> Iterator[str]:
    yield from ("## How long examples are", "", "```text")
    edges = np.unique(np.linspace(0, summary.length, _BARS + 1).astype(int)).tolist()
    bins = {(a + 1, b): int(summary.lengths[a + 1 : b + 1].sum()) for a, b in pairwise(edges)}
    width, most = len(f"{summary.length:,}"), max(1, *bins.values())
    for (low, high), n in bins.items():
        bar = "#" * -(-n * _BAR_WIDTH // most)
        yield f"{low:{width},} to {high:{width},} subwords {n:12,} {bar}".rstrip()
    yield from ("```", "")


def _entities(summary: ExampleCounts, counters: Mapping[str, int]) -> Iterator[str]:
    n_kept, n_examples = counters.get("mentions.kept", 0), max(counters.get("examples", 0), 1)
    yield from ("## Entities", "", f"{n_kept:,}, or {n_kept / n_examples:.2f} an example.", "")
    classes = [
        (f"{low}" if high == low + 1 else f"{low} to {high - 1}", summary.mentions[low:high].sum())
        for low, high in pairwise(_MENTIONS)
    ]
    classes.append((f"{_MENTIONS[-1]} and more", summary.mentions[_MENTIONS[-1] :].sum()))
    yield from (*markdown_table(("entities of an example", "examples"), classes), "")
    kept = ((name, n) for name, n in counters.items() if name.startswith("mentions.kept/"))
    origins = ((name.partition("/")[2], n) for name, n in kept)
    yield from (*markdown_table(("origin", "entities"), origins), "")


def _augmentation(summary: ExampleCounts) -> Iterator[str]:
    """Yield table 3.1 of the DaLUKE thesis: entities that are links, and all entities."""
    n_entities = len(summary.all) - len(SPECIAL)
    if n_entities < 0:
        return
    by_links, by_all = (
        (counts[1], np.count_nonzero(ids[len(SPECIAL) :]), ids.sum(), counts[0])
        for counts, ids in ((summary.with_links, summary.links), (summary.with_any, summary.all))
    )
    names = ("subwords", "entities that occur", "annotations", "examples")
    rows = (
        (name, before, after, f"{(after - before) / max(before, 1):+.1%}")
        for name, before, after in zip(names, by_links, by_all, strict=True)
    )
    yield from ("## Links only, and all", "")
    yield from (*markdown_table(("", "links only", "all", "difference"), rows), "")
    yield "Examples without an annotation of the kind, and their subwords, are not counted."
    yield from (f"The vocabulary has {n_entities:,} entities.", "")


def _losses(counters: Mapping[str, int]) -> Iterator[str]:
    read, kept = (counters.get(f"mentions.{name}", 0) for name in ("read", "kept"))
    lost = {name: counters.get(f"mentions.{name}", 0) for name in LOSSES}
    rows = [("**of the documents**", read), ("entities of examples", kept)]
    rows += [(f"`{name}`: {why}", lost[name]) for name, why in LOSSES.items() if lost[name]]
    yield from ("## What became of the mentions", "", *markdown_table(("", "mentions"), rows), "")
    adds_up = read == kept + sum(lost.values())
    yield "This adds up." if adds_up else "**This does not add up: please report it.**"
    yield (
        f"Of the kept, {counters.get('mentions.unknown', 0):,} are `[UNK]`, and "
        f"{counters.get('mentions.widened', 0):,} are wider than in the text, for they begin or "
        "end inside a subword."
    )
    yield ""


def _numbers(counters: Mapping[str, int]) -> Iterator[str]:
    rows = ((f"`{n}`", count) for n, count in counters.items() if not n.startswith("mentions."))
    yield from ("## All numbers", "", *markdown_table(("", "number"), rows), "")
