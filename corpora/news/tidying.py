"""What an extractor takes for the body, and is none: found by structure, in any language.

Each block that goes is counted as ``blocks.REASON``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from corpora.news.blocks import Block, key_of

_TITLE_WITHIN = 5
"""Blocks from the first, among which the title stands again."""
_BYLINE_WITHIN = 5
"""Blocks from the first or to the last, among which the authors are named."""
_MAX_BYLINE = 25
"""Letters of a byline beside the names."""
_MIN_QUOTE, _MAX_QUOTE = 20, 300
"""Letters of a block that stands inside of another: a pull quote, no accident."""
_MAX_QUOTES = 1_000
"""Blocks that may be quotes and are looked for in the others, the first of a page: no article has
as many, and each is searched for in the whole text."""
_MIN_PASSAGE = 200
"""Letters from which on a block that says the same as one before is no entry of a list."""
_MIN_SENTENCE = 60
"""Letters of a linked paragraph that is a sentence of the text."""
_SENTENCE_END = re.compile(r"[.!?…。！？।۔።][\"'”’»›“‘」』)）\]]*\Z")
_LISTED = frozenset({"cell", "code", "item"})
"""Kinds of blocks that may say the same as another."""
_COPYRIGHT = ("©", "(c)", "(C)", "Copyright")


def tidy(
    blocks: Sequence[Block],
    *,
    titles: Iterable[str],
    authors: Iterable[str],
    lead: Block | None,
    counters: Counter[str],
) -> list[Block]:
    """Leave out what is not of the body, and put the lead in front if it is missing.

    ``titles`` are all forms of the title; ``lead`` is a block of the page that says what its
    description does. Takes away: the title, bylines, blocks that are nothing but links, lines of
    copyright, blocks that repeat another or a part of one, headings after which nothing comes.
    """
    told = {key_of(title) for title in titles}
    names = sorted({key_of(author) for author in authors} - {""}, key=len, reverse=True)
    all_links = _all_links(blocks)
    kept, heads = [], []
    for index, block in enumerate(blocks):
        near_end = min(index, len(blocks) - 1 - index) < _BYLINE_WITHIN
        may_be_title = index < _TITLE_WITHIN or block.kind == "head"
        if may_be_title and block.key in told:
            counters["blocks.title"] += 1
            heads.append(block.key)
        elif near_end and _is_byline(block, names):
            counters["blocks.byline"] += 1
        elif index in all_links:
            counters["blocks.links"] += 1
        elif near_end and block.text.startswith(_COPYRIGHT):
            counters["blocks.copyright"] += 1
        else:
            kept.append(block)
    repeated = _repeated(kept, heads)  # not in all: what stands in one that goes would be lost
    counters.update({"blocks.repeated": len(repeated)} if repeated else {})
    kept = [block for index, block in enumerate(kept) if index not in repeated]
    while kept and kept[-1].kind == "head":
        kept.pop()
        counters["blocks.last_head"] += 1
    if kept and lead and not any(lead.key in block.key for block in kept):
        counters["blocks.lead"] += 1
        kept.insert(0, lead)
    return kept


def _is_byline(block: Block, names: Sequence[str]) -> bool:
    """Say whether a block names an author, and says hardly more."""
    rest = block.key
    for name in names:
        rest = rest.replace(name, "")
    return len(rest) < len(block.key) and len(rest) <= _MAX_BYLINE


def _all_links(blocks: Sequence[Block]) -> set[int]:
    """Indices of blocks of nothing but links; a linked sentence by itself is of the text."""
    found = {index for index, block in enumerate(blocks) if _is_all_links(block)}
    return {
        index
        for index in found
        if not _is_sentence(blocks[index]) or {index - 1, index + 1} & found
    }


def _is_sentence(block: Block) -> bool:
    """Say whether a block is a paragraph that ends as a sentence does."""
    is_long = len(block.key) >= _MIN_SENTENCE
    return block.kind == "p" and is_long and _SENTENCE_END.search(block.text) is not None


def _is_all_links(block: Block) -> bool:
    """Say whether no letter or digit of a block stands outside of links."""
    end = 0
    for link in block.links:
        if link.end > end:
            if key_of(block.text[end : link.start]):
                return False
            end = link.end
    return bool(block.links) and not key_of(block.text[end:])


def _repeated(blocks: Sequence[Block], heads: Sequence[str]) -> set[int]:
    """Indices of blocks that stand inside of another or a title, or say the same as one before.

    What says the same is no repetition where it may be meant: items and cells, headings, and short
    paragraphs apart from each other, as the questions of interviews are.
    """
    keys = [block.key for block in blocks]
    joined = "\n".join([*keys, *heads])
    times = Counter(keys)
    seen: set[str] = set()
    found = set()
    n_searched = 0
    for index, key in enumerate(keys):
        kind = blocks[index].kind
        if len(key) < _MIN_QUOTE or kind in _LISTED:
            continue
        is_near = index > 0 and keys[index - 1] == key
        may_be_quote = kind != "head" and times[key] == 1 and len(key) <= _MAX_QUOTE
        if key in seen:
            if is_near or len(key) >= _MIN_PASSAGE:
                found.add(index)
        elif may_be_quote and n_searched < _MAX_QUOTES:
            n_searched += 1
            if joined.count(key) > 1:
                found.add(index)
        seen.add(key)
    return found
