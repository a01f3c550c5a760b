"""Inputs at which the tokenizers library fails or panics end in a clear error."""

import json

import pytest

from corpora.errors import CorpusError
from corpora.tokenization.subwords import clear_errors
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer

SUBWORDS = [*SPECIALS, "a", "b", "ab"]
VOCAB = {subword: id for id, subword in enumerate(SUBWORDS)}
BASE = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
    "model": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": VOCAB,
    },
}
UNREADABLE = {
    "characters": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "prefix": {
        "model": {
            "type": "BPE",
            "continuing_subword_prefix": "####",
            "vocab": VOCAB,
            "merges": ["a b"],
        }
    },
}
BREAKS = {
    "characters": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAP////8="}},
    "length": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "unknown subword": {
        "model": {"type": "Unigram", "unk_id": None, "vocab": [[p, 0.0] for p in SUBWORDS]}
    },
}


def written(folder, changes):
    (folder / "tokenizer.json").write_text(json.dumps({**BASE, **changes}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("changes", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_at_which_the_library_panics_is_not_read(changes, tmp_path):
    with pytest.raises(CorpusError, match=r"tokenizer\.json: no tokenizer\.json that can be read"):
        Tokenizer.open(written(tmp_path, changes))


@pytest.mark.parametrize("changes", BREAKS.values(), ids=BREAKS)
def test_a_text_at_which_the_library_panics_is_a_clear_error(changes, tmp_path):
    tokenizer = Tokenizer.open(written(tmp_path, changes))

    with pytest.raises(CorpusError, match="the tokenizer cannot cut a text"):
        tokenizer.encode(["a ö b"])


def test_a_stop_is_no_error_of_the_library():
    with pytest.raises(KeyboardInterrupt), clear_errors("here"):
        raise KeyboardInterrupt
