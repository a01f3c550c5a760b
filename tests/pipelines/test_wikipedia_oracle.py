"""Two complete wikis, counted a second time by other means: lxml and mwparserfromhell.

Nothing below uses this project's readers of dumps, titles or wikitext. Only the tables of templates
are read here too: they say which templates show their parameters, and pages where links stand in
such a parameter are left out.
"""

import bz2
import html
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

import mwparserfromhell as mw
import pytest
from lxml import etree

from corpora.datasets.shards import open_dataset
from pipelines import documents_to_entity_vocab, wikipedia_to_documents

pytestmark = [pytest.mark.realdata, pytest.mark.usefixtures("without_runner")]

# The English names of namespaces are valid in every wiki; a dump lists only the local ones.
ENGLISH = {
    -2: "media",
    -1: "special",
    1: "talk",
    2: "user",
    3: "user talk",
    4: "project",
    5: "project talk",
    6: "file",
    7: "file talk",
    8: "mediawiki",
    9: "mediawiki talk",
    10: "template",
    11: "template talk",
    12: "help",
    13: "help talk",
    14: "category",
    15: "category talk",
}
# No dump lists the names of other wikis: languages by their form, and the projects of Wikimedia.
OTHER_WIKI = re.compile(
    r"""[a-z]{2,3} | simple | tokipona | minnan | ru-sib | be-x-old | be-tarask | bat-smg | fiu-vro
    | map-bms | cbk-zam | roa-rup | roa-tara | nds-nl | closed-zh-tw
    | zh-(?:classical|min-nan|yue|cn|tw|cfr)
    | [bcdmnqsvw] | mw | wikt | wiktionary | voy | meta | commons | species | incubator | foundation
    | wiki(?:pedia|books|news|quote|source|species|versity|voyage|data|media) | wm20\d\d | wikia
    | translatewiki | betawiki | strategy | outreach | mediazilla | bugzilla | mail | rev""",
    re.VERBOSE,
)
BIDI = dict.fromkeys([0x200E, 0x200F, *range(0x202A, 0x202F)])
# Markup that keeps mwparserfromhell from seeing a table, on pages that it is taken from before they
# are parsed: cells that are never closed, and three quotes that open in one cell and never close.
# MediaWiki ends both with the line or with the next cell.
UNREADABLE = {
    "Gothards Ketlers": r"</?t[rd][^>]*>",
    "Hermans fon Baļke": r"</?t[rd][^>]*>",
    "Livonejis ordyna magistris": r"</?t[rd][^>]*>",
    "Angola": r"'''",
    "Keneja": r"'''",
}
DROPPED_TAGS = {"table", "ref", "references", "nowiki", "math", "pre", "timeline", "includeonly"}


@dataclass(frozen=True)
class Wiki:
    """A dump, read with lxml."""

    name: str
    namespaces: dict[str, int]
    pages: dict[str, str]
    """Title to wikitext, without redirects."""
    redirects: dict[str, str]
    shows: frozenset[str]
    """Names of templates, lower-case, that show their parameters."""
    reads: set[int]
    """The namespaces whose pages are read."""
    names: dict[int, str]
    """The name of each namespace in titles."""

    def resolve(self, title: str) -> str:
        seen = set()
        while title in self.redirects and title not in seen:
            seen.add(title)
            title = self.redirects[title]
        return title

    def namespace(self, target: str) -> int | None:
        """Return the number of the namespace, 0 for articles.

        Links to other wikis, and what is no title, have ``None``.
        """
        name = normal(target)
        has_colon = name.startswith(":")
        prefix, colon, _ = name.removeprefix(":").partition(":")
        if not name.strip(":") or re.search(r"[<>\[\]{}|]|^\.\./|^(?i:https?:)?//", name):
            return None
        if not colon:
            return 0
        prefix = prefix.strip().lower()
        if prefix in self.namespaces:
            number = self.namespaces[prefix]
            return None if number in (6, 14) and not has_colon else number
        return None if OTHER_WIKI.fullmatch(prefix) else 0

    def title(self, target: str) -> str:
        """Return the title of a page, with the name of its namespace."""
        name = normal(target.strip().removeprefix(":"))
        number = self.namespace(target)
        rest = normal(name.partition(":")[2])
        return f"{self.names[number]}:{rest}" if number else name


