"""Characters to tokens: documents become the sentences of a ``ner`` dataset.

Of nested names, ``levels`` chooses which become tags, and which inner tags.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Literal, get_args

from corpora.document import Document, Mention, Sentence, TokenSpan, part_of_text
from corpora.segmentation.sentences import Segmenter, segmenter
from corpora.tagging import to_iob2

Nested = Literal["outer", "inner", "all"]
NESTED: tuple[str, ...] = get_args(Nested)


def to_sentences(
    document: Document,
    split: Callable[[str], str],
    *,
    nested: Nested = "outer",
    segmenter_at: Callable[[int], Segmenter] | None = None,
) -> Iterator[Sentence]:
    """Cut a document into tagged sentences, with ids from ``DOCUMENT#1``.

    ``split`` maps id to split. ``segmenter_at`` returns the segmenter of the sentence at an offset;
    by default, the one of the document's language.

    Words are cut where a name begins or ends, so that each name has exactly its characters.
    ``nested`` selects among nested names: the outer, the inner, or both (``all``: the outermost in
    ``tags``, those directly inside in ``inner_tags``).
    """
    breaker = segmenter(document.lang)
    outer, inner = levels(document.mentions, nested)
    text = document.text
    edges = breaker.edges(text)
    blocks = [paragraph.start for paragraph in document.paragraphs]
    cuts = sorted({edge for name in (*outer, *inner) for edge in (name.start, name.end)})
    for number, sentence in enumerate(document.sentences, 1):
        sentence_id = f"{document.id}#{number}"
        inside = cuts[bisect_right(cuts, sentence.start) : bisect_left(cuts, sentence.end)]
        cutter = segmenter_at(sentence.start) if segmenter_at else breaker
        words = cutter.words(text, sentence, cuts=inside, edges=edges)
        yield Sentence(
            id=sentence_id,
            document_id=document.id,
            split=split(sentence_id),
            tokens=tuple([text[start:end] for start, end in words]),
            tags=to_iob2(to_token_spans(outer, words), len(words)),
            inner_tags=to_iob2(to_token_spans(inner, words), len(words))
            if nested == "all"
            else None,
            token_starts=tuple([start for start, _ in words]),
            origin=_origin(document, bisect_right(blocks, sentence.start) - 1),
        )


def _origin(document: Document, block: int) -> str | None:
    return part_of_text(document.paragraphs[block].kind) if block >= 0 else None


def levels(mentions: Sequence[Mention], nested: Nested) -> tuple[list[Mention], list[Mention]]:
    """Select which of nested names are tagged: the first level, and (``all``) the second.

    ``mentions`` nest and are in reading order, as in a ``Document``; those without a label are
    ignored.
    """
    by_depth: list[list[Mention]] = [[], []]
    innermost: list[Mention] = []
    open_: list[Mention] = []
    for mention in (m for m in mentions if m.label is not None):
        while open_ and open_[-1].end <= mention.start:
            open_.pop()
        if len(open_) < 2:
            by_depth[len(open_)].append(mention)
        if open_ and innermost and innermost[-1] is open_[-1]:
            innermost.pop()
        innermost.append(mention)
        open_.append(mention)
    if nested == "inner":
        return innermost, []
    return by_depth[0], by_depth[1] if nested == "all" else []


def to_token_spans(
    mentions: Sequence[Mention], words: Sequence[tuple[int, int]]
) -> list[TokenSpan]:
    """Find the words that each mention covers, fully or in part.

    Mentions without words are omitted. ``mentions`` do not overlap, and no two share a word; both
    are in order.
    """
    if not words:
        return []
    (begin, _), (_, limit) = words[0], words[-1]
    first = bisect_left(mentions, begin + 1, key=lambda mention: mention.end)
    if first == len(mentions) or mentions[first].start >= limit:
        return []
    starts, ends = zip(*words, strict=True)
    spans = []
    for mention in islice(mentions, first, None):
        if mention.start >= limit:
            break
        start = bisect_left(ends, mention.start + 1)
        end = bisect_left(starts, mention.end)
        if start < end and mention.label is not None:
            spans.append(TokenSpan(start=start, end=end, label=mention.label))
    return spans


def count_untagged(document: Document, nested: Nested) -> Counter[str]:
    """Count, by label, the names of a document that ``levels`` leaves out."""
    outer, inner = levels(document.mentions, nested)
    labels = Counter(mention.label for mention in document.mentions)
    labels.subtract(mention.label for mention in (*outer, *inner))
    return Counter(
        {f"nested names not in ner: {label}": n for label, n in labels.items() if label and n}
    )
