"""The choice of trained parameters and their learning rates: frozen layers, layer decay, LoRA.

The depth of a parameter is 0 for embeddings, n for the n-th layer from below, and the number of
layers plus one for all parameters above, which are those of the head.
"""

import re
from collections.abc import Iterator
from typing import Final, Protocol, runtime_checkable

from torch import nn

from corpora.errors import UsageError
from modeling.config import ConfigError
from modeling.huggingface.transfer import OF_SUBWORD_ENTITIES
from modeling.models.tagging_model import TaggingModel
from modeling.tagging_config import FinetuneConfig

_ENCODER: Final = "encoder."
_LAYER: Final = re.compile(r"\.layers?\.(\d+)\.")
_LORA: Final = ".lora_"


def frozen(model: TaggingModel, config: FinetuneConfig) -> set[str]:
    """Return the names of the parameters that are not trained.

    With LoRA these are all parameters of the encoder but those of LoRA. Parameters of the entities
    that words know start from random values, and are always trained. Raises ``ConfigError`` if more
    layers are to be frozen than the encoder has.
    """
    training = config.training
    deepest = training.frozen_layers or -1
    if training.freeze_embeddings:
        deepest = max(deepest, 0)
    n_layers = model.config.encoder.n_layers
    if deepest > n_layers:
        raise ConfigError(f"training.frozen_layers={deepest}: the encoder has only {n_layers}.")
    depths = _depths(model) if deepest >= 0 else {}
    stay = set()
    for name, _ in model.named_parameters():
        is_all = training.freeze_encoder or (training.lora_rank and _LORA not in name)
        is_low = depths.get(name, deepest + 1) <= deepest
        if name.startswith(_ENCODER) and (is_all or is_low) and not _is_new(name, config):
            stay.add(name)
    return stay


def lr_ratios(
    model: TaggingModel, config: FinetuneConfig, *, is_head_new: bool = True
) -> dict[str, float]:
    """Return the multiple of the learning rate of each parameter whose multiple is not 1.

    A head that is not new, but continues to learn, has the rate of the encoder.
    """
    decay = config.training.layer_decay
    of_head = config.training.head_lr_ratio if is_head_new else 1.0
    ratios = {}
    if decay != 1:
        top = model.config.encoder.n_layers + 1
        depths = _depths(model).items()
        ratios = {name: decay ** (top - depth) for name, depth in depths if depth < top}
    if of_head != 1:
        names = (name for name, _ in model.named_parameters() if not name.startswith(_ENCODER))
        ratios |= dict.fromkeys(names, of_head)
    return ratios


def _is_new(name: str, config: FinetuneConfig) -> bool:
    return bool(config.data.entities) and any(part in name for part in OF_SUBWORD_ENTITIES)


def _depths(model: TaggingModel) -> dict[str, int]:
    """Find the depth of each parameter; ``ConfigError`` where layers cannot be distinguished."""
    n_layers, depths = model.config.encoder.n_layers, {}
    for name, _ in model.named_parameters():
        depths[name] = n_layers + 1
        if name.startswith(_ENCODER) and (match := _LAYER.search(name)):
            depths[name] = int(match[1]) + 1
        elif name.startswith(_ENCODER) and "embeddings" in name:
            depths[name] = 0
    if len(set(depths.values())) < n_layers + 2:
        raise ConfigError(
            "training.frozen_layers, training.freeze_embeddings, training.layer_decay: the layers "
            "of this encoder share their weights, or are unknown here. Leave these settings out."
        )
    return depths


# --- LoRA


def add_lora(model: TaggingModel, config: FinetuneConfig) -> None:
    """Add two low-rank matrices (LoRA; Hu et al. 2021) to each linear map of the encoder's layers.

    The model stays as it is if ``training.lora_rank`` is 0. Raises ``UsageError`` without peft.
    """
    rank = config.training.lora_rank
    if not rank:
        return
    try:
        from peft import LoraConfig, inject_adapter_in_model  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(
            f"training.lora_rank={rank} needs peft. Install it: pip install 'onoma[lora]'."
        ) from error
    targets = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and _LAYER.search(f"{name}.")
        if name.startswith(_ENCODER) and not _is_new(f"{name}.", config)
    ]
    settings = LoraConfig(r=rank, lora_alpha=config.training.lora_alpha, target_modules=targets)
    inject_adapter_in_model(settings, model)


@runtime_checkable
class _LoraLayer(Protocol):
    """The interface of a LoRA layer of peft, which may not be installed."""

    def merge(self) -> None:
        """Add the learned update to the weights."""

    def get_base_layer(self) -> nn.Module:
        """Return the layer that the LoRA layer wraps."""


def merge_lora(model: nn.Module) -> None:
    """Merge what LoRA has learned into the weights, and remove LoRA: an ordinary model is left."""
    for parent, name, layer in list(_lora_layers(model)):
        layer.merge()
        setattr(parent, name, layer.get_base_layer())


def _lora_layers(model: nn.Module) -> Iterator[tuple[nn.Module, str, _LoraLayer]]:
    for parent in model.modules():
        for name, child in parent.named_children():
            if isinstance(child, _LoraLayer):
                yield parent, name, child