def normal(target: str) -> str:
    """Return a title without section, as MediaWiki writes it."""
    name = unquote(html.unescape(target)).translate(BIDI)
    name = " ".join(name.partition("#")[0].replace("_", " ").split())
    first = name[:1].upper()
    return first + name[1:] if len(first) == 1 else name  # ß has no capital


def read_dump(path: Path, namespaces: set[int]) -> Wiki:
    root = etree.fromstring(bz2.decompress(path.read_bytes()), etree.XMLParser(huge_tree=True))
    site = "{*}siteinfo/{*}"
    names = {int(n.get("key")): n.text or "" for n in root.iterfind(f"{site}namespaces/*")}
    pages, redirects = {}, {}
    for page in root.iterfind("{*}page"):
        title, model = page.findtext("{*}title"), page.findtext("{*}revision/{*}model")
        if int(page.findtext("{*}ns")) not in namespaces or model != "wikitext":
            continue
        redirect = page.find("{*}redirect")
        if redirect is not None:
            redirects[title] = redirect.get("title")
        else:
            pages[title] = page.findtext("{*}revision/{*}text") or ""
    return Wiki(
        name=root.findtext(f"{site}dbname"),
        namespaces={english: number for number, english in ENGLISH.items()}
        | {"image": 6}
        | {name.lower(): number for number, name in names.items()},
        pages=pages,
        redirects=redirects,
        reads=namespaces,
        names=names,
        shows=templates_that_show(root.get("{http://www.w3.org/XML/1998/namespace}lang")),
    )


def templates_that_show(lang: str) -> frozenset[str]:
    folder = files("corpora") / "wikipedia" / "templates"
    tables = [folder / f"{name}.toml" for name in ("common", lang)]
    return frozenset(
        name.lower()
        for table in tables
        if table.is_file()
        for name in tomllib.loads(table.read_text("utf-8"))["render"]
    )


class LinkInShownTemplateError(Exception):
    """What a template shows is not known here."""


def links(wiki: Wiki, code: mw.wikicode.Wikicode) -> Iterator[str]:
    """Yield the targets of links to articles in running text and captions.

    Raises ``LinkInShownTemplateError`` for a link in a template that is shown.
    """
    for node in code.nodes:
        if isinstance(node, mw.nodes.Template):
            name = " ".join(str(node.name).replace("_", " ").split()).lower()
            if name in wiki.shows and "[[" in str(node):
                raise LinkInShownTemplateError
        elif isinstance(node, mw.nodes.Wikilink):
            title = re.sub(r"\{{3}[^{}|]*\|([^{}]*)\}{3}", r"\1", str(node.title))  # the default
            if wiki.namespace(title) in wiki.reads:
                yield wiki.title(title)
            if node.text is not None:
                yield from links(wiki, node.text)
        else:
            for part in shown_parts(node):
                yield from links(wiki, part)


def shown_parts(node: mw.nodes.Node) -> list[mw.wikicode.Wikicode]:
    """Return the wikitext inside a node that is part of the running text, or a caption."""
    match node:
        case mw.nodes.Tag():
            name = str(node.tag).strip().lower()
            if name == "gallery":  # file|caption
                lines = str(node.contents).split("\n")
                return [mw.parse(line.partition("|")[2]) for line in lines]
            return [] if name in DROPPED_TAGS or node.contents is None else [node.contents]
        case mw.nodes.ExternalLink() | mw.nodes.Heading():
            return [] if node.title is None else [node.title]
        case mw.nodes.Argument():
            return [] if node.default is None else [node.default]
    return []


@dataclass(frozen=True)
class Case:
    """A dump, and how much of it is compared."""

    file: str
    namespaces: tuple[int, ...]
    n_left_out: int
    """Pages with a link in a template that shows it."""
    n_links: int
    """Links that are compared."""


