"""Write synthetic files of any number and size: an edition, a web archive, Chinese text, examples.

    python -m benchmarks.synthetic_files tei --size 100000 --output build/letters      files
    python -m benchmarks.synthetic_files warc --size 4000 --output build/archive       MB, unpacked
    python -m benchmarks.synthetic_files chinese --size 1000 --output build/chinese    MB
    python -m benchmarks.synthetic_files conll --size 4000 --output build/conll        MB
    python -m benchmarks.synthetic_files examples --size 200000 --output build/examples  MB

Letters are those of ``tests/data/letters`` with other words and ids; no two are alike. Pages of the
archive have a title, paragraphs and links; one in ten is no article. Each record is a gzip member,
and a file has 1 GB. Chinese words have two or three characters and realistic frequencies. Examples
are one shard under many names (hard links) and take the disk space of one.
"""

import argparse
import gzip
import json
import os
import re
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType

import numpy as np

from benchmarks import ner
from benchmarks.synthetic_words import Vocabulary, vocabulary
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import Shard, ShardWriter
from corpora.system.writing import write_json
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece

LETTERS = Path(__file__).resolve().parent.parent / "tests/data/letters"
FILES_IN_FOLDER = 1_000
ARCHIVE = 1e9  # bytes of an archive file, uncompressed
EXAMPLES_IN_SHARD, LENGTH = 100_000, 510
N_SUBWORDS, N_ENTITIES = 1_000, 16
_KEPT = re.compile(r"<[^>]*>|&\w+;|\w*[\d.]\w*")
_WORD = re.compile(r"[a-zäöüß]{4,}")


def write_letters(folder: Path, n_files: int) -> None:
    """Write letters with other lower-case words, a thousand in a folder."""
    words = vocabulary(1).common.tolist()
    samples = (path.read_bytes() for path in sorted(LETTERS.glob("*.xml")))
    parts = [_split(sample.decode()) for sample in samples if b"UTF-8" in sample[:99]]
    rng = np.random.default_rng(1)
    for number in range(n_files):
        into = folder / f"{number // FILES_IN_FOLDER:04}"
        into.mkdir(parents=True, exist_ok=True)
        pieces = parts[number % len(parts)]
        drawn = iter(np.minimum(rng.zipf(1.2, len(pieces)), len(words)) - 1)
        text = "".join(
            words[next(drawn)].strip() if _WORD.fullmatch(piece) else piece for piece in pieces
        )
        text = text.replace('xml:id="brief-', f'xml:id="n{number}-', 1)
        (into / f"{number:07}.xml").write_text(text, "utf-8")


def _split(sample: str) -> list[str]:
    """Split the text of a letter at its words; markup and the header stay whole."""
    head, body, rest = sample.partition("body>")
    pieces = [head + body]
    end = 0
    for kept in [*_KEPT.finditer(rest), None]:
        start = kept.start() if kept else len(rest)
        pieces += re.split(r"(\b[a-zäöüß]{4,}\b)", rest[end:start])
        if kept:
            pieces.append(kept[0])
            end = kept.end()
    return pieces


def write_archives(folder: Path, megabytes: float) -> None:
    """Write web archives of invented pages."""
    words, rng = vocabulary(2), np.random.default_rng(2)
    folder.mkdir(parents=True)
    left, numbers = megabytes * 1e6, count()
    for of in count():
        with (folder / f"pages-{of:03}.warc.gz").open("wb") as file:
            size = 0
            while size < min(ARCHIVE, left):
                record = _record(words, rng, next(numbers))
                size += len(record)
                file.write(gzip.compress(record, 1))
        left -= size
        if left <= 0:
            return


def _record(words: Vocabulary, rng: np.random.Generator, number: int) -> bytes:
    url = f"https://news{number % 97}.example/{number}.html"
    page = _page(words, rng, number).encode()
    http = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(page)}"
    )
    block = http.encode() + b"\r\n\r\n" + page
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-11-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>\r\n"
        f"WARC-Target-URI: {url}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def _page(words: Vocabulary, rng: np.random.Generator, number: int) -> str:
    n_paragraphs = 0 if number % 10 == 9 else 4 + int(rng.integers(0, 16))
    paragraphs = (_sentence(words, rng, 30 + int(rng.integers(0, 70))) for _ in range(n_paragraphs))
    title = _sentence(words, rng, 7).rstrip(".")
    menu = "".join(f"<li><a href='/{n}.html'>{n}</a></li>" for n in range(30))
    body = "".join(f"<p>{text} <a href='/{number + 1}.html'>more</a></p>" for text in paragraphs)
    return (
        f"<!doctype html><html lang='de'><head><title>{title}</title></head><body><ul>{menu}</ul>"
        f"<article><h1>{title}</h1>{body}</article></body></html>"
    )


