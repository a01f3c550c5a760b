"""The trained model as a folder of its own: for fine-tuning, export, or another run."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.datasets.shards import write_json
from corpora.runs.build import sync_file, sync_folder
from corpora.system.files import take_away
from modeling.models.pretraining import PretrainingModel
from modeling.training.sources import ENTITIES, Sources


def publish(
    model: PretrainingModel, folder: Path, *, sources: Sources, settings: Mapping[str, Any]
) -> None:
    """Write weights, settings, tokenizer and entities; the folder appears when it is whole.

    Besides it has ``run.json``: recipe, examples, versions.
    """
    temporary = folder.with_name(f".{folder.name}.partial")
    take_away(temporary)
    model.save(temporary)
    sources.tokenizer.save(temporary)
    write_json(temporary / "run.json", settings)
    if sources.entities_file is not None:
        shutil.copyfile(sources.entities_file, temporary / ENTITIES)
    for path in temporary.iterdir():
        sync_file(path)
    sync_folder(temporary)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)
    sync_folder(folder.parent)