CASES = {
    "ltgwiki": Case(
        "ltgwiki-latest-pages-articles.xml.bz2", namespaces=(0,), n_left_out=0, n_links=5748
    ),
    "aawiki": Case(
        "aawiki-20260101-pages-meta-current.xml.bz2",
        namespaces=(*range(6), *range(8, 16)),
        n_left_out=0,
        n_links=133,
    ),
}


@dataclass(frozen=True)
class Run:
    """A dump as both sides read it."""

    case: Case
    wiki: Wiki
    output: Path
    """Documents and redirects by our pipeline."""
    links: dict[str, Counter[str]]
    """The entities of links by title, by mwparserfromhell."""


@pytest.fixture(scope="module", params=CASES)
def run(request, realdata, tmp_path_factory):
    case = CASES[request.param]
    dump = realdata("wiki-dumps") / case.file
    output = tmp_path_factory.mktemp(request.param)
    numbers = [str(number) for number in case.namespaces]
    options = ["--input", str(dump), "--output", str(output), "--namespaces", *numbers]

    assert wikipedia_to_documents.main([*options, "--augment", "off", "--interwiki", "drop"]) == 0
    wiki = read_dump(dump, set(case.namespaces))
    return Run(case, wiki, output, links_of(wiki))


def mentions_of(run):
    """Return the entities of links by title, by our pipeline."""
    return {
        document.title: Counter(m.entity for m in document.mentions if m.origin == "link")
        for document in open_dataset(run.output / "documents", "documents").records()
    }


def links_of(wiki):
    """Return the entities of links by title, by mwparserfromhell.

    Pages that it cannot judge are left out.
    """
    found = {}
    for title, text in wiki.pages.items():
        code = mw.parse(re.sub(UNREADABLE.get(title, r"(?!)"), "", text))
        try:
            targets = list(links(wiki, code))
        except LinkInShownTemplateError:
            continue
        found[title] = Counter(f"{wiki.name}:{wiki.resolve(name)}" for name in targets)
    return found


def is_here(title):
    """Return whether a redirect leads to a page of the same wiki."""
    prefix, colon, _ = title.partition(":")
    return not (colon and OTHER_WIKI.fullmatch(prefix))


def test_redirects_are_those_that_the_dump_names(run):
    expected = {
        title: (target, run.wiki.resolve(title) if is_here(target) else None)
        for title, target in run.wiki.redirects.items()
    }

    rows = list(open_dataset(run.output / "redirects", "redirects").rows())

    assert {row["title"]: (row["target"], row["resolved"]) for row in rows} == expected
    assert len(rows) == len(expected)


def test_mentions_are_the_links_of_every_page(run):
    expected, actual = run.links, mentions_of(run)

    assert len(run.wiki.pages) - len(expected) == run.case.n_left_out
    assert sum(counts.total() for counts in expected.values()) == run.case.n_links
    assert actual.keys() <= run.wiki.pages.keys()
    more, missing = Counter(), {}
    for title, counts in expected.items():
        more += actual.get(title, Counter()) - counts
        if lost := counts - actual.get(title, Counter()):
            missing[title] = lost
    assert missing == {}
    assert more == {}


def test_vocabulary_counts_the_links_of_all_pages(run, tmp_path):
    expected = sum(run.links.values(), Counter())
    inputs = ["--input", str(run.output / "documents"), "--output", str(tmp_path / "vocab")]

    assert documents_to_entity_vocab.main([*inputs, "--min-count", "1", "--existing", "any"]) == 0

    rows = open_dataset(tmp_path / "vocab", "entities").rows()
    assert {row["entity"]: row["count"] for row in rows if row["count"]} == expected


def test_ledger_counts_the_brackets_of_the_written_pages(run):
    written = mentions_of(run)

    counters = open_dataset(run.output / "documents").description["counters"]

    expected = sum(run.wiki.pages[title].count("[[") for title in written)
    assert counters["links.in_wikitext"] == expected
