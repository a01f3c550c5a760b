"""Export of taggers and encoders as ONNX models, from ids of subwords to scores.

Inputs, for B texts padded to N subwords, both of any size:
  input_ids       (B, N) int64, [CLS] and [SEP] included
  attention_mask  (B, N) int64, 1 for a subword, 0 for padding
  words           (B, N) int64, for whole-word attention only: the index in its text, from 0, of the
                  word that each subword belongs to. [CLS] and [SEP] are words of their own; other
                  words are those of the pre-tokenizer (with WordPiece, a subword that does not
                  begin with ## begins a word).
  features        (B, N, G) float32, for taggers with a gazetteer only

Output:
  logits          (B, N, K) float32: the head's scores at each subword. The scores of a word are
                  those at its first subword. ``onnx.json`` names the scores. A span head without
                  entities has one half of the scores for the first subword of a span, the other
                  half for the last: the scores of a span are their sum.
  states          (B, N, D), for an encoder without a head, instead of logits
"""

import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import torch
from torch import Tensor, nn

from corpora.errors import CorpusError
from modeling.config import ConfigError
from modeling.heads.tagging_heads import CrfHead, TokenHead
from modeling.layers.attention import EntityTable, WholeWordAttention
from modeling.layers.dense import Padded, attend_densely
from modeling.layers.embeddings import LearnedPositions, SinusoidalPositions, sinusoids
from modeling.layers.transformer import EncoderLayer
from modeling.models.foreign import ForeignEncoder
from modeling.models.onnx_tagging import SETTINGS
from modeling.models.spans import FirstScores, SpanHead
from modeling.models.tagging_model import TaggingModel
from modeling.models.text_encoder import TextEncoder, evaluating
from modeling.tagging_config import HEADS, ONNX_FILE

_TOLERANCE: Final = 1e-4
_OPSET: Final = 18


class PaddedEncoder(nn.Module):
    """An encoder of ours without mentions, whose control flow depends on no value of a tensor."""

    def __init__(self, encoder: TextEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, subwords: Tensor, rows: Padded) -> Tensor:
        """Encode (B, N) ids, shape (B, N, D); the states are arbitrary where no subword stands."""
        x = self._embed(subwords)
        for layer in self.encoder.encoder.layers:
            assert isinstance(layer, EncoderLayer)  # noqa: S101 - build_encoder makes no others
            attention = layer.attention
            x = layer.around(lambda x, of=attention: attend_densely(of, x, rows).output, x)  # type: ignore[misc]
        norm = self.encoder.encoder.norm
        return x if norm is None else cast(Tensor, norm(x))

    def _embed(self, subwords: Tensor) -> Tensor:
        embeddings = self.encoder.embeddings
        x: Tensor = embeddings.subwords(subwords)
        if embeddings.factor is not None:
            x = x * embeddings.factor
        if isinstance(embeddings.positions, LearnedPositions):
            x = x + embeddings.positions.table.weight[: subwords.shape[1]]
        elif isinstance(embeddings.positions, SinusoidalPositions):
            x = x + sinusoids(subwords.shape[1], x.shape[2]).to(x)  # the table is a limit
        if embeddings.segments is not None:
            x = x + embeddings.segments.weight[0]
        return x if embeddings.norm is None else cast(Tensor, embeddings.norm(x))


class ExportedScorer(nn.Module):
    """The module that is exported to ONNX; ``inputs`` names its inputs in their order.

    Raises ``ConfigError`` for an encoder whose subwords know entities, or that transformers runs.
    """

    def __init__(self, encoder: TextEncoder, head: nn.Module | None, *, n_features: int) -> None:
        super().__init__()
        if isinstance(encoder.entity_embeddings, EntityTable):
            raise ConfigError(
                "ONNX: the subwords of this encoder know entities (encoder.entities=subwords), "
                "which are looked up in the text, and have no place among the inputs. What works: "
                "--archive."
            )
        if isinstance(encoder, ForeignEncoder):
            raise ConfigError(
                f"ONNX: {type(encoder.model).__name__} is run by transformers, and is not exported "
                "from here. What works: --archive."
            )
        self.encoder = PaddedEncoder(encoder)
        self.head, self.n_features = head, n_features
        self.inputs = ["input_ids", "attention_mask"]
        layers = encoder.encoder.layers
        if any(isinstance(layer.attention, WholeWordAttention) for layer in layers):
            self.inputs.append("words")
        if n_features:
            self.inputs.append("features")

    @property
    def output(self) -> str:
        """The name of the output."""
        return "states" if self.head is None else "logits"

    def forward(self, *inputs: Tensor) -> Tensor:
        """Compute scores, (B, N, K), or, without a head, states from the tensors of ``inputs``."""
        given = dict(zip(self.inputs, inputs, strict=True))
        rows = Padded(given["attention_mask"] > 0, words=given.get("words"))
        states = self.encoder(given["input_ids"], rows)
        if "features" in given:
            states = torch.cat([states, given["features"]], dim=2)
        return states if self.head is None else cast(Tensor, self.head(states))


