"""Records of tags that a correction took out of a file, by which ``undo`` puts them back.

A record stands in the place of the tag, as a processing instruction, which schemas and readers
ignore: ``<?onoma-was 3f2a91 a1b2c3 #onoma-review #kb <persName ref="#p1">?>``. It has a fingerprint
of the name as it was, the fingerprint of the name that replaced it (``-``: none did), who is
responsible, and the tag.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import NamedTuple

from corpora.tei.provenance import fingerprint
from corpora.tei.source import Edit, Node, Source

_RECORD = re.compile(r"<\?onoma-was ([0-9a-f]{6}) ([0-9a-f]{6}|-) ([^<>]*) (<[^?]*>)\?>")
NO_RECORD = "?"
"""A tag with this character has no record."""


class Recorded(NamedTuple):
    """An element whose tags are recorded: the places of both records, and what they say."""

    opening: re.Match[str]
    closing: re.Match[str]
    text: str
    """The text between the tags."""

    @property
    def new(self) -> str:
        """The fingerprint of the name that replaced the element; ``-`` if none did."""
        return self.opening[2]

    @property
    def resp(self) -> str:
        """The pointers to those who are responsible."""
        return self.opening[3]

    @property
    def tag(self) -> str:
        """The start tag."""
        return self.opening[4]

    def is_as_written(self) -> bool:
        """Tell whether the text between the tags is as it was."""
        return fingerprint(self.tag, (), self.text) == self.opening[1]

    def edits(self) -> Iterator[Edit]:
        """Yield the edits that put the tags back."""
        for match in (self.opening, self.closing):
            yield Edit(*match.span(), match[4])


def record(source: Source, node: Node, resp: str, *, new: str | None) -> Iterator[Edit]:
    """Replace both tags of an element by records of them."""
    opening = source.text[node.start : node.content_start]
    print_ = fingerprint(opening, (), source.stream[node.first : node.last])
    for start, end in ((node.start, node.content_start), (node.content_end, node.end)):
        head = f"<?onoma-was {print_} {new or '-'} {resp}"
        yield Edit(start, end, f"{head} {source.text[start:end]}?>")


def records_in(source: Source, going: Collection[int] = ()) -> Iterator[Recorded]:
    """Yield the recorded elements of a file whose two records are in the same element.

    ``going`` are the numbers of elements that will be removed, and do not count.
    """
    if "<?onoma-was " not in source.text:
        return
    open_: list[re.Match[str]] = []
    for match in _RECORD.finditer(source.text):
        if not match[4].startswith("</"):
            open_.append(match)
            continue
        same = [
            number
            for number, before in enumerate(open_)
            if before.groups()[:3] == match.groups()[:3]
        ]
        if not same:
            continue
        opening = open_.pop(same[-1])
        places = (opening.start(), match.start())
        first_around, last_around = (_around(source, place, going) for place in places)
        if first_around is last_around:
            first, last = map(source.offset_at, (opening.end(), match.start()))
            yield Recorded(opening, match, source.stream[first:last])


def _around(source: Source, position: int, going: Collection[int]) -> Node:
    """Find the innermost element around a position of the file that will not be removed."""
    node = source.nodes[bisect_left(source.node_starts, position) - 1]
    while node.parent is not None and (node.end <= position or node.number in going):
        node = node.parent
    return node
