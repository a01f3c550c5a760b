"""The entities of words for a tagger: their forms, and their rows in the entity table.

Entities whose names the base model has (``entities.arrow``) keep their rows, and new entities get
rows after them, so that a new lexicon needs no new pre-training. If the base model has no entities,
all rows are new (Table 4, without pre-training).
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import open_dataset
from corpora.entities.vocabulary import SPECIAL, split_entities
from corpora.errors import CorpusError
from corpora.lexicon.words import SPACE, chosen_words, read_words
from corpora.matching.form_dictionary import read_meanings, read_meanings_file
from modeling.config import ConfigError, EncoderConfig
from modeling.data.entity_forms import EntityForms
from modeling.taggers.folders import Base
from modeling.training.sources import ENTITIES, read_entities

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WordEntities:
    """The forms that are looked up, and the number of rows of the entity table."""

    lookup: EntityForms
    n_rows: int
    counts: dict[str, int]
    """The numbers of ``forms``, ``entities.known`` (of the base model) and ``entities.new``."""


def open_entities(path: str, base: Base) -> WordEntities | None:
    """Read an entity vocabulary, a lexicon or a table of forms; return None if no path is given.

    Raises ``CorpusError`` if nothing can be read, or if there is no form in it.
    """
    if not path:
        return None
    known = _known(base)
    chosen = _read_forms(Path(path), known)
    forms, entities = (chosen.column(name).combine_chunks() for name in ("form", "entity"))
    if not len(forms):
        raise CorpusError(f"{path}: no form to look up. Make it of more text.")
    entities = pc.coalesce(entities, pc.binary_join_element_wise(SPACE, forms, ":"))
    encoded = entities.dictionary_encode()
    rows = np.asarray(pc.fill_null(pc.index_in(encoded.dictionary, value_set=known), -1))
    rows, is_new = rows.astype(np.int64), rows < 0
    n_new, n_rows = int(np.count_nonzero(is_new)), max(base.config.n_entities, len(SPECIAL))
    rows[is_new] = n_rows + np.arange(n_new)
    of_forms = np.asarray(encoded.indices)
    order = np.argsort(is_new[of_forms], kind="stable")  # a known entity wins a form
    taken = pa.array(order)
    lookup = EntityForms(forms.take(taken), entities.take(taken), rows[of_forms[order]])
    n_known = len(rows) - n_new
    log.info(
        "%s: %d forms; of their entities %d are known, %d new", path, len(forms), n_known, n_new
    )
    counts = {"forms": len(forms), "entities.known": n_known, "entities.new": n_new}
    return WordEntities(lookup, n_rows + n_new, counts)


def _known(base: Base) -> pa.StringArray:
    """Return the names of the base's entities in the order of rows; empty if it has no list.

    Raises ``CorpusError`` if the list and the table differ in length.
    """
    file = base.folder / ENTITIES
    if not base.config.n_entities or not file.is_file():
        return pa.array([], pa.string())
    names = read_entities(file)
    if len(names) != base.config.n_entities:
        raise CorpusError(
            f"{file}: has {len(names)} entities, but the model's table {base.config.n_entities} "
            "rows: they are not of one model."
        )
    return names


def _read_forms(path: Path, known: pa.StringArray) -> pa.Table:
    """Read forms and all entities that they mean (``form, entity``), likelier entities first."""
    if not path.exists():
        raise CorpusError(f"data.entities {path}: there is nothing.")
    if path.is_file():
        return _by_count(read_meanings_file(path))
    dataset = open_dataset(path)
    shards = [dataset.path / shard.name for shard in dataset.shards]
    if dataset.schema.name == "entities":
        return _by_count(read_meanings(shards))
    if dataset.schema.name == "lexicon":
        return _words(read_words(shards), known)
    raise CorpusError(
        f"{path}: holds {dataset.schema.name}. Name an entity vocabulary, a lexicon, or a file of "
        "forms and entities with tabs between."
    )


def _words(words: pa.Table, known: pa.StringArray) -> pa.Table:
    """Choose the words of a lexicon, as entities of their groups or of the lexicon as a whole.

    The kind is taken of which the base knows more entities; of groups, if both are equal. Without
    groups it is the lexicon as a whole.
    """
    of_all = chosen_words(words, is_grouped=False)
    if words.column("group").null_count:
        return of_all
    of_groups = chosen_words(words, is_grouped=True)
    n_known = [
        pc.sum(pc.is_in(each.column("entity"), value_set=known)).as_py() or 0
        for each in (of_groups, of_all)
    ]
    return of_all if n_known[1] > n_known[0] else of_groups


def _by_count(meanings: pa.Table) -> pa.Table:
    """Sort by count, the most frequent first, and ties by entity, as ``choose_forms`` does."""
    return meanings.sort_by([("count", "descending"), ("entity", "ascending")])


def known_entities(
    folder: Path, config: EncoderConfig, *, forms: Path | str | None = None
) -> EntityForms | None:
    """Open the forms that are looked up for an encoder; None if its subwords know no entities.

    ``forms`` is a vocabulary, a lexicon or a table of forms, as ``data.entities`` of a tagger;
    forms of entities that the encoder does not know are skipped. None: the titles of the encoder's
    entities. Raises ``ConfigError`` for forms that the encoder cannot use, and ``CorpusError`` if
    it knows the entity of no form, or if the names of its entities are missing.
    """
    if not config.n_entities or config.entities != "subwords":
        if forms is not None:
            raise ConfigError(
                f"{folder}: its subwords know no entities, so there is nothing to look up. Leave "
                "forms out, or take a model with encoder.entities=subwords."
            )
        return None
    if forms is not None:
        return _of_forms(folder, config, forms)
    if not (folder / ENTITIES).is_file():
        raise CorpusError(
            f"{folder}: its subwords know {config.n_entities:,} entities, but {ENTITIES} with "
            "their names is missing. Copy it from where the model was made."
        )
    names = read_entities(folder / ENTITIES)[len(SPECIAL) :]
    _, titles = split_entities(names)
    return EntityForms(titles, names, np.arange(len(SPECIAL), len(SPECIAL) + len(names)))


def _of_forms(folder: Path, config: EncoderConfig, forms: Path | str) -> EntityForms:
    entities = open_entities(str(forms), Base.open(folder))
    lookup = None if entities is None else entities.lookup
    is_known = lookup is not None and lookup.ids < config.n_entities
    if lookup is None or not np.any(is_known):
        raise CorpusError(f"{forms}: none of its forms means an entity that {folder} knows.")
    known = pa.array(np.flatnonzero(is_known))
    return EntityForms(lookup.forms.take(known), lookup.entities.take(known), lookup.ids[is_known])
