"""Transformers without its messages, and a small tokenizer."""

import pytest
import transformers

from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


@pytest.fixture(scope="module")
def tokenizer():
    subwords = [*SPECIALS, *(f"w{n}" for n in range(55))]
    return Tokenizer(wordpiece(subwords, cased=True), name="small")
