"""A tagger whose encoder onnxruntime runs, in int8 if it was exported in int8.

FOLDER/model.onnx          the encoder, and the linear map of the head
FOLDER/onnx.json           the names of its inputs and of its output
FOLDER/head.safetensors    the weights of the head, for the transitions of a CRF
FOLDER/tagger.json         settings

Shapes: B windows of N subwords, T subwords together, W words, K scores.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch import Tensor, nn

from corpora.errors import CorpusError
from corpora.system.parsing import read_json
from modeling.data.batch import SentenceBatch
from modeling.models.spans import SpanHead
from modeling.models.tagging_model import TaggingModel, build_head
from modeling.models.weights import WeightsError, load_strictly, load_weights, write_tensors
from modeling.tagging_config import ONNX_FILE, TAGGER_FILE, TaggerConfig

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

SETTINGS: Final = "onnx.json"
_HEAD: Final = "head.safetensors"


@contextmanager
def _damage_named(folder: Path) -> Iterator[None]:
    """Raise ``WeightsError`` for whatever a model of a stranger lets onnxruntime raise."""
    try:
        yield
    except (CorpusError, MemoryError):
        raise
    except Exception as error:  # onnxruntime's exceptions have no common class
        raise WeightsError(f"{folder}: damaged ({error}). Copy or export it again.") from error


class OnnxTaggingModel(TaggingModel):
    """A tagger of words for prediction only; it cannot be trained."""

    def __init__(
        self,
        session: "InferenceSession",
        inputs: tuple[str, ...],
        *,
        config: TaggerConfig,
        folder: Path,
    ) -> None:
        super().__init__(nn.Identity(), build_head(config), config=config)  # type: ignore[arg-type]
        self._session, self._inputs, self._folder = session, inputs, folder

    @classmethod
    def open(cls, folder: Path) -> "OnnxTaggingModel":
        """Read what ``onoma export --to onnx`` wrote.

        Raises ``CorpusError`` without onnxruntime, ``WeightsError`` where something is damaged.
        """
        try:
            import onnxruntime  # noqa: PLC0415 - optional
        except ImportError as error:
            raise CorpusError(
                f"{folder}: this tagger needs onnxruntime: pip install onnxruntime."
            ) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        with _damage_named(folder):
            session = onnxruntime.InferenceSession(
                str(folder / ONNX_FILE), options, providers=["CPUExecutionProvider"]
            )
            inputs = tuple(read_json(folder / SETTINGS)["inputs"])
            model = cls(
                session, inputs, config=TaggerConfig.load(folder / TAGGER_FILE), folder=folder
            )
            load_strictly(model.head, load_weights(folder / _HEAD), where=folder)
            if isinstance(model.head, SpanHead):
                raise ValueError("a tagger of spans")
        return model

    def scores(self, batch: SentenceBatch) -> Tensor:
        """Compute the scores of words, (W, K); ``WeightsError`` if the model cannot."""
        with _damage_named(self._folder):
            return self._run(batch)

    def _run(self, batch: SentenceBatch) -> Tensor:
        layout, words = batch.inputs.rows.subwords, batch.inputs.rows.words
        firsts = batch.word_subwords[batch.word_offsets]
        given = {"input_ids": batch.subwords, "attention_mask": torch.ones_like(batch.subwords)}
        if words is not None:
            given["words"] = words.layout.positions[words.of_subword]
        if batch.features is not None:
            empty = batch.features.new_zeros(len(batch.subwords), batch.features.shape[1])
            given["features"] = empty.index_copy(0, firsts, batch.features)
        fed = {name: layout.pad(given[name]).numpy() for name in self._inputs}
        [scores] = self._session.run(None, fed)
        shape = layout.n_sequences, layout.longest, len(self.head.state_dict()["linear.bias"])
        if scores.shape != shape or scores.dtype.kind != "f" or not np.isfinite(scores).all():
            raise ValueError(f"not {shape} numbers, but {scores.shape} of type {scores.dtype}")
        return layout.pack(torch.from_numpy(scores))[firsts]


def save_beside(model: TaggingModel, folder: Path) -> None:
    """Write the settings and the head, which ``open`` reads besides the model and its inputs."""
    model.config.save(folder / TAGGER_FILE)
    write_tensors(folder / _HEAD, model.head.state_dict())
