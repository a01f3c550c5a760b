"""The records of the formats: each is in the docs, and has a reader."""

import re
from pathlib import Path

import pytest

from corpora.errors import UsageError
from corpora.ner.detection import Overrides
from corpora.ner.files import describe
from corpora.ner.formats import FORMATS
from corpora.ner.readers import reader_of
from corpora.runs.code import code_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "ner.md"
ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def test_docs_list_each_format():
    section = PAGE.read_text("utf-8").partition("## Formats")[2].partition("\n## ")[0]

    assert set(ROW.findall(section)) == FORMATS.keys()


def test_each_format_has_a_reader_whose_code_counts_in_the_fingerprint_of_runs():
    counted = {path.stem for path in code_of("benchmark_to_ner")}

    for name, kind in FORMATS.items():
        assert callable(reader_of(kind)), name
        assert kind.reader.partition(":")[0].rpartition(".")[2] in counted, name


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"text": "Ada", "label": [[0, 3, "PER"]]}\n', {"tag_column": "2"}),
        ("a.ann", "T1\tPER 0 3\tAda\n", {"inner_column": "none"}),
        ("a.txt", "7|t|Ada\n7|a|kam.\n", {"scheme": "iobes"}),
        ("a.conllu", "1\tAda" + "\t_" * 7 + "\tname=B-PER\n", {"inner_column": "3"}),
    ],
)
def test_an_option_of_which_a_format_knows_nothing_is_an_error(tmp_path, name, text, said):
    (tmp_path / name).write_text(text, "utf-8")
    option = f"--{next(iter(said)).replace('_', '-')}"

    with pytest.raises(UsageError, match=f"no use for {option}"):
        describe(tmp_path / name, name=name, overrides=Overrides(**said))
