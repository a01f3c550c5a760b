"""Measure what Onoma adds to texts, and print a sample of it for a person to read.

    python -m benchmarks.additions wiki build/wiki/documents build/vocab
    python -m benchmarks.additions edition FOLDER EDITION --register 'register/*.xml'
    python -m benchmarks.additions lexicon DATA/zh-news/peoples-daily-199801.txt.gz

wiki: each link of a document is taken as hidden, and each place of known truth is judged by a model
that has not seen the document. The table says which fraction of all links is found again where 95,
90 and 85 % of the places are right: of all known forms, by a threshold of their link probability,
and by the gate; and how many title matches that touch a hidden link are right. It reads samples of
what ``augment --policy gated`` adds, and of the title matches before and after.

edition: the names of a tenth of the files (by the hashes of their names) are taken out, and ``onoma
predict`` writes names into these files beside all others: with the dictionary of tagged names, with
the register, with a tagger that has not learned from these files, and with both. A name is right if
it has the characters and the label of one of the edition (``=`` in the sample); two that the end of
a line parts are one.

lexicon: the file has a line for each paragraph, with ``word/tag`` between blanks. A match is right
if it is one word, the name of a person, or several words that are all nouns and the like (a term);
it is wrong if it is other words, or begins or ends inside one.

``--read N`` prints N additions of each kind, drawn with ``--seed``.
"""

import argparse
import contextlib
import gzip
import io
import random
import subprocess
import sys
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from benchmarks.inputs import existing
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, open_dataset, read_batches
from corpora.document import Document, Mention, index_of
from corpora.evidence.evidence import cross_fit
from corpora.evidence.places import Floats, TruthPlaces
from corpora.evidence.precision import lowest_threshold, wilson
from corpora.hashing.sampling import ratio
from corpora.matching.arrays import Flags
from corpora.matching.form_dictionary import Matching, build_table, choose_forms, read_meanings
from corpora.matching.form_facts import FormFacts, write_facts
from corpora.matching.form_table import FormTable
from corpora.matching.link_truth import labelled
from corpora.matching.name_edges import learn
from corpora.matching.place_features import NAMES, TITLE, PlaceKnowledge
from corpora.matching.survey import Survey, Texts, sum_surveys
from corpora.matching.title_matches import Augmentation, match_pages
from corpora.registers.entry import kind_of_label
from corpora.registers.tagged_names import whole_names
from corpora.runs.plain import write_dataset
from corpora.tei.edition import Edition, edition_path, load_edition
from corpora.tei.reader import read_tei
from corpora.tei.source import Edit, Source
from pipelines import augment_mentions, documents_to_lexicon

PRECISIONS = (0.95, 0.9, 0.85)
HELD = 0.1
KINDS = ("word or name", "term", "other words", "cut")
WAYS_OF_LEXICON = {"tagger": ("--words", "tagger"), "all": ()}
_TERM = frozenset({"n", "vn", "nr", "ns", "nt", "nz", "an", "b", "j", "Ng", "k", "h", "l", "i"})
_NO_LAST = frozenset({"b", "h"})

Span = tuple[str, int, int, str]
"""Document, start, end and label of a name."""
Words = list[tuple[str, str]]


def sample(kind: str, lines: Iterable[str], given: argparse.Namespace) -> None:
    """Print some of the lines, drawn with a seed."""
    every = list(lines)
    for line in random.Random(given.seed).sample(every, min(given.read, len(every))):
        print(kind, line, sep="\t")


def shown(document: Document, start: int, end: int) -> str:
    """Return characters of a document between brackets, with what stands around them."""
    text = document.text
    around = f"{text[max(0, start - 60) : start]}[{text[start:end]}]{text[end : end + 40]}"
    return " ".join(around.split())


def documents_of(path: Path) -> list[Document]:
    """Read a dataset of documents."""
    records = open_dataset(path, "documents").records()
    return [record for record in records if isinstance(record, Document)]


def run(main: Callable[[Sequence[str]], int], *arguments: str) -> None:
    """Run a command, and show nothing."""
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(arguments)
    if status:
        raise SystemExit(status)


def batches_of(documents: Path) -> Iterator[pa.RecordBatch]:
    """Read the documents as batches."""
    dataset = open_dataset(documents, "documents")
    for shard in dataset.shards:
        yield from read_batches(dataset.path / shard.name, "documents")


