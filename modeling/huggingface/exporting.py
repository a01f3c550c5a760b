"""Export of our models to folders that transformers loads without missing or unexpected weights.

A tagger with a softmax head becomes ``BertForTokenClassification``: the score of a word is that of
its first subword. A tagger with a span head that reads [first subword; last subword; entity]
becomes ``LukeForEntitySpanClassification``; class 0 is O. If spans are read jointly, transformers
computes the same without more ado. If spans are read alone, it needs masks (B, 1, N + E, N + E)
that hide spans from subwords and from each other; the model card shows how to make them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import torch
from tokenizers import Regex, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Backend
from torch import Tensor, nn
from torch.nn import functional

from corpora.segmentation.scripts import UNSPACED, WIDE
from corpora.system.parsing import parse_json, read_json
from corpora.tokenization.subwords import clear_errors
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import ConfigError, EncoderConfig, PretrainConfig
from modeling.heads.tagging_heads import SoftmaxHead
from modeling.huggingface import names
from modeling.huggingface.settings import first_position, make_config
from modeling.layers.embeddings import sinusoids
from modeling.models.foreign import read_settings
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.spans import SecondScores, SpanHead
from modeling.models.tagging_model import TaggingModel
from modeling.models.weights import save_weights

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_MARK: Final = "\ufdd0"
"""A code point that is no character, and so is in no text."""
_WITHOUT_POOLER: Final = frozenset({"BertForMaskedLM", "BertForTokenClassification"})


def export(
    model: PretrainingModel, folder: Path, tokenizer: Tokenizer, *, has_heads: bool = True
) -> None:
    """Write configuration, weights and tokenizer for ``AutoModel`` and ``AutoTokenizer``.

    Without entities the architecture is ``BertForMaskedLM`` (with a head for pairs
    ``BertForPreTraining``), with entities ``LukeForMaskedLM``; without heads it is ``BertModel`` or
    ``LukeModel``. A pooler that was never trained is the identity. The entity table has as many
    rows as ours: ``[MASK2]``, which only the byte-level ``LukeTokenizer`` knows, has none. Raises
    ``ConfigError`` for what transformers has no model for: relative positions, whole-word
    attention, other norms.
    """
    config = make_config(model.config, pad=tokenizer.special.pad, has_heads=has_heads)
    tensors = _tensors(model, config, has_heads=has_heads)
    write_folder(folder, config, tensors, tokenizer=tokenizer)
    set_max_length(folder, model.config.encoder.max_positions)


def write_folder(
    folder: Path, config: "PretrainedConfig", tensors: Mapping[str, Tensor], *, tokenizer: Tokenizer
) -> None:
    """Write the files that ``from_pretrained`` reads: configuration, weights and tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    save_weights(tensors, folder)
    save_tokenizer(tokenizer, folder)


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a tokenizer that adds [CLS] and [SEP] itself, for programs that do not add them."""
    tokenizer.save(folder)
    file, special = folder / "tokenizer.json", tokenizer.special
    backend = Backend.from_file(str(file))
    with clear_errors(f"{file}: the tokenizer cannot cut a text"):
        ids = backend.encode("a").ids
    if ids[:1] == [special.cls] and ids[-1:] == [special.sep]:
        return
    cls, sep = (backend.id_to_token(id) for id in (special.cls, special.sep))
    template = processors.TemplateProcessing(
        single=[cls, "$A", sep],
        pair=[cls, "$A", sep, "$B:1", f"{sep}:1"],
        special_tokens=[(cls, special.cls), (sep, special.sep)],
    )
    own = backend.post_processor
    backend.post_processor = template if own is None else processors.Sequence([own, template])
    backend.save(str(file))


def without_lone_spaces(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer of a tagger for other programs, which cuts words as we do.

    We leave out a ▁ alone before a word of a script without spaces (``modeling.data.sentences``).
    Here such words get a mark before the text is normalized, and ``Metaspace``'s ▁ before a mark is
    removed. A word keeps its ▁ if some subword has it with the first character of the word: then
    it is seldom alone. Tokenizers without ``Metaspace``, or whose normalizer changes the mark, are
    returned as they are.
    """
    normalizer, ranges = tokenizer.backend.normalizer, UNSPACED + WIDE
    pre_tokenizer = str(tokenizer.parts.get("pre_tokenizer"))
    if "'Metaspace'" not in pre_tokenizer or (
        normalizer and normalizer.normalize_str(_MARK) != _MARK
    ):
        return tokenizer
    backend = Backend.from_str(tokenizer.backend.to_str())
    begun = {subword[1:2] for subword in backend.get_vocab() if subword.startswith("▁")}
    borders = zip(map(ord, ranges[::3]), map(ord, ranges[2::3]), strict=True)
    solid = [chr(code) for first, last in borders for code in range(first, last + 1)]
    kept = [c for c in solid if (normalizer.normalize_str(c) if normalizer else c)[:1] in begun]
    word = Regex(f" (?=[{ranges}])(?![{''.join(kept) or _MARK}])")
    first = [] if "'never'" in pre_tokenizer else [normalizers.Prepend(" ")]
    marking = [*first, normalizers.Replace(word, f" {_MARK}")]
    backend.normalizer = normalizers.Sequence([*marking, *([normalizer] if normalizer else [])])
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [backend.pre_tokenizer, pre_tokenizers.Split(f"▁{_MARK}", "removed")]
    )
    changed = parse_json(backend.to_str())
    parts = {**tokenizer.parts}
    for name in ("normalizer", "pre_tokenizer"):
        parts[name] = changed[name]
    names = {name: str(backend.id_to_token(id)) for name, id in tokenizer.special_items}
    return Tokenizer(backend, name=tokenizer.name, declared=names, parts=parts)


