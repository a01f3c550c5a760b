import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets import redirect_table as redirects
from corpora.datasets.redirect_table import MAX_STEPS, RedirectTable, build_table
from corpora.errors import CorpusError

# Few titles, so that there are chains, loops and duplicates; empty, long, equal but for their end.
TITLES = ("", "a", "b", "Ä", "Äb", "𝔄𐍈", "三国演义", "𝔄", "abcdefgh", "abcdefghi", "abcdefgh\0")
LONG = tuple("x" * 300 + end for end in "yz")
TITLE = st.sampled_from(TITLES + LONG) | st.text(max_size=20)
REDIRECTS = st.lists(st.tuples(TITLE, TITLE), max_size=60)


def batches(pairs, size=7):
    """Return batches of ``size`` redirects, each a slice of one larger array."""
    titles, targets = (pa.array(column, pa.string()) for column in zip(*pairs, strict=True))
    whole = pa.record_batch([titles, targets], ["title", "target"])
    return [whole.slice(start, size) for start in range(0, len(whole), size)]


def build(folder, pairs, size=7):
    return build_table(folder, batches(pairs, size) if pairs else [])


def chain(*titles):
    return list(pairwise(titles))


def walk(targets, title):
    """Follow a title step by step; returns where it ends, and the number of steps.

    A loop ends nowhere (``None``), with no steps.
    """
    seen = set()
    while title in targets:
        if title in seen:
            return None, 0
        seen.add(title)
        title = targets[title]
    return title, len(seen)


def naive(pairs):
    """Return what a table counts, and what it resolves, by following each title."""
    targets = dict(reversed(pairs))
    ends = {title: walk(targets, title) for title in targets}
    steps = [n_steps for _, n_steps in ends.values()]
    counts = {
        "n_redirects": len(targets),
        "n_duplicates": len(pairs) - len(targets),
        "n_chains": sum(n > 1 for n in steps),
        "longest_chain": max(steps, default=0),
        "n_loops": steps.count(0),
        "loops": tuple(title for title in dict(pairs) if ends[title][1] == 0),
        "n_too_long": sum(n > MAX_STEPS for n in steps),
    }
    return counts, {title: end for title, (end, n) in ends.items() if 0 < n <= MAX_STEPS}


def check(pairs, titles):
    """Build, and compare with the naive way."""
    counts, finals = naive(pairs)
    with tempfile.TemporaryDirectory() as name:
        summary = build(Path(name), pairs)
        table = RedirectTable(Path(name))

        assert {key: getattr(summary, key) for key in counts} == counts
        assert table.finals(pa.array(titles, pa.string())).to_pylist() == [
            finals.get(title) for title in titles
        ]
        assert table.resolve(titles).to_pylist() == [finals.get(title, title) for title in titles]
        named = table.may_have(pa.array([f"wiki:{title}" for title in titles]), skip=len("wiki:"))
        assert all(flag for flag, title in zip(named, titles, strict=True) if title in dict(pairs))


@given(REDIRECTS, st.lists(TITLE, max_size=9))
def test_table_equals_a_dictionary(pairs, others):
    check(pairs, [*TITLES, *LONG, *others, *(title for pair in pairs for title in pair)])


def test_hardly_any_other_title_may_be_that_of_a_redirect(tmp_path):
    build(tmp_path, [(f"Titel {n}", "Ziel") for n in range(100)])
    others = pa.array([f"wiki:Seite {n}" for n in range(1000)])

    assert RedirectTable(tmp_path).may_have(others, skip=len("wiki:")).sum() < 5


@given(REDIRECTS)
def test_collisions_change_nothing(pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redirects, "hashes", lambda strings, **_: np.full(len(strings), 7, np.uint64))

        check(pairs, [*TITLES, *LONG])


@given(st.permutations(range(40)), st.integers(0, 39))
def test_long_chains_are_counted_whatever_their_order(order, back):
    links = chain(*map(str, range(40)), str(back))
    pairs = [links[number] for number in order]

    check(pairs, [str(number) for number in range(41)])


