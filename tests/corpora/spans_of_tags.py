"""What is said of tags and spans in the slow, obvious way."""

from corpora.document import TokenSpan


def count_orphans(tags):
    """Count the ``I-x`` that come after neither ``B-x`` nor ``I-x``: IOB2 forbids them."""
    before = ("O", *tags)
    return sum(
        tag[0] == "I" and previous[1:] != tag[1:]
        for previous, tag in zip(before, tags, strict=False)
    )


def join_adjacent(spans):
    """Make one span of each maximal run of adjacent spans of one class; ``spans`` are in order."""
    joined = []
    for span in spans:
        if joined and (joined[-1].end, joined[-1].label) == (span.start, span.label):
            span = TokenSpan(start=joined.pop().start, end=span.end, label=span.label)  # noqa: PLW2901
        joined.append(span)
    return joined
