"""Commands that ``benchmarks/lexicon.py`` measures: Onoma's and SmoothNLP's."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.resources import Run, measure

BATCH_LINES = 200
SMOOTH = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from smoothnlp.algorithm.phrase import extract_phrase
text = open(sys.argv[1], encoding="utf-8").read()
begin = time.perf_counter()
words = extract_phrase(text.split("\\n"), top_k=int(sys.argv[3]), min_n=2, max_n=4, min_freq=5)
json.dump([time.perf_counter() - begin, words], open(sys.argv[2], "w"))
"""


def pipeline(name: str, *arguments: str) -> Run:
    """Run a pipeline of ours."""
    return measure([sys.executable, "-m", f"pipelines.{name}", *arguments])


def smoothnlp(python: str, text: str, folder: Path, *, top: int) -> tuple[Run, float, list[str]]:
    """Run SmoothNLP: the process, the seconds of the work itself, and the words."""
    source, target = folder / "smooth.txt", folder / "smooth.json"
    source.write_text(text, "utf-8")
    run = measure([python, "-c", SMOOTH, str(source), str(target), str(top)])
    seconds, words = json.loads(target.read_text("utf-8"))
    return run, seconds, words


def make_documents(texts: Iterable[str], folder: Path, *, group: str) -> Path:
    """Write texts, some lines a document, and make documents of them."""
    source = folder / f"{group}.jsonl"
    with source.open("w", encoding="utf-8") as file:
        number = 0
        for text in texts:
            lines = text.split("\n")
            for start in range(0, len(lines), BATCH_LINES):
                document = {
                    "id": str(number),
                    "text": "\n".join(lines[start : start + BATCH_LINES]),
                }
                file.write(json.dumps(document, ensure_ascii=False) + "\n")
                number += 1
    output = folder / group
    arguments = ["--input", str(source), "--lang", "zh", "--group", group, "--output", str(output)]
    pipeline("text_to_documents", *arguments, "--workers", "2")
    return output
