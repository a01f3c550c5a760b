"""Count what the markup of TEI files holds, before the first run, and draft an edition file.

    onoma tei --inspect 'letters/*.xml' --output census

Prints elements and attributes, what the chosen edition makes of each, names inside what is left
out, languages, words before sentence ends, and schemes of ids. ``--output`` also gets these counts
as ``census.html``, and a draft ``edition.toml`` to start from.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from corpora.errors import UsageError
from corpora.reports import counted
from corpora.reports.pages import Block, Heading, Prose, Table
from corpora.reports.pages import to_html as render_blocks
from corpora.runs.plan import find_inputs
from corpora.segmentation.sentences import table_name
from corpora.system.arguments import execute, option, option_table, parse
from corpora.tei.card import warnings_of
from corpora.tei.census import Census, take_census
from corpora.tei.edition import CHARACTERS, SUFFIXES, edition_path, load_edition
from corpora.tei.prefixes import NO_MATCH, RESOLVED

N_SHOWN = 10
N_VALUES = 5
_NOT_READ, _CHARACTERS = "not read: ", " (characters)"  # around a part's name in a counter's


def _prefix_rows(counters: Counter[str]) -> Iterator[Sequence[object]]:
    """Yield each prefix, and how many references it resolved and did not match."""
    kinds = (RESOLVED, NO_MATCH)
    prefixes = (n.removeprefix(kind) for kind in kinds for n in counters if n.startswith(kind))
    for prefix in dict.fromkeys(prefixes):
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
    blocks: list[Block] = [Heading("What the markup holds", 1), Prose(f"{_size(census)}.")]
    blocks += map(Prose, problems)
    for title, head, rows in _tables(census):
        if rows:
            blocks += [Heading(title), Table([head, *rows], n_texts=len(head))]
    return render_blocks(blocks)


N_SPACES = 20
"""The most addresses of ids that get a space."""
_NO_LANGUAGE = (
    '# lang = "de"  # most text says none: set it, and inspect again with --edition and this file: '
    "then abbreviations are those that the table of the language lacks"
)


def draft_edition(census: Census, *, name: str) -> str:
    """Draft an edition file: labels that the markup suggests, and spaces of ids."""
    labels: dict[str, list[str]] = {}
    for kind in census.by_number():
        for (label, pattern), n in kind.suggested.most_common():
            labels.setdefault(label, []).append(f"  {_quoted(pattern)},  # {n:,}")
    lang = next((lang for lang, _ in census.languages.most_common(1) if lang), None)
    lines = [
        "# A first draft: look at each line, and take out what is wrong (docs/editions.md).",
        f"name = {_quoted(name)}  # the group of the documents, and the space of their entities",
        f"lang = {_quoted(lang)}" if lang else _NO_LANGUAGE,
        *_drafted_unlabelled(census),
        "", *_drafted_labels(labels),
        "", "[text]", 'leave_out = ["..."]',
        *(["# also left out now, with names in it:"] if census.lost_names else []),
        *(f"# {of}: {label} {n:,}" for (of, label), n in census.lost_names.most_common()),
        *_drafted_choice(census), *_drafted_signs(census), *_drafted_breaks(census),
        "", "[sentences]", "abbreviations = [",
        *(f"  {_quoted(word)},  # {n:,}" for word, n in _by_word(census).most_common()),
        "]", *_drafted_spaces(census),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _drafted_labels(labels: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Draft the section ``labels``; without names the labels of the defaults remain."""
    if not labels:
        yield "# no name was found: the labels are those of the defaults (persName, placeName …)"
        return
    yield "[labels]"
    for key, items in labels.items():
        yield from (f"{_key(key)} = [", *items, "]")


def _by_word(census: Census) -> Counter[str]:
    """Count the abbreviations, of all languages together."""
    counts = Counter[str]()
    for each in census.abbreviations:
        counts[each.written[0]] += each.n
    return counts


def _drafted_unlabelled(census: Census) -> Iterator[str]:
    """Draft the line for names of which no ``@type`` says what they are."""
    if untyped := census.untyped.most_common():
        names = ", ".join(_quoted(name) for name, _ in untyped)
        counts = ", ".join(f"{name} {n:,}" for name, n in untyped)
        yield f"# unlabelled = [{names}]  # not read now, without @type: {counts}"


def _drafted_choice(census: Census) -> Iterator[str]:
    """Draft the section ``choose``: what is left out now, and how to read the text as written."""
    lost = {of: n for of, n in census.lost_characters.items() if of.startswith("choice/")}
    if lost:
        yield from ("", "[choose]")
        yield from (f"# not read now: {of}, {counted(n, 'character')}" for of, n in lost.items())
        yield '# choice = ["abbr", "orig", "sic", "*"]  # the text as written'