def _sentence(words: Vocabulary, rng: np.random.Generator, n: int) -> str:
    after = np.zeros(n, np.int64)
    after[-1] = 1
    after[rng.random(n) < 0.07] = 1
    return "".join(words.tokens(words.ranks(rng, n), after).tolist()).strip().capitalize()


def write_chinese(folder: Path, megabytes: float) -> None:
    """Write text of invented words, a file for each 10 MB."""
    rng = np.random.default_rng(3)
    folder.mkdir(parents=True)
    han = np.array([chr(code) for code in range(0x4E00, 0x4E00 + 6_000)], object)
    words = han[np.minimum(rng.zipf(1.3, (300_000, 2)), 6_000) - 1].sum(axis=1)
    words[::3] += han[rng.integers(0, 6_000, 100_000)]
    words[:3_000] = han[:3_000]  # the most frequent words have one character
    for number in range(max(1, round(megabytes / 10))):
        with (folder / f"{number:04}.txt").open("w", encoding="utf-8") as file:
            while file.tell() < 10e6:
                drawn = words[np.minimum(rng.zipf(1.15, 24_000), len(words)) - 1]
                drawn[11::24] += "，"
                drawn[23::24] += "。"
                drawn[119::120] += "\n"
                file.write("".join(drawn.tolist()))


def write_examples(folder: Path, megabytes: float) -> None:
    """Write one shard of examples, and link it until there are so many MB; with what trains them.

    That is a tokenizer, whose subwords are numbers, and entities.
    """
    rng = np.random.default_rng(4)
    rows = (_example(rng, number) for number in range(EXAMPLES_IN_SHARD))
    words = [*SPECIALS, *map(str, range(N_SUBWORDS - len(SPECIALS)))]
    tokenizer = Tokenizer(wordpiece(words, cased=True), name="synthetic")
    made_with = {"tokenizer_sha256": tokenizer.sha256, "n_entities": N_ENTITIES}
    write_dataset(folder, rows, megabytes=megabytes, parameters=made_with)
    tokenizer.save(folder)
    with ShardWriter(folder / "_entities.ipc", SCHEMAS["example_entities"]) as writer:
        for number in range(N_ENTITIES):
            row = {"id": number, "entity": f"wiki:{number}", "count": 1, "mentions": 1}
            writer.write(row)


def write_dataset(
    folder: Path,
    rows: Iterable[dict[str, object]],
    *,
    megabytes: float = 0,
    parameters: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Write a dataset of examples: one shard, or as many links to it as have so many MB."""
    folder.mkdir(parents=True)
    schema = SCHEMAS["examples"]
    with ShardWriter(folder / "shard-00000.arrow", schema) as writer:
        for row in rows:
            writer.write(row)
    first = writer.shard
    assert first is not None
    n_shards = max(1, round(megabytes * 1e6 / first.bytes))
    shards = [
        Shard(f"shard-{n:05}.arrow", first.rows, first.bytes, first.sha256) for n in range(n_shards)
    ]
    for shard in shards[1:]:
        os.link(folder / first.name, folder / shard.name)
    write_json(
        folder / "dataset.json",
        {
            "schema": schema.name,
            "version": schema.version,
            "plan": {"parameters": {"max_length": LENGTH + 2, **parameters}},
            "shards": [
                {name: getattr(shard, name) for name in Shard.__slots__} for shard in shards
            ],
            "accounting": {"read": 0, "written": 0, "filtered": {}, "rejected": {}},
        },
    )


def _example(rng: np.random.Generator, number: int) -> dict[str, object]:
    starts = np.arange(0, LENGTH, 2, dtype=np.int32)
    return {
        "id": f"{number}", "document_id": f"{number // 3}", "group": "synthetic",
        "split": "train" if number % 100 else "validation",
        "input_ids": rng.integers(5, N_SUBWORDS, LENGTH, dtype=np.int32), "word_starts": starts,
        "sentence_starts": starts[::15], "entity_ids": starts[:8], "entity_starts": starts[:8],
        "entity_ends": starts[1:9], "entity_origins": ["link"] * 8,
    }  # fmt: skip


KINDS = {
    "tei": write_letters,
    "warc": write_archives,
    "chinese": write_chinese,
    "conll": ner.make,
    "examples": write_examples,
}


def main() -> None:
    """Write one kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--size", type=int, required=True, metavar="N", help="files, or MB")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args()
    KINDS[arguments.kind](arguments.output, arguments.size)
    print(json.dumps({"kind": arguments.kind, "size": arguments.size}))


if __name__ == "__main__":
    main()
