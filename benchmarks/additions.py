"""Measure what ``augment`` adds: hidden links found again, and a sample of additions to read.

    python -m benchmarks.additions build/wiki/documents build/vocab --augmented build/augmented

Each link of a document is taken as hidden, as when the gate learns, and each place of known truth
is judged by a model that has not seen its document. The table says which fraction of all links is
found again where 95, 90 and 85 % of the places are right:

    all forms         every known form, as spelled: its precision, and what it finds
    link probability  the places of forms above a threshold of their link probability
    gated             the places above a threshold of the model

``--augmented`` also prints a sample of the added mentions of a dataset, and one of the title
matches that stayed in it, drawn with ``--seed``, for a person to judge.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.inputs import existing
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, open_dataset, read_batches
from corpora.document import Document
from corpora.evidence.evidence import cross_fit
from corpora.evidence.places import Floats, Places
from corpora.evidence.precision import lowest_threshold
from corpora.matching.form_dictionary import Matching, build_table, choose_forms, read_meanings
from corpora.matching.form_facts import FormFacts, write_facts
from corpora.matching.form_table import FormTable
from corpora.matching.link_truth import labelled
from corpora.matching.place_features import NAMES, Knowledge
from corpora.matching.survey import Survey, Texts, sum_surveys

PRECISIONS = (0.95, 0.9, 0.85)


def batches_of(documents: Path) -> Iterator[pa.RecordBatch]:
    """Read the documents."""
    dataset = open_dataset(documents, "documents")
    for shard in dataset.shards:
        yield from read_batches(dataset.path / shard.name, "documents")


def write(path: Path, schema: str, batches: list[pa.RecordBatch]) -> Path:
    """Write an intermediate shard."""
    with ShardWriter(path, SCHEMAS[schema], is_lasting=False) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def survey(documents: Path, vocab: Path, folder: Path, *, lang: str | None) -> Knowledge:
    """Write the tables of a gate, as the pipeline does, and open them."""
    aliases = open_dataset(vocab, "entities")
    meanings = read_meanings(aliases.path / shard.name for shard in aliases.shards)
    tables = choose_forms(meanings, ignore_case=False, lang=lang)
    chosen = write(folder / "chosen", "chosen_forms", tables[0].to_batches())
    counts = write(folder / "counts", "form_counts", tables[1].to_batches())
    groups = write(folder / "groups", "chosen_groups", [])
    build_table(folder / "forms", chosen, groups, matching=Matching(lang=lang, ignore_case=False))
    write_facts(folder, chosen, counts)
    facts = FormFacts(folder, chosen)
    counter = Survey(FormTable(folder / "forms"), facts.entities)
    for batch in batches_of(documents):
        counter.add(batch, lang=lang)
    rows = write(folder / "survey", "form_survey", list(counter.tables()))
    n_entities = len(facts.entities)
    sum_surveys([rows], folder, n_forms=len(facts.counts), n_entities=n_entities)
    return Knowledge.open(folder, chosen)


def places_of(documents: Path, known: Knowledge, folder: Path, *, lang: str | None) -> Places:
    """Judge all places of known truth."""
    table, ids, parts = FormTable(folder / "forms"), [], []
    for batch in batches_of(documents):
        of, *columns = labelled(Texts(batch, lang), table, known)
        ids += batch.column("id").take(pa.array(of)).to_pylist()
        parts.append(columns)
    features, truth, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Places.of(features, truth, ids, names=NAMES, weights=weights)


def found_again(places: Places, values: Floats, n_links: int) -> str:
    """Show which fraction of all links is found at each precision."""
    cells = []
    for precision in PRECISIONS:
        threshold = lowest_threshold(precision, values, places)
        n_right = 0.0 if threshold is None else places.truth[values >= threshold].sum()
        cells.append(f"{n_right / n_links:10.1%}")
    return "".join(cells)


def measure(documents: Path, vocab: Path, lang: str | None) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = survey(documents, vocab, folder, lang=lang)
        places = places_of(documents, known, folder, lang=lang)
    right, total = places.weights @ places.truth, places.weights.sum()
    n_links = known.n_links
    print(f"{n_links} links, {len(places)} places of known truth")
    print(f"{'':<20}" + "".join(f"{precision:10.0%}" for precision in PRECISIONS))
    print(f"{'all forms':<20}precision {right / total:.1%}, found {right / n_links:.1%}")
    by_probability = places.features[:, NAMES.index("places that are links")]
    print(f"{'link probability':<20}{found_again(places, by_probability, n_links)}")
    print(f"{'gated':<20}{found_again(places, cross_fit(places), n_links)}")


def show(augmented: Path, *, n: int, seed: int) -> None:
    """Print a sample of the additions, and one of the title matches, to judge."""
    records = open_dataset(augmented, "documents").records()
    documents = [record for record in records if isinstance(record, Document)]
    for origin in ("lexicon", "title_match"):
        mentions = [(d, m) for d in documents for m in d.mentions if m.origin == origin]
        for document, m in random.Random(seed).sample(mentions, min(n, len(mentions))):
            before = document.text[max(0, m.start - 60) : m.start].replace("\n", " ")
            after = document.text[m.end : m.end + 40].replace("\n", " ")
            shown = f"{before}[{document.text[m.start : m.end]}]{after}"
            print(origin, document.id, document.title, shown, m.entity, sep="\t")


def main() -> None:
    """Measure, and print what is to be read."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("documents", type=existing, help="documents of a Wikipedia")
    parser.add_argument("vocab", type=existing, help="its entity vocabulary")
    parser.add_argument("--lang", help="language whose rules for words apply")
    parser.add_argument("--augmented", type=existing, help="what augment made of the documents")
    parser.add_argument("--read", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    measure(arguments.documents, arguments.vocab, arguments.lang)
    if arguments.augmented:
        show(arguments.augmented, n=arguments.read, seed=arguments.seed)


if __name__ == "__main__":
    main()
