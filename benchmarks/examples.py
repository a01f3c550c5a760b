"""Compare the time to make examples of documents with that of the tokenizer alone.

    python -m benchmarks.examples --input build/dewiki --tokenizer build/tok

All take the same sentences of the same documents, in turn, in one process with one thread. The
median of their times counts.

    encode_batch  the tokenizer of the library, on lists of sentences that are in memory already;
                  its results are thrown away
    examples      what a worker does: shards of documents are read, sentences cut, tokenized by a
                  tokenizer that was just opened, mentions aligned, examples packed, and written to
                  shards with their hashes
    again         the same with the tokenizer of ``examples``, which remembers words
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import pyarrow as pa

from benchmarks.inputs import existing, pattern
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_batches
from corpora.document import ORIGINS
from corpora.entities.vocabulary import EntityVocab
from corpora.examples.maker import COLUMNS, ExampleMaker, Rules, in_chunks
from corpora.examples.mentions import MentionRules
from corpora.runs.dataset_inputs import find_shards
from corpora.runs.plan import InputFile
from corpora.tokenization.tokenizers import Tokenizer

AT_ONCE = 4096
"""The number of sentences that ``encode_batch`` gets at once; with more it is slower."""


def sentences_of(files: Iterable[InputFile]) -> list[str]:
    """Return the texts of all sentences of documents."""
    texts: list[str] = []
    for batch in read(files):
        for row in batch.select(["text", "sentences"]).to_pylist():
            texts += [row["text"][s["start"] : s["end"]] for s in row["sentences"] or ()]
    return texts


def read(files: Iterable[InputFile]) -> Iterable[pa.RecordBatch]:
    """Read the documents, in batches."""
    for file in files:
        yield from read_batches(Path(file.path), SCHEMAS["documents"], columns=COLUMNS)


def encode(tokenizer: Tokenizer, texts: Sequence[str]) -> None:
    """Run the library alone."""
    for begin in range(0, len(texts), AT_ONCE):
        tokenizer.backend.encode_batch(texts[begin : begin + AT_ONCE], add_special_tokens=False)


def make(maker: ExampleMaker, files: Sequence[InputFile]) -> dict[str, int]:
    """Make and write the examples of all shards, as the pipeline does; returns some counts."""
    counts = {"examples": 0, "subwords": 0, "mentions.kept": 0}
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(files):
            with ShardWriter(Path(folder) / f"{number}.arrow", SCHEMAS["examples"]) as writer:
                for batch in read([file]):
                    for chunk in in_chunks(batch):
                        made = maker.make(chunk)
                        writer.write_batch(made.examples)
                        for name in counts:
                            counts[name] += made.counters[name]
    return counts


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    """Run all in turn, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--input", type=pattern, required=True, help="documents")
    parser.add_argument("--tokenizer", type=existing, required=True)
    parser.add_argument("--entity-vocab", type=existing)
    parser.add_argument("--limit", type=int, help="only the first N shards")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    files = find_shards([options.input], "documents")[: options.limit]
    vocab = options.entity_vocab and EntityVocab(options.entity_vocab)
    texts = sentences_of(files)
    rules = Rules(length=510, mentions=MentionRules(origins=tuple(sorted(ORIGINS))))
    times: dict[str, list[float]] = {"encode_batch": [], "examples": [], "again": []}
    for _ in range(options.rounds):
        tokenizer = Tokenizer.open(options.tokenizer)
        maker = ExampleMaker(tokenizer, vocab, rules)
        times["encode_batch"].append(timed(lambda: encode(tokenizer, texts)))  # noqa: B023
        times["examples"].append(timed(lambda: make(maker, files)))  # noqa: B023
        times["again"].append(timed(lambda: make(maker, files)))  # noqa: B023
    counts = make(maker, files)
    n_characters = sum(map(len, texts))
    print(f"{len(texts):,} sentences, {n_characters:,} characters, {counts}")
    bare = median(times["encode_batch"])
    for name, seconds in times.items():
        each = median(seconds)
        speed = f"{n_characters / each / 1e6:6.2f} M characters/s"
        speed += f" {counts['subwords'] / each / 1e6:6.2f} M subwords/s"
        all_ = ", ".join(f"{second:.2f}" for second in seconds)
        print(f"{name:<13}{each:7.2f} s {speed}   {bare / each:5.2f} of encode_batch   ({all_})")


if __name__ == "__main__":
    main()