def _drafted_signs(census: Census) -> Iterator[str]:
    """Draft the section ``characters``: the empty elements that need a character."""
    signs = Counter[str]()
    for name in sorted(CHARACTERS & census.kinds.keys()):
        signs += census.kinds[name].signs
    if signs:
        yield from ("", "[characters]  # empty elements, which are not read unless you say as what")
        for pattern, n in signs.most_common():
            yield f'# {_quoted(pattern)} = "?"  # {n:,}'


def _drafted_breaks(census: Census) -> Iterator[str]:
    """Draft the section ``breaks``, if elements keep their white space."""
    if n := census.n_keep_space:
        times = counted(n, "time")
        yield from ("", "[breaks]")
        yield f'# xml_space = "ignore"  # xml:space="preserve", {times}: line ends are kept'


def _drafted_spaces(census: Census) -> Iterator[str]:
    """Draft the spaces: the addresses that the defaults do not have, each with a name."""
    known = tuple(load_edition(edition_path("tei")).spaces)
    taken: dict[str, str] = {}
    counts = census.addresses.most_common(N_SPACES)
    addresses = [(address, n) for address, n in counts if not address.startswith(known)]
    if addresses:
        yield from ("", "[entities.spaces]")
    for address, n in addresses:
        space = census.edition.spaces.get(address) or _space(address, taken)
        yield f"{_quoted(address)} = {_quoted(space)}  # {n:,}"


def _space(address: str, taken: dict[str, str]) -> str:
    """Name the space of an address by its last word that no other address has, and note it.

    ``http`` and ``https`` are the same address, with and without ``www``.
    """
    bare = re.sub(r"^https?://(www\.)?", "", address)
    host, *path = bare.rstrip("/").split("/")
    words = [*host.split(".")[:-1], *path] if "://" in address else [host]
    names = (re.sub(r"\W+", "-", word).strip("-") for word in reversed(words))
    usable = (n for n in names if re.search(r"[^\W\d_]", n) and taken.get(n, bare) == bare)
    name = next(usable, "") or re.sub(r"\W+", "-", bare).strip("-")
    taken[name] = bare
    return name


def _quoted(text: str) -> str:
    """Write a string of TOML: that of JSON, in which only U+007F is not escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(text: str) -> str:
    """Write a key of TOML, with quotes if it has other characters than ASCII."""
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else _quoted(text)


@option_table
class Options:
    """Options of ``--inspect``."""

    inspect: tuple[str, ...] = option(
        "TEI files, folders of them, or glob patterns in quotes, to count",
        required=True,
        metavar="PATTERN",
    )
    exclude: tuple[str, ...] = option(
        "glob patterns of files to leave out; names are relative to the folder that all files "
        "share",
        metavar="PATTERN",
    )
    edition: str = option(
        "edition to apply: a built-in name or a TOML file (default: tei)",
        "tei",
        metavar="NAME|FILE",
    )
    output: Path | None = option(
        "folder to write census.html and a draft edition.toml into (default: only print the counts)"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Inspect an edition; returns the exit status."""
    options = parse(Options, argv, name="tei", about=__doc__)
    return execute(lambda: _run(options), path=Path(options.inspect[0]))


def _run(options: Options) -> Iterator[str]:
    inputs = find_inputs(
        options.inspect, suffix=SUFFIXES, exclude=options.exclude, option="inspect"
    )
    census = take_census(inputs.items(), load_edition(edition_path(options.edition)))
    yield from to_words(census)
    if not census.kinds:
        content = ", ".join(census.edition.content)
        raise UsageError(
            f"{options.inspect[0]}: no TEI file has the parts that the edition reads ({content}). "
            "content of an edition file names others (docs/editions.md)."
        )
    if options.output is None:
        yield "\nnext  --output DIR writes this as a page, and an edition file to start from"
        return
    options.output.mkdir(parents=True, exist_ok=True)
    first = Path(options.inspect[0]).resolve()
    name = re.sub(r"\W+", "-", (first if first.is_dir() else first.parent).name).strip("-")
    files = {
        "census.html": to_html(census),
        "edition.toml": draft_edition(census, name=name or "edition"),
    }
    for file, text in files.items():
        if (path := options.output / file).exists():
            raise UsageError(f"{path}: is there already. Move it away, or choose another --output.")
        path.write_text(text, "utf-8")
    yield f"\nmade  {options.output}/census.html; {options.output}/edition.toml, to start from"
