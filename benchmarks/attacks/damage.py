"""Attacks with damaged data: wrong shards with right hashes, exchanged and damaged dumps."""

import gzip
import hashlib
import json
import lzma
import os
import signal
import struct
from pathlib import Path

from benchmarks.attacks.bounded import Try, attack
from benchmarks.attacks.folders import build, state_of
from tests.corpora.wikipedia.small_wiki import SmallWiki


def _sealed(output: Path, shard: Path) -> None:
    """Let ``dataset.json`` and ``run.json`` say that a shard is as it should be."""
    described = shard.parent / "dataset.json"
    description = json.loads(described.read_text())
    for entry in description["shards"]:
        if entry["name"] == shard.name:
            entry |= {"sha256": _hash(shard), "bytes": shard.stat().st_size}
    described.write_text(json.dumps(description))
    run = json.loads((output / "run.json").read_text())
    for path in (shard, described):
        run["files"][path.relative_to(output).as_posix()] = _hash(path)
    (output / "run.json").write_text(json.dumps(run))


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _mutated(one: Try, data: bytes) -> bytes:
    """Change a few bytes of an Arrow file where it matters: offsets, lengths, metadata."""
    made = bytearray(data)
    kind = one.rng.randrange(4)
    for _ in range(one.rng.choice([1, 2, 8])):
        place = one.rng.randrange(8, len(made) - 10)
        if kind == 0:
            made[place] ^= 1 << one.rng.randrange(8)
        elif kind == 1:  # a byte near the end: footer and schema
            place = len(made) - 10 - one.rng.randrange(min(2000, len(made) - 20))
            made[place] = one.rng.randrange(256)
        elif kind == 2:  # an aligned integer: an offset or a length
            place -= place % 4
            value = one.rng.choice([-1, 0, 1 << 30, (1 << 31) - 1, len(made)])
            made[place : place + 4] = struct.pack("<i", value)
        else:
            made[place] = one.rng.choice([0, 255, 128])
    return bytes(made)


def _uncompressed(path: Path) -> None:
    """Write a shard without compression: then a byte is an offset or a character."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


@attack("damage", "shards with right hashes and wrong insides: every command", tries=60)
def wrong_insides(one: Try) -> str:
    """Fail if a command is killed by a signal, ends with a traceback, or does not end."""
    output = build(one)
    name = one.rng.choice(["documents", "ner"])
    shard = output / name / "shard-00000.arrow"

    def change() -> None:
        if one.rng.random() < 0.7:
            _uncompressed(shard)
        shard.write_bytes(_mutated(one, shard.read_bytes()))
        _sealed(output, shard)

    assert one.call(change).status == 0
    commands: list[tuple[str, tuple[object, ...]]] = [
        ("corpora.store.inspection", ("verify", output)),
        ("corpora.store.inspection", ("verify", output, "--rows")),
        ("corpora.store.inspection", ("show", output / name)),
        ("corpora.store", ("publish", output, one.folder / "store" / "x")),
    ]
    if name == "documents":
        vocabulary = ("--input", output / "documents", "--output", one.folder / "vocab")
        commands.append(
            (
                "pipelines.documents_to_entity_vocab",
                (*vocabulary, "--origins", "annotation"),
            )
        )
    for module, argv in one.rng.sample(commands, 3):
        if fault := one.command(module, *argv, seconds=20).fault():
            return f"{name}: {module} {argv[0]}: {fault}"
    return ""


_PACKERS = {"gz": lambda data: gzip.compress(data, mtime=0), "xz": lzma.compress}


@attack("damage", "dump that is another, of the same size and time, after a kill", tries=10)
def swapped_dump(one: Try) -> str:
    """Fail if the next run neither refuses the exchanged dump nor publishes what is in it."""
    kind, output, dump = _killed_run(one)
    status = dump.stat()
    wiki = SmallWiki()
    texts = [wiki.dump(), wiki.dump().replace("Windrad", "Windrat")]
    other = _PACKERS[kind](texts[1].encode())
    size = max(status.st_size, len(other))
    dump.write_bytes(other + b"\0" * (size - len(other)) if kind == "gz" else other)
    if dump.stat().st_size > status.st_size:
        os.truncate(dump, status.st_size)
    os.utime(dump, ns=(status.st_atime_ns, status.st_mtime_ns))
    if dump.stat().st_size != status.st_size:
        return ""  # with xz, the other dump cannot be made equally long
    return _compared(one, output, dump)


@attack("damage", "flipped bits in the pieces of a packed dump", tries=20)
def damaged_pieces(one: Try) -> str:
    """Fail if the next run does not end in time with the same bytes as a fresh one."""
    _, output, dump = _killed_run(one)
    pieces = sorted(path for path in output.rglob("*") if ".zst" in path.name)
    indexes = sorted(path for path in output.rglob("index.json"))
    if not pieces:
        return "no pieces were there to be damaged"
    path = one.rng.choice(pieces * 3 + indexes)
    data = bytearray(path.read_bytes())
    data[one.rng.randrange(len(data))] ^= 1 << one.rng.randrange(8)
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return _compared(one, output, dump)


def _killed_run(one: Try) -> tuple[str, Path, Path]:
    """Run over a packed dump until a first shard is closed, and be killed there.

    Returns the kind of packing, the output folder and the dump.
    """
    from corpora.datasets.shards import ShardWriter

    kind = one.rng.choice(sorted(_PACKERS))
    dump, output = one.folder / f"x.xml.{kind}", one.folder / "out"
    dump.write_bytes(_PACKERS[kind](SmallWiki().dump().encode()))

    def be_killed() -> int:
        import pipelines.wikipedia_to_documents as pipeline

        pipeline.RANGE_BYTES = (9000, 9000)
        ShardWriter.__exit__ = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
        return pipeline.main(["--input", str(dump), "--output", str(output)])

    assert one.call(be_killed).status == -signal.SIGKILL
    return kind, output, dump


def _compared(one: Try, output: Path, dump: Path) -> str:
    """Run again, and compare with a fresh run."""

    def run(folder: Path) -> int:
        import pipelines.wikipedia_to_documents as pipeline

        pipeline.RANGE_BYTES = (9000, 9000)
        return pipeline.main(["--input", str(dump), "--output", str(folder)])

    again = one.call(lambda: run(output), seconds=20)
    fresh = one.call(lambda: run(one.folder / "fresh"), seconds=20)
    if fault := again.fault() or fresh.fault():
        return fault
    if (again.status, fresh.status) != (0, 0):
        return "" if again.status == fresh.status else f"ends with {again.status}: {again.said}"
    made = [
        {n: data for n, data in state_of(folder).items() if not n.startswith(".")}
        for folder in (output, one.folder / "fresh")
    ]
    return "" if made[0] == made[1] else "published otherwise than by a fresh run"
