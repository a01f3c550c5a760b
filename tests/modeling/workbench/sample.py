"""An edition to work on: the sample letters without every other name, and a list that has them."""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from corpora.document import Mention
from corpora.tei.edition import load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.review import model_file, write_candidates
from corpora.tei.source import Edit, Source

DATA = Path(__file__).parents[2] / "data"
MODEL = Model(
    id="onoma-3f2a9c1b0d12",
    name="Onoma name tagger (crf_small on letters)",
    version="0.1.0",
    sha256="3f2a9c1b0d12",
)


def make_sample(
    folder: Path,
    *,
    letters: Sequence[Path] = tuple(sorted((DATA / "letters").glob("*.xml"))),
    register: Path = DATA / "register",
    edition_file: Path = DATA / "letters" / "edition.toml",
) -> Path:
    """Write letters, their edition, registers and ``list.tsv`` into a folder; returns it."""
    (folder / "letters").mkdir(parents=True)
    (folder / "letters.toml").write_bytes(edition_file.read_bytes())
    (folder / "register").mkdir()
    for path in register.glob("*.xml"):
        (folder / "register" / path.name).write_bytes(path.read_bytes())
    edition = load_edition(folder / "letters.toml")
    rng, rows = random.Random(7), []
    for path in letters:
        data = path.read_bytes()
        [whole] = read_tei(data, edition, name=path.name)
        taken = [name for name in whole.document.mentions if rng.random() < 0.6]
        bare = _without(data, {int(name.attributes["byte"]) for name in taken}, name=path.name)
        [read] = read_tei(bare, edition, name=path.name)
        assert read.document.text == whole.document.text
        (folder / "letters" / path.name).write_bytes(bare)
        there = read.document.mentions
        rows.append((path.name, read.document, list(_suggestions(taken, there, rng))))
    write_candidates(folder / "list.tsv", rows)
    model_file(folder / "list.tsv").write_text(json.dumps(asdict(MODEL)))
    return folder


def _without(data: bytes, starts: set[int], *, name: str) -> bytes:
    """Take the tags of names away that begin at these bytes."""
    source = Source(data, name=name)
    places = dict(zip(source.bytes_at(n.start for n in source.nodes), source.nodes, strict=True))
    edits = []
    for byte in starts:
        node = places[byte]
        edits += [Edit(node.start, node.content_start, ""), Edit(node.content_end, node.end, "")]
    return source.splice(sorted(edits))


def _suggestions(taken, there, rng):
    for name in taken:
        if any(n.start < name.end and name.start < n.end for n in there):
            continue
        sure = round(min(0.995, rng.betavariate(5, 1.2)), 3)
        yield Mention(name.start, name.end, label=name.label, score=sure, origin="prediction")
