"""From the bytes of a NER file to the sentences in it: the reader that fits its layout."""

from corpora.ner.column_text import read_column_text
from corpora.ner.found import Found, Origin
from corpora.ner.json_text import read_cluener, read_sentence_array
from corpora.ner.layout import Layout
from corpora.ner.running_text import read_running_text

BOM = b"\xef\xbb\xbf"


def read_text(data: bytes, layout: Layout, origin: Origin, *, first_line: int = 1) -> Found:
    """Read UTF-8 of any format but Parquet; a part of a file begins with its ``first_line``."""
    has_bom = first_line == 1 and data.startswith(BOM)
    data = data.removeprefix(BOM) if has_bom else data
    if layout.format == "europeana":
        found = read_running_text(data, layout, origin, first_line=first_line)
    elif layout.format == "cluener":
        found = read_cluener(data, origin, first_line=first_line)
    elif layout.format == "json":
        found = read_sentence_array(data, origin)
    else:
        found = read_column_text(data, layout, origin, first_line=first_line)
    found.counters["byte_order_marks"] += has_bom
    return found
