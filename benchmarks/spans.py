"""Compare the sentences a second of the span head with those of LUKE in transformers.

    python -m benchmarks.spans --sentences ../shared/data/ner-da/danplus-news-dev.tsv --threads 2
    python -m benchmarks.spans --sentences dev.tsv --size 256x6 --number 64
    python -m benchmarks.spans --sentences dev.tsv --tokenizer build/tokenizer --device cuda

transformers runs ``LukeForEntitySpanClassification`` on all spans of at most 16 subwords, 128 at
once, each sentence by itself, so that nothing is padded (with --padded also the chunks of eight
sentences as a batch). Ours reads the same sentences with the same weights, in batches of 32 of
similar length, decoding included, in four ways: "words" reads no span; "chosen" reads some spans
for each word after a first score; "alone" reads all spans; "joint" does in our code what LUKE does,
and its logits are first compared with theirs. Weights are random; therefore --read sets how many
spans are read. A trained head reads the spans of which its first score is not sure.

Words are those of a file of tab-separated columns, the first of which holds them (or, in a file of
.iob2, the second). Without --tokenizer a WordPiece vocabulary is learned from the same file.

All run in turn, and medians are printed. On a machine that others use only the ratios mean
something. The most reliable are those of --threads 1 --clock process, which counts this process
alone.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import trainers
from torch import Tensor

from benchmarks.inputs import existing
from corpora.document import Sentence
from corpora.entities.vocabulary import MASK
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.data.batch import SentenceBatch
from modeling.data.sentence_batches import SentenceCollator, batches_by_length
from modeling.data.sentences import SentenceEncoder
from modeling.decoding.spans import decode_spans
from modeling.huggingface.importing import read_pretrained
from modeling.models.spans import CHUNK, SpanHead
from modeling.models.text_encoder import TextEncoder
from modeling.tagging_config import SentencesConfig

LABELS = ("LOC", "MISC", "ORG", "PER")
MAX_SUBWORDS = 16


def read_words(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the words of each sentence of a file."""
    column = 1 if path.suffix == ".iob2" else 0
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.split("\n") if line.strip() and not line.startswith("# ")]
        if lines:
            yield tuple(line.split("\t")[column] for line in lines)


def choose_sentences(arguments: argparse.Namespace) -> list[Sentence]:
    """Draw sentences of the file; they are in its order, and have no names."""
    every = list(read_words(arguments.sentences))
    generator = np.random.default_rng(arguments.seed)
    numbers = np.sort(generator.choice(len(every), arguments.number, replace=False))
    return [
        Sentence(id=str(n), document_id="d", split="dev", tokens=words, tags=("O",) * len(words))
        for n, words in ((n, every[n]) for n in numbers.tolist())
    ]


def open_tokenizer(arguments: argparse.Namespace) -> Tokenizer:
    """Open the tokenizer that is given, or learn one from the sentences."""
    if arguments.tokenizer:
        return Tokenizer.open(arguments.tokenizer)
    backend = wordpiece(SPECIALS, cased=True)
    trainer = trainers.WordPieceTrainer(
        vocab_size=arguments.subwords, special_tokens=list(SPECIALS), show_progress=False
    )
    texts = (" ".join(words) for words in read_words(arguments.sentences))
    backend.train_from_iterator(texts, trainer)
    subwords = sorted(backend.get_vocab(), key=backend.get_vocab().__getitem__)
    return Tokenizer(wordpiece(subwords, cased=True), name="learned")


def build_theirs(
    arguments: argparse.Namespace, n_subwords: int
) -> transformers.LukeForEntitySpanClassification:
    """Build LUKE of base size or smaller, with random weights."""
    width, n_layers = arguments.size
    settings: dict[str, Any] = {"num_labels": 1 + len(LABELS), "attn_implementation": "eager"}
    config = transformers.LukeConfig(
        vocab_size=n_subwords,
        entity_vocab_size=MASK + 1,
        hidden_size=width,
        num_hidden_layers=n_layers,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        max_position_embeddings=513,
        type_vocab_size=1,
        pad_token_id=0,
        **settings,
    )
    torch.manual_seed(arguments.seed)
    return transformers.LukeForEntitySpanClassification(config).eval()


def build_same(theirs: transformers.LukeForEntitySpanClassification) -> TextEncoder:
    """Build our encoder with the same weights."""
    with tempfile.TemporaryDirectory() as folder:
        theirs.luke.save_pretrained(folder)
        return read_pretrained(Path(folder)).build().encoder.eval()


def build_head(
    kind: str, theirs: transformers.LukeForEntitySpanClassification, **settings: Any
) -> SpanHead:
    """Build our head; where it has a second score, with the classifier of theirs."""
    classifier = theirs.classifier
    head = SpanHead(
        width=classifier.in_features // 3,
        n_labels=len(LABELS),
        features="words" if kind == "words" else "both",
        reading="joint" if kind == "joint" else "alone",
        skip_below=0.0,
        **settings,
    )
    if kind != "words":
        head.scorer.second.classifier.load_state_dict(classifier.state_dict())
    return head.eval()