def write(path: Path, schema: str, batches: list[pa.RecordBatch]) -> Path:
    """Write an intermediate shard."""
    with ShardWriter(path, SCHEMAS[schema], is_lasting=False) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def survey(documents: Path, vocab: Path, folder: Path, *, lang: str | None) -> PlaceKnowledge:
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
    return PlaceKnowledge.open(folder, chosen)


def places_of(
    documents: Path, known: PlaceKnowledge, folder: Path, *, lang: str | None
) -> TruthPlaces:
    """Judge all places of known truth."""
    table, ids, parts = FormTable(folder / "forms"), [], []
    for batch in batches_of(documents):
        of, *columns = labelled(Texts(batch, lang), table, known)
        ids += batch.column("id").take(pa.array(of)).to_pylist()
        parts.append(columns)
    features, truth, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return TruthPlaces.of(features, truth, ids, names=NAMES, weights=weights).part(weights > 0)


def found_again(
    places: TruthPlaces, values: Floats, n_links: int, *, added: Flags | None = None
) -> str:
    """Show which fraction of all links is found at each precision; ``added``: what may be added."""
    cells, is_right = [], places.truth if added is None else places.truth * added
    for precision in PRECISIONS:
        threshold = lowest_threshold(precision, values, places)
        n_right = 0.0 if threshold is None else is_right[values >= threshold].sum()
        cells.append(f"{n_right / n_links:10.1%}")
    return "".join(cells)


def title_truth(document: Document, how: Augmentation) -> tuple[int, int]:
    """Count the title matches that touch a hidden link, and those of them that are right.

    A title counts only if the page has it without the links that the match touches. A match that
    contains a link, or ends inside one to the same title, is neither right nor wrong.
    """
    linked = [m for m in document.mentions if m.origin == "link"]
    titles = {m: (m.entity or "").partition(":")[2] for m in linked}
    links = [((m.start, m.end), titles[m]) for m in linked]
    counts = Counter(titles[m] for m in linked)
    [matches] = match_pages([document.text], [document.title], [links], how=how, are_hidden=True)
    by_span = index_of(linked)
    n_right = n_judged = 0
    for start, end, title in matches:
        touched = by_span.touching(start, end)
        there = [titles[m] for m in touched]
        is_known = title == document.title or counts[title] > there.count(title)
        is_same = any((m.start, m.end) == (start, end) for m in touched)
        is_inside = len(touched) == 1 and touched[0].start <= start and end <= touched[0].end
        if is_known and is_inside and (is_same or title not in there):
            n_judged += 1
            n_right += title in there
    return n_judged, n_right


def settings_of_titles(documents: Iterable[Document], lang: str | None) -> Augmentation:
    """Return the settings for matching titles, with the words that links show."""
    texts = (
        (each.text, [(m.start, m.end) for m in each.mentions if m.origin == "link"])
        for each in documents
    )
    return Augmentation(lang=lang, name_edges=learn(texts, lang=lang))


