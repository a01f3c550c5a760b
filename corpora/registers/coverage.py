"""The fit of a register and the mentions of an edition: ids without entries, unused entries.

Memory grows with the distinct references and the entries, not with the mentions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from corpora.document import Document
from corpora.registers.entry import Entry, kind_of_label
from corpora.registers.register import Register
from corpora.reports import markdown_table
from corpora.system.cells import one_line

N_EXAMPLES = 10
"""The most items of a list in the card; side files have all."""
NOWHERE = "register-nowhere.tsv"
NEVER = "register-never-mentioned.tsv"
OTHER_KIND = "register-other-kind.tsv"


@dataclass(slots=True)
class Reference:
    """An id in mentions: how often it occurs, and where it occurred first."""

    form: str
    document: str
    label: str
    count: int = 0


@dataclass(slots=True)
class Coverage:
    """The counts of an edition and its register."""

    register: Register
    labels: Counter[str] = field(default_factory=Counter)
    """The number of mentions by label."""
    with_id: Counter[str] = field(default_factory=Counter)
    """The number of mentions with an id, by label."""
    found: Counter[str] = field(default_factory=Counter)
    """The number of mentions whose ids are all in the register, by label."""
    entries: Counter[str] = field(default_factory=Counter)
    """The number of mentions by id of the entry."""
    nowhere: dict[str, Reference] = field(default_factory=dict)
    """The references by id, for ids that no entry has."""
    other_kind: dict[tuple[str, str], Reference] = field(default_factory=dict)
    """The references by id of the entry and label, for labels that name another kind than the
    entry's."""

    def never_mentioned(self) -> list[Entry]:
        """List the entries without a mention, in the order of the register."""
        return [entry for id, entry in self.register.entries.items() if id not in self.entries]


def measure(documents: Iterable[Document], register: Register) -> Coverage:
    """Count the mentions of documents against a register."""
    coverage = Coverage(register)
    for document in documents:
        for mention in document.mentions:
            label = mention.label or "no label"
            coverage.labels[label] += 1
            if mention.entity is None:
                continue
            coverage.with_id[label] += 1
            first = (document.text[mention.start : mention.end], document.id, label)
            is_found = True
            for id in mention.entity.split():
                entry = register.find(id)
                if entry is None:
                    is_found = False
                    coverage.nowhere.setdefault(id, Reference(*first)).count += 1
                    continue
                coverage.entries[entry.id] += 1
                if kind_of_label(label) not in {None, entry.kind}:
                    pair = (entry.id, label)
                    coverage.other_kind.setdefault(pair, Reference(*first)).count += 1
            coverage.found[label] += is_found
    return coverage


def side_files(coverage: Coverage) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield names and lines of the full lists."""
    for _, name, rows in _lists(coverage):
        yield name, ("\t".join(map(one_line, row)) + "\n" for row in rows)


def _lists(coverage: Coverage) -> Iterator[tuple[str, str, list[tuple[object, ...]]]]:
    """Yield the title, the side file and the rows of each list, the names of its columns first."""
    nowhere = sorted(coverage.nowhere.items(), key=lambda item: (-item[1].count, item[0]))
    rows = [(id, r.count, r.label, r.form, r.document) for id, r in nowhere]
    head: tuple[object, ...] = ("id", "mentions", "label", "form", "document")
    yield "Ids that lead nowhere", NOWHERE, [head, *rows]
    never = coverage.never_mentioned()
    of_never = [(e.id, e.kind, e.name, f"{e.source}:{e.line}") for e in never]
    yield "Entries that are never mentioned", NEVER, [("id", "kind", "name", "file"), *of_never]
    entries = coverage.register.entries
    of_others = [
        (id, entries[id].kind, entries[id].name, r.count, label, r.form, r.document)
        for (id, label), r in sorted(coverage.other_kind.items())
    ]
    head = ("id", "kind", "name", "mentions", "label", "form", "document")
    yield "Entries of one kind, mentioned as another", OTHER_KIND, [head, *of_others]


def to_markdown(coverage: Coverage) -> str:
    """Write the section of a card."""
    register = coverage.register
    kinds = Counter(entry.kind for entry in register.entries.values())
    by_kind = Counter(entry.kind for entry in coverage.never_mentioned())
    entries = [(kind, n, n - by_kind[kind], by_kind[kind]) for kind, n in sorted(kinds.items())]
    labels = [
        (label, n, coverage.with_id[label], coverage.found[label])
        for label, n in sorted(coverage.labels.items())
    ]
    lines = [
        *("## Register", ""),
        *(*markdown_table(("entries", "all", "mentioned", "never"), entries), ""),
        *(*markdown_table(("mentions", "all", "with an id", "of the register"), labels), ""),
    ]
    for title, name, (head, *rows) in _lists(coverage):
        rest = f"; all in `{name}`" if len(rows) > N_EXAMPLES else ""
        lines += [f"{title}: {len(rows):,}{rest}." if rows else f"{title}: none.", ""]
        if rows:
            shown = [(_code(id), *others) for id, *others in rows[:N_EXAMPLES]]
            lines += [*markdown_table(head, shown, align="l" * len(head)), ""]
    counters = sorted(register.counters.items())
    if counters:
        lines += [*markdown_table(("in the register itself", "number"), counters), ""]
    return "\n".join(lines)


def _code(id: object) -> str:
    return "`" + str(id).replace("`", "'") + "`"
