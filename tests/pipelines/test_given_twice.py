"""Pipelines refuse two datasets that hold the same documents, which would count twice."""

from importlib import import_module

import pytest

from corpora.document import Document, Mention, Span
from corpora.system.buckets import Bucket
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from pipelines import augment_mentions, documents_to_tokenizer
from tests.datasets import write_dataset
from tests.killing import files_of
from tests.pipelines.interrupting import broken_after

pytestmark = pytest.mark.usefixtures("without_runner")
PIPELINES = {
    "documents_to_entity_vocab": ["--link-probability", "off"],
    "documents_to_tokenizer": ["--size", "300"],
    "documents_to_lexicon": ["--known", "none", "--min-count", "2"],
    "documents_to_examples": ["--tokenizer", "tok", "--validation", "0"],
    "augment_mentions": ["--forms", "forms.tsv"],
}
of_each_pipeline = pytest.mark.parametrize("name", PIPELINES)
with_one_and_two_workers = pytest.mark.parametrize("workers", ["1", "2"])


def documents(*ids, group="x"):
    text = "Im Mai war Ada Lind in Jena. Ada Lind kam im Mai."
    named = Mention(11, 19, entity="x:Ada", origin="link")
    marked = {"lang": "de", "sentences": (Span(0, 28), Span(29, 49)), "mentions": (named,)}
    return [Document(id=id, group=group, source="s", text=text, **marked) for id in ids]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write datasets with and without documents of others, a tokenizer and a list of names."""
    monkeypatch.chdir(tmp_path)
    first = documents("x:1", "x:2"), documents("x:3", "x:4")
    write_dataset(tmp_path / "wiki" / "documents", *first)
    write_dataset(tmp_path / "copy", *first)
    write_dataset(tmp_path / "later", documents("x:5"), documents("x:4", "x:3"))
    write_dataset(tmp_path / "others", documents("x:6"), documents("y:1", group="y"))
    write_dataset(tmp_path / "edition", documents("x:1", group="edition"))
    (tmp_path / "forms.tsv").write_text("Ada Lind\tx:Ada\n", encoding="utf-8")
    Tokenizer(wordpiece([*SPECIALS, *map(chr, range(33, 127))], cased=True), name="small").save(
        tmp_path / "tok"
    )
    return tmp_path


def run(name, *inputs, workers="1", options=()):
    command = ["--input", *inputs, "--output", "out", "--workers", workers]
    return import_module(f"pipelines.{name}").main([*command, *PIPELINES[name], *options])


@of_each_pipeline
@with_one_and_two_workers
def test_documents_of_two_inputs_are_an_error_that_names_both(folder, capsys, name, workers):
    for _ in range(2):  # the same command again says the same
        assert run(name, "wiki", "others", "later", workers=workers) == 2

        assert (
            f"--input {folder}/later {folder}/wiki/documents: 2 documents are in both ('x:3' …) "
            "and would count twice. Name only one of the two."
        ) in capsys.readouterr().err
        assert not (folder / "out").exists()


@of_each_pipeline
def test_other_documents_of_two_inputs_are_read(folder, name):
    assert run(name, "wiki", "others") == 0

    assert (folder / "out" / "dataset.json").exists()


def test_one_folder_under_two_names_is_an_error(folder, capsys):
    (folder / "link").symlink_to(folder / "wiki")

    for other in ("copy", "link"):
        assert run("documents_to_tokenizer", "wiki", other) == 2
        assert "4 documents are in both ('x:1' …)" in capsys.readouterr().err
    assert run("documents_to_tokenizer", "wiki", "wiki/documents", "./wiki") == 0  # one address


def test_a_pattern_that_finds_both_is_an_error(folder, capsys):
    assert run("documents_to_tokenizer", str(folder / "[cl]*")) == 2

    assert f"--input {folder}/copy {folder}/later: 2 documents" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_equal_ids_of_different_groups_are_different_documents():
    for name in ("documents_to_entity_vocab", "documents_to_tokenizer", "documents_to_lexicon"):
        assert run(name, "wiki", "edition") == 0


@pytest.mark.usefixtures("folder")
def test_only_what_is_read_is_compared():
    assert run("documents_to_tokenizer", "wiki", "later", options=["--limit", "1"]) == 0


@pytest.mark.usefixtures("folder")
def test_augmented_documents_are_those_that_were_augmented(capsys):
    command = ["--input", "wiki", "--output", "augmented", *PIPELINES["augment_mentions"]]
    assert augment_mentions.main(command) == 0
    capsys.readouterr()

    assert run("documents_to_entity_vocab", "wiki", "augmented") == 2

    assert "4 documents are in both ('x:1' …)" in capsys.readouterr().err


def test_a_run_of_two_inputs_resumes(folder, capsys):
    assert run("documents_to_tokenizer", "wiki", "others") == 0
    undisturbed = files_of(folder / "out")
    command = ["--input", "wiki", "others", "--output", "again", "--size", "300"]
    with broken_after(2, stage="count"):
        assert documents_to_tokenizer.main(command) == 1
    assert documents_to_tokenizer.main([*command, "--workers", "2"]) == 0
    assert documents_to_tokenizer.main(command) == 0

    assert "already complete" in capsys.readouterr().out
    assert files_of(folder / "again") == undisturbed


@pytest.mark.usefixtures("bucket")
def test_inputs_in_a_bucket_are_compared_by_what_they_hold(folder, capsys):
    for name in ("copy", "later"):
        for path in (folder / name).iterdir():
            Bucket(f"s3://onoma/{name}").put(path.name, path)

    for other in ("s3://onoma/later", "wiki/documents"):
        assert run("documents_to_tokenizer", "s3://onoma/copy", other) == 2
        said = capsys.readouterr().err
        assert "s3://onoma/copy" in said
        assert "documents are in both" in said
    assert run("documents_to_tokenizer", "s3://onoma/copy", "others") == 0
