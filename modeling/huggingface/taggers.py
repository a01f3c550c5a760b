"""Taggers of ours to folders that transformers loads, where it has the same model.

A softmax head becomes ``BertForTokenClassification``: the score of a word is that of its first
piece. A span head that reads [first piece; last piece; entity] becomes
``LukeForEntitySpanClassification``; class 0 is O. Where spans are read jointly it computes the same
as it is; where each is read alone, with masks that hide spans from pieces and from each other,
which transformers takes as (B, 1, N + E, N + E): the model card shows how they are made.
"""

from pathlib import Path
from typing import Final, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PretrainedConfig

from modeling.config import ConfigError, PretrainConfig
from modeling.heads.spans import Alone, Jointly, SpanHead
from modeling.heads.tagging import SoftmaxHead
from modeling.huggingface import names
from modeling.huggingface.exporting import open_tokenizer, rename, set_max_length, write_folder
from modeling.huggingface.settings import make_config
from modeling.models.tagging import TaggingModel

OTHER_WAYS: Final = "What works for every tagger: --archive FILE. For heads of words: --to onnx."
_ENCODER: Final = "encoder."


def export_tagger(model: TaggingModel, folder: Path, tokenizer: Path) -> str:
    """Write a tagger for transformers; returns the name of the class that loads it.

    Logits are divided by the temperature of the tagger, so that probabilities are its own. Raises
    ``ConfigError`` for what transformers has no model for.
    """
    classifier, architecture = _classifier(model)
    opened = open_tokenizer(tokenizer, model.config.encoder)
    config = _config(model, architecture, pad=opened.special.pad)
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
    write_folder(folder, config, tensors, tokenizer=opened)
    set_max_length(folder, model.config.encoder.max_positions)
    return architecture


def classes_of(model: TaggingModel) -> tuple[str, ...]:
    """What is predicted, by id: tags of words, or O and the labels of spans."""
    if isinstance(model.head, SpanHead):
        return ("O", *model.config.labels)
    return model.tagset.tags


def _config(model: TaggingModel, architecture: str, *, pad: int) -> PretrainedConfig:
    settings = PretrainConfig(encoder=model.config.encoder)
    try:
        config = make_config(settings, pad=pad, has_heads=False)
    except ConfigError as error:
        raise ConfigError(f"{error} {OTHER_WAYS}") from error
    classes = dict(enumerate(classes_of(model)))
    config.architectures = [architecture]
    config.id2label = classes
    config.label2id = {name: id for id, name in classes.items()}
    if config.model_type == "bert":
        config.classifier_dropout = model.config.head.dropout
    return config


def _classifier(model: TaggingModel) -> tuple[nn.Linear, str]:
    """The linear map that transformers has as ``classifier``, and the class that has it."""
    head, settings = model.head, model.config.head
    wrong = {
        "a gazetteer, whose features it cannot read": model.config.n_features > 0,
        f"head.pooling={settings.pooling} (first is what it has)": settings.pooling != "first",
    }
    if isinstance(head, SpanHead):
        return _span_classifier(head, wrong), "LukeForEntitySpanClassification"
    wrong[f"head.kind={settings.kind} (softmax is what it has)"] = settings.kind != "softmax"
    _refuse(wrong)
    assert isinstance(head, SoftmaxHead)  # noqa: S101 - by its kind
    return head.linear, "BertForTokenClassification"


def _span_classifier(head: SpanHead, wrong: dict[str, bool]) -> nn.Linear:
    scorer = head.scorer
    if not isinstance(scorer, Alone | Jointly):
        wrong |= {"spans that are scored by words (head.max_candidates=0: all are read)": True}
    _refuse(wrong)
    return cast(Alone | Jointly, scorer).second.classifier


def _widened(weight: Tensor, config: PretrainedConfig) -> Tensor:
    """Of spans that are read by their entity alone: with zeros for the pieces, which they read."""
    n_states = 3 if config.model_type == "luke" else 1
    return functional.pad(weight, (n_states * config.hidden_size - weight.shape[1], 0))


def _refuse(wrong: dict[str, bool]) -> None:
    if problems := [name for name, is_wrong in wrong.items() if is_wrong]:
        raise ConfigError(f"transformers has no tagger with {', '.join(problems)}. {OTHER_WAYS}")
