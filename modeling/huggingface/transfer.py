"""Transfer of weights from a pre-trained model or a tagger into another model."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from corpora.entities.vocabulary import MASK
from modeling.config import ConfigError, EncoderConfig
from modeling.data.sentences import UsedSubwords
from modeling.huggingface import names
from modeling.huggingface.importing import Pretrained, read_encoder_config, read_pretrained
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.tagging_model import TaggingModel, save_tagger
from modeling.models.weights import WeightsError, check_weights, load_strictly, load_weights
from modeling.tagging_config import TAGGER_FILE, WEIGHTS_FILE

log = logging.getLogger(__name__)
_SAME: Final = (
    "n_subwords",
    "width",
    "n_layers",
    "n_heads",
    "inner_width",
    "n_segments",
    "norm",
    "norm_eps",
    "embedding_norm",
    "scale_embeddings",
    "activation",
)
"""The settings of an encoder on which the meaning of its weights depends."""
_ENCODER: Final = "encoder."
_OF_ENTITIES: Final = "entity_embeddings."
_ENTITY_TABLE: Final = "entity_embeddings.entities.weight"
_OF_ENTITY_QUERIES = (".query_to_entities.", ".entity_query_to_words.", ".entity_query.")
OF_SUBWORD_ENTITIES = (_ENTITY_TABLE, ".entity_key.", ".entity_value.", "embeddings.entities.")
"""Parts of the names of weights that only encoders have whose subwords know entities."""
_ENTITY_WIDTH: Final = 64  # of a new entity table
_TABLE: Final = "embeddings.subwords.weight"
_MATRIX: Final = "heads.subwords.matrix.weight"
_EMBEDDING: Final = "encoder.embeddings.subwords.weight"
_ENTITY_ROWS: Final = (
    "encoder.entity_embeddings.entities.weight",
    "heads.entities.bias",
    "heads.subword_entities.bias",
)
"""Parameters with a row for each entity."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The origin of each weight of a model."""

    transferred: tuple[str, ...]
    """Our names of the parameters that were copied from the folder."""
    new: tuple[str, ...]
    """Our names of all other parameters, which freezing leaves trainable."""
    copied: tuple[str, ...]
    """Names in ``new`` of parameters that begin as copies: queries of entity-aware attention, from
    the plain query; an untied matrix of the subword head, from the embedding; parameters
    with rows of known entities."""
    unused: tuple[str, ...]
    """The names of weights in the folder that the model has no place for."""


def init_from(
    model: PretrainingModel, folder: Path, *, entity_rows: Tensor | None = None
) -> Transfer:
    """Copy weights of a folder (``read_pretrained``) into a model by name; all others stay.

    ``entity_rows`` is for another entity vocabulary: (entities here,) the row of each entity in the
    folder, −1 where it has none. Rows of known entities are copied, the others stay random, and
    the parameters count as new. None: the rows are the same. Raises ``ConfigError`` if the settings
    of the encoders differ, and ``WeightsError`` if shapes do. Whether ids mean the same subwords
    and entities is not checked: the folder's tokenizer must have made the examples.
    """
    given = read_pretrained(folder)
    parameters = dict(model.named_parameters())
    wanted = set(parameters) - set(() if entity_rows is None else _ENTITY_ROWS)
    _check_settings(model.config.encoder, given.config.encoder, wanted=wanted, folder=folder)
    transferred = {
        name: tensor
        for name, tensor in given.weights.items()
        if name in wanted and name not in given.copied
    }
    check_weights(model, transferred, where=folder, partly=True)
    copies = dict(_copies(wanted - transferred.keys(), transferred))
    if entity_rows is not None:
        copies |= _known_entities(parameters, given, rows=entity_rows, folder=folder)
    model.load_state_dict(transferred | copies, strict=False)
    known = {*transferred, *given.copied, *(copies.keys() & set(_ENTITY_ROWS))}
    transfer = Transfer(
        transferred=tuple(transferred),
        new=tuple(name for name in parameters if name not in transferred),
        copied=tuple(sorted(copies)),
        unused=(*given.unused, *(name for name in given.weights if name not in known)),
    )
    _log(transfer, folder)
    return transfer


def with_settings_of(here: EncoderConfig, folder: Path) -> EncoderConfig:
    """Take from a folder (``read_pretrained``) what its weights need: sizes, norms, activation.

    The kind of attention and whether mentions are read stay as they are here; the number of
    subwords is that of the examples.
    """
    there = read_encoder_config(folder)
    taken = [name for name in _same(here, there) if name != "n_subwords"]
    if here.reads_mentions and there.reads_mentions:
        taken.append("entity_width")
    return replace(here, **{name: getattr(there, name) for name in taken})


def _known_entities(
    parameters: Mapping[str, Tensor], given: Pretrained, *, rows: Tensor, folder: Path
) -> dict[str, Tensor]:
    """Return our parameters that have a row for each entity, with rows copied for known entities.

    Raises ``WeightsError`` if the folder's table has another shape.
    """
    known = rows >= 0
    made: dict[str, Tensor] = {}
    for name in _ENTITY_ROWS:
        if name in parameters and name in given.weights:
            table = given.weights[name]
            if int(rows.max()) >= len(table) or table.shape[1:] != parameters[name].shape[1:]:
                raise WeightsError(
                    f"{folder}: {name} has the shape {tuple(table.shape)}, which is not that of "
                    f"the model here ({tuple(parameters[name].shape)}), or not of its entities."
                )
            made[name] = parameters[name].detach().clone()
            made[name][known] = table[rows[known]].to(made[name])
    if made:
        n_known, n = int(known.sum()), len(rows)
        log.warning(
            "%s: its entities are not those of the examples: %d of %d keep their weights by name, "
            "%d start from random values.",
            folder,
            n_known,
            n,
            n - n_known,
        )
    return made


