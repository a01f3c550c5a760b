"""Check and time the writing of names into TEI editions.

    python -m benchmarks.enrich sturm-tei/letters sturm schnitzler-briefe-tei/letters schnitzler

For each pair of a folder and its edition: (1) random spans are written into every file, and it is
proven that nothing else in it changed; (2) the edition's own names are removed from the bytes and
predicted again, and each must come back; (3) with ``--schema FILE``, each result is validated, and
an error that the file did not have before counts as an exception. Prints files, spans, what was
skipped and why, exceptions, and the median time of a file, for writing and for reading alone. Files
that cannot be read are counted.
"""

import argparse
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.inputs import existing
from corpora.document import Document, Mention, without_crossing
from corpora.errors import CorpusError
from corpora.tei.edition import Edition, edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.schema import new_errors
from corpora.tei.source import Edit, Source
from corpora.tei.style import template
from corpora.tei.undo import undo
from corpora.tei.writer import WriteOptions, Written, write_predictions
from corpora.tei.xml import XmlError

MODEL = Model(id="onoma-0000beef", name="random spans", version="1", sha256="0" * 64)


def random_mentions(document: Document, labels: Sequence[str], n: int) -> list[Mention]:
    """Draw ``n`` spans in a document, and return those that do not cross others.

    Most are short. None begins or ends with white space, but some begin or end inside of words.
    """
    rng = random.Random(document.id)
    found: list[Mention] = []
    words = [word.span() for word in re.finditer(r"\S+", document.text)]
    for _ in range(n):
        first = rng.randrange(len(words))
        last = min(len(words) - 1, first + min(rng.choice((0, 0, 1, 1, 2, 3, 8, 40)), 40))
        start, end = words[first][0], words[last][1]
        if rng.random() < 0.3:  # boundaries within words
            start = rng.randrange(start, words[first][1])
            end = rng.randrange(max(start, words[last][0]), end) + 1
        score = round(rng.random(), 4)
        label = rng.choice(labels)
        found.append(
            Mention(
                start, end, label=label, score=score, entity=f"gnd:{first}", origin="prediction"
            )
        )
    return without_crossing(found)[0]


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


@dataclass
class Tally:
    """The counts and times of a folder; ``read`` and ``write`` are the seconds of each file."""

    files: int = 0
    spans: int = 0
    written: int = 0
    exceptions: list[str] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    read: list[float] = field(default_factory=list)
    write: list[float] = field(default_factory=list)

    def show(self, title: str) -> None:
        times = f"median {statistics.median(self.write) * 1e3:.1f} ms/file"
        times += f" (reading alone {statistics.median(self.read) * 1e3:.1f} ms)"
        print(
            f"{title}: {self.files} files, {self.spans} spans, {self.written} written, "
            f"{len(self.exceptions)} exceptions, {times}"
        )
        for reason, number in sorted(self.counters.items()):
            print(f"    {reason}: {number}")
        for exception in self.exceptions[:20]:
            print(f"    EXCEPTION {exception}")


def documents_of(data: bytes, edition: Edition, tally: Tally, *, name: str) -> list[Document]:
    begin = time.perf_counter()
    documents = [t.document for t in read_tei(data, edition, name=name) if t.document]
    tally.read.append(time.perf_counter() - begin)
    tally.files += 1
    return documents


def write(
    data: bytes,
    edition: Edition,
    mentions: dict[str, list[Mention]],
    *,
    tally: Tally,
    name: str,
    options: WriteOptions,
) -> Written | None:
    """Write, count, and check the bytes once more from outside."""
    tally.spans += sum(map(len, mentions.values()))
    begin = time.perf_counter()
    try:
        written = write_predictions(
            data, edition, mentions, name=name, model=MODEL, options=options
        )
    except (
        CorpusError,
        AssertionError,
        LookupError,
        ValueError,
        TypeError,
        StopIteration,
    ) as error:
        tally.exceptions.append(f"{name}: {error!r}")
        return None
    tally.write.append(time.perf_counter() - begin)
    if undo(written.data, name=name) != data:
        tally.exceptions.append(f"{name}: undo gives other bytes")
    if written.written + len(written.skipped) != sum(map(len, mentions.values())):
        tally.exceptions.append(f"{name}: a span disappeared")
    tally.written += written.written
    tally.counters += written.counters
    return written


