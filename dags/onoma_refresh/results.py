"""Results of runs: totals for events of assets, small JSON files."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onoma_refresh.settings import SettingsError

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


def read_json(file: Path) -> _Object:
    """Read a JSON object; an empty one where there is no file.

    Raises ``SettingsError`` where the file is damaged.
    """
    if not file.is_file():
        return {}
    problem = "no object"
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        value, problem = None, str(error)
    if not isinstance(value, dict):
        raise SettingsError(f"{file}: damaged ({problem}). Take it away, or copy it again.")
    return value


def describe_version(version: Path) -> dict[str, object]:
    """Return fingerprint and totals of a published version, for its asset.

    The totals of a tagger are its score.
    """
    run = read_json(version / "run.json")
    totals: _Object = {
        about["schema"] if folder == version else folder.name: _totals(about)
        for folder, about in _datasets_in(version)
    }
    if evaluation := read_json(version / "evaluation" / "evaluation.json"):
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
    plan = read_json(documents / "documents" / "dataset.json").get("plan", {})
    names = [str(file["name"]) for file in plan.get("inputs", ())]
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
    return sum(_totals(about)["rows"] for _, about in _datasets_in(output))


def _datasets_in(folder: Path) -> Iterator[tuple[Path, _Object]]:
    """Yield a folder and its ``dataset.json``, and those of its subfolders."""
    files = (folder / "dataset.json", *sorted(folder.glob("*/dataset.json")))
    return ((file.parent, about) for file in files if (about := read_json(file)))
