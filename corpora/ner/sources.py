"""What each file of a NER set holds: counted as the file has it, before labels are mapped."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corpora.ner.card import table

PREFIX = "source/"
HEAD = (
    "file", "split", "format", "scheme", "documents", "sentences", "tokens", "entities",
    "by repair", "inner entities", "rejected",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file, and its counts."""

    name: str
    split: str
    format: str
    scheme: str
    counts: Mapping[str, int]
    """``sentences``, ``tokens``, ``entities``, ``entities/LOC`` …; none is 0."""

    def labels(self, level: str = "entities") -> dict[str, int]:
        """Entities of each label, as the file has them; the most frequent first."""
        found = {
            name.removeprefix(f"{level}/"): count
            for name, count in self.counts.items()
            if name.startswith(f"{level}/")
        }
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def list_sources(
    counters: Mapping[str, int], layouts: Mapping[str, Any], splits: Mapping[str, str]
) -> list[Source]:
    """Take the counts of each file from the counters of a run."""
    return [
        Source(
            name=name,
            split=splits[name],
            format=layout["format"],
            scheme=layout["scheme"],
            counts={
                counter.removeprefix(f"{PREFIX}{name}/"): count
                for counter, count in counters.items()
                if counter.startswith(f"{PREFIX}{name}/")
            },
        )
        for name, layout in layouts.items()
    ]


def with_counts_of_source(
    counters: Mapping[str, int], name: str, *, n_rejected: int
) -> dict[str, int]:
    """Counters, and the same again for the file of that name alone."""
    of_file = Counter(counters) + Counter({"rejected": n_rejected})
    return {**counters, **{f"{PREFIX}{name}/{key}": count for key, count in of_file.items()}}


def _row(source: Source) -> list[str]:
    counts = source.counts
    numbers = ("documents", "sentences", "tokens", "entities", "entities by repair")
    more = ("inner entities", "rejected")
    cells = [source.name, source.split, source.format, source.scheme]
    return cells + [str(counts.get(name, 0)) for name in (*numbers, *more)]


def to_tsv(sources: Iterable[Source]) -> Iterator[str]:
    """A line for each file, and one for each of its labels."""
    yield "\t".join((*HEAD, "label", "level")) + "\n"
    for source in sources:
        yield "\t".join((*_row(source), "", "")) + "\n"
        for level in ("entities", "inner entities"):
            repaired = source.labels(f"{level} by repair")
            given = source.labels(level)
            for label in dict.fromkeys((*given, *repaired)):
                numbers = (str(given.get(label, 0)), str(repaired.get(label, 0)))
                cells = [source.name, source.split, source.format, source.scheme, "", "", ""]
                yield "\t".join((*cells, *numbers, "", "", label, level)) + "\n"


def with_sources(card: str, sources: Sequence[Source]) -> str:
    """Add the files to a card."""
    files = table(["file", *HEAD[1:]], map(_row, sources), n_words=4)
    about = (
        "Counted as the file has it, before labels are mapped: an entity is a tag that opens one "
        "by the scheme of the file. *By repair* are those that an illegal tag opens (`I-` after "
        "nothing of its class); they are in the dataset too, and in the counts above."
    )
    labels = "\n".join(
        f"- {source.name}: "
        + ", ".join(f"{label} {count:,}" for label, count in source.labels().items())
        for source in sources
    )
    return f"{card}\n## Files\n\n{about}\n\n{files}\n\nEntities by label:\n\n{labels}\n"
