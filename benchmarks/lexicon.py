"""New words: speed and memory beside SmoothNLP, and what the first words are worth.

    python -m benchmarks.lexicon speed ../data --size 10 100 300 --smoothnlp smooth/bin/python
    python -m benchmarks.lexicon quality ../data --smoothnlp smooth/bin/python
    python -m benchmarks.lexicon held-out ../data
    python -m benchmarks.lexicon depths ../data --novels novels
    python -m benchmarks.lexicon matching ../data --size 20

DATA is a folder with the unpacked sets ``zh-novels`` and ``zh-news``; SMOOTHNLP the Python of a
virtual environment in which smoothnlp is installed (left out: without it). Needs jieba.

``speed`` repeats the texts to SIZE MB, in each copy with other Han characters (code points shifted
within their block), so that strings of copies differ, as they do in more text. MB are UTF-8. Ours
is the whole command, from documents to the lexicon, its table and its page, with two workers;
SmoothNLP's the time in ``extract_phrase`` alone, up to ``--smoothnlp-size`` MB. Memory is that of
all processes together at its highest.

``quality`` makes lexicons of 三国演义, 红楼梦 and People's Daily of January 1998, ranks the same
candidates in several ways, and counts

    names    listed names that occur ten times and that jieba does not know, among the first
             500, 1,000 and 2,000 words, and in the lexicon (the best half)
    right    of the first 200 and 1,000 words, those that are listed, or that jieba's segmentation
             (with its model of unknown words) has in at least half of the places where they stand
    band     People's Daily: its nr, ns, nt, nz words that jieba does not know, by how often they
             occur: how many of them are in the lexicon, and how much of it they are (figure 3)

``held-out`` is ``band`` for CLUENER and Resume (of the set ``ner-zh``), which had no part in
choosing the defaults: all sentences are the text, and what is tagged in them the names.

``depths`` counts names with nicknames, known words or not, that occur ten times, among the first
500, 1,000 and 2,000 words: by the plain sum of mutual information and both entropies, by the
defaults, and by ``augment_mentions --words tagger``; kept: of 2,000, those that are known words and
names by their tags and frequency. ``--novels`` is a folder with more novels, ``TITLE.txt``, for
those titles of ``lexicon_names.toml`` that are there; no part of the rules was chosen by these.

``matching`` looks the words of jieba's dictionary and strings of the texts, together half a
million, up in SIZE MB of the texts themselves, in batches of documents, as ``augment_mentions``
does. Seconds are processor time of this one process.
"""

import argparse
import random
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa

from benchmarks.inputs import existing
from benchmarks.lexicon_engines import make_documents, pipeline, smoothnlp
from benchmarks.lexicon_quality import depths, held_out, quality
from benchmarks.lexicon_texts import HAN, plain, repeated
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from corpora.lexicon.known import jieba_dictionary, read_known
from corpora.matching.form_dictionary import CHOSEN, FormDictionary, Matching

N_FORMS = 500_000


def speed(args: argparse.Namespace) -> None:
    """Print a line for each size, and for SmoothNLP."""
    texts = list(plain(args.data))
    print("| engine | MB | seconds | MB/s | peak PSS, MB | candidates |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(dir=args.scratch) as temporary:
        folder = Path(temporary)
        if args.smoothnlp:
            text = "\n".join(repeated(texts, args.smoothnlp_size))
            run, seconds, _ = smoothnlp(args.smoothnlp, text, folder, top=100)
            rate = args.smoothnlp_size / seconds
            show = f"{args.smoothnlp_size:g} | {seconds:.1f} | {rate:.2f} | {run.pss:.0f} | |"
            print(f"| SmoothNLP | {show}", flush=True)
        for size in args.size:
            documents = make_documents(repeated(texts, size), folder, group=f"size-{size:g}")
            output = folder / f"lexicon-{size:g}"
            arguments = ["--input", str(documents), "--output", str(output), "--workers", "2"]
            run = pipeline("documents_to_lexicon", *arguments, "--known", "none")
            n = open_dataset(output).description["counters"]["candidates"]
            show = (
                f"{size:g} | {run.seconds:.1f} | {size / run.seconds:.2f} | {run.pss:.0f} | {n:,} |"
            )
            print(f"| onoma | {show}", flush=True)


def matching(args: argparse.Namespace) -> None:
    """Print how fast half a million forms are matched."""
    texts = list(plain(args.data))
    words = (
        word for word in read_known(jieba_dictionary()).column("word").to_pylist() if len(word) > 1
    )
    strings = {word for word in words if all(ord(character) in HAN for character in word)}
    generator, joined = random.Random(1), "\n".join(texts)
    while len(strings) < N_FORMS:
        start = generator.randrange(len(joined) - 4)
        string = joined[start : start + generator.randint(2, 4)]
        if all(ord(character) in HAN for character in string):
            strings.add(string)
    forms = sorted(strings)
    columns = [forms, [f"lexicon:{form}" for form in forms], pa.nulls(len(forms), pa.float32())]
    with tempfile.TemporaryDirectory(dir=args.scratch) as temporary:
        size = args.size[0]
        copies = islice(cycle(texts), 1 + int(size * len(texts) * 1e6 / len(joined.encode())))
        dataset = open_dataset(make_documents(copies, Path(temporary), group="texts"))
        shards = [dataset.path / shard.name for shard in dataset.shards]
        batches = [batch for p in shards for batch in read_batches(p, SCHEMAS["documents"])]
    megabytes = sum(len(text.encode()) for b in batches for text in b.column("text").to_pylist())
    print(f"{len(forms):,} forms, {megabytes / 1e6:.0f} MB\n")
    print("| overlap | making, s | matching, MB/s | characters for a match |")
    print("| --- | ---: | ---: | ---: |")
    n_characters = sum(len(text) for b in batches for text in b.column("text").to_pylist())
    for overlap in ("leftmost_longest", "longest_cover"):
        begin = time.process_time()
        dictionary = FormDictionary(
            pa.table(columns, schema=CHOSEN), Matching(lang="zh", overlap=overlap)
        )
        made = time.process_time()
        n = sum(dictionary.add_to(batch, origin="lexicon")[1] for batch in batches)
        rate = megabytes / 1e6 / (time.process_time() - made)
        print(f"| {overlap} | {made - begin:.1f} | {rate:.1f} | {n_characters / n:.1f} |")


def main() -> None:
    """Run the benchmark that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=tuple(WHAT))
    parser.add_argument("data", type=existing, help="folder with zh-novels, zh-news and ner-zh")
    parser.add_argument("--size", type=float, nargs="+", default=[10, 100], help="MB")
    parser.add_argument("--smoothnlp", metavar="PYTHON", help="of an environment that has it")
    parser.add_argument("--smoothnlp-size", type=float, default=10, help="MB (default: 10)")
    parser.add_argument("--novels", type=existing, help="folder with TITLE.txt, for depths")
    parser.add_argument("--scratch", type=Path, help="folder for what is made meanwhile")
    args = parser.parse_args()
    WHAT[args.what](args)


WHAT = {
    "speed": speed,
    "quality": quality,
    "held-out": held_out,
    "depths": depths,
    "matching": matching,
}


if __name__ == "__main__":
    main()
