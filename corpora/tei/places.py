"""The place in the file of each character of a document's text."""

from array import array
from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple

from corpora.segmentation.scripts import SOLID_WRAP
from corpora.tei.edition import Edition
from corpora.tei.layout import WORDS, TextLayout
from corpora.tei.reader import TeiText, read_tree
from corpora.tei.source import Node, PlacedText, Source
from corpora.tei.xml import Element

_MADE = -1
_ELEMENTS = -2  # minus the index of the element


class CharacterPlace(NamedTuple):
    """The place of a character: its range in the file, and the innermost node around it."""

    start: int
    end: int
    node: Node


class PlacedLayout(TextLayout):
    """A layout that records where each character comes from.

    ``origins`` has one number for each character of the text: its offset in the stream of the
    source; -1 for a generated character; -2 minus the index of the element for a character that an
    element stands for.
    """

    __slots__ = ("origins", "source")

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.origins = array("q")

    def append(self, text: str, *, preserve: bool = False) -> None:
        """Add characters, and their origins."""
        n_removed = self.hyphens_removed
        super().append(text, preserve=preserve)
        if self.hyphens_removed > n_removed:
            self.origins.pop()
        if isinstance(text, PlacedText):
            self._trace(text, preserve=preserve)

    def _trace(self, text: PlacedText, *, preserve: bool) -> None:
        at = text.offset
        if preserve:
            added = array("q", range(at, at + len(text)))
        else:
            added = array("q")
            end = 0
            for word in WORDS.finditer(text):
                if added and not SOLID_WRAP.match(text, end):
                    added.append(_MADE)  # one space replaces all white space
                end = word.end()
                added.extend(range(at + word.start(), at + end))
        self._align(added)

    def append_sign(self, sign: str, element: Element) -> None:
        """Add characters that an empty element stands for, with their origins."""
        super().append_sign(sign, element)
        assert isinstance(element, Node)  # noqa: S101 - of a file whose places are known
        self._align(array("q", [_ELEMENTS - element.number] * len(sign)))

    def _align(self, added: "array[int]") -> None:
        """Append origins; characters before them that have none yet were generated."""
        if added:
            n_made = self.length - len(self.origins) - len(added)
            self.origins.extend([_MADE] * n_made)
            self.origins.extend(added)


class CharacterPlaces:
    """The place of each character of a document; ``places[i]`` is None for a generated one.

    Generated characters are the line ends between blocks and the spaces that replace white space:
    no name begins or ends with them.
    """

    def __init__(self, source: Source, origins: "array[int]", text: str) -> None:
        self.source = source
        self.origins = origins[: len(text)]
        """The origin of each character, as in ``PlacedLayout.origins``."""

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, index: int) -> CharacterPlace | None:
        origin = self.origins[index]
        if origin >= 0:
            source = self.source
            return CharacterPlace(
                source.starts[origin], source.ends[origin], source.node_of(origin)
            )
        if origin == _MADE:
            return None
        node = self.source.nodes[_ELEMENTS - origin]
        around = next(n for n in node.chain() if n is not node and not n.is_expanded)
        return CharacterPlace(node.start, node.end, around)

    def offset(self, index: int) -> int | None:
        """Return the offset of a character in the stream of the source, or None."""
        return origin if (origin := self.origins[index]) >= 0 else None

    @cached_property
    def atoms(self) -> dict[int, tuple[int, int]]:
        """Characters that cannot be separated: position in the file to first and last index.

        They come from one reference to an entity, or from one element that stands for them.
        """
        atoms: dict[int, tuple[int, int]] = {}
        for index, origin in enumerate(self.origins):
            start = self._start(origin)
            if origin <= _ELEMENTS or (origin >= 0 and self.source.text[start] == "&"):
                first, _ = atoms.get(start, (index, index))
                atoms[start] = (first, index)
        return atoms

    def _start(self, origin: int) -> int:
        """Return the position in the file of an origin; -1 for a generated character."""
        if origin >= 0:
            return self.source.starts[origin]
        return self.source.nodes[_ELEMENTS - origin].start if origin != _MADE else -1

    @cached_property
    def _starts(self) -> "array[int]":
        return array("q", sorted(map(self._start, self.origins)))

    def any_between(self, start: int, end: int) -> bool:
        """Tell whether characters of the document are written between two positions of the file."""
        index = bisect_left(self._starts, start)
        return index < len(self._starts) and self._starts[index] < end


def read_source(source: Source, edition: Edition) -> list[tuple[TeiText, CharacterPlaces]]:
    """Read a file with the places of its characters."""
    layouts: list[PlacedLayout] = []

    def layout() -> TextLayout:
        layouts.append(PlacedLayout(source))
        return layouts[-1]

    texts = read_tree(
        source.root, edition, name=source.name, layout=layout, may_be_part=True, with_lemmas=True
    )
    return [
        (text, CharacterPlaces(source, layout.origins, text.document.text if text.document else ""))
        for text, layout in zip(texts, layouts, strict=True)
    ]
