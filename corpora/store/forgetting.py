"""Removal of a person's data from all versions of a store: ``onoma store forget``.

First, hashes of what is to be forgotten are noted in ``STORE/forgotten.json``, so that the next
command can finish what a killed one began. Then each version that holds any of it is made again
beside the old one, verified, and put in the place of the old one; all other data in it is the same.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from corpora.datasets.forgetting import (
    FORGOTTEN,
    Forgetting,
    Kind,
    hash_of,
    held_by,
    listed,
    parse_list,
)
from corpora.datasets.rows import Row
from corpora.datasets.shards import (
    Dataset,
    Shard,
    ShardWriter,
    datasets_in,
    open_dataset,
    read_batches,
    read_description,
)
from corpora.errors import UsageError
from corpora.runs.journal import read_run, sealed
from corpora.store.inspection import verify
from corpora.store.retention import hashes_of, inputs_of, named_by
from corpora.store.versions import (
    CURRENT,
    HISTORY,
    LOCK,
    exchange,
    files_of,
    hold,
    incoming_of,
    version_names,
)
from corpora.system.files import locked, sha256_of
from corpora.system.writing import link_or_copy, write_json

_NEED_THEIR_FILES = {"examples"}
"""Schemas of runs whose side files are kept: they hold a tokenizer and entities, no copied rows."""
_TRACES = {"entities", "examples", "lexicon", "subwords"}
"""Schemas whose rows were counted, cut or learned from documents, and so keep traces of them."""


def forget(
    store: Path,
    *,
    documents: Sequence[str] = (),
    entities: Sequence[str] = (),
    why: str = "",
    today: str,
) -> Iterator[str]:
    """Take documents, and all mentions of entities, out of every version of a store.

    Yields a line for each version that held any of it, and for each version that was made from such
    a version and must be made again. Without ``documents`` and ``entities``, the list is applied as
    it stands.
    """
    shelves = _shelves(store)
    with locked(store / LOCK, busy=lambda _: f"{store}: another process forgets. Wait for it."):
        file = store / FORGOTTEN
        before = parse_list(file.read_bytes(), where=file) if file.exists() else []
        rows = noted(before, documents, entities, why=why, today=today)
        write_json(file, {"forgotten": rows})
        hashes, changed, found = hashes_in(rows), [], set[str]()
        for shelf in shelves:
            with hold(shelf):
                for version in version_names(shelf):
                    said = _free(shelf, version, hashes, found=found)
                    yield from said
                    if said or earlier_hashes_of(shelf / version):
                        changed.append(shelf / version)
        if not changed:
            yield f"{store}: no version holds any of it"
        yield from not_found(documents, entities, [*hashes_in(before), *found])
        for made in made_of(changed, shelves):
            yield to_make_again(made)
        write_json(file, {"forgotten": done(rows, hashes, today)})
    yield what_is_next(file)


def not_found(
    documents: Sequence[str], entities: Sequence[str], found: Collection[str]
) -> Iterator[str]:
    """Yield a warning for each id whose hash is not among those that were found, or asked for."""
    for kind, name in _each(documents, entities):
        if hash_of(kind, name) not in found:
            yield f"WARNING {name}: no version holds this {kind}; see how onoma show spells the id"


def to_make_again(version: object) -> str:
    """Return the warning that a version was made from forgotten data."""
    return f"WARNING {version}: was made of it; make it again, publish it, and prune"


def what_is_next(file: object) -> str:
    """Return the line that says which pipelines need the list."""
    return f"next  give --forgotten {file} to the pipelines that make new versions"


def _shelves(store: Path) -> list[Path]:
    """List the shelves of a store; raises ``UsageError`` where there is none.

    A shelf whose first version was published by a killed process has a history, but no current
    version yet.
    """
    shelves = sorted(
        {file.parent for name in (CURRENT, HISTORY) for file in store.glob(f"*/{name}")}
    )
    if not shelves:
        hint = f" Name the store: {store.parent}." if (store / HISTORY).exists() else ""
        raise UsageError(f"{store}: no store, for nothing is published in it.{hint}")
    return shelves


def noted(
    rows: Sequence[Row], documents: Sequence[str], entities: Sequence[str], *, why: str, today: str
) -> list[Row]:
    """Add entries to the rows of the list; raises ``UsageError`` where the list stays empty."""
    rows, known = list(rows), hashes_in(rows)
    for kind, name in _each(documents, entities):
        if (sha256 := hash_of(kind, name)) not in known:
            row = {"kind": kind, "sha256": sha256, "why": why, "asked": today, "done": None}
            rows.append(row)
    if not rows:
        raise UsageError("--documents or --entities: name what is to be forgotten.")
    return rows


def _each(documents: Sequence[str], entities: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    yield from (("document", name) for name in documents)
    yield from (("entity", name) for name in entities)


def hashes_in(rows: Sequence[Row]) -> list[str]:
    """Return the hashes in the rows of the list, sorted and distinct."""
    return sorted({row["sha256"] for row in rows})


def done(rows: Sequence[Row], hashes: Sequence[str], today: str) -> list[Row]:
    """Set the day on which rows of the list were done, where it is not set yet."""
    return [
        {**row, "done": row.get("done") or today} if row["sha256"] in hashes else row
        for row in rows
    ]


def _free(shelf: Path, version: str, hashes: Sequence[str], *, found: set[str]) -> list[str]:
    """Replace a version by one without forgotten data; return the lines to print."""
    source, target = shelf / version, incoming_of(shelf, version)
    lines = make_without(source, target, hashes, found=found)
    if lines:
        elsewhere = source.resolve() if source.is_symlink() else None
        exchange(shelf, version, target)
        if elsewhere and shelf.resolve().parent not in elsewhere.parents:  # others come in turn
            lines.append(f"WARNING {elsewhere}: the data as it was; remove it")
    return lines


def make_without(
    source: Path, target: Path, hashes: Sequence[str], *, found: set[str]
) -> list[str]:
    """Make a version again without forgotten data, and verify it; return the lines to print.

    Makes nothing, and returns no line, where the version holds none of it. Adds to ``found`` the
    hashes of the ids that it holds.
    """
    held = held_by(source, hashes)
    found |= held.found
    if not +held.counts:
        return []
    forgetting, earlier = Forgetting.of(hashes), sorted(hashes_of(source))
    made: dict[str, str] = {}
    for folder in datasets_in(source):
        relative = folder.relative_to(source)
        (target / relative).mkdir(parents=True, exist_ok=True)
        for name, sha256 in _free_dataset(folder, target / relative, forgetting, before=earlier):
            made[(relative / name).as_posix()] = sha256
    left = _seal(source, target, made)
    verify(target)
    lines = [f"{source}: {listed(+forgetting.counts)} taken out"]
    if left:
        lines.append(f"{source}: files made of the rows are gone, too: {', '.join(left)}")
    return lines


def _free_dataset(
    folder: Path, target: Path, forgetting: Forgetting, *, before: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Make a dataset again; yield its files, each with its hash."""
    dataset, counted = open_dataset(folder), Counter(forgetting.counts)
    shards = []
    for shard in dataset.shards:
        shards.append(_free_shard(shard, dataset, target, forgetting=forgetting))
        yield shard.name, shards[-1].sha256
    earlier = dataset.description.get("forgotten", {}).get("rows", {})
    rows = Counter(earlier) + (forgetting.counts - counted)
    link_or_copy(folder / "rejected.jsonl", target / "rejected.jsonl")
    note = {"rows": dict(rows), "before": list(before)}
    changes = {"shards": [shard.to_json() for shard in shards], "forgotten": note}
    write_json(target / "dataset.json", {**dataset.description, **changes})
    yield "dataset.json", sha256_of(target / "dataset.json")