def as_chunks(batch: SentenceBatch) -> list[dict[str, Tensor]]:
    """Return a sentence as transformers takes it: all subwords with up to 128 spans, each time."""
    spans = batch.spans
    n_chunks = -(-len(spans.starts) // CHUNK)
    chunks = []
    for numbers in torch.arange(len(spans.starts)).chunk(n_chunks):
        firsts, lasts = spans.first_subwords[numbers], spans.last_subwords[numbers]
        places = firsts[:, None] + torch.arange(MAX_SUBWORDS)
        positions = places.where(places <= lasts[:, None], torch.tensor(-1))
        chunks.append(
            {
                "input_ids": batch.subwords[None],
                "attention_mask": torch.ones_like(batch.subwords)[None],
                "entity_ids": torch.full_like(numbers, MASK)[None],
                "entity_attention_mask": torch.ones_like(numbers)[None],
                "entity_position_ids": positions[None],
                "entity_start_positions": firsts[None],
                "entity_end_positions": lasts[None],
            }
        )
    return chunks


def padded_together(chunks: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Pad chunks of several sentences to one batch."""
    paddings = {"entity_position_ids": -1}
    together = {}
    for name in chunks[0]:
        columns = [chunk[name][0] for chunk in chunks]
        together[name] = torch.nn.utils.rnn.pad_sequence(
            columns, batch_first=True, padding_value=paddings.get(name, 0)
        )
    return together


def run_theirs(
    model: transformers.LukeForEntitySpanClassification, chunks: list[dict[str, Tensor]]
) -> Tensor:
    """Return the logits of all spans of all sentences, (P, C)."""
    return torch.cat([model(**chunk).logits.flatten(0, 1) for chunk in chunks])


def run_ours(encoder: TextEncoder, head: SpanHead, batches: list[SentenceBatch]) -> None:
    """Score and decode all batches with our head."""
    for batch in batches:
        assert batch.spans is not None
        scores = head.scores(encoder, batch)
        decode_spans(scores, batch.spans, len(batch.ids), decoder="schedule", labels=LABELS)


def medians(
    runs: dict[str, Callable[[], object]], arguments: argparse.Namespace
) -> dict[str, float]:
    """Return the median seconds of each, run in turn; the first round warms up."""
    clock = time.process_time if arguments.clock == "process" else time.perf_counter
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(arguments.rounds + 1):
        for name, run in runs.items():
            begin = clock()
            run()
            if arguments.device == "cuda":
                torch.cuda.synchronize()
            seconds[name].append(clock() - begin)
    return {name: statistics.median(times[1:]) for name, times in seconds.items()}


def size_of(text: str) -> tuple[int, int]:
    """Read ``256x6`` as width and number of layers."""
    width, _, n_layers = text.partition("x")
    return int(width), int(n_layers)


@torch.no_grad()
def measure(arguments: argparse.Namespace) -> None:
    """Print sentences a second, and how many times the plain way that is."""
    device, sentences = arguments.device, choose_sentences(arguments)
    tokenizer = open_tokenizer(arguments)
    encoded = SentenceEncoder(tokenizer, SentencesConfig(max_length=512)).encode(sentences)
    collator = SentenceCollator(encoded, max_span_subwords=MAX_SUBWORDS)
    theirs = build_theirs(arguments, tokenizer.size).to(device)
    encoder = build_same(theirs).to(device)
    singles = [collator([n]) for n in range(len(sentences))]
    chunks = [chunk for single in singles for chunk in as_chunks(single)]
    batches = [numbered.batch.to(device) for numbered in batches_by_length(collator, batch_size=32)]
    n_words, n_subwords, n_spans = (
        sum(len(of(single)) for single in singles)
        for of in (lambda s: s.words.index, lambda s: s.subwords, lambda s: s.spans.starts)
    )
    print(
        f"{len(sentences)} sentences, {n_words / len(sentences):.1f} words and "
        f"{n_subwords / len(sentences):.1f} subwords each, {n_spans / n_words:.1f} spans a word"
    )
    inputs = [{name: tensor.to(device) for name, tensor in chunk.items()} for chunk in chunks]
    joint = build_head("joint", theirs)
    expected = run_theirs(theirs, inputs).log_softmax(1)
    ours = torch.cat([joint.scores(encoder, single.to(device)) for single in singles])
    print(f"joint: log-probabilities differ from theirs by {(ours - expected).abs().max():.1e}")
    runs: dict[str, Callable[[], object]] = {"theirs": partial(run_theirs, theirs, inputs)}
    if arguments.padded:
        order = sorted(inputs, key=lambda chunk: chunk["input_ids"].shape[1])
        padded = [padded_together(order[n : n + 8]) for n in range(0, len(order), 8)]
        runs["theirs, padded"] = partial(run_theirs, theirs, padded)
    heads = {"words": build_head("words", theirs)}
    for ratio in arguments.read:
        heads[f"{ratio:g} a word"] = build_head("chosen", theirs, max_candidates=ratio)
    heads |= {"alone": build_head("alone", theirs, max_candidates=0.0), "joint": joint}
    for name, head in heads.items():
        runs[name] = partial(run_ours, encoder, head.to(device), batches)
    seconds = medians(runs, arguments)
    for name, of_run in seconds.items():
        ratio = seconds["theirs"] / of_run
        print(f"{name:15} {len(sentences) / of_run:8.2f} sentences/s  {ratio:6.2f} x theirs")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=existing, required=True)
    parser.add_argument("--tokenizer", type=existing)
    parser.add_argument("--subwords", type=int, default=16_000, help="of a learned tokenizer")
    parser.add_argument("--number", type=int, default=32, help="sentences")
    parser.add_argument("--size", type=size_of, default=(768, 12), metavar="WIDTHxLAYERS")
    parser.add_argument("--read", type=float, nargs="*", default=[0.25, 0.5, 1.0, 3.0])
    parser.add_argument("--padded", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=("wall", "process"), default="wall")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"{arguments.device}, {arguments.threads} threads, torch {torch.__version__}")
    measure(arguments)


if __name__ == "__main__":
    main()
