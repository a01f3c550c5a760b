"""Small taggers with random weights, large enough that scores differ clearly."""

import contextlib
import re

import pytest
import torch

from corpora.document import Sentence
from corpora.entities.vocabulary import SPECIAL
from corpora.system.writing import write_json
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import EncoderConfig
from modeling.models.tagging_model import TaggingModel
from modeling.tagging_config import HeadConfig, SentencesConfig, TaggerConfig

SUBWORDS = [*SPECIALS, "Peter", "lebt", "in", "Frank", "##furt", "am", "Main", ".", "P", "##eter"]
SENTENCE = ("Peter", "lebt", "in", "Frankfurt", "am", "Main", ".")


def save_tagger(
    folder, *, head=None, encoder=None, labels=("pers", "place"), tokenizer=None, **options
):
    """Save a tagger with random weights in a folder as ``modeling.finetune`` writes it."""
    tokenizer = tokenizer or Tokenizer(wordpiece(SUBWORDS, cased=True), name="small")
    sizes = {"width": 16, "n_layers": 2, "n_heads": 2, "inner_width": 24, "max_positions": 40}
    config = TaggerConfig(
        labels=labels,
        encoder=EncoderConfig(n_subwords=tokenizer.size, **sizes | (encoder or {})),
        head=HeadConfig(**(head or {})),
        data=SentencesConfig(max_length=40),
        temperature=1.6,
        **options,
    )
    torch.manual_seed(5)
    model = TaggingModel.from_config(config)
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(std=0.4)
    model.save(folder)
    tokenizer.save(folder)
    manifest = {"recipe": "small", "config": {"head": config.head.to_json()}}
    write_json(folder / "run.json", manifest | {"dev": {"strict_f1": 0.5, "epoch": 2}})
    return folder


def run_card(folder):
    """Run the code of a card beside the folder; returns its names."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    made = {}
    with contextlib.chdir(folder.parent):
        exec(re.search(r"```\n(.*?)```", text, flags=re.DOTALL)[1], made)  # noqa: S102
    return made


@pytest.fixture
def make_tagger(tmp_path):
    def make(name="run", **settings):
        return save_tagger(tmp_path / name, **settings)

    return make


@pytest.fixture
def entities():
    """Return the settings of an encoder that reads entities."""
    return {"n_entities": len(SPECIAL), "entity_width": 8, "attention": "entity_aware"}


@pytest.fixture
def sentence():
    return Sentence(
        id="s", document_id="s", split="test", tokens=SENTENCE, tags=("O",) * len(SENTENCE)
    )
