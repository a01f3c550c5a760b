"""Runs over files of text, and what they leave."""

import json
from pathlib import Path

from corpora.datasets.shards import open_dataset
from pipelines.text_to_documents import main

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "text"
DOC = '<doc id="{}" url="https://x/{}" title="{}">\n{}\n</doc>\n'


def run(output, *options, input=SAMPLES):
    inputs = [str(input)] if isinstance(input, Path | str) else list(map(str, input))
    return main(["--input", *inputs, "--output", str(output), *map(str, options)])


def documents_of(folder):
    return list(open_dataset(folder, "documents").records())


def describe(folder):
    return json.loads((folder / "dataset.json").read_text("utf-8"))


def counters_of(folder):
    named = folder / "counters.json"
    return describe(folder)["counters"] | (json.loads(named.read_text()) if named.exists() else {})


def rejected_of(folder):
    lines = (folder / "rejected.jsonl").read_text("utf-8").splitlines()
    return [(row["source"], row["position"], row["reason"]) for row in map(json.loads, lines)]


def surfaces(document, name):
    return [document.text[s.start : s.end] for s in getattr(document, name)]


def published(folder):
    paths = [p for p in folder.rglob("*") if p.is_file() and ".build" not in p.parts]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths if p.name != ".lock"}