def _free_shard(shard: Shard, dataset: Dataset, target: Path, *, forgetting: Forgetting) -> Shard:
    """Write a shard again where it holds forgotten data; link it otherwise."""
    path, schema = dataset.path / shard.name, dataset.schema
    probe = Forgetting(forgetting.hashes, Counter(), forgetting.touched)
    if all(probe.clean(batch, schema.name) is batch for batch in read_batches(path, schema)):
        link_or_copy(path, target / shard.name)
        return shard
    with ShardWriter(target / shard.name, schema) as writer:
        for batch in read_batches(path, schema):
            writer.write_batch(forgetting.clean(batch, schema.name))
    return writer.shard or shard


def _seal(source: Path, target: Path, made: Mapping[str, str]) -> list[str]:
    """Write ``run.json`` for the files that are kept; return the files that are left out."""
    run = read_run(source)
    if not run:
        return []
    schemas = {open_dataset(folder).schema.name for folder in datasets_in(source)}
    files: dict[str, str] = {}
    left = []
    for name in files_of(source):
        if name in made:
            files[name] = made[name]
        elif name == "run.json":
            continue
        elif name.endswith("rejected.jsonl") or schemas & _NEED_THEIR_FILES:
            files[name] = run["files"][name]
            if not (target / name).exists():
                link_or_copy(source / name, target / name)
        else:
            left.append(name)
    write_json(target / "run.json", sealed({**run, "files": files}))
    return left


def earlier_hashes_of(version: Path) -> set[str]:
    """Return the hashes by which others named a version before data was taken out of it."""
    return {
        hash
        for folder in datasets_in(version)
        for hash in read_description(folder).get("forgotten", {}).get("before", ())
    }


def _hashes_of_files(version: Path) -> set[str]:
    """Return the hashes of the shards and other files that a version has now."""
    shards = {s["sha256"] for f in datasets_in(version) for s in read_description(f)["shards"]}
    return {*shards, *read_run(version).get("files", {}).values()}


def made_of(changed: Sequence[Path], shelves: Sequence[Path]) -> list[Path]:
    """Find versions that were made from changed ones, directly or not, and hold traces of them.

    Versions that name only unchanged files are left out: they were made from other rows, or since.
    """
    hashes = {
        hash
        for version in changed
        for hash in earlier_hashes_of(version) - _hashes_of_files(version)
    }
    versions = [shelf / name for shelf in shelves for name in version_names(shelf)]
    pending = {
        version: inputs_of(version) if datasets_in(version) else named_by(version)  # of a model
        for version in versions
    }
    found: list[Path] = []
    while some := [version for version, named in pending.items() if named & hashes]:
        for version in some:
            hashes |= hashes_of(version)
            del pending[version]
            schemas = {open_dataset(folder).schema.name for folder in datasets_in(version)}
            found += [version] if schemas & _TRACES or not schemas else []
    return sorted(found)
