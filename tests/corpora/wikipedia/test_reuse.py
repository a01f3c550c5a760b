"""Parts of a refresh: rows found by hash, rows that are kept, rows whose links lead elsewhere."""

import errno
import hashlib
import json
import os
import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.errors import DamagedDatasetError
from corpora.matching.title_matches import Augmentation
from corpora.system.buckets import Bucket
from corpora.wikipedia import reuse_places
from corpora.wikipedia.articles import WikiArticle
from corpora.wikipedia.blocks import PageBlock, PageText, TitleLink
from corpora.wikipedia.resolution import Resolver
from corpora.wikipedia.reuse_links import as_written, find_finished
from corpora.wikipedia.reuse_places import Earlier, RowPlace, open_earlier
from corpora.wikipedia.reuse_rows import PageRows, TakenRows
from corpora.wikipedia.reuse_shards import ROWS, KeptShards
from corpora.wikipedia.revisions import Revision
from corpora.wikipedia.segments import Edge, Segment, hash_of
from corpora.wikipedia.unmatched import Unmatched, build_unmatched

FINGERPRINT = "f" * 64
TITLES = ("Aal", "Barsch", "Döbel", "Elritze", "Forelle")


# --- links


def documents(pages):
    """Make rows of pages as they are read: (title, links); each text names all titles twice."""
    rows = PageRows("dump.xml")
    for title, links in pages:
        text = " ".join(TITLES * 2)
        starts = [text.index(TITLES[i]) for i in range(len(links))]
        page = PageText(
            text,
            blocks=[PageBlock(0, len(text), "p")],
            links=[
                TitleLink(start, start + len(TITLES[i]), link, "")
                for i, (start, link) in enumerate(zip(starts, links, strict=True))
            ],
        )
        scalars = {"id": f"w:{title}", "group": "w", "title": title, "text": text}
        counters = {"links": len(links), "none": 0}
        hash = hash_of(xml_of(title))
        sentences = [(0, len(text))]
        rows.add(
            WikiArticle(
                scalars=scalars, text=page, sentences=sentences, hash=hash, counters=counters
            )
        )
    return TakenRows(Path("nowhere")).fill(rows.batch())


def resolver(folder, redirects, meanings=()):
    pairs = [pa.array(column, pa.string()) for column in zip(*redirects.items(), strict=True)]
    build_table(folder, [pa.record_batch(pairs, ["title", "target"])] if redirects else [])
    titles = pa.record_batch([pa.array(sorted(meanings), pa.string())], ["meaning"])
    build_unmatched(folder / "unmatched", [titles])
    unmatched = Unmatched(folder / "unmatched")
    return Resolver("w", RedirectTable(folder), unmatched, Augmentation(lang="de"))


def segment(name, hash=None):
    """Make the XML of a page that ``documents`` makes a row of."""
    page = Segment(Edge.OPENING, "byte 0")
    page.add(xml_of(name), max_bytes=1000)
    page.hash = hash or page.hash
    return page


def xml_of(name):
    revision = "<id>1</id><timestamp>2026-01-01T00:00:00Z</timestamp><text/>"
    return f"<page><title>{name}</title><revision>{revision}</revision></page>".encode()


NAMES = st.sampled_from((*TITLES, "x", "y", "z", "w:x"))
REDIRECTS = st.dictionaries(st.sampled_from(("x", "y", "z", "Aal", "w:x")), NAMES, max_size=4)
TABLES = st.tuples(REDIRECTS, st.sets(st.sampled_from((*TITLES[:2], "y", "P0")), max_size=2))


@given(st.lists(st.lists(NAMES, max_size=4), min_size=1, max_size=6), TABLES, TABLES, st.data())
@settings(max_examples=60)
def test_rows_taken_over_become_what_they_would_be(tmp_path_factory, links, before, after, data):
    folder = tmp_path_factory.mktemp("tables")
    raw = documents([(f"P{number}", of) for number, of in enumerate(links)])
    then, now = resolver(folder / "then", *before), resolver(folder / "now", *after)
    taken = then.finish(raw)
    is_taken = data.draw(st.lists(st.booleans(), min_size=len(links), max_size=len(links)))
    rows = [(taken if is_ else raw).slice(n, 1) for n, is_ in enumerate(is_taken)]
    expected = resolver(folder / "other", *after).finish(raw)

    finished = now.finish(pa.concat_batches(rows))

    assert finished.to_pylist() == expected.to_pylist()
    same = [
        is_
        and (titles := then.redirects.resolve(of)).equals(now.redirects.resolve(of))
        and all(
            (then.unmatched.has(some) == now.unmatched.has(some)).all()
            for some in (titles, pa.array([f"P{number}"]))
        )
        for number, (of, is_) in enumerate(zip(links, is_taken, strict=True))
    ]
    holds = find_finished(pa.concat_batches(rows), "w", now.redirects, unmatched=now.unmatched)
    assert holds.tolist() == same
    assert now.n_again == sum(is_taken) - sum(same)
    documents_of = slice(0, len(SCHEMAS["documents"].columns))
    assert as_written(taken, "w").columns[documents_of] == raw.columns[documents_of]


