from itertools import pairwise

import pytest

from corpora.errors import UsageError
from corpora.tei.patterns import parse_pattern
from corpora.tei.xml import Element

PATH = (
    Element("TEI", {}),
    Element("back", {}),
    Element("listPerson", {"type": "main"}),
    Element("persName", {"type": "main pref", "key": "P.1"}),
)
for above, below in pairwise(PATH):
    below.parent = above


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("persName", True),
        ("PERSNAME", True),
        ("*", True),
        ("placeName", False),
        ("persName[@key]", True),
        ("persName[not(@key)]", False),
        ("persName[@ref]", False),
        ("persName[@type='main']", False),
        ("persName[@type~='main']", True),
        ("persName[@type~='x'|'pref']", True),
        ("persName[@key='P.0'|\"P.1\"]", True),
        ("persName[@key!='P.0']", True),
        ("persName[@key!='P.0'|'P.1']", False),
        ("persName[@ref!='P.0']", True),
        ("persName[@key='P.1'][@type~='alt']", False),
        ("persName[@key^='P.']", True),
        ("persName[@key^='O.'|'P']", True),
        ("persName[@key^='1']", False),
        ("persName[@ref^='P.']", False),
        ("listPerson/persName", True),
        ("back/persName", False),
        ("back//persName", True),
        ("TEI//listPerson[@type='main']/persName", True),
        ("TEI//listPerson[@type='x']/persName", False),
        ("TEI/listPerson/persName", False),
        ("*/persName", True),
    ],
)
def test_pattern_fits(pattern, fits):
    assert parse_pattern(pattern).matches(PATH[-1]) is fits


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "expected an element's name"),
        ("persName[", "cannot read"),
        ("persName[@type=person]", "cannot read"),
        ("persName[@type == 'a']", "cannot read"),
        ("a/", "expected an element's name"),
        ("a b", "cannot read ' b'"),
        ("a[type='x']", "cannot read"),
    ],
)
def test_pattern_with_a_typo_is_refused(pattern, message):
    with pytest.raises(UsageError, match=message):
        parse_pattern(pattern)
