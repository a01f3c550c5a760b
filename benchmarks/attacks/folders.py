"""Attacks with foreign folders: names that lead outside, links, files of other users."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.attacks.bounded import Try, attack

_kept = tempfile.TemporaryDirectory()
_built = Path(_kept.name) / "out"
"""A finished output, which the first call of ``build`` makes and later calls copy."""
ROOT = Path(__file__).resolve().parents[2]
LETTERS = ROOT / "tests" / "data" / "letters"
OPTIONS = ("--input", f"{LETTERS}/0[12].xml", "--edition", LETTERS / "edition.toml")


def build(one: Try) -> Path:
    """Make the output of a run over two letters; later calls copy that of the first."""
    output = one.folder / "out"
    if not _built.exists():
        outcome = one.command("pipelines.tei_to_ner", *OPTIONS, "--output", output)
        assert outcome.status == 0, outcome.said
        shutil.copytree(output, _built)
        return output
    shutil.copytree(_built, output)
    return output


def treasure(one: Try) -> Path:
    """Write files of somebody else beside the output, and return their folder."""
    folder = one.folder / "mine"
    (folder / "documents").mkdir(parents=True)
    for name in ("thesis.txt", "dataset.json", "shard-00000.arrow", "documents/rejected.jsonl"):
        (folder / name).write_text(f"my own {name}")
    return folder


def state_of(folder: Path) -> dict[str, object]:
    """Return what is in a folder, by name: bytes of files, targets of links, False for folders."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found[name] = str(path.readlink()) if path.is_symlink() else path.is_file()
        if path.is_file() and not path.is_symlink():
            found[name] = path.read_bytes()
    return found


def _names(one: Try, mine: Path) -> str:
    """Draw a name that leads to a file of somebody else."""
    victim = one.rng.choice(["thesis.txt", "dataset.json", "shard-00000.arrow"])
    return one.rng.choice([
        f"../mine/{victim}",
        str(mine / victim),
        f"documents/../../mine/{victim}",
        f"./../mine/{victim}",
        f"documents//../..//mine/{victim}",
        f"{one.folder.name}/../../mine/{victim}",
        f"link/{victim}",
        f"documents/link/../../../mine/{victim}",
    ])  # fmt: skip


def _poison(one: Try, output: Path, name: str) -> str:
    """Write a name into one of the files that a run reads; says where."""
    where = one.rng.choice(["run.json", ".build/published.json", "dataset.json"])
    if where == "run.json":
        run = json.loads((output / "run.json").read_text())
        run["files"][name] = "0" * 64
        (output / "run.json").write_text(json.dumps(run))
    elif where == "dataset.json":
        path = output / "documents" / "dataset.json"
        description = json.loads(path.read_text())
        description["shards"][0]["name"] = name
        path.write_text(json.dumps(description))
    else:
        (output / ".build" / "published.json").write_text(json.dumps([name, "card.md"]))
    return where


def _commands(one: Try, output: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    yield "pipelines.tei_to_ner", (*OPTIONS, "--output", output, "--seed", "2")
    yield "corpora.store.inspection", ("verify", output)
    yield "corpora.store", ("publish", output, one.folder / "store" / "x")
    yield "corpora.store.inspection", ("show", output / "documents", "--limit", "1")


@attack("folders", "names in run.json, published.json, dataset.json that lead outside", tries=25)
def names(one: Try) -> str:
    """Fail if a file outside is changed, removed or published, or if an end is not clean."""
    output, mine = build(one), treasure(one)
    (output / "link").symlink_to(mine)
    name = _names(one, mine)
    where = _poison(one, output, name)
    before = state_of(mine)
    for module, argv in one.rng.sample(list(_commands(one, output)), 3):
        fault = one.command(module, *argv).fault()
        if not fault and state_of(mine) != before:
            fault = "files outside were changed"
        published = [
            path.read_bytes() for path in (one.folder / "store").rglob("*") if path.is_file()
        ]
        if not fault and any(data.startswith(b"my own") for data in published):
            fault = "files outside were published"
        if fault:
            return f"{name} in {where}, {module}: {fault}"
    return ""


@attack("folders", "links where a run writes", tries=15)
def links(one: Try) -> str:
    """Fail if what a link leads to is changed, or if the end is not clean."""
    output, mine = build(one), treasure(one)
    place = one.rng.choice([
        ".lock", "card.md", "run.json", "documents/dataset.json", "documents/rejected.jsonl",
        ".build/published.json", "documents/shard-00000.arrow", "ner", ".build",
    ])  # fmt: skip
    path = output / place
    remove = shutil.rmtree if path.is_dir() else os.unlink
    remove(path)
    target = mine / ("documents" if place in {"ner", ".build"} else "thesis.txt")
    path.symlink_to(os.path.relpath(target, path.parent) if one.rng.random() < 0.5 else target)
    before = state_of(mine)
    outcome = one.command(
        "pipelines.tei_to_ner", *OPTIONS, "--output", output, "--seed", one.rng.choice("12")
    )
    if fault := outcome.fault():
        return f"{place}: {fault}"
    return "" if state_of(mine) == before else f"{place}: what it leads to was changed"


@attack("folders", "own files where a run would write", tries=15)
def own_files(one: Try) -> str:
    """Fail if a file that no run made is changed or removed, or if the end is not clean."""
    output = one.folder / "out"
    place = one.rng.choice([
        "documents/shard-00000.arrow", "documents/rejected.jsonl", "documents/dataset.json",
        "ner/shard-00000.arrow", "ner/shard-00007.arrow", "card.md", "train.json", "run.json",
        "splits.tsv", "documents/notes.txt", "ner/.tmp-mine", ".tmp-mine/thesis.txt",
    ])  # fmt: skip
    (output / place).parent.mkdir(parents=True)
    (output / place).write_text('{"mine": 1}')
    fault = one.command("pipelines.tei_to_ner", *OPTIONS, "--output", output).fault()
    if fault:
        return f"{place}: {fault}"
    is_there = (output / place).is_file() and (output / place).read_text() == '{"mine": 1}'
    return "" if is_there else f"{place}: is not mine any more"


@attack("folders", "flipped bits in what is published in a store", tries=60)
def flipped_bits(one: Try) -> str:
    """Fail if what is published is not what was made, or if the end is not clean."""
    output = build(one)
    made = {name: data for name, data in state_of(output).items() if not name.startswith(".")}
    name = one.rng.choice(["run.json"] * 3 + ["documents/dataset.json", *_files(made)])
    path = output / name
    data = bytearray(path.read_bytes())
    n_flips = one.rng.choice([1, 1, 1, 3])
    for _ in range(n_flips):
        data[one.rng.randrange(len(data))] ^= 1 << one.rng.randrange(8)
    path.write_bytes(data)
    shelf = one.folder / "store" / "x"
    outcome = one.command("corpora.store", "publish", output, shelf, "--version", "v")
    if fault := outcome.fault():
        return f"{name}: {fault}"
    if outcome.status != 0:
        return "" if not (shelf / "v").exists() else f"{name}: refused, and there"
    if one.command("corpora.store.inspection", "verify", shelf / "v").status != 0:
        return f"{name}: published, and does not verify"
    there = state_of(shelf / "v")
    lost = {n for n, data in made.items() if n != "run.json" and there.get(n) != data}
    return f"{name}: published without or with other {sorted(lost)}" if lost else ""


def _files(made: dict[str, object]) -> list[str]:
    return sorted(name for name, data in made.items() if isinstance(data, bytes) and data)
