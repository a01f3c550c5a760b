"""Measure linking: a large vocabulary, references written into an edition, ambiguous links.

    python -m benchmarks.linking --entities 6000000
    python -m benchmarks.linking --letters 'letters/*.xml' --edition sturm --register 'reg/*.xml'
    python -m benchmarks.linking --ambiguous build/links-ltgwiki --beside build/links-ltgwiki-e5

``--letters`` removes the references of persons and places from a fifth of the files, chosen by
hash. A linker that was trained on the other files writes references there again
(``modeling.predict --link``). Prints how many of these are the editors' own, and undoes the change.

``--ambiguous`` prints how the forms that mean two entities or more were linked, in a folder of
``modeling.link evaluate``. ``--beside`` names another evaluation of the same documents: prints how
much better that one is, on all known entities and on these forms, with the interval of the
difference.

``--entities`` makes so many synthetic entities: names of one to three words, drawn by Zipf's law
from a list of made words, so that entities share forms as real ones do. The forms of an entity are
its title, its last word, and its first letter with its last word. Prints processor seconds, bytes
on disk, and the memory of a second process that looks up 100,000 forms (a tenth of them unknown):
its own, and mapped and shared.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.inputs import existing, pattern
from corpora.entities.lookup import EntityLookup, Pairs, write_lookup
from corpora.hashing.sampling import ratio
from modeling.bootstrap import Units, percentiles, resample
from modeling.link.evaluation import Outcome, Ratio
from modeling.link.report import measure

N_WORDS, N_AT_ONCE, N_LOOKED_UP = 400_000, 100_000, 100_000


def words() -> list[str]:
    """Make words of two to four syllables."""
    rng = np.random.default_rng(1)
    syllables = [a + b for a in "bdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er")]
    sizes = rng.integers(2, 5, N_WORDS)
    return [
        "".join(syllables[i] for i in rng.integers(0, len(syllables), n)).title() for n in sizes
    ]


def simulate(n: int, known: list[str], *, seed: int) -> Iterator[list[tuple[str, str]]]:
    """Yield names, (title, last word), some at a time."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, N_AT_ONCE):
        size = min(N_AT_ONCE, n - start)
        drawn = (rng.zipf(1.2, (size, 3)) % N_WORDS).tolist()
        counts = rng.integers(1, 4, size).tolist()
        yield [
            (" ".join(known[i] for i in row[:k]), known[row[k - 1]])
            for row, k in zip(drawn, counts, strict=True)
        ]


def to_pairs(names: list[tuple[str, str]], first: int) -> Pairs:
    """Give each name three forms; ids make entities of the same name different."""
    entities = [f"xwiki:{title} ({first + i})" for i, (title, _) in enumerate(names)]
    forms = [form for title, last in names for form in (title, last, f"{title[0]}. {last}")]
    of = np.repeat(np.arange(len(names)), 3)
    priors = np.random.default_rng(first).random(len(forms), np.float32)
    return Pairs(pa.array(entities), pa.array(forms), of, priors)


def look_up(folder: Path) -> None:
    """Look forms up, and print what it takes."""
    known = words()
    forms = [title for some in simulate(N_LOOKED_UP, known, seed=2) for title, _ in some]
    forms[::10] = [f"{form} unknown" for form in forms[::10]]
    lookup = EntityLookup(folder)
    times = []
    n_found = 0
    before = _memory()
    for form in forms:
        start = time.process_time()
        n_found += len(lookup.look_up(form))
        times.append(time.process_time() - start)
    after = _memory()
    at = np.quantile(times, [0.5, 0.99, 1.0]) * 1000
    print(f"look-up, ms of the processor: median {at[0]:.3f}, 99 % {at[1]:.3f}, most {at[2]:.3f}")
    print(f"{n_found / len(forms):.1f} candidates a form; in all {sum(times):.1f} s")
    for kind in before:
        print(f"{kind}: {before[kind] / 1024:.0f} MB before, {after[kind] / 1024:.0f} MB after")


def _memory() -> dict[str, int]:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    values = dict(line.split(":", 1) for line in lines)
    return {kind: int(values[kind].split()[0]) for kind in ("RssAnon", "RssFile")}


# --- references of an edition