def depends_on_spaces(folder: Path) -> bool:
    """Tell whether the tokenizer in a folder cuts words differently after a space.

    Byte-level tokenizers do.
    """
    file = folder / "tokenizer.json"
    with clear_errors(f"{file}: the tokenizer cannot cut a text"):
        backend = Backend.from_file(str(file))
        return bool(backend.encode("a.").ids != backend.encode("a .").ids)


def set_max_length(folder: Path, n_positions: int) -> None:
    """Set ``model_max_length``, the number of subwords that fit, in ``tokenizer_config.json``."""
    file = folder / "tokenizer_config.json"
    values = read_json(file)
    text = json.dumps({**values, "model_max_length": n_positions}, ensure_ascii=False, indent=1)
    file.write_text(text + "\n", encoding="utf-8")


@torch.no_grad()
def _tensors(
    model: PretrainingModel, config: "PretrainedConfig", *, has_heads: bool
) -> dict[str, Tensor]:
    """Return the weights of a model under transformers' names."""
    state = {
        name: tensor
        for name, tensor in model.state_dict().items()
        if has_heads or not name.startswith("heads.") or name.startswith("heads.pairs.pooler.")
    }
    tensors = rename(state, config, encoder=model.config.encoder)
    if has_heads:
        _finish_heads(tensors, config)
    prefix = names.PREFIXES[config.model_type] if has_heads else ""
    return {
        name if name.startswith(names.HEADS) else prefix + name: tensor
        for name, tensor in tensors.items()
    }


def rename(
    state: Mapping[str, Tensor], config: "PretrainedConfig", *, encoder: EncoderConfig
) -> dict[str, Tensor]:
    """Rename weights to transformers' names without prefix; add what its base model has besides.

    A weight that transformers has no name for is left out.
    """
    tensors = {}
    for name, tensor in state.items():
        if (other := names.their_name(name, config.model_type)) is not None:
            tensors[other] = tensor
    _add_what_they_always_have(tensors, config, encoder=encoder)
    if config.model_type == "luke":
        _to_shapes_of_luke(tensors, config, state=state)
    return tensors


