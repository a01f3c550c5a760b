"""Steps of the size benchmark: resumed by name, with enough disk space, unread output deleted."""

import os
import sys

import pytest

from benchmarks.full_size import KINDS, STUBS, Step, read_results, run_steps
from benchmarks.full_size_tables import tables
from benchmarks.resources import measure

WRITE = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.mkdir(); (p / 'x').write_text('x')"


def step(name, *, reads=(), code=WRITE, room=1.0):
    def command(at, _):
        return [sys.executable, "-c", code, str(at / name)]

    return Step(name, command, reads, name, room, room)


def test_a_step_with_a_line_is_not_run_again(tmp_path):
    steps = [step("first"), step("second", reads=("first",), code="raise SystemExit(3)")]
    with pytest.raises(SystemExit):
        run_steps("wikipedia", 10, tmp_path, steps=steps, room=1)
    steps[1] = step("second", reads=("first",))

    run_steps("wikipedia", 10, tmp_path, steps=steps, room=1)

    assert [line["step"] for line in read_results(tmp_path)] == ["first", "second"]


def test_what_no_later_step_reads_is_deleted(tmp_path):
    look = (
        "import pathlib, sys; at = pathlib.Path(sys.argv[1]).parent; assert not (at/'a').exists()"
    )
    steps = [step("a"), step("b", reads=("a",)), step("c", code=look)]

    run_steps("wikipedia", 10, tmp_path, steps=steps, room=1)

    assert not (tmp_path / "wikipedia-10").exists()


def test_a_run_that_needs_more_room_than_allowed_does_not_begin(tmp_path):
    with pytest.raises(SystemExit, match="--room allows 1 GB"):
        run_steps("wikipedia", 1000, tmp_path, steps=[step("a", room=2e6)], room=1)

    assert not read_results(tmp_path)


def test_what_a_killed_step_left_is_not_counted_beside_what_the_step_needs(tmp_path):
    left = tmp_path / "wikipedia-1000" / "a" / "half"
    left.parent.mkdir(parents=True)
    with left.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 100_000_000)

    resumed = step("a", code="pass", room=400e3)  # 0.3 GB beside it, and 0.4: below 0.75
    run_steps("wikipedia", 1000, tmp_path, steps=[resumed], room=0.75)

    assert [line["step"] for line in read_results(tmp_path)] == ["a"]


def test_memory_and_processor_time_are_those_of_all_processes():
    busy = "import sys, time; x = bytearray(60 << 20); t = time.process_time()\n"
    busy += "while time.process_time() - t < 0.5: pass\ntime.sleep(1)"  # both at one time
    two = f"import subprocess, sys; c = [sys.executable, '-c', {busy!r}]\n"
    two += "[p.wait() for p in [subprocess.Popen(c) for _ in range(2)]]"

    run = measure([sys.executable, "-c", two])

    assert run.processor >= 1.0
    assert 120 < run.pss < 500
    assert 60 < run.largest < run.pss
    assert len(run.processes) == 3


def test_growth_is_the_slope_between_the_two_largest_sizes():
    def line(size):
        return {
            "kind": "wikipedia", "step": "documents", "size": size, "seconds": 1.0, "made": 5.0,
            "processor": size / 100, "largest": 100 + size / 1000, "all": 3.0, "shards": {},
            "plan": 0, "receipts": {"n": 0, "bytes": 0},
        }  # fmt: skip

    [*_, row, _] = tables([line(1_000), line(10_000)])

    assert row.startswith("| documents | 1,000 to 10,000 | 1.00 | ")
    assert row.endswith("| 19.4 | 7.1 | 0.0 |")


def test_stubs_are_the_steps_of_a_wiki_whose_dumps_have_short_articles(tmp_path):
    for short, long in zip(KINDS["stubs"], KINDS["wikipedia"], strict=True):
        options, usual = short.command(tmp_path, 9), long.command(tmp_path, 9)

        assert short.name == long.name
        assert [option for option in options if option not in STUBS] == usual
        assert (options != usual) == ("dump" in short.name)
