"""Documents to a lexicon: the command, and what it refuses."""

import pytest

from corpora.store.inspection import main as shards
from pipelines import documents_to_lexicon as pipeline
from tests.datasets import write_dataset
from tests.killing import files_of
from tests.pipelines.made_lexicons import documents

pytestmark = pytest.mark.usefixtures("without_runner")


def test_the_command_makes_a_dataset_that_verifies_and_is_mended(story, tmp_path, capsys):
    arguments = ["--input", str(story), "--output", str(tmp_path / "out"), "--known", "none"]

    status = pipeline.main(arguments)

    before = files_of(tmp_path / "out")
    assert (status, pipeline.main(arguments)) == (0, 0)
    assert "already complete" in capsys.readouterr().out
    assert shards(["verify", str(tmp_path / "out")]) == 0
    (tmp_path / "out" / "shard-00000.arrow").write_bytes(b"damaged")
    assert pipeline.main(arguments) == 0
    assert files_of(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--max-length", "1"], 2, "must be at least 2"),
        (["--min-count", "1"], 2, "must be at least 2"),
        (["--top", "nan"], 2, "must be above 0"),
        (["--known", "nowhere.txt"], 2, "no such file"),
        (["--known", "none", "--names", "nowhere.txt"], 2, "no such file"),
        (["--known", "none", "--min-count", "1000"], 1, "occurs 1000 times"),
    ],
)
def test_what_makes_no_sense_is_refused(story, tmp_path, capsys, options, status, message):
    arguments = ["--input", str(story), "--output", str(tmp_path / "out")]

    assert pipeline.main([*arguments, *options]) == status

    assert message in capsys.readouterr().err


def test_documents_without_text_are_refused(tmp_path, capsys):
    dataset = write_dataset(tmp_path / "documents", documents([("a", " ")]))

    status = pipeline.main(["--input", str(dataset), "--output", str(tmp_path / "out")])

    assert status == 1
    assert "no text" in capsys.readouterr().err


def test_without_jieba_chinese_documents_ask_for_it(story, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("corpora.lexicon.known.find_spec", lambda _: None)

    status = pipeline.main(["--input", str(story), "--output", str(tmp_path / "out")])

    assert status == 2
    assert "pip install 'onoma[chinese]'" in capsys.readouterr().err