def test_counters_do_not_depend_on_where_rows_come_from(tmp_path):
    raw = documents([("P", ["x", "Aal"]), ("Q", []), ("R", ["x"])])
    first, second = resolver(tmp_path / "a", {"x": "y"}), resolver(tmp_path / "b", {"x": "y"})
    taken = first.finish(raw)

    second.finish(taken)

    assert second.counters == first.counters
    assert first.counters["redirects.links"] == 2
    assert first.counters["mentions.link"] == 3
    assert (first.counters["links"], first.counters["none"]) == (3, 0)


# --- places


def make_earlier(folder, batches_of_shards):
    """Write a dataset of finished rows, as a run publishes it."""
    for name in ("documents", "reuse"):
        (folder / name).mkdir(parents=True)
        shards = []
        for number, batches in enumerate(batches_of_shards):
            path = folder / name / f"shard-{number:05d}.arrow"
            with ShardWriter(path, SCHEMAS[name]) as writer:
                for batch in batches:
                    writer.write_batch(batch.select(SCHEMAS[name].columns.names))
            shard = writer.shard
            about = {"name": shard.name, "rows": shard.rows, "bytes": shard.bytes}
            shards.append(about | {"sha256": shard.sha256})
        description = {
            "schema": name,
            "version": SCHEMAS[name].version,
            "plan": {"fingerprint": FINGERPRINT},
            "shards": shards,
            "accounting": {},
        }
        (folder / name / "dataset.json").write_text(json.dumps(description), "utf-8")


@pytest.fixture
def finished(tmp_path):
    """Return three shards of two, none and three batches."""
    names = iter(range(100))
    done = resolver(tmp_path / "table", {"x": "Aal"})
    sizes = ((3, 2), (), (4, 1, 3))
    return [
        [
            done.finish(documents([(f"P{next(names)}", ["x"]) for _ in range(size)]))
            for size in of_shard
        ]
        for of_shard in sizes
    ]


def test_every_row_is_found_by_the_hash_of_its_page_and_no_other(finished, tmp_path):
    make_earlier(tmp_path / "old", finished)

    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")

    pages = [segment(f"P{number}") for number in range(13)]
    places = [earlier.find(page) for page in pages]
    characters = len(" ".join(TITLES * 2))
    rows = [(0, row) for row in range(5)] + [(2, row) for row in range(8)]
    ids = [f"w:P{number}" for number in range(13)]
    assert places == [
        RowPlace(
            *row, characters, hash, id, None, Revision.of("2026-01-01T00:00:00Z", "1"), 0, title
        )
        for row, hash, id, title in zip(
            rows, [page.hash for page in pages], ids, [id[2:] for id in ids], strict=True
        )
    ]
    assert earlier.find(segment("P13")) is None
    assert earlier.damaged == set()
    assert (tmp_path / "kept" / earlier.name / "table" / "places").stat().st_size == 24 * 13


def test_equal_first_halves_of_hashes_are_distinguished(tmp_path):
    raw = documents([("P", []), ("Q", []), ("R", [])])
    hashes = ["00" * 8 + digits * 8 for digits in ("03", "01", "02")]
    column = pa.array(hashes, pa.string())
    raw = raw.set_column(ROWS.names.index("xml"), ROWS.field("xml"), column)
    make_earlier(tmp_path / "old", [[resolver(tmp_path / "t", {}).finish(raw)]])

    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")

    assert [earlier.find(segment("P", hash)).row for hash in hashes] == [0, 1, 2]
    assert earlier.find(segment("P", "00" * 8 + "04" * 8)) is None


