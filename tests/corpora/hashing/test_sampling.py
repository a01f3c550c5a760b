from collections import Counter

import pytest

from corpora.errors import UsageError
from corpora.hashing.sampling import choose, choose_all, ratio
from corpora.hashing.splits import parse_ratios, read_split_file

RATIOS = {"train": 80.0, "dev": 10.0, "test": 10.0}
SPLITS = [
    "train",
    "train",
    "train",
    "train",
    "train",
    "test",
    "train",
    "train",
    "train",
    "train",
    "train",
    "train",
]


def test_split_of_a_name_never_changes():
    splits = [choose(f"{n:02}.xml", RATIOS) for n in range(1, 13)]

    assert splits == SPLITS  # data that people have published depends on it


def test_ratios_are_even():
    ratios = sorted(ratio(f"letter-{n}") for n in range(10_000))

    assert all(abs(value - n / 10_000) < 0.02 for n, value in enumerate(ratios))


def test_ratios_are_kept():
    counts = Counter(choose(f"letter-{n}", RATIOS) for n in range(10_000))

    assert abs(counts["train"] - 8_000) < 200
    assert abs(counts["dev"] - 1_000) < 150


def test_another_seed_is_another_split():
    names = [f"letter-{n}" for n in range(100)]

    assert choose_all(names, RATIOS, seed=1) != choose_all(names, RATIOS, seed=2)


def test_split_with_no_weight_stays_empty():
    chosen = choose_all([f"letter-{n}" for n in range(500)], RATIOS | {"dev": 0.0})

    assert set(chosen.values()) == {"train", "test"}


@pytest.mark.parametrize("n_names", range(3, 12))
def test_small_edition_fills_every_split(n_names):
    chosen = choose_all([f"{n}.xml" for n in range(n_names)], RATIOS)

    assert set(chosen.values()) == {"train", "dev", "test"}


def test_document_keeps_its_split_when_others_come():
    few = choose_all([f"letter-{n}" for n in range(300)], RATIOS)
    many = choose_all([f"letter-{n}" for n in range(900)], RATIOS)

    assert all(many[name] == split for name, split in few.items())


@pytest.mark.parametrize("text", ["80/20", "a/b/c", "0/0/0", "-1/1/1", ""])
def test_ratios_that_make_no_sense_are_refused(text):
    with pytest.raises(UsageError, match="three weights"):
        parse_ratios(text)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a.xml\ttrain\nb.xml\tvalid\n", "splits.tsv:2"),
        ("a.xml\ttrain\n", "lacks 1 document, among them b.xml"),
        ("a.xml\ttrain\nb.xml\tdev\nc.xml\ttest\n", "names no input: 1 document, among them c.xml"),
        ("a.xml\ttrain\na.xml\tdev\n", "splits.tsv:2: a.xml has two splits"),
    ],
)
def test_wrong_split_file_is_refused_with_the_line(tmp_path, lines, message):
    (tmp_path / "splits.tsv").write_text(lines)

    with pytest.raises(UsageError, match=message):
        read_split_file(tmp_path / "splits.tsv", ["a.xml", "b.xml"])


def test_split_file_is_read(tmp_path):
    (tmp_path / "splits.tsv").write_text("# ours\n'=a.xml\ttrain\n\nb.xml\tdev\n")

    assert read_split_file(tmp_path / "splits.tsv", ["=a.xml", "b.xml"]) == {
        "=a.xml": "train",
        "b.xml": "dev",
    }
