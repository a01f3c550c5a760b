"""Rendered pages to text, blocks and links with exact offsets.

Pages are those of Parsoid and of the old parser, bare or in a skin. ``left_out.toml`` says what is
no part of the text; it is counted with its words and links.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser, LexborNode

from corpora.segmentation.language_tags import is_tag, primary_language
from corpora.segmentation.scripts import is_solid
from corpora.system.parsing import ParseError, parse_json, parse_toml
from corpora.wikipedia.blocks import ExtractorError, PageBlocks, PageText, TitleLink
from corpora.wikipedia.disambiguation import signs_of
from corpora.wikipedia.html.side_blocks import SideBlocks
from corpora.wikipedia.inline_text import SCRIPTS, symbol_of
from corpora.wikipedia.ledger import count_words
from corpora.wikipedia.templates import TemplateTable
from corpora.wikipedia.titles import ABROAD, LinkTarget, Wiki, note_category

MAX_DEPTH = 250
"""The deepest that the elements of a page may nest."""
_CONTENTS = ("#mw-content-text div.mw-parser-output", "div.mw-parser-output", "#mw-content-text")
_CATEGORIES = 'link[rel~="mw:PageProp/Category"], .catlinks li a'
"""Selects the links to categories, of Parsoid and of skins."""
_KINDS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "head"),
    **dict.fromkeys(("li", "dt", "dd"), "item"),
    **dict.fromkeys(("blockquote", "pre"), "p"),
    "figcaption": "caption",
}
"""The kinds of the blocks that elements make; other blocks have the kind of what is around them."""
_KINDS_OF_CLASSES = {"poem": "verse", "thumbcaption": "caption", "gallerytext": "caption"}
_BLOCKS = _KINDS.keys() | {
    "address", "article", "aside", "body", "center", "details", "div", "dl", "fieldset", "figure",
    "footer", "header", "hr", "html", "main", "ol", "p", "section", "summary", "ul",
}  # fmt: skip
_SPACES = re.compile("[ \t\n\r\f\u00a0\u2028\u2029]+")
_LINE_END = re.compile("([^\x00-\u2e7f])\n(?=([^\x00-\u2e7f]))")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_ON_PICTURE = re.compile(r"position\s*:\s*absolute")
"""Matches the style of words that stand on a picture or map, not in the text."""
_FOOTER = re.compile(r"linear-gradient\(180deg, #E8E8E8, white\); border-top: dashed")
"""Matches the style of the line with the licence at the end of each page of a ZIM archive."""
_FOR_READERS_ALOUD = frozenset({"sr-only", "visualhide"})
"""Classes of text that stands for a sign between the parts of a fraction."""
_TITLE_IN_QUERY = re.compile(r"index\.php\?(?:.*&)?title=([^&#]+)")
_FRAMED = re.compile(r"mw:(?:File|Image|Video|Audio)/(?:Thumb|Frame)\b")
_DISPLAY_STYLE = re.compile(r"\{\\(?:display|text)style\s*(.*)\}", re.DOTALL)
_NO_PAGE = re.compile(r"[a-z][a-z0-9+.-]*:|/|(?:\.\./)+[B-Z-]/", re.IGNORECASE)
_IN_ZIM = re.compile(r"(?:\.\./)*(?:A/)?([^#]*?)(?:\.html)?(#.*)?")

Attributes = Mapping[str, str | None]


def extract(
    html: str,
    wiki: Wiki,
    _: TemplateTable,
    *,
    title: str = "",
    blocks: frozenset[str] = frozenset(),
    **__: object,
) -> PageText:
    """Read the HTML of a page, whose templates are expanded; raises ``ExtractorError``."""
    tree = LexborHTMLParser(html)
    reader = HtmlPageReader(wiki, title, SideBlocks(blocks) if blocks else None)
    page = reader.read(_content(tree))
    for link in tree.css(_CATEGORIES):
        title = reader.title_of((link.attributes.get("href") or "").partition("#")[0])
        note_category(wiki.title(title), page.categories)
    signs = signs_of(wiki.codes)
    page.is_disambiguation = bool(
        tree.css_first('meta[property="mw:PageProp/disambiguation"], #disambigbox, .dmbox')
        or signs.in_title(title)
    )
    return page


def _content(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the element that holds the text of a page."""
    for selector in _CONTENTS:
        if node := tree.css_first(selector):
            return node
    return tree.body or tree.root