def test_rows_are_handed_over_in_the_order_of_the_dump(finished, tmp_path):
    make_earlier(tmp_path / "old", finished)
    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")
    rows = PageRows("new.xml", earlier.name)
    wanted = [4, 5, 6, "new", 12, 1, 2, "newer", "newest", 9]

    for name in wanted:
        if isinstance(name, int):
            rows.take(earlier.find(segment(f"P{name}")))
            continue
        rows.add(
            WikiArticle(
                scalars={"id": name, "group": "w", "text": name},
                text=PageText(name),
                sentences=[],
                hash=hash_of(xml_of(name)),
                counters={"links": 10, "new": 0},
            )
        )
    n_characters = rows.n_characters
    shutil.rmtree(tmp_path / "old")
    batch = TakenRows(tmp_path / "kept").fill(rows.batch())

    ids = [f"w:P{name}" if isinstance(name, int) else name for name in wanted]
    assert batch.column("id").to_pylist() == ids
    assert set(batch.column("source").to_pylist()) == {"new.xml"}
    assert n_characters == sum(map(len, batch.column("text").to_pylist()))
    assert batch.column("characters").to_pylist() == list(
        map(len, batch.column("text").to_pylist())
    )
    assert rows.n_characters == 0
    assert rows.reused == {"taken over": 7}


def flipped(data):
    return data[:-7] + bytes([data[-7] ^ 1]) + data[-6:]


@pytest.mark.parametrize("name", ["about.json", "ids", "places"])
@pytest.mark.parametrize("damage", [flipped, lambda data: data[:-9], lambda _: b"", None])
def test_damaged_table_is_made_again(name, damage, finished, tmp_path):
    make_earlier(tmp_path / "old", finished)
    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")
    table = tmp_path / "kept" / earlier.name / "table"
    before = {file.name: file.read_bytes() for file in table.iterdir()}
    (table / name).unlink()
    if damage:
        (table / name).write_bytes(damage(before[name]))

    again = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")

    assert {file.name: file.read_bytes() for file in table.iterdir()} == before
    places = [again.find(segment(f"P{number}")) for number in range(13)]
    assert [place.id for place in places] == [f"w:P{number}" for number in range(13)]
    assert again.damaged == set()


def test_table_that_cannot_be_finished_leaves_nothing(finished, tmp_path, monkeypatch):
    make_earlier(tmp_path / "old", finished)

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(reuse_places, "sync_file", full)
    with pytest.raises(OSError, match="No space left"):
        Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")

    [kept] = (tmp_path / "kept").iterdir()
    assert list(kept.iterdir()) == []


def test_row_that_is_not_the_one_that_was_found_is_an_error(finished, tmp_path):
    make_earlier(tmp_path / "old", finished)
    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")
    rows = PageRows("new.xml", earlier.name)
    rows.take(earlier.find(segment("P7"))._replace(row=3))

    with pytest.raises(DamagedDatasetError, match=r"kept: damaged.*Delete .*same command again"):
        TakenRows(tmp_path / "kept").fill(rows.batch())


def test_shard_with_other_rows_than_the_dataset_says_is_not_used(finished, tmp_path):
    make_earlier(tmp_path / "old", finished)
    file = tmp_path / "old" / "reuse" / "dataset.json"
    file.write_text(file.read_text("utf-8").replace('"rows": 5', '"rows": 4'), "utf-8")

    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "kept")

    assert earlier.find(segment("P4")) is None
    assert earlier.find(segment("P5"))[:2] == (2, 0)
    assert earlier.damaged == {"reuse/shard-00000.arrow"}


@pytest.mark.parametrize("fingerprint", [FINGERPRINT, "e" * 64])
def test_dataset_that_is_not_there_any_more_finds_nothing(fingerprint, finished, tmp_path):
    if fingerprint != FINGERPRINT:
        make_earlier(tmp_path / "old", finished)

    earlier = Earlier(tmp_path / "old", fingerprint, tmp_path / "kept")

    assert earlier.find(segment("P0")) is None
    assert earlier.damaged == {"dataset.json"}


# --- what a run keeps


@pytest.fixture
def kept(finished, tmp_path):
    """Keep the first shard, of five rows, in a run; returns the folder of what it kept."""
    make_earlier(tmp_path / "old", finished)
    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path / "run" / "carried")
    assert earlier.find(segment("P0"))
    return tmp_path / "run" / "carried" / earlier.name


