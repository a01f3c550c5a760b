"""Removal of blocks that an extractor wrongly takes for the body, by structure, in any language.

Each removed block is counted as ``blocks.REASON``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from corpora.news.blocks import Block, is_letter, key_of
from corpora.news.bylines import names_of
from corpora.segmentation.scripts import n_letters

_TITLE_WITHIN = 5
"""The number of first blocks that may repeat the title or be a dateline."""
_BYLINE_WITHIN = 5
"""The number of first and of last blocks that may be a byline or a copyright line."""
_MAX_BYLINE = 25
"""The most letters of a byline besides the names."""
_MIN_QUOTE, _MAX_QUOTE = 20, 300
"""The least and most letters of a pull quote: a block whose text is also part of another block."""
_MAX_QUOTES = 1_000
"""The most blocks that are tried as pull quotes, the first of the page. No article has as many, and
each is searched for in the whole text."""
_MIN_PASSAGE = 200
"""The least letters of a block for an equal one further down to be a mere repetition."""
_MIN_SENTENCE = 60
"""The least letters of a linked paragraph that counts as a sentence of the text."""
_SENTENCE_END = re.compile(r"[.!?…。！？।۔።][\"'”’»›“‘」』)）\]]*\Z")
_LISTED = frozenset({"cell", "code", "item"})
"""Kinds of blocks that may repeat others on purpose."""
_MIN_TITLE = 20
"""The least letters of a title for a block that ends with it to be a kicker with the title."""
_MAX_DATELINE = 25
"""The most letters of a line with a date or time."""
_UNITS = str.maketrans("", "", "年月日時时分秒년월일시분초")
"""The units of dates in Chinese, Japanese and Korean, which stand where others have marks."""
_MOMENT = re.compile(r"(?:19|20)\d\d|\d:\d\d")
_MAX_INTRODUCTION = 40
"""The most letters of a line that introduces links, before or above them: ``Read also:``."""
_MAX_ANNOUNCEMENT = 30
"""The most letters of a last line with a colon that announces what was removed."""
_MIN_HEADLINE = 25
"""The least characters of linked text behind an introduction for it to be a headline."""
_ADDRESS = re.compile(r"https?://\S+")
_COPYRIGHT = ("©", "(c)", "(C)", "Copyright")


def tidy(
    blocks: Sequence[Block],
    *,
    titles: Iterable[str],
    authors: Iterable[str],
    max_links: float = 1.0,
    counters: Counter[str],
) -> list[Block]:
    """Drop blocks that are not of the body.

    ``titles`` are all forms of the title. Drops the title, datelines, bylines, lines of copyright,
    and blocks that repeat another or a part of one; headings, and short lines with a colon, with
    nothing after them; and blocks of nothing but links, unless more than ``max_links`` of all
    characters are theirs.
    """
    title_keys = {key_of(title) for title in titles}
    names = sorted({key_of(author) for author in authors} - {""}, key=len, reverse=True)
    long_titles = tuple(key for key in title_keys if n_letters(key) >= _MIN_TITLE)
    all_links = _all_links(blocks)
    if sum(len(blocks[i].text) for i in all_links) > max_links * sum(len(b.text) for b in blocks):
        all_links = set()
    all_links |= _introductions(blocks, all_links)
    kept, heads = [], []
    for index, block in enumerate(blocks):
        near_end = min(index, len(blocks) - 1 - index) < _BYLINE_WITHIN
        may_be_title = index < _TITLE_WITHIN or block.kind == "head"
        if may_be_title and (block.key in title_keys or _has_kicker(block, long_titles)):
            counters["blocks.title"] += 1
            heads.append(block.key)
        elif index < _TITLE_WITHIN and is_dateline(block):
            counters["blocks.date"] += 1
        elif near_end and _is_byline(block, names):
            counters["blocks.byline"] += 1
        elif index in all_links:
            counters["blocks.links"] += 1
        elif near_end and block.text.startswith(_COPYRIGHT):
            counters["blocks.copyright"] += 1
        else:
            kept.append(block)
    repeated = _repeated(kept, heads)  # not of all blocks: removed ones may hold the only copy
    counters.update({"blocks.repeated": len(repeated)} if repeated else {})
    kept = [block for index, block in enumerate(kept) if index not in repeated]
    while kept and (kept[-1].kind == "head" or _announces(kept[-1])):
        kept.pop()
        counters["blocks.last_head"] += 1
    return kept


def with_leads(
    blocks: Sequence[Block], leads: Iterable[Block], counters: Counter[str]
) -> list[Block]:
    """Put the leads that are missing in front of the blocks, each once, if there are blocks."""
    missing = {
        lead.key: lead for lead in leads if not any(lead.key in block.key for block in blocks)
    }
    if not blocks or not missing:
        return list(blocks)
    counters["blocks.lead"] += len(missing)
    return [*missing.values(), *blocks]


def _announces(block: Block) -> bool:
    """Tell whether a block is a short line that ends with a colon: ``More on this:``."""
    return block.text.endswith((":", "：")) and block.n_letters <= _MAX_ANNOUNCEMENT


def _is_byline(block: Block, names: Sequence[str]) -> bool:
    """Tell whether a block names an author and hardly more, or reads like ``By Jane Doe``."""
    if block.kind != "item" and names_of(block.text):
        return True
    rest = block.key
    for name in names:
        rest = rest.replace(name, "")
    return len(rest) < len(block.key) and n_letters(rest) <= _MAX_BYLINE


def _has_kicker(block: Block, titles: tuple[str, ...]) -> bool:
    """Tell whether a block is a title after a kicker, at most twice as long as the titles."""
    return block.key.endswith(titles) and len(block.key) <= 2 * max(map(len, titles))


def is_dateline(block: Block) -> bool:
    """Tell whether a block is a date or a time and hardly more."""
    letters = "".join(filter(is_letter, block.text)).translate(_UNITS)
    return n_letters(letters) <= _MAX_DATELINE and _MOMENT.search(block.text) is not None


def _all_links(blocks: Sequence[Block]) -> set[int]:
    """Return the indices of blocks of nothing but links, perhaps after an introduction.

    A linked sentence or cell with no such block beside it belongs to the text.
    """
    found = {index for index, block in enumerate(blocks) if _is_all_links(block)}
    return {
        index
        for index in found
        if not (blocks[index].kind == "cell" or _is_sentence(blocks[index]))
        or {index - 1, index + 1} & found
    }


def _introductions(blocks: Sequence[Block], all_links: set[int]) -> set[int]:
    """Return the indices of short lines, not sentences, just before blocks of only links."""
    return {
        index - 1
        for index in all_links - {0}
        if index - 1 not in all_links and _is_introduction(blocks[index - 1])
    }


def _is_introduction(block: Block) -> bool:
    is_short = block.n_letters <= _MAX_INTRODUCTION and block.kind == "p"
    return is_short and _SENTENCE_END.search(block.text) is None


def _is_sentence(block: Block) -> bool:
    """Tell whether a block is a long paragraph that ends like a sentence."""
    is_long = block.n_letters >= _MIN_SENTENCE
    return block.kind == "p" and is_long and _SENTENCE_END.search(block.text) is not None


def _is_all_links(block: Block) -> bool:
    """Tell whether all letters and digits of a block stand in links, or are an address.

    A short introduction that ends with a colon may stand before the links.
    """
    if not block.links:
        return _ADDRESS.fullmatch(block.text) is not None
    before = block.text[: block.links[0].start].rstrip()
    is_long = n_letters(block.text) - n_letters(before) >= _MIN_HEADLINE
    has_introduction = (
        is_long and before.endswith(":") and n_letters(key_of(before)) <= _MAX_INTRODUCTION
    )
    end = len(before) if has_introduction else 0
    for link in block.links:
        if link.end > end:
            if key_of(block.text[end : link.start]):
                return False
            end = link.end
    return not key_of(block.text[end:])


def _repeated(blocks: Sequence[Block], heads: Sequence[str]) -> set[int]:
    """Return the indices of blocks that repeat an earlier block, or a part of a block or title.

    Equal blocks stay where the repetition may be meant: items, cells and code, and headings and
    short paragraphs that are not adjacent, as the questions of interviews.
    """
    keys = [block.key for block in blocks]
    joined = "\n".join([*keys, *heads])
    times = Counter(keys)
    seen: set[str] = set()
    found = set()
    n_searched = 0
    for index, key in enumerate(keys):
        kind, size = blocks[index].kind, n_letters(key)
        if size < _MIN_QUOTE or kind in _LISTED:
            continue
        is_near = index > 0 and keys[index - 1] == key
        may_be_quote = kind != "head" and times[key] == 1 and size <= _MAX_QUOTE
        if key in seen:
            if is_near or size >= _MIN_PASSAGE:
                found.add(index)
        elif may_be_quote and n_searched < _MAX_QUOTES:
            n_searched += 1
            if joined.count(key) > 1:
                found.add(index)
        seen.add(key)
    return found