def _add_what_they_always_have(
    tensors: dict[str, Tensor], config: "PretrainedConfig", *, encoder: EncoderConfig
) -> None:
    """Add the weights that every model of transformers has, where ours has none.

    These are positions in a table, segments (zeros), and a pooler if the architecture has one.
    """
    width = encoder.width
    if encoder.positions == "sinusoidal":
        tensors[names.POSITIONS] = sinusoids(encoder.max_positions, width)
    if not encoder.n_segments:
        tensors[names.SEGMENTS] = torch.zeros(config.type_vocab_size, width)
    if not _WITHOUT_POOLER & {*(config.architectures or ())} and names.POOLER[0] not in tensors:
        weight, bias = names.POOLER
        tensors[weight], tensors[bias] = torch.eye(width), torch.zeros(width)


def _to_shapes_of_luke(
    tensors: dict[str, Tensor], config: "PretrainedConfig", *, state: Mapping[str, Tensor]
) -> None:
    """Pad tables with zero rows; add the bias of the entity projection to the types."""
    first = first_position(config)
    positions, of_entities = tensors[names.POSITIONS], tensors[names.ENTITY_POSITIONS]
    zeros = positions.new_zeros(first, positions.shape[1])
    tensors[names.POSITIONS] = torch.cat([zeros, positions])
    tensors[names.ENTITY_POSITIONS] = torch.cat([of_entities, zeros])
    types = tensors[names.ENTITY_TYPES]
    types = torch.cat([types, types.new_zeros(config.type_vocab_size - len(types), types.shape[1])])
    bias = state.get("encoder.entity_embeddings.project.bias")
    tensors[names.ENTITY_TYPES] = types if bias is None else types + bias
    tensors.pop("entity_embeddings.entity_embedding_dense.bias", None)


def _finish_heads(tensors: dict[str, Tensor], config: "PretrainedConfig") -> None:
    """Duplicate the weights that transformers does not tie, and reverse the classes of pairs."""
    head = names.subword_head(config.model_type)
    decoder = f"{head}.decoder.weight"
    is_tied = decoder not in tensors
    if config.model_type == "luke" or not is_tied:
        tensors[f"{head}.decoder.bias"] = tensors[f"{head}.bias"].clone()
    if config.model_type == "luke" and is_tied:
        tensors[decoder] = tensors[names.EMBEDDING].clone()
    for name in names.PAIRS:
        if name in tensors:
            tensors[name] = tensors[name].flip(0)  # theirs: 0 if text 2 follows


_WAY: Final = "What works for every tagger: --archive FILE."
OTHER_WAYS: Final = f"{_WAY} For heads of words: --to onnx."
_ENCODER: Final = "encoder."


def export_tagger(model: TaggingModel, folder: Path, tokenizer: Tokenizer) -> str:
    """Write a tagger for transformers; return the name of the class that loads it.

    The classifier is divided by the temperature of the tagger, so that transformers computes the
    tagger's probabilities. Raises ``ConfigError`` for what transformers has no model for.
    """
    classifier, architecture = _classifier(model)
    if model.config.encoder.foreign:
        architecture, config, tensors = _foreign(model)
    else:
        config = _config(model, architecture, pad=tokenizer.special.pad)
        prefix = names.PREFIXES[config.model_type]
        state = {n: w for n, w in model.state_dict().items() if n.startswith(_ENCODER)}
        tensors = {
            prefix + name: tensor
            for name, tensor in rename(state, config, encoder=model.config.encoder).items()
        }
    temperature = model.config.temperature
    with torch.no_grad():
        tensors["classifier.weight"] = _widened(classifier.weight, config) / temperature
        tensors["classifier.bias"] = classifier.bias / temperature
    write_folder(folder, config, tensors, tokenizer=tokenizer)
    set_max_length(folder, model.config.encoder.max_positions)
    return architecture


