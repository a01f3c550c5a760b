"""Words know the entities that a pre-trained encoder knows by name, in ``Encoder`` and masked."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import ConfigError, HeadsConfig
from modeling.data.batch import SubwordEntities
from modeling.data.entity_forms import EntityForms
from modeling.models.pretraining_model import PretrainingModel
from modeling.predict.__main__ import main as predict
from modeling.predict.masked import Guesser
from modeling.taggers.encoder import Encoder
from tests.modeling.finetune.test_entities import write_base

TEXT = "in Jena war Ida Berg und Anna ."
ENTITIES = {"char_entity": {}, "plain": {}, "relative": {"positions": "none", "clip": 3}}


@pytest.fixture(scope="module", params=ENTITIES)
def base(request, tmp_path_factory, bases):
    """Save an encoder whose subwords know Jena (3), something (4) and Ida Berg (5)."""
    folder = tmp_path_factory.mktemp("base") / request.param
    settings = {"attention": request.param, "entities": "subwords", "n_entities": 6}
    settings |= ENTITIES[request.param]
    write_base(folder, Tokenizer.open(bases / "plain"), entity_width=16, **settings)
    model = PretrainingModel.load(folder)
    heads = HeadsConfig(weights={"subwords": 1.0, "subword_entities": 1.0})
    torch.manual_seed(2)
    whole = PretrainingModel.from_config(replace(model.config, heads=heads))
    with torch.no_grad():
        for weights in whole.parameters():
            weights.normal_(std=0.3)
    whole.save(folder)
    return folder


def known(encoder, text):
    """Return of each word the set of entities that its subwords know; 0 is none."""
    windows, [words] = encoder.windows(text), encoder.words([text])
    found = {}
    if windows.subword_entities is not None:
        pairs = zip(windows.subword_entities.rows, windows.subword_entities.entities, strict=True)
        found = {int(row): int(entity) for row, entity in pairs}
    cut = [encoder.tokenizer.encode([word])[0].ids for word in words.words]
    starts = np.cumsum([1, *map(len, cut)])
    return [
        {found.get(row, 0) for row in range(start, start + len(ids))}
        for start, ids in zip(starts, cut, strict=False)
    ]


def test_titles_of_its_entities_are_looked_up(base):
    encoder = Encoder.load(base)

    assert known(encoder, TEXT) == [{0}, {3}, {0}, {5}, {5}, {0}, {0}, {0}]


def test_vectors_are_those_of_a_batch_that_knows_the_entities(base):
    encoder = Encoder.load(base)
    batch = encoder.windows(TEXT)

    [words] = encoder.words([TEXT], pooling="mean")

    bare = encoder.model(replace(batch, subword_entities=None)).subwords
    subwords = encoder.model(batch).subwords.detach()
    sizes = [len(encoder.tokenizer.encode([word])[0].ids) for word in words.words]
    expected = [part.mean(0).numpy() for part in torch.split(subwords[1:-1], sizes)]
    np.testing.assert_allclose(words.vectors, expected, atol=1e-5)
    assert not torch.allclose(subwords, bare, atol=1e-3)


def test_a_text_without_a_form_is_encoded_plainly(base):
    encoder = Encoder.load(base)

    assert encoder.windows("Anna war in Ulm .").subword_entities is None


def test_other_forms_are_those_of_entities_that_it_knows(base, tmp_path):
    forms = tmp_path / "forms.tsv"
    forms.write_text("Anna\told:Ida Berg\nUlm\tnew:Ulm\n", encoding="utf-8")

    encoder = Encoder.load(base, forms=forms)

    assert known(encoder, "Anna in Ulm und Jena") == [{5}, {0}, {0}, {0}, {0}]


def test_forms_without_a_use_are_refused(base, bases, tmp_path):
    forms = tmp_path / "forms.tsv"
    forms.write_text("Ulm\tnew:Ulm\n", encoding="utf-8")

    with pytest.raises(CorpusError, match="none of its forms"):
        Encoder.load(base, forms=forms)
    with pytest.raises(ConfigError, match="know no entities"):
        Encoder.load(bases / "plain", forms=forms)


def test_without_the_names_of_its_entities_the_error_says_what_is_missing(base, tmp_path):
    for file in base.iterdir():
        if file.is_file() and file.name != "entities.arrow":
            (tmp_path / file.name).write_bytes(file.read_bytes())

    with pytest.raises(CorpusError, match=r"entities\.arrow"):
        Encoder.load(tmp_path)


@torch.inference_mode()
def test_a_mask_is_guessed_by_what_the_other_words_know(base):
    guesser = Guesser.load(base)
    words = TEXT.replace("Anna", "[MASK]").split()
    mask = guesser.tokenizer.special.mask

    [guess] = guesser.subwords(" ".join(words), top=1)

    cut = [[mask] if w == "[MASK]" else guesser.tokenizer.encode([w])[0].ids for w in words]
    subwords = np.concatenate(cut)
    of_words = zip([0, 3, 0, 5, 5, 0, 0, 0], cut, strict=True)
    entities = torch.tensor([0, *(entity for entity, ids in of_words for _ in ids), 0])
    rows = torch.nonzero(entities).flatten()
    batch = guesser._batch(subwords, known=SubwordEntities(rows, entities[rows]))
    [place] = 1 + np.flatnonzero(subwords == mask)
    states = guesser.model.encoder(batch).subwords[place]
    expected = guesser.model.heads["subwords"].logits(states).softmax(-1)
    expected[list(guesser.tokenizer.specials)] = 0
    assert guess.best[0][1] == pytest.approx(float(expected.max()), abs=1e-5)


def test_a_span_whose_entity_is_asked_for_does_not_know_it(base):
    """The same whether the encoder has a form for the span or not: nothing can be copied."""
    guesser = Guesser.load(base)
    old = guesser.of_words
    kept = np.flatnonzero(old.ids != 5)
    fewer = EntityForms(old.forms.take(kept), old.entities.take(kept), old.ids[kept])
    without = replace(guesser, of_words=fewer)

    asked, other = (g.guess_entities(TEXT, [(12, 20)], top=3) for g in (guesser, without))

    assert TEXT[12:20] == "Ida Berg"
    assert asked == other
    assert {name for name, _ in asked[0].best} == {"old:Jena", "old:gone", "old:Ida Berg"}


def test_the_command_names_subwords_and_entities(base, capsys):
    text = TEXT.replace("Anna", "[MASK]")

    assert predict([str(base), "--masked", text, "--entities", "12:20"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("  ")] == [
        "25:31 [MASK]",
        "12:20 Ida Berg",
    ]
    assert len(lines) > 6