def measure_wiki(given: argparse.Namespace) -> None:
    """Print what is found again of hidden links, and what is to be read."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        known = survey(given.documents, given.vocab, folder, lang=given.lang)
        places = places_of(given.documents, known, folder, lang=given.lang)
        n_links = known.n_links
        right, total = places.weights @ places.truth, places.weights.sum()
        print(f"{n_links} links, {len(places)} places of known truth")
        print(f"{'':<20}" + "".join(f"{precision:10.0%}" for precision in PRECISIONS))
        print(f"{'all forms':<20}precision {right / total:.1%}, found {right / n_links:.1%}")
        by_probability = places.features[:, NAMES.index("places that are links")]
        print(f"{'link probability':<20}{found_again(places, by_probability, n_links)}")
        chances, is_title = cross_fit(places), places.features[:, TITLE] > 0
        print(f"{'gated':<20}{found_again(places, chances, n_links, added=is_title)}")
        documents = documents_of(given.documents)
        how = settings_of_titles(documents, given.lang)
        pairs = [title_truth(document, how) for document in documents]
        n_judged, n_right = (sum(numbers) for numbers in zip(*pairs, strict=True))
        print(f"{'title matches':<20}{rate(n_right, n_judged)} of those that touch a link")
        if given.read:
            inputs = ["--input", str(given.documents), "--forms", str(given.vocab)]
            output = folder / "gated"
            run(augment_mentions.main, *inputs, "--policy", "gated", "--output", str(output))
            gated = documents_of(output)
            sample("title match", added(documents, "title_match"), given)
            sample("title match, gated", added(gated, "title_match"), given)
            sample("gated", added(gated, "lexicon"), given)


def added(documents: Iterable[Document], origin: str) -> Iterator[str]:
    """Show the mentions of an origin."""
    for document in documents:
        for m in document.mentions:
            if m.origin == origin:
                yield f"{document.title}\t{shown(document, m.start, m.end)}\t{m.entity}"


def rate(n_right: int, n: int) -> str:
    """Show a fraction with its interval."""
    low, high = wilson(n_right / max(n, 1), max(n, 1))
    return f"{n_right} of {n} = {n_right / max(n, 1):.1%} ({low:.1%} to {high:.1%})"


def names_of(document: Document, *, of_models: bool = False) -> Iterator[tuple[Span, Mention]]:
    """Yield the names of persons, places and so on that people, or models, tagged."""
    for m in whole_names(document):
        is_of_model = m.attributes.get("@resp", "").startswith("#onoma-")
        if kind_of_label(m.label) and is_of_model == of_models:
            yield (document.id, m.start, m.end, m.label or ""), m


def ways_of(given: argparse.Namespace) -> dict[str, list[str]]:
    """Return the options of each way to find names."""
    ways = {"dictionary": ["--dictionary"]}
    if given.register:
        ways["dictionary + register"] = ["--dictionary", "--register", given.register]
    if given.tagger:
        joined = {f"tagger + {way}": [given.tagger, *options] for way, options in ways.items()}
        ways |= {"tagger": [given.tagger]} | joined
    return ways


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*.xml")):
        yield str(file.relative_to(folder)), file.read_bytes()


def without_names(data: bytes, edition: Edition, *, name: str) -> tuple[bytes, list[Document]]:
    """Take out the tags of the names that have a label; also gives what was read before."""
    documents = [t.document for t in read_tei(data, edition, name=name) if t.document]
    bytes_ = {
        int(byte)
        for document in documents
        for mention in document.mentions
        if mention.label
        for byte in mention.attributes.get("bytes", mention.attributes["byte"]).split()
    }
    source = Source(data, name=name)
    edits = []
    for node in source.nodes:
        if node.byte in bytes_ and not node.is_expanded:
            edits.append(Edit(node.start, node.content_start, ""))
            edits.append(Edit(node.content_end, node.end, ""))
    return source.splice(sorted(edits)), documents


def measure_edition(given: argparse.Namespace) -> None:
    """Take names out, have them written in each way, and compare."""
    edition = load_edition(edition_path(given.edition))
    with TemporaryDirectory() as folder:
        bare, held = Path(folder) / "bare", set[str]()
        names: dict[Span, set[str]] = {}
        for name, data in files_of(given.folder):
            is_held = ratio(name) < HELD
            without, documents = without_names(data, edition, name=name) if is_held else (data, [])
            for document in documents:
                held.add(document.id)
                for span, mention in names_of(document):
                    names.setdefault(span, set()).add(mention.entity or "")
            (bare / name).parent.mkdir(parents=True, exist_ok=True)
            (bare / name).write_bytes(without)
        print(f"{given.folder}: {len(held)} documents, {len(names)} names taken out")
        for way, options in ways_of(given).items():
            output = Path(folder) / way
            command = [sys.executable, "-m", "modeling.predict", *options, "--tei", str(bare)]
            command += ["--edition", given.edition, "--output", str(output)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            print(*(line for line in done.stderr.splitlines() if " precision " in line), sep="\n")
            read = (read_tei(data, edition, name=name) for name, data in files_of(output))
            documents = [t.document for each in read for t in each if t.document]
            lines = compare(way, [each for each in documents if each.id in held], names)
            sample(way, lines, given)


def compare(way: str, documents: Sequence[Document], names: dict[Span, set[str]]) -> list[str]:
    """Print how many of the names that a model wrote are the edition's; return all of them."""
    lines, ids = [], list[bool]()
    for document in documents:
        entities: dict[Span, set[str]] = {}
        for span, mention in names_of(document, of_models=True):
            entities.setdefault(span, set()).add(mention.entity or "")
        for span, meant in entities.items():
            sign = "=" if span in names else "?"
            lines.append(f"{sign} {span[3]}: {shown(document, *span[1:3])}")
            if any(names.get(span, ())) and any(meant):
                ids.append(bool(meant & names[span]))
    n_right = sum(line[0] == "=" for line in lines)
    print(
        f"{way:30} {rate(n_right, len(lines))}, recall {n_right / max(len(names), 1):.1%}, "
        f"F1 {2 * n_right / max(len(lines) + len(names), 1):.1%}, ids {sum(ids)} of {len(ids)}",
        flush=True,
    )
    return lines


