"""Words of Chinese text, as jieba cuts them."""

import re
import warnings
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from corpora.errors import UsageError

if TYPE_CHECKING:
    import jieba

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{2,}")


def check_jieba(option: str) -> None:
    """Raise ``UsageError`` where jieba is not installed; ``option`` is what asks for it."""
    if find_spec("jieba") is None:
        raise UsageError(
            f"{option}: jieba is not installed. Install it: pip install 'onoma[chinese]'."
        )


def inner_characters(text: str) -> list[int]:
    """Find the offsets of Han characters that continue a word of several characters."""
    if not _HAN.search(text):
        return []
    tokens = _tokenizer().tokenize(text)
    words = ((start, end) for word, start, end in tokens if _HAN.fullmatch(word))
    return [place for start, end in words for place in range(start + 1, end)]


@cache
def _tokenizer() -> "jieba.Tokenizer":
    """Load jieba's own dictionary, but not the cache that it would trust in a shared folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of modules that jieba imports
        import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