class _WordsOfSpans(nn.Module):
    """The first scores of a span head, for each subword as the first and as the last of a span."""

    def __init__(self, scores: FirstScores) -> None:
        super().__init__()
        self.begin, self.end = scores.begin, scores.end

    def forward(self, states: Tensor) -> Tensor:
        """Score states (B, N, D) as first and as last subword of a span, shape (B, N, 2 C)."""
        return torch.cat([self.begin(states), self.end(states)], dim=2)


def scorer_of(model: TaggingModel) -> ExportedScorer:
    """Make a scorer of the encoder and head of a tagger.

    Raises ``ConfigError`` for a tagger that cannot be exported to ONNX.
    """
    head, config = model.head, model.config
    if isinstance(head, TokenHead) and config.encoder.reads_mentions:
        raise ConfigError(
            "ONNX: the encoder reads entities, which have no place among the inputs. What works: "
            "--archive."
        )
    if isinstance(head, SpanHead):
        if head.scorer.second is not None or head.n_features or config.head.span_products:
            raise ConfigError(
                "ONNX: spans are read as entities, with a gazetteer, or by products (--level "
                "both), as only our code does. What works: head.span_features=words with neither; "
                "--archive; or, for LUKE, --to huggingface."
            )
        return ExportedScorer(
            model.encoder, _WordsOfSpans(cast(FirstScores, head.scorer.first)), n_features=0
        )
    if config.head.pooling != "first":
        raise ConfigError(
            f"ONNX: head.pooling={config.head.pooling} reads all subwords of a word; the scores of "
            "ONNX are of subwords. What works: head.pooling=first, or --archive."
        )
    assert isinstance(head, TokenHead)  # noqa: S101 - there are no others
    return ExportedScorer(model.encoder, head, n_features=config.n_features)


def export_onnx(
    scorer: ExportedScorer, folder: Path, settings: Mapping[str, object] | None = None
) -> float | None:
    """Write ``model.onnx``, and ``onnx.json`` with the names of inputs and output and ``settings``.

    Returns the result of ``check_onnx``. Raises ``CorpusError`` if onnx or onnxscript is missing,
    or if onnxruntime is installed and its scores differ from torch's by more than 1e-4.
    """
    _check_libraries()
    sample = _sample(scorer, n_texts=2, n_subwords=7)
    batch, subwords = torch.export.Dim("texts", min=1), torch.export.Dim("subwords", min=2)
    with _silence(), evaluating(scorer), torch.no_grad():
        program = torch.onnx.export(
            scorer,
            sample,
            dynamo=True,
            input_names=scorer.inputs,
            output_names=[scorer.output],
            dynamic_shapes=(tuple({0: batch, 1: subwords} for _ in sample),),
            opset_version=_OPSET,
            verbose=False,
        )
        assert program is not None  # noqa: S101 - with dynamo=True it never is
        folder.mkdir(parents=True, exist_ok=True)
        program.save(folder / ONNX_FILE, external_data=_is_large(scorer))
    names = {"inputs": scorer.inputs, "output": scorer.output}
    text = json.dumps({**names, **(settings or {})}, indent=1, ensure_ascii=False)
    (folder / SETTINGS).write_text(text + "\n", encoding="utf-8")
    return check_onnx(scorer, folder / ONNX_FILE)


def to_int8(folder: Path, scorer: ExportedScorer) -> float:
    """Convert the weights of ``model.onnx`` to int8 (dynamic quantization).

    Each output of a linear map has its own scale, the embeddings have one scale together;
    activations are converted to int8 at run time. Returns the largest difference from torch's
    scores on random input; how many names that costs, only an evaluation on a test set shows.
    """
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - optional
    except ImportError as error:
        raise CorpusError("--int8 needs onnxruntime: pip install 'onoma[onnx]'.") from error
    exact = folder / f"exact-{ONNX_FILE}"
    (folder / ONNX_FILE).rename(exact)
    with _silence():
        quantize_dynamic(exact, folder / ONNX_FILE, per_channel=True, weight_type=QuantType.QInt8)
    exact.unlink()
    (folder / f"{ONNX_FILE}.data").unlink(missing_ok=True)  # the exact weights of a large model
    return _difference(scorer, folder / ONNX_FILE)


