"""A build of a few shards: what is done, what is damaged, what publishing takes away."""

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.errors import CorpusError
from corpora.runs.build import hold
from corpora.runs.plan import Plan, Stage, Unit, shard_name
from corpora.runs.receipts import Accounting, Receipt, read_receipt, write_receipt
from corpora.runs.work_directory import WorkDirectory
from corpora.system.writing import write_text
from tests.corpora.diff.two_versions import document
from tests.datasets import document_to_row

UNITS = tuple(Unit(number) for number in range(12))
STAGE = Stage("extract", UNITS, {"pages": "documents"})
PLAN = Plan("test", {"documents": "documents"}, {}, UNITS, stages=(STAGE,))


class Killed(BaseException):
    """Like SIGKILL: nothing catches it."""


def do(build, unit, stage=None):
    """Do a unit: a shard of one document, and a receipt of odd numbers."""
    [(dataset, schema)] = (stage.datasets if stage else PLAN.datasets).items()
    with ShardWriter(build.staging(dataset) / unit.shard_name, SCHEMAS[schema]) as writer:
        writer.write(document_to_row(document(unit.number, text="Ulm")))
    receipt = Receipt(
        fingerprint=PLAN.fingerprint,
        unit=unit.number,
        shards={dataset: writer.shard},
        accounting=Accounting() if stage else Accounting(read=3, written=2, filtered={"no": 1}),
        counters={"all": unit.number, f"only/{unit.number}": 1},
        rejected=[],
        reused={"taken": 2} if stage else {},
    )
    write_receipt(build.receipt_path(unit, stage), receipt)


@pytest.fixture
def build(tmp_path):
    with hold(tmp_path / "out", PLAN) as build:
        for unit in UNITS:
            do(build, unit, STAGE)
            do(build, unit)
        yield build


def again(build):
    """Open the same folder as the next run does."""
    made = type(build)(build.output, PLAN)
    made.prepare()
    return made


def side(build, _):
    write_text(build.side / "report.md", ["report"])


def damage(path):
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def test_units_that_are_not_done_are_pending_in_their_order(build):
    build.receipt_path(UNITS[7]).unlink()
    for number in (2, 11):
        damage(build.staging("documents") / UNITS[number].shard_name)

    assert build.pending() == [UNITS[2], UNITS[7], UNITS[11]]
    assert build.pending(STAGE) == []


@pytest.mark.parametrize("other", [{"fingerprint": "f" * 64}, {"unit": 3}])
def test_receipts_of_other_plans_and_units_do_not_count(build, other):
    path = build.receipt_path(UNITS[2])
    write_receipt(path, replace(read_receipt(path), **other))

    assert build.pending() == [UNITS[2]]


def test_a_unit_whose_receipt_names_the_shard_of_another_is_pending(build):
    one = read_receipt(build.receipt_path(UNITS[3]))
    other = read_receipt(build.receipt_path(UNITS[4]))
    write_receipt(build.receipt_path(UNITS[3]), replace(one, shards=other.shards))

    assert build.pending() == [UNITS[3]]


def test_a_unit_that_left_no_receipt_is_not_counted_as_done(build):
    build.receipt_path(UNITS[3]).unlink()

    with pytest.raises(CorpusError, match="unit 3 left no receipt"):
        again(build).publish()


def test_what_does_not_add_up_is_not_published(build):
    path = build.receipt_path(UNITS[3])
    write_receipt(path, replace(read_receipt(path), accounting=Accounting(read=3, written=1)))

    with pytest.raises(CorpusError, match="does not add up"):
        again(build).publish()


def test_what_cannot_be_put_in_its_place_is_named(build, monkeypatch):
    def renamed(path, target):
        if target.parent == build.output:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return rename(path, target)

    rename = Path.rename
    monkeypatch.setattr(Path, "rename", renamed)

    with pytest.raises(CorpusError, match=r"No space left on device\. .* is not complete; fix it"):
        build.publish(side)


def test_first_damaged_shard_is_named(build):
    for number in (9, 4):
        damage(build.staging("documents") / UNITS[number].shard_name)

    with pytest.raises(CorpusError, match=r"shard-00004\.arrow: damaged"):
        build.shard_paths("documents")


def test_shards_are_found_where_they_are_staged_or_published(build):
    staged = build.shard_paths("documents")
    build.publish(side)

    assert staged == [build.staging("documents") / unit.shard_name for unit in UNITS]
    published = again(build).shard_paths("documents")
    assert published == [build.output / "documents" / unit.shard_name for unit in UNITS]


def test_sums_are_those_of_all_stages_and_units(build):
    assert build.counters["all"] == 2 * sum(range(12))
    assert [build.counters[f"only/{number}"] for number in range(12)] == [2] * 12
    assert build.accounting == Accounting(read=36, written=24, filtered={"no": 12})
    assert build.reused == {"taken": 24}


def test_what_is_published_is_found_so_until_a_byte_changes(build):
    assert not build.is_published()
    build.publish(side)

    assert again(build).is_published()
    damage(build.output / "documents" / UNITS[8].shard_name)
    assert not again(build).is_published()
    (build.output / "documents" / UNITS[8].shard_name).unlink()
    assert not again(build).is_published()


def test_damaged_shard_stops_publishing_before_anything_is_deleted(build):
    damage(build.staging("documents") / UNITS[3].shard_name)

    with pytest.raises(CorpusError, match="damaged"):
        build.publish(side)

    assert again(build).pending(STAGE) == []


def test_run_that_died_while_side_files_were_written_has_no_unit_to_do_again(build):
    def die(*_):
        raise Killed

    with pytest.raises(Killed):
        build.publish(die)
    following = again(build)

    assert following.pending(STAGE) == following.pending() == []
    following.publish(side)
    assert again(build).is_published()


def test_publishing_leaves_receipts_and_nothing_else_to_work_with(build):
    build.publish(side)

    left = {path.name for path in build.folder.iterdir()}
    assert left == {"receipts", "plan.json", "shards.json"}
    assert again(build).pending() == []


def test_shards_beyond_five_digits_are_in_the_order_of_their_numbers(tmp_path):
    (tmp_path / "shards" / "found").mkdir(parents=True)
    for number in (100_000, 7, 99_999):
        (tmp_path / "shards" / "found" / shard_name(number)).touch()

    found = WorkDirectory(tmp_path).shards("found")

    assert [path.name for path in found] == [shard_name(n) for n in (7, 99_999, 100_000)]


def test_a_damaged_marker_of_what_was_merged_ends_publishing(build):
    merged = build.merge_receipt(STAGE)
    write_receipt(merged, replace(read_receipt(build.receipt_path(UNITS[0])), unit=-1))
    damage(merged)

    with pytest.raises(CorpusError, match=r"merged\.json: damaged\. Run the same command again"):
        again(build).publish(side)
