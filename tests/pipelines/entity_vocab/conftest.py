"""A vocabulary of four articles."""

import pytest

from tests.datasets import write_dataset
from tests.pipelines.entity_vocab.made_vocabularies import ARTICLES, build


@pytest.fixture(scope="module")
def articles(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("articles") / "documents", *ARTICLES)


@pytest.fixture(scope="module")
def vocab(articles, tmp_path_factory):
    return build(tmp_path_factory.mktemp("vocab") / "out", articles)
