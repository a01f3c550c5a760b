"""Python code that uses an exported model, for its card."""

from typing import Final

from modeling.tagging_config import HeadConfig

ARCHIVED_TAGGER: Final = """\
from modeling import Tagger

tagger = Tagger.load("{path}")
for name in tagger("Peter lebt in Frankfurt am Main."):
    print(name.start, name.end, name.label, name.score)"""

ARCHIVED_ENCODER: Final = """\
from modeling import Encoder

encoder = Encoder.load("{path}")
[words] = encoder.words(["Peter lebt in Frankfurt am Main."])
print(words.words, words.offsets, words.vectors.shape)"""

TOKENS: Final = """\
from transformers import pipeline

find = pipeline("token-classification", "{path}", aggregation_strategy="first")
for name in find("Peter lebt in Frankfurt am Main."):
    print(name["start"], name["end"], name["entity_group"], name["score"])"""

SPANS: Final = """\
import torch
from transformers import AutoTokenizer, LukeForEntitySpanClassification

tokenizer = AutoTokenizer.from_pretrained("{path}")
model = LukeForEntitySpanClassification.from_pretrained("{path}")
words = "Peter lebt in Frankfurt am Main .".split()

encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
first, last = {{}}, {{}}  # subword of each word
for subword, word in enumerate(encoded.word_ids()):
    if word is not None:
        first.setdefault(word, subword)
        last[word] = subword
spans = [
    (a, b)
    for a in range(len(words))
    for b in range(a, len(words))
    if a == b or last[b] - first[a] < {max_span_subwords}
]
starts = torch.tensor([[first[a] for a, b in spans]])
ends = torch.tensor([[last[b] for a, b in spans]])
places = starts[..., None] + torch.arange(int((ends - starts).max()) + 1)
places[places > ends[..., None]] = -1
entities = torch.full(starts.shape, 2)  # [MASK]
{masks}
with torch.no_grad():
    logits = model(
        input_ids=encoded["input_ids"],
        entity_ids=entities,
        entity_position_ids=places,
        entity_start_positions=starts,
        entity_end_positions=ends,{given_masks}
    ).logits[0]
for (a, b), scores in zip(spans, logits.softmax(1)):
    if scores.argmax():
        print(words[a : b + 1], model.config.id2label[int(scores.argmax())], float(scores.max()))"""

MASKS: Final = """\
# All look at the text; each span looks at itself besides, and nothing else looks at it.
n, n_spans = encoded["input_ids"].shape[1], len(spans)
hidden = torch.full((1, 1, n + n_spans, n + n_spans), torch.finfo(torch.float32).min)
hidden[..., :n] = 0
hidden[..., range(n, n + n_spans), range(n, n + n_spans)] = 0
"""
GIVEN_MASKS: Final = """
        attention_mask=hidden[..., :n],
        entity_attention_mask=hidden[..., n:],"""

ONNX: Final = """\
import numpy
import onnxruntime
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("{path}/tokenizer.json")
session = onnxruntime.InferenceSession("{path}/model.onnx")
text = "Peter lebt in Frankfurt am Main ."

encoded = tokenizer.encode(text)
given = {{
    "input_ids": numpy.array([encoded.ids]),
    "attention_mask": numpy.ones((1, len(encoded.ids)), numpy.int64),
}}
{words}[scores] = session.run(None, given)
first = {{}}  # subword of each word
for subword, (start, end) in enumerate(encoded.offsets):
    if end > start:
        first.setdefault(text[:end].count(" "), subword)
for word, subword in first.items():
    print(text.split()[word], scores[0, subword])"""

ONNX_WORDS: Final = """\
# Which word each subword is of: a new one begins with each subword but those with ##.
begins = numpy.array([not subword.startswith("##") for subword in encoded.tokens])
given["words"] = begins.cumsum()[None] - 1
"""


_ON_TOKENS: Final = """\
The score of a word is that of its first subword.

Probabilities are calibrated: logits were divided by the tagger's temperature.

Tags are the best ones word by word, and some may be invalid; Onoma's own decoder, unless it is
called free, takes the best valid ones.

Of a text that is longer than the model reads, the pipeline leaves out the end without a word: cut
it, or give the pipeline stride=, by which its windows overlap."""

_ON_SPANS: Final = """\
Probabilities are calibrated: logits were divided by the tagger's temperature.

Here all spans that are names are shown; of those that overlap, Onoma takes the likeliest set."""

_ON_SPANS_ALONE: Final = """\
Each span must be read alone, with the masks that are made above. Without them transformers lets all
spans see each other, as LUKE does, and scores are others than the tagger's."""

_ON_SPANS_TOGETHER: Final = """\
Spans that are read at once see each other. Onoma reads at most 128 with a text, as even shares of
all as can be: to have its scores, do the same."""

_ON_ONNX: Final = """\
The scores of a word are those at its first subword. onnx.json says what each is of, has the
temperature that they are to be divided by, and for heads that have them the transitions of a
chain."""

SPACES: Final = (
    "How the tokenizer cuts a word depends on the space before it, and Onoma reads words with one "
    'space between any two, before a full stop, too: give " ".join(words) to have its scores.'
)

LONE_SPACES: Final = (
    "Before words of scripts without spaces (Han, Kana, Thai) Onoma leaves out a subword that is "
    "nothing but the space: there, scores differ."
)

WITHOUT_CONTEXT: Final = (
    "Onoma reads each sentence with its neighbours in the document; whoever gives a sentence alone "
    "gets other scores."
)


def of_transformers(path: str, head: HeadConfig) -> tuple[str, list[str]]:
    """Return Python code that runs a tagger with transformers, and notes on its results."""
    if not head.scores_spans:
        return TOKENS.format(path=path), _ON_TOKENS.split("\n\n")
    is_joint = head.span_reading == "joint"
    code = SPANS.format(
        path=path,
        max_span_subwords=head.max_span_subwords,
        masks="" if is_joint else MASKS,
        given_masks="" if is_joint else GIVEN_MASKS,
    )
    return code, [_ON_SPANS_TOGETHER if is_joint else _ON_SPANS_ALONE, *_ON_SPANS.split("\n\n")]


def of_onnx(path: str, *, with_words: bool) -> str:
    """Return Python code that runs a model with onnxruntime."""
    return ONNX.format(path=path, words=ONNX_WORDS if with_words else "")


INT8: Final = (
    "Weights are int8, activations as they come (dynamic quantization); on random input, scores "
    "differ from those of torch by up to {worst:.2g}. What that costs, `onoma evaluate` says of "
    "this folder."
)


def notes_on_onnx(worst: float | None) -> list[str]:
    """Return notes on an ONNX model.

    ``worst`` is the largest difference between onnxruntime's and torch's scores; None: onnxruntime
    was not installed, and the scores were not compared.
    """
    compared = (
        "Whether onnxruntime finds the same scores as torch was not looked at: it was not there."
        if worst is None
        else f"onnxruntime found the same scores as torch when this was made, to {worst:.0e}."
    )
    return [_ON_ONNX, compared]