class HtmlPageReader:
    """A reader of the elements of one page."""

    def __init__(self, wiki: Wiki, title: str, side: SideBlocks | None = None) -> None:
        """Begin a page, or a part of one; ``side`` collects the blocks to keep."""
        self.wiki, self.title, self.side = wiki, title, side
        self.page, self.out, self.kind = PageText(), PageBlocks(), "p"
        self.level: int | None = None
        self.targets: dict[str, LinkTarget | None] = {}
        """The pages that addresses lead to: links and their counts ask twice."""

    def read(self, content: LexborNode | None) -> PageText:
        """Read the content of a page."""
        page = self.page
        if content is not None:
            self.children(content, 0)
            self.out.close()
            anchors = map(self.target, (anchor.attributes for anchor in content.css("a")))
            page.n_links = sum(target is not None for target in anchors)
            page.n_errors = sum(map(_is_shown_error, content.css(".error")))
        page.text, page.blocks = "".join(self.out.parts), self.out.blocks
        page.foreign.sort()
        page.simplified = page.text
        page.holes = sorted({offset for offset, _ in self.out.holes})
        page.hole_names = ["<math>"] * len(page.holes)
        if self.side:
            page.aside, page.n_undefined = self.side.finished(len(page.text))
        return page

    def read_alone(self, node: LexborNode) -> tuple[str, list[TitleLink], SideBlocks]:
        """Read a part of the page by itself."""
        side = SideBlocks(self.side.kinds if self.side else frozenset())
        inside = HtmlPageReader(self.wiki, self.title, side)
        inside.children(node, 1)
        inside.out.close()
        return "".join(inside.out.parts), inside.page.links, side

    def children(self, node: LexborNode, depth: int) -> None:
        """Read what an element holds."""
        if depth > MAX_DEPTH:
            raise ExtractorError(f"elements nest more than {MAX_DEPTH} deep")
        child = node.child
        while child is not None:
            tag = child.tag or ""
            if tag == "-text":
                self.text(child.text_content or "")
            elif tag[:1].isalpha():
                self.element(child, tag, depth + 1)
            child = child.next

    def text(self, text: str) -> None:
        """Append text; white space becomes one space, or none between Chinese or Japanese lines."""
        if self.out.start < 0:
            if not text or text.isspace():
                return
            self.out.open(self.kind, self.level)
        if "\n" in text:
            text = _LINE_END.sub(_joined, text)
        self.out.add(_SPACES.sub(" ", text).replace("\u00ad", ""))

    def element(self, node: LexborNode, tag: str, depth: int) -> None:
        """Read an element."""
        attributes: Attributes = node.attributes
        reason = _reason(tag, attributes)
        if tag == "h1" and " ".join(node.text(deep=True).split()) == self.title:
            reason = "title"
        before = self.out.length
        if reason:
            self.leave_out(node, reason)
        elif tag in _BLOCKS:
            self.block(node, tag, attributes, depth=depth)
        elif tag == "a":
            self.anchor(node, attributes, depth)
        elif tag == "br":
            if self.out.start >= 0:
                self.out.break_line()
        elif not self.special(node, tag, attributes):
            self.children(node, depth)
        if lang := attributes.get("lang"):
            self.note_language(lang, before)

    def note_language(self, lang: str, before: int) -> None:
        """Note the span of an element in another language; ``before``: the offset before it."""
        if not is_tag(lang) or primary_language(lang) == primary_language(self.wiki.lang):
            return
        shown = _since(self.out, before)
        start = before + len(shown) - len(shown.lstrip())
        if any(map(str.isalnum, shown)):
            self.page.foreign.append((start, start + len(shown.strip()), lang))

    def block(self, node: LexborNode, tag: str, attributes: Attributes, *, depth: int) -> None:
        """Read an element that stands on lines of its own."""
        if tag == "figcaption" and not _is_shown(node.parent):
            self.leave_out(node, "hidden")
            return
        around, level = self.kind, self.level
        names = (attributes.get("class") or "").split()
        of_class = (_KINDS_OF_CLASSES[name] for name in names if name in _KINDS_OF_CLASSES)
        self.kind = next(of_class, _KINDS.get(tag, around))
        inherited = level if self.kind == "head" else None
        self.level = int(tag[1]) if _KINDS.get(tag) == "head" else inherited
        self.out.close()
        self.children(node, depth)
        self.out.close()
        self.kind, self.level = around, level

    def special(self, node: LexborNode, tag: str, attributes: Attributes) -> bool:
        """Read an element whose text is not what stands in it; tells whether it is one."""
        if tag in SCRIPTS:
            shown = node.text(deep=True)
            raised = shown.translate(SCRIPTS[tag])
            if raised == shown or any(map(str.isascii, raised)) or node.css_first("a"):
                return False
            self.text(raised)
        elif tag == "rt":
            reading = node.text(deep=True).strip()
            if not reading or (node.parent and node.parent.css_first("rp, .rp")):
                return False
            self.text(f"（{reading}）" if any(map(is_solid, reading)) else f" ({reading})")
        elif "mw:LanguageVariant" in (attributes.get("typeof") or ""):
            self.variant(attributes.get("data-mw-variant") or "")
        elif not attributes.get("class"):
            return tag == "math" and self.formula(node)
        elif "mwe-math-element" in (attributes.get("class") or ""):
            return self.formula(node)
        elif _FOR_READERS_ALOUD.intersection((attributes.get("class") or "").split()):
            self.text("⁄" if node.text(deep=True) in ("/", "⁄") else " ")
        else:
            return False
        return True

    def formula(self, node: LexborNode) -> bool:
        """Show a formula of one letter or number; others leave a hole."""
        annotation = node.css_first("annotation")
        image = node.css_first("img")
        tex = annotation.text(deep=True) if annotation else ""
        tex = tex or ((image.attributes.get("alt") or "") if image else "")
        inner = _DISPLAY_STYLE.fullmatch(tex.strip())
        if symbol := symbol_of((inner[1] if inner else tex).strip()):
            self.text(symbol)
        if self.side:
            self.side.formula(inner[1] if inner else tex, self.out.length)
        if symbol:
            return True
        self.page.names.append("<math>")
        if self.out.start >= 0:
            self.out.has_gap = True
            self.out.holes.append((self.out.length, "<math>"))
        return True

    def variant(self, source: str) -> None:
        """Show one of the variants of a language."""
        try:
            value = parse_json(source)
        except ParseError:
            return
        if not isinstance(value, dict):
            return
        shown = (value.get("disabled") or value.get("filter") or {}).get("t")
        if shown is None:
            choices = {each["l"]: each["t"] for each in value.get("twoway", ())}
            names = (*self.wiki.variants, self.wiki.lang, *choices)
            shown = next((choices[name] for name in names if name in choices), None)
        body = LexborHTMLParser(shown).body if shown else None
        if body is not None:
            self.children(body, 1)

    def leave_out(self, node: LexborNode, reason: str) -> None:
        """Count the words and links of an element that is no part of the text."""
        if reason == "markup":
            return
        if self.side:
            self.side.keep(node, reason, self.out.length, read=self.read_alone)
        anchors = [node] if node.tag == "a" else node.css("a")
        n_links = sum(self.target(anchor.attributes) is not None for anchor in anchors)
        shown = node.text(deep=True, separator=" ", strip=True)
        page = self.page
        page.left_out[reason] += count_words(shown)
        page.dropped["in_table" if reason == "table" else f"in_{reason}"] += n_links
        (page.in_tables if reason == "table" else page.in_notes).append(shown)

    # --- links

    def anchor(self, node: LexborNode, attributes: Attributes, depth: int) -> None:
        """Append the text of a link; one to an article is a mention."""
        target = self.target(attributes)
        before, n_blocks = self.out.length, len(self.out.blocks)
        self.children(node, depth)
        if target is None:
            return
        shown = _since(self.out, before)
        start = before + len(shown) - len(shown.lstrip())
        reason = target.reason
        if _is_code(shown.strip(), target.title):
            reason = "interwiki"
        if target.section and target.title == self.title:
            reason = "section"
        if not shown.strip():
            reason = "file" if node.css_first("img, video, audio") else reason or "empty"
        elif len(self.out.blocks) > n_blocks:
            reason = reason or "malformed"
        if reason:
            self.page.dropped[reason] += 1
            return
        end = start + len(shown.strip())
        self.out.has_link = True
        self.page.links.append(TitleLink(start, end, target.title, target.section))

    def target(self, attributes: Attributes) -> LinkTarget | None:
        """Return the page of this or another wiki that a link leads to; None for other links."""
        relation, names = attributes.get("rel") or "", attributes.get("class") or ""
        address = attributes.get("href")
        if "selflink" in names and not address:
            return self.wiki.target(f":{self.title}")
        is_external = "mw:ExtLink" in relation or "external" in names.split()
        if not address or is_external or "mw:PageProp" in relation:
            return None
        if "mw:WikiLink/Interwiki" in relation or "extiw" in names:
            return self.wiki.page_at(address)
        if address.startswith("#"):
            return LinkTarget("section", "", address[1:], "")
        if address not in self.targets:
            title = self.title_of(address)
            self.targets[address] = self.wiki.target(f":{title}") if title else None
        return self.targets[address]

    def title_of(self, address: str) -> str:
        """Return the title, with section, that an address of this wiki has; empty for others."""
        if query := _TITLE_IN_QUERY.search(address):
            return unquote(query[1]).replace("_", " ")
        base = self.wiki.base
        for start in ("./", base, base.partition(":")[2], "/wiki/"):
            if start and address.startswith(start):
                address = address[len(start) :]
                break
        else:
            if _NO_PAGE.match(address):
                return ""
            if in_zim := _IN_ZIM.fullmatch(address):
                address = f"{in_zim[1]}{in_zim[2] or ''}"
        name, sign, section = address.partition("#")
        return unquote(f"{name.partition('?')[0]}{sign}{section}").replace("_", " ")


