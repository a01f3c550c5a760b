"""A first draft of an edition file, from a census."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from corpora.reports import counted
from corpora.tei.census import Census
from corpora.tei.edition import CHARACTERS, edition_path, load_edition

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
    if found := census.untyped.most_common():
        names = ", ".join(_quoted(name) for name, _ in found)
        counts = ", ".join(f"{name} {n:,}" for name, n in found)
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
    found = Counter[str]()
    for name in sorted(CHARACTERS & census.kinds.keys()):
        found += census.kinds[name].signs
    if found:
        yield from ("", "[characters]  # empty elements, which are not read unless you say as what")
        for pattern, n in found.most_common():
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
    found = [(address, n) for address, n in counts if not address.startswith(known)]
    if found:
        yield from ("", "[entities.spaces]")
    for address, n in found:
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
