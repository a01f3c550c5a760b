"""The models of a service: which are in memory, and what they are called."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from modeling.serve import loaded_models
from modeling.serve.loaded_models import LoadedModels, ServiceSettings
from modeling.serve.starting import _name_of


def test_the_model_that_was_used_longest_ago_makes_room(monkeypatch):
    monkeypatch.setattr(loaded_models.Tagger, "load", lambda folder: folder)
    monkeypatch.setattr(
        LoadedModels, "_batcher", lambda _self, _tagger: SimpleNamespace(close=list)
    )
    models = LoadedModels("own", object(), ServiceSettings())
    for name in "abcd":
        models.add(name, Path(name))

    async def ask(*names):
        for name in names:
            await models.get(name)

    asyncio.run(ask("a", "b", "c", "own", "a", "d"))

    assert set(models.loaded) == {"own", "c", "a", "d"}


@pytest.mark.parametrize(
    ("path", "name"), [("tagger-1.2", "tagger-1.2"), ("run/final", "run"), ("tagger.zip", "tagger")]
)
def test_a_model_is_called_as_its_folder_or_its_archive_is(tmp_path, path, name):
    if not path.endswith(".zip"):
        (tmp_path / path).mkdir(parents=True)

    assert _name_of(SimpleNamespace(model=tmp_path / path)) == name
