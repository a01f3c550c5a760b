"""Texts of ``benchmarks/chinese.py``, and the commands that make datasets from them."""

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chinese_sets import CHAPTERS, SETS
from corpora.datasets.shards import open_dataset


def command(output: Path, module: str, *arguments: object) -> None:
    """Run a command of ours; its output goes to ``log.txt``, its CPU minutes to ``minutes.jsonl``.

    Ends this script with an error if the command fails.
    """
    line = [sys.executable, "-m", module, *map(str, arguments)]
    print("$ python", *line[1:], flush=True)
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    with (output / "log.txt").open("a", encoding="utf-8") as log:
        process = subprocess.Popen(line, stdout=log, stderr=log, env=environment)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    minutes = (used.ru_utime + used.ru_stime) / 60
    with (output / "minutes.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"module": module, "minutes": minutes}) + "\n")
    if process.returncode:
        sys.exit(f"{module} failed: the end of {output / 'log.txt'} says why.")


def spent(output: Path) -> float:
    """Return the CPU minutes of all commands so far, also of earlier runs of the script."""
    with (output / "minutes.jsonl").open(encoding="utf-8") as file:
        return sum(json.loads(line)["minutes"] for line in file)


def raw_text(data: Path) -> dict[str, list[list[str]]]:
    """Read the documents of each source; a document is a list of lines."""
    news, novels = data / "zh-news", data / "zh-novels"
    with (data / "wiki-text-zh/wiki_00.jsonl").open(encoding="utf-8") as file:
        wiki = [json.loads(line)["text"].split("\n") for line in file]
    with gzip.open(news / "peoples-daily-199801.txt.gz", "rt", encoding="utf-8") as file:
        daily = ["".join(pair.rpartition("/")[0] for pair in line.split()) for line in file]
    titles = (news / "thucnews-titles.txt").read_text("utf-8").split("\n")
    web = (news / "clue-corpus-small-sampled.txt").read_text("utf-8").split("\n")
    chapters: list[list[str]] = []
    for line in (novels / "三国演义.txt").read_text("utf-8").split("\n"):
        if line.startswith("第") and "回" in line[:10]:
            chapters.append([])
        if chapters:
            chapters[-1].append(line.strip())
    return {
        "wiki": wiki,
        "daily": packed(daily, 20),
        "titles": packed([title.partition("\t")[0] for title in titles], 100),
        "web": packed(web, 1),
        "sanguo": chapters,
    }


def packed(lines: Iterable[str], size: int) -> list[list[str]]:
    """Return the lines in documents of ``size`` lines each; empty lines are left out."""
    full = [line for line in lines if line.strip()]
    return [full[start : start + size] for start in range(0, len(full), size)]


def make_documents(output: Path, name: str, texts: Sequence[Sequence[str]]) -> Path:
    """Write texts to a file, and make a documents dataset from it; return its folder."""
    source, made = output / "raw" / f"{name}.jsonl", output / "documents" / name
    source.parent.mkdir(parents=True, exist_ok=True)
    with source.open("w", encoding="utf-8") as file:
        for number, lines in enumerate(texts, 1):
            row = {"id": f"{name} {number:05}", "text": "\n".join(lines)}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    settings = ["--lang", "zh", "--group", name, "--output", made]
    command(output, "pipelines.text_to_documents", "--input", source, *settings)
    return made


def make_ner(args: argparse.Namespace, name: str) -> Path:
    """Make the NER dataset of a set, and return its folder."""
    made = args.output / "ner" / name
    if name == "sanguo":
        files = list(silver(args, args.output / "raw" / "sanguo"))
        split: Sequence[str] = ()
    else:
        files = [args.data / "ner-zh" / file for file in SETS[name].files]
        split = SETS[name].split
    settings = ["--card", "off", *split, "--output", made]
    command(args.output, "pipelines.benchmark_to_ner", "--input", *files, *settings)
    return made


def silver(args: argparse.Namespace, folder: Path) -> Iterator[Path]:
    """Match the listed names in the chapters of the novel, and write CoNLL files.

    Yields the paths of train, dev and test. Names of one character are left out.
    """
    names = folder / "names.tsv"
    folder.mkdir(parents=True, exist_ok=True)
    with (args.data / "zh-novels/names-sanguo.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    forms = {row[column] for row in rows for column in ("name", "courtesy_name")}
    forms |= {alias for row in rows for alias in row["aliases"].split(",")}
    names.write_text("".join(f"{f}\tname:{f}\n" for f in sorted(forms) if len(f) > 1), "utf-8")
    matched = args.output / "matched" / "sanguo-names"
    source = ["--input", args.output / "documents/sanguo", "--forms", names, "--output", matched]
    command(args.output, "pipelines.augment_mentions", *source)
    chapters = list(open_dataset(matched).records())
    for split, numbers in CHAPTERS.items():
        path = folder / f"{split}.conll"
        blocks = (lines for n in numbers for lines in tagged_lines(chapters[n - 1]))
        path.write_text("\n\n".join(blocks) + "\n", "utf-8")
        yield path


def tagged_lines(chapter: Any) -> Iterator[str]:
    """Yield the sentences of a document as CoNLL: on each line a character and its tag."""
    tags = ["O"] * len(chapter.text)
    for mention in chapter.mentions:
        tags[mention.start : mention.end] = [
            "B-PER",
            *["I-PER"] * (mention.end - mention.start - 1),
        ]
    for sentence in chapter.sentences:
        places = range(sentence.start, sentence.end)
        lines = [f"{chapter.text[n]} {tags[n]}" for n in places if not chapter.text[n].isspace()]
        if lines:
            yield "\n".join(lines)
