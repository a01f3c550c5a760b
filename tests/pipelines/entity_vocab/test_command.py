"""Documents to an entity vocabulary: the command, its errors, and the folder it leaves."""

import pytest

from corpora.entities.vocabulary import EntityVocab
from corpora.store.inspection import main as shards
from pipelines import documents_to_entity_vocab as pipeline
from tests.corpora.entity_ids import id_of
from tests.datasets import write_dataset
from tests.killing import files_of
from tests.pipelines.entity_vocab.made_vocabularies import ARTICLES, document

pytestmark = pytest.mark.usefixtures("without_runner")


def run(output, inputs, *options):
    return pipeline.main(["--input", str(inputs), "--output", str(output), *options])


@pytest.mark.parametrize("workers", ["1", "2"])
def test_command_makes_the_same_bytes_with_any_workers(articles, vocab, tmp_path, workers):
    assert run(tmp_path / "out", articles, "--workers", workers) == 0
    assert files_of(tmp_path / "out") == files_of(vocab)


def test_run_verifies(vocab, capsys):
    assert shards(["verify", str(vocab)]) == 0
    assert "read 4 = written 4 + filtered 0 + rejected 0" in capsys.readouterr().out


def test_folder_that_holds_documents_is_an_input(articles, vocab, tmp_path):
    assert run(tmp_path / "out", articles.parent) == 0
    assert files_of(tmp_path / "out") == files_of(vocab)


def test_lost_side_file_is_made_again_after_the_stages_are_gone(articles, tmp_path):
    (tmp_path / "table.tsv").write_text("frwiki:Allemagne\tdawiki:Tyskland\n")
    options = ("--equivalents", str(tmp_path / "table.tsv"))
    assert run(tmp_path / "out", articles, *options) == 0
    before = files_of(tmp_path / "out")
    (tmp_path / "out" / "entity_vocab.jsonl").unlink()

    assert run(tmp_path / "out", articles, *options) == 0
    assert files_of(tmp_path / "out") == before


def test_lost_shard_is_made_again_after_the_stages_are_gone(articles, tmp_path):
    assert run(tmp_path / "out", articles) == 0
    before = files_of(tmp_path / "out")
    (tmp_path / "out" / "shard-00000.arrow").unlink()

    assert run(tmp_path / "out", articles) == 0
    assert files_of(tmp_path / "out") == before


def test_input_without_counted_mentions_is_a_clear_error(tmp_path, capsys):
    inputs = write_dataset(tmp_path / "documents", [document(1, "A", "Intet her")])

    assert run(tmp_path / "out", inputs) == 1
    assert "--origins" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--min-count", "0"), "--min-count 0: must be at least 1"),
        (("--origins", "link,links"), "--origins links: there are annotation"),
        (("--previous", "{output}"), "are the same"),
    ],
)
def test_wrong_options_end_with_status_2(articles, vocab, options, message, capsys):
    chosen = [option.format(output=vocab) for option in options]

    assert run(vocab, articles, *chosen) == 2
    assert message in capsys.readouterr().err


def test_input_that_is_no_dataset_is_named(tmp_path, capsys):
    (tmp_path / "empty").mkdir()

    assert run(tmp_path / "out", tmp_path / "empty") == 1
    assert "dataset.json is missing). Make one" in capsys.readouterr().err
    (tmp_path / "empty/.build").mkdir()
    assert run(tmp_path / "out", tmp_path / "empty") == 1
    assert "Run the pipeline again" in capsys.readouterr().err


def test_damaged_shard_is_named(tmp_path, capsys):
    inputs = write_dataset(tmp_path / "documents", *ARTICLES)
    shard = inputs / "shard-00001.arrow"
    shard.write_bytes(shard.read_bytes() + b"x")

    assert run(tmp_path / "out", inputs) == 1
    assert "shard-00001.arrow: damaged" in capsys.readouterr().err


def test_vocabulary_opens(vocab):
    opened = EntityVocab(vocab)

    assert len(opened) == 6
    assert id_of(opened, "dawiki:Ulm") == 5
