"""The fit of a register and the mentions of an edition: ids without entries, unused entries.

Memory grows with the distinct references and the entries, not with the mentions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from corpora.document import Document
from corpora.registers.entry import Entry, kind_of_label
from corpora.registers.register import Register
from corpora.reports import folded, markdown_table
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
    yield NOWHERE, _lines(("id", "mentions", "label", "form", "document"), _nowhere(coverage))
    rows = ((e.id, e.kind, e.name, f"{e.source}:{e.line}") for e in coverage.never_mentioned())
    yield NEVER, _lines(("id", "kind", "name", "file"), rows)
    head = ("id", "kind", "name", "mentions", "label", "form", "document")
    yield OTHER_KIND, _lines(head, _other_kind(coverage))


def _nowhere(coverage: Coverage) -> Iterator[tuple[object, ...]]:
    ordered = sorted(coverage.nowhere.items(), key=lambda item: (-item[1].count, item[0]))
    yield from ((id, r.count, r.label, r.form, r.document) for id, r in ordered)


def _other_kind(coverage: Coverage) -> Iterator[tuple[object, ...]]:
    for (id, label), ref in sorted(coverage.other_kind.items()):
        entry = coverage.register.entries[id]
        yield id, entry.kind, entry.name, ref.count, label, ref.form, ref.document


def _lines(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    for row in (head, *rows):
        yield "\t".join(map(one_line, row)) + "\n"


def to_markdown(coverage: Coverage) -> str:
    """Write the section of a card."""
    register = coverage.register
    kinds = Counter(entry.kind for entry in register.entries.values())
    never = coverage.never_mentioned()
    by_kind = Counter(entry.kind for entry in never)
    entries = [(kind, n, n - by_kind[kind], by_kind[kind]) for kind, n in sorted(kinds.items())]
    labels = [
        (label, n, coverage.with_id[label], coverage.found[label])
        for label, n in sorted(coverage.labels.items())
    ]
    lines = [
        "## Register",
        "",
        *markdown_table(("entries", "all", "mentioned", "never"), entries),
        "",
        *markdown_table(("mentions", "all", "with an id", "of the register"), labels),
        "",
    ]
    nowhere = [
        f"`{_code(id)}` ({count} ×, first “{form}” in {document})"
        for id, count, _, form, document in _nowhere(coverage)
    ]
    lines += _list("Ids that lead nowhere", nowhere, NOWHERE)
    shown = [f"{entry.name} (`{_code(entry.id)}`, {entry.source}:{entry.line})" for entry in never]
    lines += _list("Entries that are never mentioned", shown, NEVER)
    others = [
        f"{name} (`{_code(id)}`, {kind}) as {label}, {count} ×, first “{form}” in {document}"
        for id, kind, name, count, label, form, document in _other_kind(coverage)
    ]
    lines += _list("Entries of one kind, mentioned as another", others, OTHER_KIND)
    counted = [f"{what}: {n:,}" for what, n in sorted(register.counters.items())]
    return "\n".join([*lines, *_list("In the register itself", counted, "")])


def _code(text: object) -> str:
    return str(text).replace("`", "'")


def _list(title: str, items: list[str], file: str) -> list[str]:
    """Write a title with the count, and the first items."""
    if not items:
        return [f"{title}: none.", ""]
    rest = f"; all in `{file}`" if file and len(items) > N_EXAMPLES else ""
    head = f"{title}: {len(items):,}{rest}." if file else f"{title}:"
    escaped = (" ".join(item.split()) for item in items[: N_EXAMPLES if file else None])
    lines = [f"- {item}" for item in escaped]
    return [head, "", *folded(lines, n_items=len(lines), what="lines"), ""]
