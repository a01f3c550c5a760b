"""The wikitext of one page, without a dump: its text, and its links as mentions."""

from corpora.document import Document, Mention, Paragraph, Span, without_crossing
from corpora.errors import UsageError
from corpora.segmentation.sentences import segmenter
from corpora.wikipedia.articles import ArticleReader, WikiArticle
from corpora.wikipedia.blocks import PageText, TitleLink
from corpora.wikipedia.pages import WikiPage
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import ABROAD, language_code, language_of, wiki_of


def read_page(source: str, *, wiki: str, title: str = "") -> Document:
    """Read a page of a wiki by the wiki's name (``dewiki``); its links are as written.

    Namespaces are those that the tables know, not those of a dump; redirects are not resolved. A
    redirect, and a page without text, is an empty document. Raises ``UsageError`` for a name that
    says no language.
    """
    if not language_code(wiki):
        raise UsageError(
            f"wiki {wiki!r}: is no name of a wiki. Give the one that its dumps have: dewiki, "
            "simplewiki, frwikisource."
        )
    known = wiki_of(name=wiki, lang=language_of(wiki))
    reader = ArticleReader(
        known, load_templates(known.codes), license=None, segmenter=segmenter(known.lang)
    )
    found = reader.read(WikiPage(title, text=source))
    text = found.text if isinstance(found, WikiArticle) else PageText()
    mentions, _ = without_crossing(_mention_of(wiki, link) for link in text.links)
    return Document(
        id=f"{wiki}:{title}",
        group=wiki,
        source=wiki,
        text=text.text,
        lang=known.lang or None,
        title=title or None,
        paragraphs=tuple(Paragraph(*block) for block in text.blocks),
        sentences=tuple(Span(*span) for span in getattr(found, "sentences", ())),
        mentions=tuple(mentions),
        categories=tuple(text.categories),
        metadata=getattr(found, "metadata", {}),
    )


def _mention_of(wiki: str, link: TitleLink) -> Mention:
    attributes = {"section": link.section} if link.section else {}
    abroad = link.target.removeprefix(ABROAD)
    entity = f"{wiki}:{link.target}" if abroad == link.target else abroad
    return Mention(link.start, link.end, entity=entity, origin="link", attributes=attributes)
