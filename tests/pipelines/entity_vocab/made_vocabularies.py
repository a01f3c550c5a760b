"""Articles, the vocabularies made of them, and what stands in these."""

import json

from corpora.datasets.shards import open_dataset
from corpora.document import Document, Mention
from corpora.entities.vocabulary import SPECIAL
from pipelines import documents_to_entity_vocab as pipeline
from tests.pipelines.graph_runs import run_here, run_plainly


def document(number, title, text, *links, wiki="dawiki", origin="link"):
    """Make an article; a link is its surface, of which the first place counts, and its entity."""
    spans = [(text.index(form), form, entity) for form, entity in links]
    mentions = [Mention(at, at + len(form), entity, origin=origin) for at, form, entity in spans]
    return Document(
        id=f"{wiki}:{number}",
        group=wiki,
        source="test",
        lang=wiki[:2],
        title=title,
        text=text,
        mentions=tuple(sorted(mentions)),
    )


def build(output, *inputs, **options):
    """Do what the command does, without Beam: a test of the command compares their bytes."""
    return run_here(pipeline, output, inputs, run_graph=run_plainly, **options)


def rows_of(vocab):
    return list(open_dataset(vocab, "entities").rows())


def entities_of(vocab):
    """Return entity and id of the rows that are neither special nor retired."""
    return {r["entity"]: r["id"] for r in rows_of(vocab)[len(SPECIAL) :] if not r["retired"]}


def luke_of(vocab):
    """Read the lines of the JSON for LUKE."""
    return [json.loads(line) for line in (vocab / "entity_vocab.jsonl").read_text().splitlines()]


def aliases_of(vocab, entity):
    [row] = [row for row in rows_of(vocab) if row["entity"] == entity]
    return {alias["form"]: alias for alias in row["aliases"]}


ARTICLES = (
    [
        document(1, "Berlin", "Berlin er Tysklands hovedstad.", ("Tysklands", "dawiki:Tyskland")),
        document(2, "Tyskland", "By: Berlin, Ulm.", ("Berlin", "dawiki:Berlin")),
    ],
    [
        document(3, "Ulm", "Ulm i Tyskland.", ("Tyskland", "dawiki:Tyskland")),
        document(4, "Jena", "I Jena, Ulm og Rom", ("Ulm", "dawiki:Ulm"), ("Rom", "dawiki:Rom")),
    ],
)
