"""The light tree of a TEI file."""

import gc
import weakref

from corpora.tei.xml import parse_xml


def test_a_tree_is_freed_without_the_collector():
    """Units of a pipeline run without it: trees of all their files would stay."""
    root = parse_xml(b"<TEI><text><body><p>Jena</p></body></text></TEI>", name="a.xml")
    paragraph = root.find("p")
    assert [element.name for element in paragraph.chain()] == ["p", "body", "text", "tei"]
    kept = weakref.ref(root)

    gc.disable()
    try:
        del root
        assert kept() is None
    finally:
        gc.enable()
