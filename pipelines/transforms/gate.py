"""Transforms that learn from links how probable mentions are, and add the probable ones."""

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from corpora.datasets.columns import MentionColumn, batch_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.document import Rejected
from corpora.evidence.evidence import Evidence, learn
from corpora.evidence.places import TruthPlaces
from corpora.hashing.sampling import ratio
from corpora.matching.form_facts import FormFacts
from corpora.matching.form_table import FormTable
from corpora.matching.link_truth import labelled
from corpora.matching.place_features import NAMES, TITLE, PlaceKnowledge
from corpora.matching.place_gate import PlaceGate
from corpora.matching.survey import COLUMNS, Survey, Texts, sum_surveys
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_rows
from corpora.runs.work_directory import WorkDirectory
from corpora.system.writing import write_text
from pipelines.graph import Run
from pipelines.outcomes import Counts, Rows, Yield
from pipelines.transforms.documents import read_documents
from pipelines.transforms.forms import FORMS, add_mentions

if TYPE_CHECKING:
    from pipelines.augment_mentions import AugmentSettings

EVIDENCE = "evidence.json"
SAMPLED_LINKS = 50_000
"""About how many links are judged as if they were hidden."""
FEWEST_RIGHT = 100
"""The fewest places that are right from which a model is learned."""


def survey_forms(unit: Unit, settings: "AugmentSettings", run: Run) -> Iterator[Rows]:
    """Count forms, entities and words in documents, which a later phase reads again: ``survey``.

    Documents that cannot be read are rejected later.
    """
    survey = Survey(FormTable(run.work.tables / FORMS), _facts_of(run.folder).entities)
    for batch in read_documents(unit, columns=COLUMNS):
        for _ in read_rows(batch, partial(survey.add, lang=settings.lang)):
            pass
    yield from Rows.each("survey", survey.tables())


def add_surveys(_: Unit, __: "AugmentSettings", run: Run) -> Iterator[Counts]:
    """Add up what all units counted."""
    work, facts = run.work, _facts_of(run.folder)
    sizes = sum_surveys(
        work.shards("survey"),
        work.tables,
        n_forms=len(facts.counts),
        n_entities=len(facts.entities),
    )
    names = ("documents", "links", "links_of_known_entities")
    yield Counts({f"survey.{name}": size for name, size in zip(names, sizes, strict=True)})


def sample_places(unit: Unit, settings: "AugmentSettings", run: Run) -> Iterator[Rows]:
    """Find places whose truth hidden links tell, in a sample of the documents; ``form_places``.

    Documents are drawn by the hash of their id, so that about ``SAMPLED_LINKS`` links are among
    them.
    """
    table, known = FormTable(run.work.tables / FORMS), _knowledge_of(run.folder)
    fraction = SAMPLED_LINKS / max(known.n_links, 1)

    def judge(batch: pa.RecordBatch) -> pa.RecordBatch:
        documents, *columns = labelled(Texts(batch, settings.lang), table, known)
        ids = batch.column("id").take(pa.array(documents))
        return batch_of("form_places", [ids, *(column.tolist() for column in columns)])

    for batch in read_documents(unit, columns=COLUMNS) if known.n_links else ():
        ids = batch.column("id").to_pylist()
        drawn = batch.filter(pa.array([ratio(id) < fraction for id in ids], pa.bool_()))
        for _, rows in read_rows(drawn, judge) if drawn.num_rows else ():
            if not isinstance(rows, Rejected):
                yield Rows("form_places", rows)


def learn_gate(_: Unit, settings: "AugmentSettings", run: Run) -> Iterator[Counts]:
    """Learn the probability of a mention from the sample, and write the model.

    From fewer than ``FEWEST_RIGHT`` places that are right, nothing is learned, and no file is
    written.
    """
    work, schema = run.work, SCHEMAS["form_places"]
    batches = list(read_shards(work.shards("form_places"), schema))
    table = pa.Table.from_batches(batches, schema=schema.columns)
    truth, weights = (table.column(name).to_numpy() for name in ("truth", "weight"))
    is_known = weights > 0
    yield Counts({"places.judged": int(is_known.sum()), "places.right": int(truth.sum())})
    if truth.sum() < FEWEST_RIGHT:
        return
    features = np.array(table.column("features").to_pylist(), np.float64)
    documents = table.column("document").to_pylist()
    places = TruthPlaces.of(features, truth, documents, names=NAMES, weights=weights)
    evidence = learn(
        places.part(is_known),
        min_precision=settings.min_precision,
        is_cautious=True,
        unknown=features[~is_known],
        added=TITLE if _facts_of(run.folder).has_titles else None,
    )
    write_text(work.tables / EVIDENCE, [evidence.to_json()])


def augment(unit: Unit, settings: "AugmentSettings", run: Run) -> Iterator[Yield]:
    """Match the chosen forms in documents, and write the documents with more mentions."""
    add = gate_mentions if settings.policy == "gated" else add_mentions
    return add(unit, settings, run)


def gate_mentions(unit: Unit, settings: "AugmentSettings", run: Run) -> Iterator[Yield]:
    """Add probable mentions to documents, and remove doubtful title matches.

    Documents become rows of the output.
    """
    gate = partial(_gate_of(run.folder, settings.lang).apply, only_remove=settings.only_remove)
    for rows, gated in chain.from_iterable(read_rows(b, gate) for b in read_documents(unit)):
        if isinstance(gated, Rejected):
            yield gated
            continue
        documents, counts = gated
        counters = {f"mentions.{name}": n for name, n in counts.items()}
        counters["mentions.before"] = len(MentionColumn.of(rows).structs)
        yield Rows("", documents)
        yield Counts(counters, read=rows.num_rows, written=rows.num_rows)


@lru_cache(maxsize=1)
def _gate_of(folder: str, lang: str | None) -> PlaceGate:
    tables = WorkDirectory(folder).tables
    path = tables / EVIDENCE
    evidence = Evidence.from_json(path.read_text("utf-8")) if path.exists() else None
    return PlaceGate(FormTable(tables / FORMS), _knowledge_of(folder), evidence, lang)


@lru_cache(maxsize=1)
def _facts_of(folder: str) -> FormFacts:
    work = WorkDirectory(folder)
    return FormFacts(work.tables, work.shard("chosen", 0))


@lru_cache(maxsize=1)
def _knowledge_of(folder: str) -> PlaceKnowledge:
    work = WorkDirectory(folder)
    return PlaceKnowledge.open(work.tables, work.shard("chosen", 0))
