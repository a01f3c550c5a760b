"""A story that several tests of lexicons read."""

import pytest

from pipelines import text_to_documents
from tests.pipelines.made_lexicons import STORY


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """The sample story, made into documents by its chapters."""
    folder = tmp_path_factory.mktemp("story")
    arguments = ["--input", str(STORY), "--lang", "zh", "--split-pattern", "^第.{1,3}回"]
    assert text_to_documents.main([*arguments, "--output", str(folder)]) == 0
    return folder
