"""Train a BiLSTM-CRF from nothing on a set, and score it beside a list of the names of train.

    python -m benchmarks.bilstm --ner build/ddt

A word is its embedding, if train has it twice or more, beside the last states of an LSTM over its
characters in each direction; an LSTM over the words and a CRF make the tags (Lample et al. 2016,
without embeddings from elsewhere). The epoch with the best strict F1 on dev is scored on test. It
prints F1 with its interval (bootstrap), that of the list, and the CPU time, as JSON.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from benchmarks.inputs import existing
from corpora.document import Sentence
from corpora.tagging import from_iob2
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.data.sentence_batches import first_by_hash
from modeling.data.tagset import TagSet
from modeling.evaluate.evaluation import as_json, evaluate
from modeling.finetune.data import NerData
from modeling.layers.crf import Crf, Transitions, log_partition, score, viterbi
from modeling.taggers.counts import strict_f1

UNKNOWN = 1
EPOCHS, PATIENCE, BATCH, DROPOUT, LR = 20, 3, 32, 0.5, 3e-3


def batches(sentences: Sequence[Sentence], *, shuffle: bool = False) -> Iterable[list[Sentence]]:
    """Divide sentences into lists of ``BATCH``."""
    return DataLoader(sentences, BATCH, shuffle, collate_fn=list)  # type: ignore[arg-type]


class BiLstmCrf(nn.Module):
    """Words by embedding and characters, an LSTM in both directions, a CRF."""

    def __init__(self, train: Sequence[Sentence]) -> None:
        super().__init__()
        counts = Counter(word.lower() for sentence in train for word in sentence.tokens)
        words = sorted(word for word, count in counts.items() if count > 1)
        characters = sorted({letter for one in train for word in one.tokens for letter in word})
        self.words = {word: number for number, word in enumerate(words, 2)}
        self.characters = {letter: number for number, letter in enumerate(characters, 2)}
        self.tagset = TagSet.of(sentence.tags for sentence in train)
        self.word_table = nn.Embedding(len(words) + 2, 100)
        self.character_table = nn.Embedding(len(characters) + 2, 50)
        self.of_characters = nn.LSTM(50, 50, bidirectional=True, batch_first=True)
        self.of_words = nn.LSTM(200, 128, bidirectional=True, batch_first=True)
        self.emit, self.dropout = nn.Linear(256, len(self.tagset)), nn.Dropout(DROPOUT)
        self.transitions = Transitions(len(self.tagset))

    def forward(self, sentences: Sequence[Sentence]) -> Crf:
        """Score all paths of tags of the sentences."""
        words = list(chain.from_iterable(sentence.tokens for sentence in sentences))
        ids = torch.tensor([self.words.get(word.lower(), UNKNOWN) for word in words])
        if self.training:  # so that the row of unknown words is trained, too
            ids = ids.masked_fill(torch.rand(len(ids)) < 0.1, UNKNOWN)
        lengths = torch.tensor([len(sentence.tokens) for sentence in sentences])
        x = torch.cat([self.word_table(ids), self._spell(words)], 1)
        rows = pad_sequence(self.dropout(x).split(lengths.tolist()), batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(
            rows, lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(self.of_words(packed)[0], batch_first=True)
        between, starts = self.transitions()
        return Crf(self.emit(self.dropout(states)), lengths, between, starts)

    def _spell(self, words: Sequence[str]) -> Tensor:
        distinct = {word: number for number, word in enumerate(dict.fromkeys(words))}
        rows = [torch.tensor([self.characters.get(c, UNKNOWN) for c in w or " "]) for w in distinct]
        packed = nn.utils.rnn.pack_sequence(
            [self.character_table(row) for row in rows], enforce_sorted=False
        )
        _, (last, _) = self.of_characters(packed)
        return torch.cat(tuple(last), 1)[[distinct[word] for word in words]]

    def loss(self, sentences: Sequence[Sentence]) -> Tensor:
        """Return the mean negative log-likelihood of the gold tags of a sentence."""
        crf = self(sentences)
        gold = [torch.from_numpy(self.tagset.encode(sentence.tags)) for sentence in sentences]
        return (log_partition(crf) - score(crf, pad_sequence(gold, batch_first=True))).mean()

    @torch.no_grad()
    def tag(self, sentences: Sequence[Sentence]) -> list[Tagged]:
        """Tag sentences by the best path."""
        self.eval()
        tagged = []
        for batch in batches(sentences):
            for sentence, row in zip(batch, viterbi(self(batch)), strict=True):
                spans = from_iob2(self.tagset.decode(row[: len(sentence.tokens)].numpy()))
                sure = (PredictedSpan(**asdict(s), probability=1.0) for s in spans)
                tagged.append(Tagged(sentence=sentence, spans=tuple(sure)))
        return tagged


def learn(train: Sequence[Sentence], dev: Sequence[Sentence]) -> BiLstmCrf:
    """Train until dev stops to improve; return the best epoch."""
    torch.manual_seed(1)
    model = BiLstmCrf(train)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    best, best_epoch, weights = -1.0, 0, model.state_dict()
    for epoch in range(EPOCHS):
        model.train()
        for batch in batches(train, shuffle=True):
            optimizer.zero_grad()
            torch.autograd.backward(model.loss(batch))
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        if (f1 := strict_f1(model.tag(dev))) > best:
            best, best_epoch = f1, epoch
            weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        if epoch - best_epoch >= PATIENCE:
            break
    model.load_state_dict(weights)
    return model


def main() -> None:
    """Train, score on test, and print F1 with its interval, that of the list, and the minutes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ner", type=existing, required=True, help="a ner dataset with dev, test")
    parser.add_argument("--sentences", type=int, default=0, help="of train, by hash (default: all)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    train, dev, test = map(NerData.open(args.ner).split, ("train", "dev", "test"))
    train = [train[number] for number in first_by_hash(train, args.sentences).tolist()]
    model = learn(train, dev)
    scored = evaluate(model.tag(test), labels=model.tagset.labels, train=train, dev=dev)
    minutes, names = round(time.process_time() / 60, 1), scored.baseline and scored.baseline.score
    print(json.dumps(as_json({"bilstm": scored.strict.micro, "list": names, "minutes": minutes})))


if __name__ == "__main__":
    main()