def decoder_settings(model: TaggingModel) -> dict[str, object]:
    """Return what an external decoder needs: names of scores, temperature, transitions of a CRF."""
    config = model.config
    found: dict[str, object] = {
        "head": config.head.kind,
        "labels": list(config.labels),
        "temperature": config.temperature,
    }
    classes = ("O", *config.labels)
    match HEADS[config.head.kind].scores:
        case "spans":
            found["scores"] = [f"{part} {name}" for part in ("first", "last") for name in classes]
        case "classes":
            found["scores"] = [*classes, "begins", "ends"]
        case _:
            found["scores"] = list(model.tagset.tags)
    if isinstance(model.head, CrfHead):
        between, starts = model.head.transitions()
        found |= {"transitions": between.tolist(), "starts": starts.tolist()}
    return found


def check_onnx(scorer: ExportedScorer, file: Path) -> float | None:
    """Compute the largest difference between onnxruntime's and torch's scores of random input.

    Returns None without onnxruntime. Raises ``CorpusError`` if the difference is more than 1e-4.
    """
    try:
        import onnxruntime  # noqa: F401, PLC0415 - optional
    except ImportError:
        return None
    worst = _difference(scorer, file)
    if not worst <= _TOLERANCE:
        raise CorpusError(
            f"{file}: onnxruntime differs from torch by {worst:.1e}: not usable. What works: "
            "--archive, or another version of onnxruntime."
        )
    return worst


def _difference(scorer: ExportedScorer, file: Path) -> float:
    """Compute the largest difference between onnxruntime's and torch's scores of random input.

    It is infinite if a score is NaN.
    """
    import onnxruntime  # noqa: PLC0415 - optional

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    worst = 0.0
    for n_texts, n_subwords in ((1, 2), (3, 11), (2, 40)):
        inputs = _sample(scorer, n_texts=n_texts, n_subwords=n_subwords)
        fed = {name: x.numpy() for name, x in zip(scorer.inputs, inputs, strict=True)}
        [found] = session.run(None, fed)
        with evaluating(scorer), torch.no_grad():
            expected = scorer(*inputs)
        differences = (torch.from_numpy(found) - expected)[inputs[1] > 0].abs()
        worst = max(worst, float(differences.nan_to_num(torch.inf).max()))
    return worst


def _sample(scorer: ExportedScorer, *, n_texts: int, n_subwords: int) -> tuple[Tensor, ...]:
    """Draw random inputs for texts of several lengths."""
    generator = torch.Generator().manual_seed(n_subwords)
    embeddings = scorer.encoder.encoder.embeddings
    if isinstance(embeddings.positions, LearnedPositions):
        n_subwords = min(n_subwords, embeddings.positions.table.num_embeddings)
    shape = (n_texts, n_subwords)
    lengths = torch.randint(1, n_subwords + 1, (n_texts,), generator=generator)
    lengths[0] = n_subwords
    n_ids = embeddings.subwords.num_embeddings
    made = {
        "input_ids": torch.randint(0, n_ids, shape, generator=generator),
        "attention_mask": (torch.arange(n_subwords) < lengths[:, None]).long(),
        "words": torch.randint(0, 2, shape, generator=generator).cumsum(1),
    }
    if scorer.n_features:
        made["features"] = torch.rand((*shape, scorer.n_features), generator=generator)
    return tuple(made[name] for name in scorer.inputs)


def _is_large(scorer: nn.Module) -> bool:
    """Tell whether the weights exceed 1.5 GB, and so may not fit into one file (2 GiB)."""
    return sum(p.numel() * p.element_size() for p in scorer.parameters()) > 1.5e9


@contextmanager
def _silence() -> Iterator[None]:
    """Silence the loggers and warnings of the exporter inside the block."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", "root")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _check_libraries() -> None:
    try:
        import onnx  # noqa: F401, PLC0415 - optional
        import onnxscript  # noqa: F401, PLC0415
    except ImportError as error:
        raise CorpusError(
            f"ONNX needs {error.name}: pip install 'onoma[onnx]', or 'onnx onnxscript onnxruntime'."
        ) from error
