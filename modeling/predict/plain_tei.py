"""A plain text as a new TEI file, with its names as elements."""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from corpora.document import Document
from corpora.errors import CorpusError
from corpora.tei.edition import Edition
from corpora.tei.reader import read_tei
from corpora.tei.writer import WriteOptions, write_predictions
from modeling.predict.tei import check_tagger_labels, model_of
from modeling.taggers.tagger import Tagger

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold (section 2.2)."""
_HEADER = """\
  <teiHeader>
    <fileDesc>
      <titleStmt>
        <title>{title}</title>
      </titleStmt>
      <publicationStmt><p>Not published.</p></publicationStmt>
      <sourceDesc><p>Made of a plain text.</p></sourceDesc>
    </fileDesc>
  </teiHeader>
"""


def to_tei(document: Document) -> bytes:
    """A file of TEI P5 in UTF-8 with the paragraphs of a text, and no names.

    Raises ``CorpusError`` for a character that XML cannot hold.
    """
    if found := _NOT_XML.search(document.text):
        raise CorpusError(
            f"--format tei: character {found.start()} of the text (U+{ord(found[0]):04X}) cannot "
            "stand in XML. Take it out, or choose another --format."
        )
    return "".join(_lines(document)).encode()


def _lines(document: Document) -> Iterator[str]:
    lang = f" xml:lang={quoteattr(document.lang)}" if document.lang else ""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<TEI xmlns="http://www.tei-c.org/ns/1.0"{lang}>\n'
    yield _HEADER.format(title=escape(document.title or "Untitled"))
    yield "  <text>\n    <body>\n"
    for paragraph in document.paragraphs:
        text = escape(document.text[paragraph.start : paragraph.end])
        yield f'      <p xml:space="preserve">{text}</p>\n'
    if not document.paragraphs:
        yield "      <p/>\n"
    yield "    </body>\n  </text>\n</TEI>\n"


def text_with_names(
    document: Document, tagger: Tagger, edition: Edition, *, threshold: float = 0.0
) -> str:
    """A TEI file of a text, with what the tagger finds in the elements of an edition.

    Raises ``UsageError`` for a label that the edition cannot write.
    """
    check_tagger_labels(tagger, edition)
    data = to_tei(document)
    texts = [text.document for text in read_tei(data, edition, name="text") if text.document]
    found = tagger.annotate_all(texts)
    written = write_predictions(
        data,
        edition,
        {one.id: one.mentions for one in found},
        name="text",
        model=model_of(tagger),
        options=WriteOptions(threshold=threshold),
    )
    return written.data.decode()
