"""Masked entity prediction restricted to candidates, names resolved by confidence.

Global disambiguation of LUKE (Yamada et al., NAACL 2022): all names of a document are read together
as [MASK]; the surest are resolved, and given as entities to the next pass.

Shapes: P names, C candidates of a name, V entities of the encoder.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from corpora.document import Mention
from modeling.huggingface.importing import read_pretrained
from modeling.link.candidates import FEATURES, MASKED, Candidates
from modeling.taggers.archive import opened
from modeling.taggers.encoder import Encoder
from modeling.taggers.folders import find_model, has_tagger
from modeling.training.sources import read_names

Reals = NDArray[np.float64]
_FIRST: Final = FEATURES.index(MASKED[0])
N_PASSES: Final = 10
"""In each the surest of the names that are left are resolved, as many as come to a tenth of all."""


class EntityGuesser:
    """A pre-trained encoder with entities, and its head for them."""

    def __init__(self, encoder: Encoder, head: nn.Module, names: Sequence[str]) -> None:
        self.encoder, self.head = encoder, head.eval()
        self.ids = {name: id for id, name in enumerate(names)}

    @classmethod
    def load(cls, path: Path) -> "EntityGuesser | None":
        """Open a pre-trained model; None where it predicts no entities by name."""
        path = opened(path)
        if has_tagger(path):
            return None
        folder = find_model(path)
        names = read_names(folder)
        if not names:
            return None
        model = read_pretrained(folder).build()
        if "entities" not in model.heads:
            return None
        return cls(Encoder.load(path), model.heads["entities"], names)

    def add_features(
        self, text: str, names: Sequence[Mention], found: Sequence[Candidates]
    ) -> None:
        """Fill the columns ``MASKED`` in, of names with several candidates."""
        guessed = self.guess(text, names, [one.entities for one in found])
        for one, scores in zip(found, guessed, strict=True):
            if len(one.entities) > 1:
                is_missing = np.isnan(scores)
                least = 0.0 if is_missing.all() else float(np.nanmin(scores))
                one.features[:, _FIRST] = np.where(is_missing, least, scores)
                one.features[:, _FIRST + 1] = is_missing

    def guess(
        self, text: str, names: Sequence[Mention], candidates: Sequence[Sequence[str]]
    ) -> list[Reals]:
        """(C,) of each name: log-probabilities among those that the encoder knows, else NaN.

        They are those of the pass before the name was resolved.
        """
        given = [replace(name, entity=None) for name in names]
        found = [np.full(len(some), np.nan) for some in candidates]
        ids = [[self.ids.get(entity) for entity in some] for some in candidates]
        left = [n for n, some in enumerate(ids) if any(id is not None for id in some)]
        at_once = -(-len(left) // N_PASSES)
        while left:
            logits = self._logits(text, given)
            for n in left:
                found[n] = _among(logits[n], ids[n])
            left.sort(key=lambda n: -float(np.nanmax(found[n])))
            for n in left[:at_once]:
                best = candidates[n][int(np.nanargmax(found[n]))]
                given[n] = replace(given[n], entity=best)
            left = sorted(left[at_once:])
        return found

    @torch.inference_mode()
    def _logits(self, text: str, given: Sequence[Mention]) -> Reals:
        """(P, V)."""
        [states] = self.encoder.entities([text], [given])
        logits = self.head.logits(torch.from_numpy(states))  # type: ignore[operator]
        return np.asarray(logits.float().numpy(), np.float64)


def _among(logits: Reals, ids: Sequence[int | None]) -> Reals:
    """(V,) to (C,): the softmax over the candidates that are known, as logs."""
    chosen = np.array([np.nan if id is None else logits[id] for id in ids])
    highest = np.nanmax(chosen)
    return np.asarray(chosen - highest - np.log(np.nansum(np.exp(chosen - highest))))
