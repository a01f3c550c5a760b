"""Words that need no discovery."""

import tomllib
from importlib.resources import files

import pytest

from corpora.lexicon.known import _OPENCC


@pytest.mark.parametrize("conversion", _OPENCC)
def test_function_words_have_their_traditional_forms(conversion):
    opencc = pytest.importorskip("opencc")
    table = tomllib.loads((files("corpora.lexicon") / "functions.toml").read_text("utf-8"))
    words = set(table["zh"].split())

    traditional = {*map(opencc.OpenCC(conversion).convert, words)}

    assert traditional - words == set()