def classes_of(model: TaggingModel) -> tuple[str, ...]:
    """List the classes in the order of their ids: tags of words, or O and the labels of spans."""
    return ("O", *model.config.labels) if isinstance(model.head, SpanHead) else model.tagset.tags


def _config(model: TaggingModel, architecture: str, *, pad: int) -> "PretrainedConfig":
    settings = PretrainConfig(encoder=model.config.encoder)
    try:
        config = make_config(settings, pad=pad, has_heads=False)
    except ConfigError as error:
        raise ConfigError(f"{error} {OTHER_WAYS}") from error
    _name_classes(config, model, architecture)
    if config.model_type == "bert":
        config.classifier_dropout = model.config.head.dropout
    return config


def _name_classes(config: "PretrainedConfig", model: TaggingModel, architecture: str) -> None:
    """Write the names of the classes, and of the class that loads them, into settings."""
    classes = dict(enumerate(classes_of(model)))
    config.architectures = [architecture]
    config.id2label = classes
    config.label2id = {name: id for id, name in classes.items()}


def _foreign(model: TaggingModel) -> tuple[str, "PretrainedConfig", dict[str, Tensor]]:
    """Return the class, the settings and the encoder of a tagger whose encoder transformers runs.

    Raises ``ConfigError`` if the class has other layers between encoder and classifier.
    """
    from transformers import AutoModelForTokenClassification  # noqa: PLC0415 - slow

    config = read_settings(model.config.encoder.foreign)
    with torch.device("meta"):
        theirs = AutoModelForTokenClassification.from_config(config)  # type: ignore[no-untyped-call]
    architecture, prefix = type(theirs).__name__, f"{_ENCODER}model."
    _name_classes(config, model, architecture)
    config.dtype = "float32"
    tensors = {
        f"{theirs.base_model_prefix}.{name.removeprefix(prefix)}": tensor
        for name, tensor in model.state_dict().items()
        if name.startswith(prefix)
    }
    expected = {*theirs.state_dict()} - {"classifier.weight", "classifier.bias"}
    if other := sorted(expected - tensors.keys()):
        raise ConfigError(f"{architecture} has layers that a tagger has not ({other[0]}). {_WAY}")
    return architecture, config, tensors


def _classifier(model: TaggingModel) -> tuple[nn.Linear, str]:
    """Return the linear map that transformers calls ``classifier``, and the class that has it.

    Raises ``ConfigError`` for a tagger that transformers has no class for.
    """
    head, settings = model.head, model.config.head
    wrong = {
        "a gazetteer, whose features it cannot read": model.config.n_features > 0,
        f"head.pooling={settings.pooling} (first is what it has)": settings.pooling != "first",
    }
    if isinstance(head, SpanHead):
        are_scored = "spans that are scored by words (head.max_candidates=0: all are read)"
        _refuse(wrong | {are_scored: head.scorer.first is not None})
        return cast(SecondScores, head.scorer.second).classifier, "LukeForEntitySpanClassification"
    wrong[f"head.kind={settings.kind} (softmax is what it has)"] = settings.kind != "softmax"
    _refuse(wrong)
    assert isinstance(head, SoftmaxHead)  # noqa: S101 - by its kind
    return head.linear, "BertForTokenClassification"


def _widened(weight: Tensor, config: "PretrainedConfig") -> Tensor:
    """Pad the weights of a span head that reads the entity alone: zeros for the subwords."""
    n_states = 3 if config.model_type == "luke" else 1
    return functional.pad(weight, (n_states * config.hidden_size - weight.shape[1], 0))


def _refuse(wrong: dict[str, bool]) -> None:
    if problems := [name for name, is_wrong in wrong.items() if is_wrong]:
        raise ConfigError(f"transformers has no tagger with {', '.join(problems)}. {OTHER_WAYS}")
