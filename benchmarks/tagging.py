"""Compare the sentences a second of our tagger with those of the pipeline of transformers.

Example:
  python -m benchmarks.tagging --ner build/ddt --tokenizer build/tokenizer --repeats 5

Both read the sentences of a split with the same BERT of 6 layers of 512 and the same linear head,
with random weights, on the same threads, in batches of 32. Ours returns the best valid tags with
probabilities of spans and words; theirs (token classification) gives a word the label of its first
subword. Prints how often the arg-max of both is the same label, to show that both compute the same.
"""

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertForTokenClassification, pipeline
from transformers import BertTokenizerFast as TheirTokenizer  # type: ignore[attr-defined]

from benchmarks.inputs import existing
from corpora.document import Sentence
from corpora.tokenization.tokenizers import Tokenizer
from modeling.data.tagset import TagSet
from modeling.finetune.data import NerData
from modeling.huggingface.importing import read_pretrained
from modeling.huggingface.transfer import encoder_for, encoder_weights
from modeling.models.tagging import TaggingModel
from modeling.taggers.tagger import Tagger
from modeling.tagging_config import DecoderName, HeadConfig, SentencesConfig, TaggerConfig


def main() -> None:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    warnings.filterwarnings("ignore")
    data = NerData.open(arguments.ner)
    sentences = data.split(arguments.split)[: arguments.limit or None]
    tagset = TagSet.of(s.tags for s in data.sentences)
    tokenizer = Tokenizer.open(arguments.tokenizer)
    theirs = make_theirs(tokenizer, tagset)
    ours = make_ours(theirs, tokenizer, tagset, decoder=arguments.decoder)
    pipe = make_pipeline(theirs, arguments.tokenizer)
    texts = [" ".join(s.tokens) for s in sentences]
    by_length = sorted(texts, key=len)
    runs: dict[str, Callable[[], object]] = {
        "pipeline, batches of 32": lambda: list(pipe(texts, batch_size=32)),
        "pipeline, sorted, of 32": lambda: list(pipe(by_length, batch_size=32)),
        "ours": lambda: ours.tag(sentences),
    }
    print(f"{len(sentences)} sentences, {sum(len(s.tokens) for s in sentences)} words")
    print(
        f"words with the same label: {agreement(ours, theirs, sentences, tokenizer=tokenizer):.4f}"
    )
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(arguments.repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    best = min(statistics.median(t) for name, t in times.items() if name != "ours")
    for name, taken in times.items():
        median = statistics.median(taken)
        spread = f"{min(taken):.2f}–{max(taken):.2f}"
        print(f"{name:26} {len(sentences) / median:8.1f} sentences/s  ({median:.2f} s, {spread})")
    print(f"ratio to the faster pipeline: {best / statistics.median(times['ours']):.2f}")


def make_theirs(tokenizer: Tokenizer, tagset: TagSet) -> BertForTokenClassification:
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=tokenizer.size,
        hidden_size=512,
        num_hidden_layers=6,
        num_attention_heads=8,
        intermediate_size=2048,
        id2label=dict(enumerate(tagset.tags)),
        label2id={tag: id for id, tag in enumerate(tagset.tags)},
    )
    model = BertForTokenClassification(config).eval()
    with torch.no_grad():
        model.classifier.weight.normal_(0, 0.5)  # otherwise all labels are about equally likely
    return model


def make_pipeline(theirs: BertForTokenClassification, folder: Path) -> Any:
    tokenizer = TheirTokenizer.from_pretrained(folder)
    return pipeline(
        "token-classification", model=theirs, tokenizer=tokenizer, aggregation_strategy="first"
    )


def make_ours(
    theirs: BertForTokenClassification,
    tokenizer: Tokenizer,
    tagset: TagSet,
    *,
    decoder: DecoderName,
) -> Tagger:
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        base = read_pretrained(Path(folder))
    encoder = encoder_for(base.config.encoder, reads_entities=False)
    config = TaggerConfig(
        labels=tagset.labels,
        encoder=encoder,
        head=HeadConfig(kind="softmax", decoder=decoder),
        data=SentencesConfig(max_length=512),
    )
    model = TaggingModel.from_config(config)
    model.encoder.load_state_dict(encoder_weights(base.weights, encoder))
    with torch.no_grad():
        linear = next(m for m in model.head.modules() if isinstance(m, torch.nn.Linear))
        linear.weight.copy_(theirs.classifier.weight)
        linear.bias.copy_(theirs.classifier.bias)
    return Tagger(model, tokenizer)


@torch.inference_mode()
def agreement(
    ours: Tagger,
    theirs: BertForTokenClassification,
    sentences: Sequence[Sentence],
    *,
    tokenizer: Tokenizer,
) -> float:
    """Return the fraction of words to which the arg-max of both gives the same tag.

    Of the sentences, the first 50 are read.
    """
    some = sentences[:50]
    ours.decoder, kept = "free", ours.decoder
    tags = [one.tags for one in ours.tag(some)]
    ours.decoder = kept
    tags_of: Any = theirs.config.id2label
    same = total = 0
    for sentence, own in zip(some, tags, strict=True):
        [subwords] = tokenizer.encode([" ".join(sentence.tokens)])
        ids = [tokenizer.special.cls, *subwords.ids.tolist(), tokenizer.special.sep]
        best = theirs(torch.tensor([ids])).logits[0, 1:-1].argmax(1).tolist()
        starts = dict(zip(reversed(subwords.starts.tolist()), reversed(best), strict=True))
        at = 0
        for token, tag in zip(sentence.tokens, own, strict=True):
            same += tags_of[starts[at]] == tag
            total += 1
            at += len(token) + 1
    return same / total


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ner", type=existing, required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--tokenizer", type=existing, required=True)
    parser.add_argument("--decoder", default="viterbi")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
