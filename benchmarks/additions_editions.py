"""Measure the names that dictionaries and taggers write into letters whose names were taken out.

    python -m benchmarks.additions_editions FOLDER EDITION [--register PATTERN] [--tagger RUN]

The names of a tenth of the files (by the hashes of their names; a tagger must not have learned from
them) are taken out of the bytes, and ``onoma predict`` writes names into these files beside all
others. Prints how many it writes, how many of these have the characters and the label of a name of
the edition, and how many of their ids are the edition's. ``--read N`` lists names that it wrote,
drawn with a seed, for a person to judge; ``=`` marks those of the edition.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.enrich import files_of, without_names
from corpora.document import Document
from corpora.evidence.precision import wilson
from corpora.hashing.sampling import ratio
from corpora.registers.entry import kind_of_label
from corpora.tei.edition import Edition, edition_path, load_edition
from corpora.tei.reader import read_tei

HELD = 0.1
Names = dict[tuple[str, int, int, str], set[str]]
"""The entities of names by document, start, end and label."""


@dataclass
class Outcome:
    """The names that were written in one way."""

    written: int = 0
    right: int = 0
    with_id: int = 0
    right_ids: int = 0
    lines: list[str] = field(default_factory=list)

    def show(self, way: str, n_names: int) -> None:
        """Print the row of a table."""
        precision = self.right / max(self.written, 1)
        low, high = wilson(precision, max(self.written, 1))
        print(
            f"{way:22} written {self.written:5} right {self.right:5} = {precision:.3f} "
            f"({low:.3f} to {high:.3f}) recall {self.right / max(n_names, 1):.3f} "
            f"F1 {2 * self.right / max(self.written + n_names, 1):.3f} "
            f"right ids {self.right_ids} of {self.with_id}",
            flush=True,
        )


def names_of(documents: Sequence[Document], *, of_models: bool = False) -> Names:
    """Collect the names of persons, places and so on that people, or models, tagged."""
    names: Names = {}
    for document in documents:
        for mention in document.mentions:
            is_of_model = mention.attributes.get("@resp", "").startswith("#onoma-")
            if kind_of_label(mention.label) and is_of_model == of_models:
                key = document.id, mention.start, mention.end, mention.label or ""
                names.setdefault(key, set()).add(mention.entity or "")
    return names


def compare(documents: Sequence[Document], names: Names) -> Outcome:
    """Compare what models wrote into the documents with the names that were taken out."""
    outcome, texts = Outcome(), {document.id: document.text for document in documents}
    for key, entities in names_of(documents, of_models=True).items():
        id, start, end, label = key
        outcome.written += 1
        outcome.right += key in names
        if any(names.get(key, ())) and any(entities):
            outcome.with_id += 1
            outcome.right_ids += bool(entities & names[key])
        sides = texts[id][max(0, start - 40) : start], texts[id][end : end + 40]
        sign = "=" if key in names else "?"
        line = f"{sign} {label}: {sides[0]}[{texts[id][start:end]}]{sides[1]}"
        outcome.lines.append(" ".join(line.split()))
    return outcome


def take_out(folder: Path, edition: Edition, output: Path) -> tuple[set[str], Names]:
    """Copy the files, a tenth of them without names; return the latter's documents, and names."""
    held: set[str] = set()
    names: Names = {}
    for name, data in files_of(folder, None):
        bare, documents = data, list[Document]()
        if ratio(name) < HELD:
            bare, documents = without_names(data, edition, name=name)
        held |= {document.id for document in documents}
        names |= names_of(documents)
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_bytes(bare)
    return held, names


def predict(options: Sequence[str], bare: Path, *, edition: str, output: Path) -> None:
    """Write names into the files; print what the command expects of them."""
    command = [sys.executable, "-m", "modeling.predict", *options, "--tei", str(bare)]
    command += ["--edition", edition, "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(*(line for line in done.stderr.splitlines() if " precision " in line), sep="\n")


def read_all(folder: Path, edition: Edition) -> Iterator[Document]:
    """Read the documents of all files."""
    for name, data in files_of(folder, None):
        yield from (t.document for t in read_tei(data, edition, name=name) if t.document)


def ways_of(register: str | None, tagger: str | None) -> dict[str, list[str]]:
    """Return the options of each way to find names."""
    ways = {"dictionary": ["--dictionary"]}
    if register:
        ways["dictionary + register"] = ["--dictionary", "--register", register]
    if tagger:
        joined = {f"tagger + {way}": [tagger, *options] for way, options in ways.items()}
        ways |= {"tagger": [tagger]} | joined
    return ways


def main() -> None:
    """Take out, predict, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("edition")
    parser.add_argument("--register", help="pattern of the register's files")
    parser.add_argument("--tagger", help="run of a tagger that never saw the held files")
    parser.add_argument("--read", type=int, default=0, help="number of names to list")
    given = parser.parse_args()
    edition = load_edition(edition_path(given.edition))
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        held, names = take_out(given.folder, edition, bare)
        print(f"{given.folder}: {len(held)} documents, {len(names)} names taken out")
        for way, options in ways_of(given.register, given.tagger).items():
            output = Path(folder) / way
            predict(options, bare, edition=given.edition, output=output)
            documents = [one for one in read_all(output, edition) if one.id in held]
            outcome = compare(documents, names)
            outcome.show(way, len(names))
            lines = random.Random(1).sample(outcome.lines, min(given.read, len(outcome.lines)))
            print(*(f"    {line}" for line in lines), sep="\n")


if __name__ == "__main__":
    main()
