"""Of a large vocabulary, only the subwords of train and dev are trained; the others are kept."""

import shutil
from dataclasses import replace

import torch

from corpora.tokenization.tokenizers import Tokenizer
from modeling.data.sentences import SentenceEncoder, UsedSubwords
from modeling.finetune.data import NerData
from modeling.huggingface.importing import read_pretrained
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.folders import find_tagger
from modeling.tagging_config import SentencesConfig

TABLE = "encoder.embeddings.subwords.weight"


def with_more_rows(base, folder, n):
    """Save the base with ``n`` more rows, for which its tokenizer has no subwords."""
    given = read_pretrained(base)
    encoder = replace(given.config.encoder, n_subwords=given.config.encoder.n_subwords + n)
    torch.manual_seed(7)
    model = PretrainingModel.from_config(replace(given.config, encoder=encoder))
    state = {
        k: w
        for k, w in given.weights.items()
        if not k.endswith(("subwords.weight", "subwords.bias"))
    }
    model.load_state_dict(state, strict=False)
    with torch.no_grad():
        model.encoder.embeddings.subwords.weight[:-n] = given.weights[TABLE]
    shutil.copytree(base, folder)
    model.save(folder)
    return folder


def test_rows_that_no_sentence_has_stay_as_they_are_and_have_no_optimizer_state(
    tmp_path, ner, bases, finetune, monkeypatch
):
    base = with_more_rows(bases / "plain", tmp_path / "base", 1000)
    sizes = []
    checkpoint = "modeling.finetune.finetuning._Session.save_checkpoint"

    def look(self, *_, **__):
        moments = self.optimizer.state()[f"{TABLE}.exp_avg"]
        sizes.append((len(moments), len(self.data.subwords)))

    monkeypatch.setattr(checkpoint, look)
    assert finetune(tmp_path / "run", ner, base, "softmax_small", epochs=1) == 0

    tokenizer, table = Tokenizer.open(base), read_pretrained(base).weights[TABLE]
    texts = [t for s in NerData.open(ner).sentences if s.split != "test" for t in s.tokens]
    used = {id for one in tokenizer.encode(texts) for id in one.ids.tolist()}
    used |= set(tokenizer.special)
    folder = find_tagger(tmp_path / "run").path
    trained = TaggingModel.load(folder).state_dict()[TABLE]
    changed = set((trained != table).any(dim=1).nonzero().flatten().tolist())

    assert sizes == [(len(used), len(used))]
    assert len(trained) == len(table) == tokenizer.size + 1000
    assert changed <= used
    assert len(changed) > len(used) // 2


def test_sentences_are_the_same_by_their_new_ids(ner, bases):
    tokenizer = Tokenizer.open(bases / "plain")
    encoded = SentenceEncoder(tokenizer, SentencesConfig(max_length=48)).encode(
        NerData.open(ner).split("dev")
    )

    used = UsedSubwords.of([encoded])
    changed = used.renumber(encoded)

    assert (used.ids[changed.subwords] == encoded.subwords).all()
    assert [used.ids[id] for id in changed.special] == list(encoded.special)
    table = torch.randn(tokenizer.size, 4)
    before, rows = table.clone(), torch.randn(len(used), 4)
    used.put(rows, table)
    assert used.take(table).equal(rows)
    others = [id for id in range(tokenizer.size) if id not in set(used.ids.tolist())]
    assert table[others].equal(before[others])


def test_a_dataset_is_found_one_level_above_or_below(ner, tmp_path):
    whole = tmp_path / "made"
    shutil.copytree(ner, whole / "ner")
    shutil.copytree(ner, tmp_path / "alone")

    ids = [sentence.id for sentence in NerData.open(ner).sentences]

    assert [s.id for s in NerData.open(whole).sentences] == ids
    assert [s.id for s in NerData.open(tmp_path / "alone" / "ner").sentences] == ids
