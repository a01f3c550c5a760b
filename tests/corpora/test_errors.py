"""Errors for users pass from one process to another."""

import pickle

import pytest

from corpora.errors import CorpusError, CountedError
from corpora.system.parsing import ParseError
from corpora.tei.xml import XmlError


@pytest.mark.parametrize(
    "error",
    [
        CorpusError("a.xml: bad"),
        CountedError("bad_page", "a.html: bad"),
        ParseError("a.json: bad"),
        XmlError("malformed_xml", "a.xml: bad", position="line 3, column 7", excerpt="<a"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_error_of_a_worker_process_comes_back_as_it_was(error):
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
