"""Features from an encoder: a mention compared with training mentions and descriptions.

``ContextVectors`` compares the vector of a mention with those of the training mentions of each
candidate (except those of the same document), and with that of the candidate's description. All
vectors are first centred and scaled to length 1, because those of sentence encoders point almost
the same way.

Shapes: N windows, M linked training mentions, E descriptions, C candidates of a mention, D width.

``vectors.npy``
    (3 + M + E, 2, D), memory-mapped: the mean of the mentions, the mean of the descriptions, the
    vectors of a constant text that identifies the encoder, then the mentions in the order of the
    records, then the descriptions. The second axis is ``TEXT`` and ``NAME``: the mean over the
    whole window, and over the mention.
``descriptions.jsonl``
    the entities of the descriptions, in order
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from corpora.document import Span
from corpora.errors import CorpusError
from corpora.system.parsing import read_json
from modeling.link.candidates import FEATURES, READ, Candidates, Features
from modeling.link.records import LinkRecord, MentionWindow

if TYPE_CHECKING:
    from modeling.taggers.encoder import Encoder

Vectors = NDArray[np.float32]
VECTORS: Final = "vectors.npy"
DESCRIPTIONS: Final = "descriptions.jsonl"
TEXT, NAME = 0, 1
_MAX_SUBWORDS: Final = 32
_MIN_SUBWORDS: Final = 8
_MIN_LAYERS: Final = 6  # an encoder is read up to its middle layer, but through so many at least
_N_NEAREST: Final = 3
_AT_ONCE: Final = 512  # windows that are read together, sorted by length
_PROBE: Final = MentionWindow("", "Onoma", ": names, and who is meant.")
_MENTIONS, _DESCRIPTIONS, _OF_PROBE, _N_HEAD = range(4)
_FIRST: Final = FEATURES.index(READ[0])
_PROMPTS: Final = "config_sentence_transformers.json"


class WindowReader:
    """Vectors of windows, by an encoder that is opened when it is first needed.

    Args:
        folder: whatever ``modeling.taggers.encoder.Encoder`` opens.
        keeps: whether vectors are kept in memory, so that no window is read twice.
    """

    def __init__(self, folder: Path, *, keeps: bool) -> None:
        self.folder, self._keeps = folder, keeps
        self._known: dict[MentionWindow, Vectors] = {}

    @cached_property
    def _encoder(self) -> "Encoder":
        from modeling.taggers.encoder import Encoder  # noqa: PLC0415 - slow

        encoder = Encoder.load(self.folder)
        encoder.keep_layers(max(_MIN_LAYERS, encoder.config.n_layers // 2))
        return encoder

    @cached_property
    def _prompt(self) -> str:
        """The prompt that the model expects before its input; empty if it has none.

        It is the prompt for queries in ``config_sentence_transformers.json``.
        """
        file = self.folder / _PROMPTS
        prompts = read_json(file).get("prompts", {}) if file.is_file() else {}
        return str(prompts.get("query", ""))

    def read(self, windows: Sequence[MentionWindow]) -> Vectors:
        """Compute vectors of windows, (N, 2, D): the mean of all subwords, and of the mention's."""
        new = [window for window in dict.fromkeys(windows) if window not in self._known]
        new.sort(key=lambda window: sum(map(len, window)))
        known = self._known if self._keeps else dict(self._known)
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            known.update(zip(some, self._read(some), strict=True))
        empty = np.zeros((0, 2, self._encoder.width), np.float32)
        return np.stack([known[window] for window in windows]) if windows else empty

    def _read(self, windows: Sequence[MentionWindow]) -> list[Vectors]:
        texts, places = [], []
        for before, form, after in self._cut(windows):
            start = len(self._prompt + before)
            texts.append(self._prompt + before + form + after)
            places.append([Span(0, len(texts[-1])), Span(start, start + len(form))])
        return self._encoder.spans(texts, places, parts="mean")

    def _cut(self, windows: Sequence[MentionWindow]) -> list[MentionWindow]:
        """Cut windows on both sides, so that each has at most ``_MAX_SUBWORDS`` subwords.

        The prompt counts, too, but ``_MIN_SUBWORDS`` stay for the window. Raises ``CorpusError``
        for an encoder that reads fewer at once, or a prompt that does not leave so many.
        """
        tokenizer, room = self._encoder.tokenizer, self._encoder.room
        [prompt] = tokenizer.encode([self._prompt])
        if room < _MIN_SUBWORDS:
            raise CorpusError(
                f"{self.folder}: reads {room:,} subwords at once, but a name with its text needs "
                f"{_MIN_SUBWORDS}. Take another --encoder."
            )
        if len(prompt.ids) > room - _MIN_SUBWORDS:
            raise CorpusError(
                f"{self.folder / _PROMPTS}: prompts.query has {len(prompt.ids):,} subwords. The "
                f"encoder reads {room:,} at once, {_MIN_SUBWORDS} of them for a name. Shorten it."
            )
        most = max(min(_MAX_SUBWORDS, room * 3 // 4) - len(prompt.ids), _MIN_SUBWORDS)
        parts = tokenizer.encode([part for window in windows for part in window])
        cut = []
        for n, (before, form, after) in enumerate(windows):
            left, name, right = (parts[3 * n + side].starts.tolist() for side in range(3))
            n_name = min(len(name), most // 4)
            n_left = min(len(left), (most - n_name) // 2)
            n_right = most - n_name - n_left
            begin = left[-n_left] if n_left else len(before)
            name_end = name[n_name] if n_name < len(name) else len(form)
            end = right[n_right] if n_right < len(right) else len(after)
            cut.append(MentionWindow(before[begin:], form[:name_end], after[:end]))
        return cut


class ContextVectors:
    """The vectors of linked training mentions, and of descriptions of entities."""

    def __init__(
        self,
        records: Iterable[LinkRecord],
        described: Sequence[str],
        *,
        reader: WindowReader,
        vectors: Vectors,
    ) -> None:
        self.described, self.reader, self.vectors = tuple(described), reader, vectors
        rows: dict[str, list[tuple[int, str]]] = defaultdict(list)
        row = _N_HEAD
        for record in records:
            for case in record.cases:
                if case.entity is not None:
                    rows[case.entity].append((row, record.id))
                    row += 1
        self._mentions = {
            entity: (np.array([n for n, _ in own]), np.array([id for _, id in own]))
            for entity, own in rows.items()
        }
        self._descriptions = {entity: row + n for n, entity in enumerate(self.described)}
        if len(vectors) != row + len(self.described):
            raise CorpusError(f"{VECTORS}: does not belong to the linker. Train it again.")
        self._is_checked = False

    @classmethod
    def of(
        cls,
        records: Sequence[LinkRecord],
        descriptions: Mapping[str, MentionWindow],
        reader: WindowReader,
    ) -> "ContextVectors":
        """Read the linked mentions of documents, and the descriptions of entities."""
        linked = [
            window
            for record in records
            for case, window in zip(record.cases, record.windows(), strict=True)
            if case.entity is not None
        ]
        texts = list(descriptions.values())
        raw = reader.read([_PROBE, *linked, *texts])
        mentions, of_texts = np.split(_to_length_1(raw[1:]), [len(linked)])
        means = [
            part.mean(axis=0) if len(part) else np.zeros_like(raw[0])
            for part in (mentions, of_texts)
        ]
        centred = [_to_length_1(mentions - means[0]), _to_length_1(of_texts - means[1])]
        vectors = np.concatenate([np.stack([*means, raw[0]]), *centred])
        contexts = cls(records, list(descriptions), reader=reader, vectors=vectors)
        contexts._is_checked = True
        return contexts

    def read(self, windows: Sequence[MentionWindow]) -> Vectors:
        """Compute (N, 2, D) vectors of mentions to link, centred and of length 1.

        Raises ``CorpusError`` if the encoder is not the one of training, read as it was then.
        """
        if not self._is_checked:
            [probe] = self.reader.read([_PROBE])
            if probe.shape != self.vectors.shape[1:] or not np.allclose(
                probe, self.vectors[_OF_PROBE], atol=1e-3
            ):
                raise CorpusError(
                    f"{self.reader.folder}: not the encoder that the linker was trained with, or "
                    "another version of Onoma made the linker. Bring that encoder back, or train "
                    "the linker again."
                )
            self._is_checked = True
        return _to_length_1(_to_length_1(self.reader.read(windows)) - self.vectors[_MENTIONS])

    def add_features(self, found: Candidates, vector: Vectors, *, without: str | None) -> None:
        """Fill in the columns ``READ`` of each candidate of a mention, whose vectors are (2, D)."""
        columns = found.features[:, _FIRST : _FIRST + len(READ)]
        columns[:] = np.nan
        for row, entity in enumerate(found.entities):
            columns[row, 2] = columns[row, 5] = 1.0
            rows, documents = self._mentions.get(entity, _NONE)
            rows = rows[documents != without] if without is not None else rows
            if len(rows):
                alike = np.sort(self.vectors[rows, NAME] @ vector[NAME])
                columns[row, :3] = alike[-1], alike[-_N_NEAREST:].mean(), 0.0
            if (number := self._descriptions.get(entity)) is not None:
                columns[row, 3:] = *(vector @ self.vectors[number, TEXT]), 0.0
        for number in (0, 1, 3, 4):
            _fill(columns[:, number])


_NONE: Final = (np.zeros(0, np.int64), np.zeros(0, str))


def _fill(column: Features) -> None:
    """Replace missing values by the lowest, or 0 if all are missing; then subtract the mean."""
    missing = np.isnan(column)
    column[missing] = 0.0 if missing.all() else column[~missing].min()
    column -= column.mean()


def _to_length_1(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), np.float32)
