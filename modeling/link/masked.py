"""Masked entity prediction restricted to candidates, with mentions resolved by confidence.

Global disambiguation of LUKE (Yamada et al., NAACL 2022): the mentions of a document are read
together as [MASK]; the surest are resolved, and given as entities to the next pass. Mentions that
are sure without the encoder are given as entities from the start.

Shapes: P mentions, C candidates of a mention, K the largest C.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from corpora.document import Mention
from modeling.heads.pretraining import Classifier
from modeling.huggingface.importing import read_pretrained
from modeling.link.candidates import FEATURES, MASKED, Candidates
from modeling.taggers.archive import opened
from modeling.taggers.encoder import Encoder
from modeling.taggers.folders import find_model, has_tagger
from modeling.training.sources import read_names

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
_FIRST: Final = FEATURES.index(MASKED[0])
N_PASSES: Final = 10
"""The number of passes over a document; each resolves the surest tenth of the mentions."""


class EntityGuesser:
    """A pre-trained encoder with entities, and the head of it that predicts masked entities."""

    def __init__(self, encoder: Encoder, head: Classifier, names: Sequence[str]) -> None:
        self.encoder, self.head = encoder, head.eval()
        self.ids = {name: id for id, name in enumerate(names)}

    @classmethod
    def load(cls, path: Path) -> "EntityGuesser | None":
        """Open a pre-trained model; return None if it predicts no entities by name."""
        path = opened(path)
        if has_tagger(path):
            return None
        folder = find_model(path)
        names = read_names(folder)
        if not names:
            return None
        model = read_pretrained(folder).build()
        head = dict(model.heads.items()).get("entities")
        return cls(Encoder.load(path), head, names) if isinstance(head, Classifier) else None

    def add_features(
        self,
        text: str,
        names: Sequence[Mention],
        found: Sequence[Candidates],
        *,
        sure: Sequence[int | None],
    ) -> None:
        """Fill in the columns ``MASKED``, for mentions that are not sure.

        ``sure``: for each mention the index of its sure candidate, if there is one.
        """
        guessed = self.guess(text, names, [one.entities for one in found], sure=sure)
        for one, scores, index in zip(found, guessed, sure, strict=True):
            if index is None and one.entities:
                is_missing = np.isnan(scores)
                least = 0.0 if is_missing.all() else float(np.nanmin(scores))
                one.features[:, _FIRST] = np.where(is_missing, least, scores)
                one.features[:, _FIRST + 1] = is_missing

    def guess(
        self,
        text: str,
        names: Sequence[Mention],
        candidates: Sequence[Sequence[str]],
        *,
        sure: Sequence[int | None],
    ) -> list[Reals]:
        """Compute log-probabilities of the candidates of each mention, shape (C,).

        The probabilities are among the candidates that the encoder knows; the others are NaN, and
        so are all of sure mentions. They are those of the last pass before the mention was
        resolved.
        """
        given = [
            replace(
                name, entity=some[index] if index is not None and some[index] in self.ids else None
            )
            for name, some, index in zip(names, candidates, sure, strict=True)
        ]
        found = [np.full(len(some), np.nan) for some in candidates]
        ids = [[self.ids.get(entity) for entity in some] for some in candidates]
        asked = _padded(ids)
        left = [
            n
            for n, (some, index) in enumerate(zip(ids, sure, strict=True))
            if index is None and any(id is not None for id in some)
        ]
        at_once = -(-len(left) // N_PASSES)
        while left:
            logits = self._logits(text, given, asked)
            for n in left:
                found[n] = _among(logits[n], ids[n])
            left.sort(key=lambda n: -float(np.nanmax(found[n])))
            for n in left[:at_once]:
                best = candidates[n][int(np.nanargmax(found[n]))]
                given[n] = replace(given[n], entity=best)
            left = sorted(left[at_once:])
        return found

    @torch.inference_mode()
    def _logits(self, text: str, given: Sequence[Mention], asked: Numbers) -> Reals:
        """Compute the logits, (P, K), of the ``asked`` entities alone: there may be millions."""
        [states] = self.encoder.entities([text], [given])
        logits = self.head.logits_of(torch.from_numpy(states), torch.from_numpy(asked))
        return np.asarray(logits.float().numpy(), np.float64)


def _padded(ids: Sequence[Sequence[int | None]]) -> Numbers:
    """Pad the ids of the candidates of each mention, shape (P, K).

    0 stands for an id that is not known, and for padding.
    """
    asked = np.zeros((len(ids), max(map(len, ids), default=0)), np.int64)
    for row, some in zip(asked, ids, strict=True):
        row[: len(some)] = [id or 0 for id in some]
    return asked


def _among(logits: Reals, ids: Sequence[int | None]) -> Reals:
    """Compute the log-softmax over the known candidates, (K,) to (C,), NaN for the others."""
    is_missing = np.array([id is None for id in ids])
    chosen = np.where(is_missing, np.nan, logits[: len(ids)])
    highest = np.nanmax(chosen)
    return np.asarray(chosen - highest - np.log(np.nansum(np.exp(chosen - highest))))
