"""The tables of a census, as lines for the terminal and as a page."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from corpora.reports import counted
from corpora.reports.pages import Block, Heading, Table, Text
from corpora.reports.pages import to_html as render_blocks
from corpora.segmentation.sentences import table_name
from corpora.tei.card import warnings_of
from corpora.tei.census import Census
from corpora.tei.prefixes import NO_MATCH, RESOLVED

N_SHOWN = 10
N_VALUES = 5
_NOT_READ, _CHARACTERS = "not read: ", " (characters)"  # around a part's name in a counter's


def _prefix_rows(counters: Counter[str]) -> Iterator[Sequence[object]]:
    """Yield each prefix, and how many references it resolved and did not match."""
    kinds = (RESOLVED, NO_MATCH)
    found = (n.removeprefix(kind) for kind in kinds for n in counters if n.startswith(kind))
    for prefix in dict.fromkeys(found):
        yield prefix, counters[RESOLVED + prefix], counters[NO_MATCH + prefix]


def _tables(census: Census) -> Iterator[tuple[str, Sequence[str], list[Sequence[object]]]]:
    """Yield the title, head and rows of each table."""
    by_number = census.by_number()
    yield (
        "Elements of the text",
        ("element", "number", "the edition makes of it", "example"),
        [(kind.name, kind.n, _most(kind.meanings), kind.example) for kind in by_number],
    )
    yield (
        "Attributes",
        ("attribute", "number", "values", "the most frequent"),
        [
            (f"{kind.name}/@{attribute}", values.total(), len(values), _values(values))
            for kind in by_number
            for attribute, values in kind.attributes.items()
        ],
    )
    lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (name, label), n in census.lost_names.items():
        lost[name][label] = n
    yield (
        "Left out",
        ("element", "characters", "names", "of these"),
        [
            (name, n, lost[name].total(), _most(lost[name]))
            for name, n in census.lost_characters.most_common()
        ],
    )
    yield (
        "Parts of files that are not read (content says which are)",
        ("element", "characters", "names", "of these"),
        [*_outside_rows(census)],
    )
    yield (
        "Words that touch at the edge of an element ([breaks] says where one ends)",
        ("element", "number", "example"),
        [
            (name, n, census.touching.examples[name])
            for name, n in census.touching.found.most_common(N_SHOWN)
        ],
    )
    yield (
        "Languages",
        ("language", "characters", "passages", "table of abbreviations"),
        [
            (lang or "not said", n, census.passages[lang], table_name(lang) or "NONE")
            for lang, n in Counter(
                dict.fromkeys(census.passages, 0) | census.languages
            ).most_common()
        ],
    )
    yield (
        "Words before most sentence ends (an abbreviation here is a wrong cut)",
        ("word", "number"),
        [*census.last_words.most_common(N_SHOWN)],
    )
    yield (
        "Abbreviations that no table has (learned)",
        ("word", "number", "ends of sentences"),
        [
            (each.written[0], each.n, sum(census.last_words[form] for form in each.written))
            for each in census.abbreviations[: 2 * N_SHOWN]
        ],
    )
    yield (
        "Ids",
        ("attribute", "number", "begin with"),
        [
            (attribute, n, scheme)
            for (attribute, scheme), n in census.schemes.most_common(2 * N_SHOWN)
        ],
    )
    yield (
        "Prefixes of references (prefixDef)",
        ("prefix", "resolved", "matched by none"),
        [*_prefix_rows(census.counters)],
    )
    yield "Registers", ("element", "entries"), [*census.registers.most_common()]


def _outside_rows(census: Census) -> Iterator[Sequence[object]]:
    """Yield each child of ``TEI`` that is not read: its characters (of a header, none), its names.

    Those without names and text are left out.
    """
    n_characters = {
        name[len(_NOT_READ) : -len(_CHARACTERS)]: n
        for name, n in census.counters.items()
        if name.startswith(_NOT_READ) and name.endswith(_CHARACTERS)
    }
    for part in dict.fromkeys([*census.outside, *n_characters]):
        names = census.outside.get(part, Counter())
        yield part, n_characters.get(part, ""), names.total(), _most(names)


def _most(counts: Counter[str], pattern: str = "{value} {n:,}") -> str:
    shown = [pattern.format(value=value, n=n) for value, n in counts.most_common(N_VALUES)]
    return ", ".join(shown + ["…"] * (len(counts) > N_VALUES))


def _values(counts: Counter[str]) -> str:
    """Write the most frequent values; if all differ, as ids do, only one of them.

    Their numbers are in brackets, for values may be numbers, too.
    """
    once = [value for value, n in counts.items() if n == 1]
    is_each_once = len(counts) > 1 and len(once) == len(counts) - ("other" in counts)
    return f"each once, as {once[0]}" if is_each_once else _most(counts, "{value} ({n:,})")


def to_words(census: Census) -> Iterator[str]:
    """Yield the lines to print in a terminal."""
    yield _size(census)
    yield from (f"NOT READ {message}" for message in census.unread)
    if not census.n_files - len(census.unread):
        return
    for title, head, rows in _tables(census):
        if rows:
            yield f"\n{title}"
            yield from _aligned([head, *rows])
    if unmatched := census.unmatched():
        yield "\nPatterns that match nothing"
        yield from (f"  {pattern}" for pattern in unmatched)
    for warning in warnings_of(census.counters, []):
        yield f"\nWARNING {warning}"


def _size(census: Census) -> str:
    files, characters = counted(census.n_files, "file"), counted(census.n_characters, "character")
    return f"{files}, {characters} of text"


def _aligned(rows: Sequence[Sequence[object]]) -> Iterator[str]:
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (
            cell.rjust(width) if cell.replace(",", "").isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        )
        yield "  " + "  ".join(padded).rstrip()


def to_html(census: Census) -> str:
    """Write the HTML page."""
    problems = [*census.unread, *(f"{text}: matches nothing" for text in census.unmatched())]
    problems += warnings_of(census.counters, [])
    blocks: list[Block] = [Heading("What the markup holds", 1), Text(f"{_size(census)}.")]
    blocks += map(Text, problems)
    for title, head, rows in _tables(census):
        if rows:
            blocks += [Heading(title), Table([head, *rows], n_texts=len(head))]
    return render_blocks(blocks)
