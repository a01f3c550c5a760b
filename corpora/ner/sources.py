"""The counts of each file of a NER set, as the file has them, before labels are mapped."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from corpora.ner.card import table
from corpora.ner.layout import FileLayout
from corpora.system.cells import one_line

PREFIX = "source/"
COUNTED = (
    "documents", "sentences", "tokens", "entities", "entities by repair", "inner entities",
    "rejected",
)  # fmt: skip
HEAD = (
    "file", "split", "format", "scheme",
    *COUNTED[:4], "by repair", *COUNTED[5:],
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFile:
    """A file, and its counts."""

    names: tuple[str, str, str, str]
    """The names of the file, its split, format and scheme."""
    counts: Mapping[str, int]
    """Counts by name: ``sentences``, ``tokens``, ``entities``, ``entities/LOC`` …; none is 0."""

    @property
    def row(self) -> list[str]:
        """The cells under ``HEAD``."""
        return [*self.names, *(str(self.counts.get(name, 0)) for name in COUNTED)]

    def labels(self, level: str = "entities") -> dict[str, int]:
        """Return the entities of each label, as the file has them; the most frequent first."""
        counts = [(name.partition("/"), count) for name, count in self.counts.items()]
        own = [(label, count) for (of, _, label), count in counts if of == level and label]
        return dict(sorted(own, key=lambda item: (-item[1], item[0])))


def list_sources(
    counters: Mapping[str, int], layouts: Mapping[str, FileLayout], splits: Mapping[str, str]
) -> list[CountedFile]:
    """Select the counts of each file from the counters of a run."""
    sources = []
    for name, layout in layouts.items():
        own = f"{PREFIX}{name}/"
        counts = {key.removeprefix(own): n for key, n in counters.items() if key.startswith(own)}
        names = (name, splits[name], layout.format, layout.scheme)
        sources.append(CountedFile(names=names, counts=counts))
    return sources


def with_counts_of_source(
    counters: Mapping[str, int], name: str, *, n_rejected: int
) -> dict[str, int]:
    """Return the counters, and the same again under the name of their file."""
    of_file = Counter(counters) + Counter({"rejected": n_rejected})
    return {**counters, **{f"{PREFIX}{name}/{key}": count for key, count in of_file.items()}}


def to_tsv(sources: Iterable[CountedFile]) -> Iterator[str]:
    """Yield a line for each file, and one for each of its labels."""
    yield "\t".join((*HEAD, "label", "level")) + "\n"
    for source in sources:
        yield "\t".join(map(one_line, (*source.row, "", ""))) + "\n"
        for level in ("entities", "inner entities"):
            given, repaired = source.labels(level), source.labels(f"{level} by repair")
            for label in given | repaired:
                counts = (str(given.get(label, 0)), str(repaired.get(label, 0)))
                cells = (*source.names, "", "", "", *counts, "", "", label, level)
                yield "\t".join(map(one_line, cells)) + "\n"


def with_sources(card: str, sources: Sequence[CountedFile]) -> str:
    """Add the table of files to a card."""
    files = table(HEAD, [source.row for source in sources], n_words=4)
    about = (
        "Counted as the file has it, before labels are mapped: an entity is a tag that opens one "
        "by the scheme of the file. *By repair* are those that an illegal tag opens (`I-` after "
        "nothing of its class); they are in the dataset too, and in the counts above."
    )
    labels = "\n".join(
        f"- {source.names[0]}: "
        + ", ".join(f"{label} {count:,}" for label, count in source.labels().items())
        for source in sources
    )
    return f"{card}\n## Files\n\n{about}\n\n{files}\n\nEntities by label:\n\n{labels}\n"
