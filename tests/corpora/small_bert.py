"""A small tokenizer of BERT's kind, and texts that are hard for it."""

import numpy as np
import pytest
from hypothesis import strategies as st

from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece

LETTERS = "abcdefghijklmnoprstuwzäöüßéçşıñθσςи中文日本かな😀0123456789.,-#[]()'"
VOCAB = [
    *SPECIALS,
    *dict.fromkeys(LETTERS + LETTERS.upper()),
    *dict.fromkeys(f"##{c}" for c in LETTERS + LETTERS.upper() + "\u0307\u0301"),
    *("haus", "##haus", "Haus", "##ber", "über", "uber", "##lin", "Ber", "ber", "is", "##tan"),
]
CHARACTERS = st.sampled_from(
    " \t\n\r\x00\x1c\x85\xa0\xad\u200b\u200d\u2028\u3000\ufeff\ufffd"
    "İıẞßÄäÅåŞşﬁǅΣσς" + "\u0301\u0307\u0308" + "中文㐀𠀀가かカ・，。「¿«…–😀👩\U0001f3fd" + LETTERS
) | st.characters(max_codepoint=0x24F)
TEXTS = st.lists(
    st.text(CHARACTERS, max_size=30)
    | st.text("中文㐀鿿𠀀か,。aß \n\u0301", max_size=20)
    | st.lists(st.sampled_from(["Haus", "über", "[SEP]", "[MASK]", "Berlin", "a" * 101])).map(
        " ".join
    ),
    max_size=4,
)
KINDS = pytest.mark.parametrize(
    ("cased", "strip_accents"), [(True, False), (False, False), (False, None), (True, None)]
)


def bert(cased, strip_accents, vocab=VOCAB):
    return Tokenizer(wordpiece(vocab, cased=cased, strip_accents=strip_accents), name="bert")


def rows_of(subwords):
    begins = np.isin(np.arange(len(subwords)), subwords.word_starts)
    columns = (subwords.ids, subwords.starts, subwords.ends, begins)
    return list(zip(*(column.tolist() for column in columns), strict=True))