HELD_OUT = 0.2
NAME = re.compile(r"<(?:persName|placeName|rs)\b[^<>]*>")
REFERENCE = re.compile(r"""\s+(?:key|ref)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def references(text: str) -> list[str]:
    """Return what each tag of a person or place in a text refers to; empty for no reference."""
    found = map(REFERENCE.search, NAME.findall(text, _begin(text)))
    return [one[1] or one[2] or "" if one else "" for one in found]


def without_references(text: str) -> str:
    """Take the references out of a file's text, but not out of its header."""
    begin = _begin(text)
    return text[:begin] + NAME.sub(lambda tag: REFERENCE.sub("", tag[0]), text[begin:])


def _begin(text: str) -> int:
    """Return the index of the end tag of the header."""
    return text.index("</teiHeader>")


def measure_references(given: argparse.Namespace, folder: Path) -> None:
    """Take references out, have them written again, compare, and undo."""
    letters = [Path(path) for path in sorted(glob(given.letters))]
    bare = folder / "bare"
    bare.mkdir()
    held_out = [path for path in letters if ratio(path.name) < HELD_OUT]
    for path in held_out:
        (bare / path.name).write_text(without_references(_read(path)), "utf-8", newline="")
    others = [path for path in letters if path not in held_out]
    edition = ["--edition", given.edition]
    made = [folder / name for name in ("documents", "linker", "linked", "undone")]
    call("pipelines.tei_to_ner", *edition, "--input", *others, "--output", made[0])
    register = ["--register", given.register] if given.register else []
    call("modeling.link", "train", made[0] / "documents", *register, "--output", made[1])
    tei = ["--tei", f"{bare}/*.xml"]
    call("modeling.predict", "--link", made[1], *tei, *edition, "--output", made[2])
    call("modeling.predict", "--tei", f"{made[2]}/*.xml", "--undo", "--output", made[3])
    taken = written = right = added = same = 0
    for path in held_out:
        gold, ours = references(_read(path)), references(_read(made[2] / path.name))
        taken += sum(map(bool, gold))
        written += sum(map(bool, ours))
        right += sum(bool(a) and a == b for a, b in zip(ours, gold, strict=True))
        added += sum(bool(a) and not b for a, b in zip(ours, gold, strict=True))
        same += (made[3] / path.name).read_bytes() == (bare / path.name).read_bytes()
    print(
        f"{len(held_out)} of {len(letters)} files; {taken} references taken out, {written} written"
    )
    print(f"{right} of those are the editors' own, {added} stand where the editors have none")
    print(f"undone to the same bytes: {same} files")


def call(module: str, *arguments: object) -> None:
    """Run a command of ours; what it says is not shown."""
    line = [sys.executable, "-m", module, *map(str, arguments)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        return file.read()


# --- ambiguous links


def read_outcomes(path: Path) -> list[Outcome]:
    """Read ``names.tsv`` of an evaluation."""
    head, *lines = path.read_text("utf-8").splitlines()
    types = {field.name: field.type for field in fields(Outcome)}
    return [
        Outcome(
            **{name: _value(cell, types[name]) for name, cell in zip(names, cells, strict=True)}
        )
        for names, cells in ((head.split("\t"), line.split("\t")) for line in lines)
    ]


def _value(cell: str, kind: Any) -> Any:
    if kind is bool:
        return cell == "True"
    if not cell and kind is not str:
        return None
    return {int: int, int | None: int, float: float}.get(kind, _text)(cell)


def _text(cell: str) -> str:
    return str(json.loads(f'"{cell}"'))


def describe_ambiguous(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield lines on forms of two entities or more: how many are known, how they are linked."""
    found = measure([one for one in outcomes if one.n_senses > 1 and one.gold])
    ways = ("baseline", "prior alone", "all features")
    known = {f"{way}, known": found[f"accuracy of known entities, {way}"] for way in ways}
    ratios: dict[str, Ratio] = {"known": found["coverage"], **known}
    ratios |= {name: found[name] for name in ("written", "wrong among written")}
    for name, one in ratios.items():
        low, high = (one.interval.low, one.interval.high) if one.interval else (0, 1)
        value = one.value or 0
        yield f"{name}: {value:.3f} ({low:.3f} to {high:.3f}), {one.part} of {one.whole}"


def describe_difference(first: Sequence[Outcome], second: Sequence[Outcome]) -> Iterator[str]:
    """Yield how many more of the known entities the second evaluation found than the first.

    The intervals are drawn by documents. Exits where the two are not of the same names.
    """
    if [(o.document, o.form, o.gold) for o in first] != [
        (o.document, o.form, o.gold) for o in second
    ]:
        sys.exit("The two evaluations are not of the same names.")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a.is_known]
    for name, some in (
        ("all", pairs),
        ("forms of two entities or more", [pair for pair in pairs if pair[0].n_senses > 1]),
    ):
        units = Units.choose([one.document for one, _ in some])
        columns = np.array([[b.is_right - a.is_right, 1] for a, b in some], np.int64).reshape(-1, 2)
        drawn = resample(columns, units)
        between = percentiles(drawn[:, 0] / np.maximum(drawn[:, 1], 1))
        low, high = (between.low, between.high) if between else (0.0, 0.0)
        more, whole = columns.sum(axis=0).tolist()
        ratio_of_more = more / max(whole, 1)
        yield f"{name}: {ratio_of_more:+.4f} ({low:+.4f} to {high:+.4f}), {more:+} of {whole}"


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--lookup", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--letters", type=pattern, metavar="PATTERN", help="TEI files")
    parser.add_argument("--edition", default="tei", help="of --letters")
    parser.add_argument("--register", type=pattern, metavar="PATTERN", help="of --letters")
    parser.add_argument(
        "--ambiguous", type=existing, metavar="DIR", help="of modeling.link evaluate"
    )
    parser.add_argument(
        "--beside", type=existing, metavar="DIR", help="with --ambiguous: another one"
    )
    given = parser.parse_args()
    if given.lookup:
        look_up(given.lookup)
    elif given.ambiguous:
        outcomes = read_outcomes(given.ambiguous / "names.tsv")
        print("\n".join(describe_ambiguous(outcomes)))
        if given.beside:
            other = read_outcomes(given.beside / "names.tsv")
            print("\n".join(describe_difference(outcomes, other)))
    elif given.letters:
        with tempfile.TemporaryDirectory() as name:
            measure_references(given, Path(name))
    else:
        measure_vocabulary(given)


def measure_vocabulary(given: argparse.Namespace) -> None:
    """Make, measure, and look up in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder, known, start = Path(name), words(), time.process_time()
        some = simulate(given.entities, known, seed=1)
        pairs = (to_pairs(names, i * N_AT_ONCE) for i, names in enumerate(some))
        n = write_lookup(folder, pairs)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"{n:,} entities: {time.process_time() - start:.0f} s of the processor to make")
        print(f"(with the simulation), {most:.0f} MB of memory at most; {size:.0f} MB on disk")
        sys.stdout.flush()
        subprocess.run([sys.executable, "-m", "benchmarks.linking", "--lookup", name], check=True)


if __name__ == "__main__":
    main()
