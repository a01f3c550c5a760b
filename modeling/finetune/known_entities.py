"""Which entities a pre-trained encoder, whose pieces know some, finds in a text.

A tagger has its forms beside it; a run of ``modeling.pretrain`` has the names of its entities
alone (``entities.arrow``). For the words of a lexicon, ``SPACE:WORD``, these are the forms.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.entities.vocabulary import SPECIAL, split_entities
from corpora.errors import CorpusError
from modeling.config import ConfigError, EncoderConfig
from modeling.data.entity_lookup import EntityLookup
from modeling.finetune.base import Base
from modeling.finetune.entities import open_entities
from modeling.training.sources import ENTITIES, read_entities


def known_entities(
    folder: Path, config: EncoderConfig, *, forms: Path | str | None = None
) -> EntityLookup | None:
    """What is looked up in texts for the encoder of a folder; None where its pieces know nothing.

    ``forms`` is a vocabulary, a lexicon or a table of forms, as ``data.entities`` of a tagger;
    those of entities that the encoder does not know are passed over. None: the titles of its own
    entities. Raises ``ConfigError`` for forms that it has no use for, ``CorpusError`` for forms of
    which it knows no entity, or where nobody says what its entities are called.
    """
    if not config.n_entities or config.entities != "pieces":
        if forms is not None:
            raise ConfigError(
                f"{folder}: its pieces know no entities, so there is nothing to look up. Leave "
                "forms out, or take a model with encoder.entities=pieces."
            )
        return None
    if forms is not None:
        return _of_forms(folder, config, forms)
    if not (folder / ENTITIES).is_file():
        raise CorpusError(
            f"{folder}: its pieces know {config.n_entities:,} entities, but {ENTITIES} with their "
            "names is missing. Copy it from where the model was made."
        )
    names = read_entities(folder / ENTITIES)[len(SPECIAL) :]
    _, titles = split_entities(names)
    return EntityLookup(titles, names, np.arange(len(SPECIAL), len(SPECIAL) + len(names)))


def _of_forms(folder: Path, config: EncoderConfig, forms: Path | str) -> EntityLookup:
    found = open_entities(str(forms), Base.open(folder))
    lookup = None if found is None else found.lookup
    is_known = lookup is not None and lookup.ids < config.n_entities
    if lookup is None or not np.any(is_known):
        raise CorpusError(f"{forms}: none of its forms means an entity that {folder} knows.")
    known = pa.array(np.flatnonzero(is_known))
    return EntityLookup(lookup.forms.take(known), lookup.entities.take(known), lookup.ids[is_known])
