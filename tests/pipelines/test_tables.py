"""Tables that a killed run has left between its stages, damaged before it resumes."""

import pytest

from pipelines import augment_mentions, documents_to_lexicon, wikipedia_to_documents
from tests.pipelines.interrupting import broken_after
from tests.pipelines.test_documents_to_examples import inputs  # noqa: F401 - a fixture
from tests.pipelines.test_documents_to_examples import run as make_examples
from tests.pipelines.test_wikipedia_to_documents import run as read_wiki
from tests.pipelines.text_runs import published

pytestmark = pytest.mark.usefixtures("without_runner")


def change_a_byte(path):
    written = bytearray(path.read_bytes() or b"x")
    written[len(written) // 2] ^= 1
    path.write_bytes(written)


def remove(path):
    path.unlink()


@pytest.fixture
def wiki(monkeypatch):
    monkeypatch.setattr(wikipedia_to_documents, "RANGE_BYTES", (9000, 9000))
    return read_wiki


@pytest.fixture
def examples(inputs):  # noqa: F811
    return lambda output: make_examples(inputs, output)


@pytest.fixture
def augmented(story, tmp_path):
    forms = tmp_path / "forms.tsv"
    forms.write_text("玄德\tx:Liu Bei\n", "utf-8")
    command = ["--input", str(story), "--forms", str(forms)]
    return lambda output: augment_mentions.main([*command, "--output", str(output)])


@pytest.fixture
def lexicon(story):
    """Return a run whose tables are written by the only units of their stages, not by merges."""
    command = ["--input", str(story), "--known", "none"]
    return lambda output: documents_to_lexicon.main([*command, "--output", str(output)])


@pytest.mark.parametrize("damage", [change_a_byte, remove])
@pytest.mark.parametrize("pipeline", ["wiki", "examples", "augmented", "lexicon"])
def test_tables_damaged_between_kill_and_resume_are_made_again(pipeline, damage, request, tmp_path):
    run = request.getfixturevalue(pipeline)
    assert run(tmp_path / "undisturbed") == 0
    with broken_after(0):
        assert run(tmp_path / "out") == 1
    tables = [path for path in tmp_path.glob("out/.build/*/tables/**/*") if path.is_file()]
    assert tables
    for path in tables:
        damage(path)

    assert run(tmp_path / "out") == 0

    assert published(tmp_path / "out") == published(tmp_path / "undisturbed")