def read_news(path: Path) -> list[Words]:
    """Read paragraphs of words with tags; digits and letters become narrow."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = (line.split() for line in file)
        split = ([item.rpartition("/") for item in line] for line in lines if line)
        return [[(unicodedata.normalize("NFKC", w), tag) for w, _, tag in line] for line in split]


def kind_of(words: Words, start: int, end: int) -> str:
    """Judge a match in a paragraph."""
    edges = [*accumulate((len(word) for word, _ in words), initial=0)]
    first, last = bisect_right(edges, start) - 1, bisect_right(edges, end) - 1
    if edges[first] != start or edges[last] != end:
        return "cut"
    tags = [tag for _, tag in words[first:last]]
    if len(tags) == 1 or all(tag[:2] in {"nr", "ns", "nt", "nz"} for tag in tags):
        return "word or name"
    return "term" if {*tags} <= _TERM and tags[-1] not in _NO_LAST else "other words"


def measure_lexicon(given: argparse.Namespace) -> None:
    """Make a lexicon of the news, and judge its matches."""
    news = read_news(given.news)
    text = "\n".join("".join(word for word, _ in words) for words in news)
    begins = [*accumulate((sum(len(w) for w, _ in words) + 1 for words in news), initial=0)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        document = Document(id="news", group="news", source="news", text=text, lang="zh")
        write_dataset([document], folder / "documents")
        inputs = ["--input", str(folder / "documents")]
        run(documents_to_lexicon.main, *inputs, "--output", str(folder / "lexicon"))
        inputs += ["--forms", str(folder / "lexicon")]
        print(f"{'way':24} {'matches':>8} {'right':>6} " + " ".join(f"{k:>13}" for k in KINDS))
        for way, options in WAYS_OF_LEXICON.items():
            output = folder / way
            run(augment_mentions.main, *inputs, "--output", str(output), *options)
            [matched] = documents_of(output)
            lines = list[str]()
            counts: Counter[str] = Counter()
            for m in matched.mentions:
                number = bisect_right(begins, m.start) - 1
                kind = kind_of(news[number], m.start - begins[number], m.end - begins[number])
                counts[kind] += 1
                lines.append(f"{kind}\t{shown(matched, m.start, m.end)}")
            n = counts.total()
            right = (counts[KINDS[0]] + counts[KINDS[1]]) / n
            print(f"{way:24} {n:8,} {right:6.1%} ", *(f"{counts[k] / n:13.1%}" for k in KINDS))
            sample(way, lines, given)


def main() -> None:
    """Measure, and print what is to be read."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--read", type=int, default=0, help="number of additions to print")
    parser.add_argument("--seed", type=int, default=1)
    kinds = parser.add_subparsers(required=True)
    wiki = kinds.add_parser("wiki")
    wiki.add_argument("documents", type=existing, help="documents of a Wikipedia")
    wiki.add_argument("vocab", type=existing, help="its entity vocabulary")
    wiki.add_argument("--lang", help="language whose rules for words apply")
    wiki.set_defaults(measure=measure_wiki)
    edition = kinds.add_parser("edition")
    edition.add_argument("folder", type=existing)
    edition.add_argument("edition")
    edition.add_argument("--register", help="pattern of the register's files")
    edition.add_argument("--tagger", help="run of a tagger that never saw the held files")
    edition.set_defaults(measure=measure_edition)
    lexicon = kinds.add_parser("lexicon")
    lexicon.add_argument("news", type=existing)
    lexicon.set_defaults(measure=measure_lexicon)
    given = parser.parse_args()
    given.measure(given)


if __name__ == "__main__":
    main()