def _joined(lines: re.Match[str]) -> str:
    """Join two lines, without a space between Chinese or Japanese characters."""
    return lines[1] if is_solid(lines[1]) and is_solid(lines[2]) else f"{lines[1]} "


def _is_code(shown: str, entity: str) -> bool:
    """Tell whether a link to another wiki shows no name, but only its language: ``[de]``."""
    return entity.startswith(ABROAD) and entity.startswith((f"{ABROAD}{shown}wik", f"{shown}:"))


def _since(out: PageBlocks, offset: int) -> str:
    """Return the text from an offset on."""
    pieces, left = [], out.length - offset
    for piece in reversed(out.parts):
        if left <= 0:
            break
        pieces.append(piece if len(piece) <= left else piece[-left:])
        left -= len(piece)
    return "".join(reversed(pieces))


def _is_shown_error(node: LexborNode) -> bool:
    """Tell whether an error message is shown, and not only to those who ask for it."""
    attributes: Attributes = node.attributes
    is_hidden = "hidden-error" in (attributes.get("class") or "")
    return not (is_hidden or _HIDDEN.search(attributes.get("style") or ""))


def _is_shown(figure: LexborNode | None) -> bool:
    """Tell whether the caption of a figure is shown: skins hide it where there is no frame."""
    kind = (figure.attributes.get("typeof") or "") if figure else ""
    return not kind or _FRAMED.search(kind) is not None


def _reason(tag: str, attributes: Attributes) -> str:
    """Return why an element is no part of the text; empty if it is one."""
    table = _left_out()
    if reason := table["tags"].get(tag):
        names = (attributes.get("class") or "").split() if tag == "table" else ()
        return next((of for name in names if (of := table["classes"].get(name))), reason)
    if not attributes:
        return ""
    for key, section in (("class", "classes"), ("typeof", "types"), ("role", "roles")):
        if value := attributes.get(key):
            reasons = table[section]
            for name in value.split():
                if reason := reasons.get(name):
                    return reason
    style = attributes.get("style") or ""
    if tag == "section":  # closed on a phone until it is touched
        return ""
    if _FOOTER.search(style):
        return "footer"
    if "hidden" in attributes or _HIDDEN.search(style):
        return "hidden"
    return "label" if _ON_PICTURE.search(style) else ""


@cache
def _left_out() -> Mapping[str, Mapping[str, str]]:
    """Map tags, classes, types and roles to the reason why they are left out."""
    source = (files("corpora") / "wikipedia" / "html" / "left_out.toml").read_text("utf-8")
    return {
        section: {name: reason for reason, names in reasons.items() for name in names}
        for section, reasons in parse_toml(source, where="left_out.toml").items()
    }