def ids(shards, number, start, stop):
    return [id for rows in shards.rows(number, start, stop) for id in rows.column("id").to_pylist()]


def test_shard_is_kept_by_a_link_and_only_where_a_row_is_taken(kept, tmp_path):
    names = {file.name for file in kept.iterdir()} - {"table"}

    assert names == {"documents-00000.arrow", "reuse-00000.arrow", "00000.json"}
    old = tmp_path / "old" / "documents" / "shard-00000.arrow"
    assert (kept / "documents-00000.arrow").samefile(old)
    assert ids(KeptShards(kept), 0, 1, 4) == ["w:P1", "w:P2", "w:P3"]


@pytest.mark.usefixtures("bucket")
def test_of_a_run_in_a_bucket_the_shards_of_rows_are_brought_to_each_machine(finished, tmp_path):
    make_earlier(tmp_path / "old", finished)
    there = Bucket("s3://onoma/old")
    for path in (tmp_path / "old").rglob("*.*"):
        there.put(path.relative_to(tmp_path / "old").as_posix(), path)
    run = tmp_path / "run" / "carried"

    earlier = Earlier(there.url, FINGERPRINT, run)
    assert earlier.find(segment("P12"))
    brought = sorted(path.name for path in (tmp_path / "cache").rglob("shard-*.arrow"))
    assert brought == [f"shard-{number:05d}.arrow" for number in (0, 1, 2, 2)]  # all of the notes
    shutil.rmtree(run)  # as on another machine
    again = partial(open_earlier, there.url, FINGERPRINT)

    assert ids(KeptShards(run / earlier.name, again), 2, 7, 8) == ["w:P12"]
    assert {file.name for file in (run / earlier.name).iterdir()} == {
        *("documents-00002.arrow", "reuse-00002.arrow", "00002.json")
    }


def test_shard_is_copied_where_it_cannot_be_linked(finished, tmp_path, monkeypatch):
    make_earlier(tmp_path / "old", finished)

    def refuse(*_):
        raise OSError(errno.EXDEV, "another disk")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path)
    earlier.find(segment("P12"))
    shutil.rmtree(tmp_path / "old")

    assert ids(KeptShards(tmp_path / earlier.name), 2, 7, 8) == ["w:P12"]


@pytest.mark.parametrize(
    ("operation", "code"), [("hardlink_to", errno.EIO), ("rename", errno.ENOSPC)]
)
def test_a_fault_of_a_disk_is_no_damage_to_the_earlier_run(
    operation, code, finished, tmp_path, monkeypatch
):
    make_earlier(tmp_path / "old", finished)
    earlier = Earlier(tmp_path / "old", FINGERPRINT, tmp_path)
    operate = getattr(Path, operation)

    def refuse(path, other):
        if "documents-" in f"{path} {other}":
            raise OSError(code, os.strerror(code))
        return operate(path, other)

    monkeypatch.setattr(Path, operation, refuse)
    with pytest.raises(OSError, match=os.strerror(code)):
        earlier.find(segment("P0"))
    assert earlier.damaged == set()


def test_kept_shard_that_was_touched_is_used_if_its_bytes_are_right(kept):
    os.utime(kept / "documents-00000.arrow", ns=(1, 1))

    assert ids(KeptShards(kept), 0, 0, 5) == [f"w:P{number}" for number in range(5)]


@pytest.mark.parametrize("name", ["documents-00000.arrow", "reuse-00000.arrow", "00000.json"])
@pytest.mark.parametrize("damage", ["edited", "gone"])
def test_kept_shard_that_was_changed_is_an_error_that_says_what_to_do(name, damage, kept, tmp_path):
    data = bytearray((kept / name).read_bytes())
    data[len(data) // 2] ^= 1
    (kept / name).unlink()
    if damage == "edited":
        (kept / name).write_bytes(data[:-1] if name.endswith("json") else data)

    with pytest.raises(DamagedDatasetError) as caught:
        ids(KeptShards(kept), 0, 0, 5)

    assert f"Delete {tmp_path / 'run'}, and run the same command again." in str(caught.value)


def test_hash_is_of_every_byte_of_the_page():
    xml = b"<page><title>A</title></page>"

    assert hash_of(xml) == hashlib.sha256(xml).hexdigest()[:32]
    assert len({hash_of(xml[:i] + b"x" + xml[i + 1 :]) for i in range(len(xml))}) == len(xml)
