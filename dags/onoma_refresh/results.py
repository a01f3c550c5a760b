"""Results of runs: totals for events of assets, small JSON files."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_Object = dict[str, Any]
"""A JSON object. Any: its values have many types."""


def write_json(file: Path, value: object) -> None:
    """Write a JSON file in one step: after a kill or on a full disk, the old one is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    with partial.open("w", encoding="utf-8") as data:
        json.dump(value, data)
        data.flush()
        os.fsync(data.fileno())
    partial.replace(file)


def describe_version(version: Path) -> dict[str, object]:
    """Return fingerprint and totals of a published version, for its asset.

    The totals of a tagger are its score.
    """
    datasets = {}
    for file in _datasets_in(version):
        about = json.loads(file.read_text(encoding="utf-8"))
        name = "" if file.parent == version else file.parent.name
        datasets[name or about["schema"]] = about
    run = json.loads((version / "run.json").read_text(encoding="utf-8"))
    totals = {name: _totals(about) for name, about in datasets.items()}
    scores = version / "evaluation" / "evaluation.json"
    if scores.is_file():
        evaluation = json.loads(scores.read_text(encoding="utf-8"))
        totals = {"strict_f1": evaluation["scores"]["strict_f1"]["mean"]}
    return {
        "version": version.name,
        "path": str(version),
        "fingerprint": run["fingerprint"],
        "bytes": sum((version / name).stat().st_size for name in run["files"]),
        "totals": totals,
    }


def date_of_dump(documents: Path, wiki: str) -> str:
    """Return the date of the dump that a version was made from; empty where it names none."""
    file = documents / "documents" / "dataset.json"
    plan = json.loads(file.read_text(encoding="utf-8"))["plan"] if file.is_file() else {}
    names = [str(one["name"]) for one in plan.get("inputs", ())]
    dates = [re.match(rf"{re.escape(wiki)}-(?:NS\d+-)?(\d{{8}})-", name) for name in names]
    return max((date[1] for date in dates if date), default="")


def _totals(about: _Object) -> dict[str, int]:
    account = about["accounting"]
    return {
        "rows": sum(shard["rows"] for shard in about["shards"]),
        "read": account["read"],
        "written": account["written"],
        "filtered": sum(account["filtered"].values()),
        "rejected": sum(account["rejected"].values()),
    }


def rows_in(output: Path) -> int:
    """Count the rows of all datasets in a folder."""
    about = [json.loads(file.read_text(encoding="utf-8")) for file in _datasets_in(output)]
    return sum(shard["rows"] for one in about for shard in one["shards"])


def _datasets_in(folder: Path) -> Iterator[Path]:
    """Find the ``dataset.json`` of a folder, and those in its subfolders."""
    files = (folder / "dataset.json", *sorted(folder.glob("*/dataset.json")))
    return (file for file in files if file.is_file())
