"""A wiki of some pages that tests can edit, and its dump."""

from dataclasses import dataclass, field, replace
from xml.sax.saxutils import escape

NAMES = (
    "Windrad", "Bockmühle", "Mehl", "Korn", "Müller", "Orbel", "Deich", "Flanne", "Hafen", "Kutter",
    "Reuse", "Netz", "Hering", "Salz", "Fass", "Küfer", "Eiche", "Wald", "Moor", "Torf",
)  # fmt: skip
"""Titles of the articles; each text names all of them, so that matches hang on the links."""

_HEAD = """<mediawiki version="0.11" xml:lang="de">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>kleinwiki</dbname>
    <base>{base}</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="10" case="first-letter">Vorlage</namespace>
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""
BASE = "https://klein.wikipedia.org/wiki/Hauptseite"


@dataclass(frozen=True)
class Page:
    """A page; a redirect has the title that it leads to as its text."""

    id: int
    title: str
    text: str
    revision: int = 1
    namespace: int = 0
    is_redirect: bool = False

    def xml(self) -> str:
        target = escape(self.text.partition("#")[0])
        redirect = f'<redirect title="{target}" />' if self.is_redirect else ""
        text = f"#WEITERLEITUNG [[{self.text}]]" if self.is_redirect else self.text
        return (
            f"  <page>\n    <title>{escape(self.title)}</title>\n    <ns>{self.namespace}</ns>\n"
            f"    <id>{self.id}</id>\n    {redirect}<revision>\n      <id>{self.revision}</id>\n"
            f"      <timestamp>2026-10-{self.revision % 28 + 1:02}T07:11:19Z</timestamp>\n"
            "      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
            f'      <text xml:space="preserve">{escape(text)}</text>\n    </revision>\n  </page>\n'
        )


@dataclass(frozen=True)
class SmallWiki:
    """Pages in the order of the dump; every edit is another wiki."""

    pages: tuple[Page, ...] = field(default_factory=lambda: tuple(_pages()))
    base: str = BASE

    def dump(self) -> str:
        pages = "".join(page.xml() for page in self.pages)
        return f"{_HEAD.format(base=self.base)}{pages}</mediawiki>\n"

    def page(self, title: str) -> Page:
        [page] = [page for page in self.pages if page.title == title]
        return page

    def edit(self, name: str, **changes) -> "SmallWiki":
        """Change fields of a page; its revision becomes the next one unless another is said."""
        old = self.page(name)
        new = replace(old, **{"revision": old.revision + 1, **changes})
        return replace(self, pages=tuple(new if page is old else page for page in self.pages))

    def without(self, title: str) -> "SmallWiki":
        return replace(self, pages=tuple(p for p in self.pages if p.title != title))

    def plus(self, *pages: Page) -> "SmallWiki":
        return replace(self, pages=self.pages + pages)


def article(number: int, links: tuple[str, ...], seed: int = 0) -> str:
    """Return the text of an article: links, all names, numbers, a hole, a heading, a list."""
    named = ", ".join(NAMES[(number + seed + i) % len(NAMES)] for i in range(len(NAMES)))
    linked = "; ".join(
        f"[[{link}]]" if i % 2 else f"[[{link}|ein Wort]]en" for i, link in enumerate(links)
    )
    return (
        f"'''{NAMES[number % len(NAMES)]}''' ist Nummer {number} von 20. Es gibt {linked}.\n\n"
        f"Man nennt {named} zusammen.{{{{Fehlt|{number}}}}} Im Jahr 18{number:02} waren es mehr.\n"
        f"== Liste ==\n* {linked}\n* {{{{formatnum:{number}000}}}} Stück <!-- [[Nichts]] -->\n"
    )


def _pages():
    """Yield twenty articles, redirects, a page of meanings, and pages of other kinds.

    Redirects are plain, chained, and in a loop.
    """
    for number, name in enumerate(NAMES):
        links = (
            NAMES[(number + 1) % 20],
            NAMES[(number + 7) % 20] + "#Liste",
            ("Mühle", "Kahn", "Mühlen", "Rotlink", "Schleife")[number % 5],
        )
        yield Page(10 + number, name, article(number, links))
        if number == 5:
            yield Page(50, "Mühle", "Bockmühle", is_redirect=True)
            yield Page(51, "Mühlen", "Mühle", is_redirect=True)
            yield Page(52, "Vorlage:Fehlt", "Nichts", namespace=10)
        if number == 12:
            yield Page(53, "Kahn", "Kutter", is_redirect=True)
            yield Page(54, "Schleife", "Schlaufe", is_redirect=True)
            yield Page(55, "Schlaufe", "Schleife", is_redirect=True)
            yield Page(56, "Kategorie:Alles", "Nichts", namespace=14)
    yield Page(57, "Anker", "* [[Hafen]]\n* [[Kutter]]\n{{Begriffsklärung}}")
    yield Page(58, "Leer", "")
