"""Words by their lemmas, for editions whose words carry one (``<w lemma="Roma">Romae</w>``)."""

from dataclasses import dataclass
from functools import cached_property

from corpora.document import Document
from corpora.matching.composition import composed


@dataclass(frozen=True)
class Lemmas:
    """The text of a document in which each word that has a lemma is written by it."""

    document: Document

    @cached_property
    def text(self) -> str:
        """The text; its places are not those of the document."""
        return "".join(self._pieces)

    @cached_property
    def words(self) -> list[tuple[int, int, str]]:
        """The start and end of each word in the document, and its lemma.

        A lemma gets the capital of its word, because some editions write all lemmas small.
        """
        words: list[tuple[int, int, str]] = []
        for line in self.document.metadata.get("lemmas", "").split("\n"):
            start, _, rest = line.partition(" ")
            end, _, lemma = rest.partition(" ")
            if not lemma or (words and int(start) < words[-1][1]):
                continue  # no lemma, or a word inside another
            if self.document.text[int(start)].isupper():
                lemma = lemma[0].upper() + lemma[1:]
            words.append((int(start), int(end), lemma))
        return words

    @cached_property
    def _pieces(self) -> list[str]:
        pieces, last = [], 0
        for start, end, lemma in self.words:
            pieces += [self.document.text[last:start], lemma]
            last = end
        return [*pieces, self.document.text[last:]]

    @cached_property
    def _borders(self) -> tuple[dict[int, int], dict[int, int]]:
        """The starts and the ends of words, by their places in the text of lemmas."""
        starts, ends, length = {}, {}, 0
        for number, (start, end, lemma) in enumerate(self.words):
            length += len(self._pieces[2 * number])
            starts[length] = start
            length += len(lemma)
            ends[length] = end
        return starts, ends

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Find the place in the document of a place between words here; None: it is none."""
        starts, ends = self._borders
        return (starts[start], ends[end]) if start in starts and end in ends else None

    def form(self, start: int, end: int) -> str:
        """Return a place of the document as a form: its words by their lemmas, if all have one."""
        starts, ends = self._inverse
        if start in starts and end in ends:
            return composed(self.text[starts[start] : ends[end]])
        return composed(self.document.text[start:end])

    @cached_property
    def _inverse(self) -> list[dict[int, int]]:
        return [{at: here for here, at in side.items()} for side in self._borders]