def _same(here: EncoderConfig, there: EncoderConfig) -> list[str]:
    """Name the settings that must be the same for the weights of one encoder in the other."""
    are_learned = here.positions == there.positions == "learned"
    return [*_SAME, *(["max_positions"] if are_learned else [])]


def _check_settings(
    here: EncoderConfig, there: EncoderConfig, *, wanted: set[str], folder: Path
) -> None:
    names_of_settings = _same(here, there)
    if here.n_entities and there.n_entities:
        if _ENTITY_ROWS[0] in wanted:
            names_of_settings.append("n_entities")
        if any(name.startswith("encoder.entity_embeddings.") for name in wanted):
            names_of_settings.append("entity_width")
    differing = [
        f"encoder.{name}={getattr(there, name)} (here {getattr(here, name)})"
        for name in names_of_settings
        if getattr(here, name) != getattr(there, name)
    ]
    if differing:
        raise ConfigError(
            f"{folder} was made with {', '.join(differing)}. Set these; n_subwords and n_entities "
            "are those of the tokenizer and vocabulary that the examples must be made with."
        )


def _copies(names_here: set[str], weights: dict[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    for name in names_here:
        source = names.plain_query(name)
        if name == _MATRIX and "heads.subwords.bias" in weights:
            source = _EMBEDDING
        if source in weights:
            yield name, weights[source]


def _log(transfer: Transfer, folder: Path) -> None:
    log.info(
        "%s: %d weights transferred, %d new (%d of them copies), %d not used",
        folder,
        len(transfer.transferred),
        len(transfer.new),
        len(transfer.copied),
        len(transfer.unused),
    )
    for what in ("new", "unused"):
        for name in getattr(transfer, what):
            log.info("%s: %s", what, name)


def encoder_for(
    config: EncoderConfig, *, reads_entities: bool, n_word_entities: int = 0
) -> EncoderConfig:
    """Adapt the settings of a pre-trained encoder to a tagger.

    For spans (``reads_entities``), the entities are cut to the special ones, and every candidate is
    [MASK]. For words, entities are left out, and entity-aware attention becomes plain
    attention. If words know entities (``n_word_entities``, the rows of their table), an encoder
    whose subwords know none learns to know them: in keys and values, if its attention can be plain,
    else by vectors that are added to its embeddings.
    """
    plain = "plain" if config.attention in {"entity_aware", "char_entity"} else config.attention
    if n_word_entities:
        attention = config.attention
        if config.entities != "subwords":
            attention = "char_entity" if plain == "plain" else plain
        return replace(
            config,
            attention=attention,
            entities="subwords",
            n_entities=n_word_entities,
            entity_width=config.entity_width if config.n_entities else _ENTITY_WIDTH,
        )
    if reads_entities and config.reads_mentions:
        return replace(config, n_entities=MASK + 1)
    return replace(config, n_entities=0, entities="mentions", attention=plain)


def take_encoder(
    model: TaggingModel, folder: Path, *, subwords: UsedSubwords | None = None
) -> None:
    """Load the encoder of a folder (``read_pretrained``) or a tagger into a model, without heads.

    ``subwords``: the model has rows for these alone. If words know entities, the weights of
    entities that the folder has not keep their initial values. Raises ``WeightsError`` if the
    weights do not fit the model's encoder.
    """
    weights = encoder_weights(_weights_of(folder), model.config.encoder)
    if subwords is not None:
        weights[_TABLE] = subwords.take(weights[_TABLE])
    if model.config.encoder.entities == "subwords":
        new = model.encoder.state_dict()
        # weights for subwords that know entities, or new rows of the entity table
        added = {n: w for n, w in new.items() if any(part in n for part in OF_SUBWORD_ENTITIES)}
        made = {**added, **weights}
        if _ENTITY_TABLE in weights:
            table = weights[_ENTITY_TABLE]
            made[_ENTITY_TABLE] = torch.cat([table, new[_ENTITY_TABLE][len(table) :].to(table)])
        weights = made
    load_strictly(model.encoder, weights, where=folder)


def save_with_all_subwords(
    model: TaggingModel, folder: Path, *, base: Path, subwords: UsedSubwords
) -> None:
    """Write a model with a row for each subword of its base; rows that it lacks are the base's.

    ``base`` is the folder that ``take_encoder`` read.
    """
    table, state = _weights_of(base)[_EMBEDDING], model.state_dict()
    subwords.put(state[_EMBEDDING], table)
    state[_EMBEDDING] = table
    encoder = replace(model.config.encoder, n_subwords=len(table))
    save_tagger(replace(model.config, encoder=encoder), state, folder)


def _weights_of(folder: Path) -> dict[str, Tensor]:
    """Load all weights of a pre-trained model or of a tagger."""
    if (folder / TAGGER_FILE).is_file():
        return load_weights(folder / WEIGHTS_FILE)
    return read_pretrained(folder).weights


def encoder_weights(weights: Mapping[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Select the weights that an encoder with these settings has; cut its entity table to size."""
    taken = {n.removeprefix(_ENCODER): w for n, w in weights.items() if n.startswith(_ENCODER)}
    if config.reads_mentions:
        return taken | {_ENTITY_TABLE: taken[_ENTITY_TABLE][: config.n_entities].clone()}
    are_left_out = config.entities != "subwords"
    left_out = (*_OF_ENTITY_QUERIES, *(OF_SUBWORD_ENTITIES if are_left_out else ()))
    return {
        name: tensor
        for name, tensor in taken.items()
        if (not name.startswith(_OF_ENTITIES) or (name == _ENTITY_TABLE and config.n_entities))
        and not any(part in name for part in left_out)
    }