def files_of(folder: Path, limit: int | None) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*.xml"))[:limit]:
        yield str(file.relative_to(folder)), file.read_bytes()


def random_spans(
    files: Iterable[tuple[str, bytes]],
    edition: Edition,
    options: WriteOptions,
    *,
    n: int,
    schema: Path | None,
) -> Tally:
    """Write random spans into every file."""
    tally = Tally()
    labels = list(edition.labels)
    for name, data in files:
        documents = documents_of(data, edition, tally, name=name)
        mentions = {d.id: random_mentions(d, labels, n) for d in documents}
        written = write(data, edition, mentions, tally=tally, name=name, options=options)
        if schema and written and (new := new_errors(data, written.data, schema)):
            tally.exceptions.append(f"{name}: {len(new)} new errors of the schema, {new[0]}")
    return tally


def readable(files: Iterable[tuple[str, bytes]], edition: Edition) -> Iterator[tuple[str, bytes]]:
    """Leave out what is no TEI, or malformed, and say how many."""
    n_left_out = 0
    for name, data in files:
        try:
            read_tei(data, edition, name=name)
        except XmlError:
            n_left_out += 1
        else:
            yield name, data
    if n_left_out:
        print(f"{n_left_out} files are no TEI, or malformed")


def own_names(files: Iterable[tuple[str, bytes]], edition: Edition) -> Tally:
    """Take the edition's names out and predict them again."""
    tally = Tally()
    for name, data in files:
        bare, before = without_names(data, edition, name=name)
        texts = {d.id: d.text for d in documents_of(bare, edition, tally, name=name)}
        gold = {d.id: d.mentions for d in before}
        if texts != {d.id: d.text for d in before}:
            tally.exceptions.append(f"{name}: the text differs without the names")
            continue
        labelled = {id: [m for m in some if m.label] for id, some in gold.items()}
        written = write(bare, edition, labelled, tally=tally, name=name, options=WriteOptions())
        if written is None:
            continue
        again = [t.document for t in read_tei(written.data, edition, name=name) if t.document]
        for document in again:
            back = {(m.start, m.end, m.label) for m in document.mentions}
            wanted = {(m.start, m.end, m.label) for m in labelled[document.id]}
            tally.counters["names that did not come back"] += len(wanted - back)
    tally.counters["names that did not come back"] += 0
    return tally


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("pairs", nargs="+", metavar="FOLDER EDITION")
    parser.add_argument("--spans", type=int, default=40, help="random spans for each document")
    parser.add_argument("--limit", type=int, help="files of each folder")
    parser.add_argument("--schema", type=existing, help="RelaxNG that results must fit")
    parser.add_argument("--crossing", default="split", choices=("split", "standOff"))
    arguments = parser.parse_args()
    if len(arguments.pairs) % 2:
        parser.error("each folder needs its edition")
    for folder in arguments.pairs[::2]:
        if not any(Path(folder).rglob("*.xml")):
            parser.error(f"{folder}: has no TEI files. Name what is to be read")
    failed = 0
    for folder, name in zip(arguments.pairs[::2], arguments.pairs[1::2], strict=True):
        edition = load_edition(edition_path(name))
        for label in edition.labels:
            template(edition, label)
        options = WriteOptions(crossing=arguments.crossing)
        files = list(readable(files_of(Path(folder), arguments.limit), edition))
        spans = random_spans(files, edition, options, n=arguments.spans, schema=arguments.schema)
        spans.show(f"{name}, random spans")
        names = own_names(files, edition)
        names.show(f"{name}, own names predicted again")
        failed += len(spans.exceptions) + len(names.exceptions)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