def test_chain_is_followed_ten_steps_and_no_further(tmp_path):
    titles = [f"t{number}" for number in range(MAX_STEPS + 2)]

    summary = build(tmp_path, chain(*titles))

    assert RedirectTable(tmp_path).resolve(["t0", "t1"]).to_pylist() == ["t0", titles[-1]]
    assert (summary.longest_chain, summary.n_too_long) == (MAX_STEPS + 1, 1)


def test_examples_of_loops_are_bounded(tmp_path):
    summary = build(tmp_path, [(str(number), str(number)) for number in range(150)])

    assert (summary.n_loops, len(summary.loops)) == (150, 100)


def test_first_of_duplicates_wins_across_batches(tmp_path):
    summary = build(tmp_path, [("A", "first"), ("B", "A"), ("A", "second")], size=1)

    table = RedirectTable(tmp_path)

    assert table.resolve(["A", "B"]).to_pylist() == ["first", "first"]
    assert table.rows(pa.array(["A", "B", "C"])).tolist() == [0, 1, -1]
    assert summary.n_duplicates == 1


def test_empty_batches_add_nothing(tmp_path):
    batch = batches([("A", "B")])[0]

    summary = build_table(tmp_path, [batch.slice(0, 0), batch, batch.slice(1)])

    assert RedirectTable(tmp_path).resolve(["A"]).to_pylist() == ["B"]
    assert summary.n_redirects == 1


def test_no_titles_are_no_titles(tmp_path):
    build(tmp_path, [("A", "B")])

    assert RedirectTable(tmp_path).resolve([]).to_pylist() == []


@pytest.mark.parametrize("type", [pa.string(), pa.large_string()])
def test_type_and_nulls_are_kept(tmp_path, type):
    build(tmp_path, [("A", "B"), ("", "C")])

    resolved = RedirectTable(tmp_path).resolve(pa.array(["A", None, ""], type))

    assert resolved.equals(pa.array(["B", None, "C"], type))


def test_slices_of_titles_are_resolved(tmp_path):
    build(tmp_path, [("Äb", "𝔄"), ("d", "e")])

    resolved = RedirectTable(tmp_path).resolve(pa.array(["x", "Äb", "d", "y"]).slice(1, 2))

    assert resolved.to_pylist() == ["𝔄", "e"]


def test_same_redirects_make_same_bytes_whatever_the_batches(tmp_path):
    pairs = [(f"t{number % 50}", f"t{number * 7 % 60}") for number in range(80)]

    for size in (1, 80):
        build(tmp_path / str(size), pairs, size)

    contents = [
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
        for name in ("1", "80")
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) == 6


def test_chunks_are_put_together(monkeypatch):
    monkeypatch.setattr(redirects, "ROWS_PER_CHUNK", 3)

    check(chain(*"abcdefgh") + chain(*"xyzx"), list("abcdefghxyz"))


def test_building_again_replaces_the_table(tmp_path):
    build(tmp_path, [("A", "B")])
    opened = RedirectTable(tmp_path)

    build(tmp_path, [("A", "C")])

    assert opened.resolve(["A"]).to_pylist() == ["B"]
    assert RedirectTable(tmp_path).resolve(["A"]).to_pylist() == ["C"]


def test_redirect_without_target_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match="redirects 0 to 1: no target"):
        build(tmp_path, [("A", "B"), ("C", None)])


def test_missing_file_is_named(tmp_path):
    build(tmp_path, [("A", "B")])
    (tmp_path / "index").unlink()

    with pytest.raises(FileNotFoundError, match="index"):
        RedirectTable(tmp_path)


def test_folder_can_move(tmp_path):
    build(tmp_path / "a", [("A", "B")])
    shutil.move(tmp_path / "a", tmp_path / "b")

    assert RedirectTable(tmp_path / "b").resolve(["A"]).to_pylist() == ["B"]
