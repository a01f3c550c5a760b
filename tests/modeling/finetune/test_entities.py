"""Words of a tagger that know the entities of a lexicon: new ones, and those of the base."""

import json

import pyarrow as pa
import pytest
import torch

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig, HeadsConfig, PretrainConfig
from modeling.finetune.data import NerData
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.counts import strict_f1
from modeling.taggers.entities import open_entities
from modeling.taggers.folders import Base, find_tagger
from modeling.taggers.tagger import Tagger
from tests.datasets import write_dataset

NAMES = ("Anna", "Otto", "Ida Berg", "Karl Neu mann", "Ulm", "Jena", "Bad Berg", "Neu stadt")
KNOWN = ["[PAD]", "[UNK]", "[MASK]", "old:Jena", "old:gone", "old:Ida Berg"]
LEXICON = {"schema": "lexicon", "plan": {"parameters": {"per": "group"}}}
TABLE = "encoder.entity_embeddings.entities.weight"


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Write a file of forms: every name, some of them of entities that the base knows."""
    path = tmp_path_factory.mktemp("forms") / "forms.tsv"
    spaces = {"Jena": "old", "Ida Berg": "old"}
    lines = [f"{name}\t{spaces.get(name, 'new')}:{name}\n" for name in NAMES]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_base(folder, tokenizer, *, names=KNOWN, **settings):
    torch.manual_seed(1)
    encoder = EncoderConfig(
        n_subwords=tokenizer.size,
        width=32,
        n_layers=1,
        n_heads=2,
        inner_width=64,
        max_positions=48,
        dropout=0.0,
        embedding_dropout=0.0,
        **settings,
    )
    config = PretrainConfig(encoder=encoder, heads=HeadsConfig(weights={"subwords": 1.0}))
    PretrainingModel.from_config(config).save(folder)
    tokenizer.save(folder)
    with ShardWriter(folder / "entities.arrow", SCHEMAS["example_entities"]) as table:
        for id, entity in enumerate(names):
            table.write({"id": id, "entity": entity, "count": 1, "mentions": 1})
    return folder


@pytest.fixture(scope="module")
def char_entity(tmp_path_factory, bases):
    """Save a base whose subwords know six entities."""
    folder = tmp_path_factory.mktemp("base") / "char-entity"
    settings = {"attention": "char_entity", "entities": "subwords", "n_entities": 6}
    return write_base(folder, Tokenizer.open(bases / "plain"), entity_width=16, **settings)


def final(run):
    return TaggingModel.load(find_tagger(run).path)


def test_entities_that_the_base_knows_keep_their_rows_and_new_ones_follow(forms, char_entity):
    opened = open_entities(str(forms), Base.open(char_entity))

    ids = dict(zip(opened.lookup.forms.to_pylist(), opened.lookup.ids.tolist(), strict=True))
    assert (ids["Jena"], ids["Ida Berg"]) == (3, 5)
    new = sorted(id for form, id in ids.items() if form not in {"Jena", "Ida Berg"})
    assert new == list(range(6, 12))
    assert opened.n_rows == 12
    assert opened.counts == {"forms": 8, "entities.known": 2, "entities.new": 6}


def test_of_a_plain_base_all_entities_are_new(forms, bases):
    opened = open_entities(str(forms), Base.open(bases / "plain"))

    assert sorted(opened.lookup.ids.tolist()) == list(range(3, 11))
    assert opened.n_rows == 11


def test_words_of_a_lexicon_and_aliases_of_a_vocabulary_are_forms(tmp_path, char_entity):
    numbers = dict.fromkeys(("mi", "left_entropy", "right_entropy", "score"), 1.0)
    words = [("Jena", "old", 1, []), ("Ulm", "old", 2, ["low"]), ("Anna", "old", None, ["known"])]
    lexicon = write_dataset(
        tmp_path / "lexicon",
        [
            {"id": n, "form": form, "group": group, "count": 9, "rank": rank, "flags": flags}
            | numbers
            for n, (form, group, rank, flags) in enumerate(words)
        ],
        **LEXICON,
    )
    alias = {"form": "Jena", "count": 3, "prior": 1.0, "link_probability": None}
    entity = {"title": None, "page_id": None, "count": 3, "counts": [], "retired": False}
    named = {"id": 0, "entity": "old:Jena", "aliases": [alias]} | entity
    vocab = write_dataset(tmp_path / "vocab", [named], schema="entities")

    for path in (lexicon, vocab):
        lookup = open_entities(str(path), Base.open(char_entity)).lookup
        assert lookup.forms.to_pylist() == ["Jena"]
        assert lookup.ids.tolist() == [3]


def test_of_a_form_with_several_entities_the_known_one_counts(tmp_path, bases, char_entity):
    columns = {"form": ["Ulm", "Jena", "Jena"], "group": ["new", "new", "old"]}
    table = pa.table(columns)
    rows = [
        row | {"id": n, "count": 9, "rank": n + 1, "flags": []}
        | dict.fromkeys(("mi", "left_entropy", "right_entropy", "score"), 1.0)
        for n, row in enumerate(table.to_pylist())
    ]  # fmt: skip
    path = write_dataset(tmp_path / "lexicon", rows, **LEXICON)

    found = {}
    for name, base in (("knows", char_entity), ("plain", bases / "plain")):
        lookup = open_entities(str(path), Base.open(base)).lookup
        names = dict(zip(lookup.ids.tolist(), lookup.entities.to_pylist(), strict=True))
        found[name] = names[int(lookup.find([["Jena"]])[0])]

    assert found == {"knows": "old:Jena", "plain": "new:Jena"}


def test_a_lexicon_has_the_entities_that_the_base_knows_of_groups_or_of_all(tmp_path, bases):
    numbers = dict.fromkeys(("mi", "left_entropy", "right_entropy", "score"), 1.0)
    row = {"id": 0, "form": "Jena", "group": "old", "count": 9, "rank": 1, "flags": []}
    path = write_dataset(tmp_path / "lexicon", [row | numbers], **LEXICON)
    tokenizer = Tokenizer.open(bases / "plain")
    settings = {"attention": "char_entity", "entities": "subwords", "n_entities": 4}
    names = ["[PAD]", "[UNK]", "[MASK]", "lexicon:Jena"]
    base = write_base(tmp_path / "base", tokenizer, names=names, **settings)

    opened = open_entities(str(path), Base.open(base))

    assert opened.lookup.entities.to_pylist() == ["lexicon:Jena"]
    assert opened.n_rows == 4


@pytest.mark.parametrize("base", ["char_entity", "plain"])
def test_a_tagger_takes_its_entities_with_it(
    tmp_path, ner, bases, char_entity, finetune, forms, base
):
    folder = char_entity if base == "char_entity" else bases / "plain"
    settings = [f"data.entities={forms}"]
    assert finetune(tmp_path / "run", ner, folder, "crf_small", epochs=6, settings=settings) == 0

    tagger = Tagger.load(tmp_path / "run")

    model = tagger.model
    assert model.config.encoder.attention == "char_entity"
    assert len(model.get_parameter(TABLE)) == (12 if base == "char_entity" else 11)
    sentences = NerData.open(ner).split("test")
    assert strict_f1(tagger.tag(sentences)) > 0.9
    dev = json.loads((find_tagger(tmp_path / "run").path / "run.json").read_text())["dev"]
    assert strict_f1(tagger.tag(NerData.open(ner).split("dev"))) == dev["strict_f1"]


def test_what_words_know_is_learned_from(tmp_path, ner, char_entity, finetune, forms):
    settings = [f"data.entities={forms}", "optimizer.weight_decay=0"]
    assert finetune(tmp_path / "run", ner, char_entity, epochs=1, settings=settings) == 0

    table = final(tmp_path / "run").get_parameter(TABLE)
    start = PretrainingModel.load(char_entity).encoder.entity_embeddings.entities.weight
    moved = (table[:6] != start).any(1).tolist()
    assert moved == [False, False, False, True, False, True]  # 3 Jena, 5 Ida Berg


def test_without_entities_of_its_own_a_tagger_has_a_plain_encoder(
    tmp_path, ner, char_entity, finetune
):
    assert finetune(tmp_path / "run", ner, char_entity, epochs=1) == 0

    model = final(tmp_path / "run")
    assert model.config.encoder.attention == "plain"
    assert not [name for name, _ in model.named_parameters() if "entit" in name]


def test_relative_attention_has_entities_at_its_input(tmp_path, ner, bases, finetune, forms):
    tokenizer = Tokenizer.open(bases / "plain")
    base = write_base(tmp_path / "base", tokenizer, attention="relative", positions="none")
    settings = [f"data.entities={forms}"]

    assert finetune(tmp_path / "run", ner, base, epochs=1, settings=settings) == 0

    encoder = final(tmp_path / "run").config.encoder
    assert (encoder.attention, encoder.entities) == ("relative", "subwords")


def test_spans_of_words_know_entities_too(tmp_path, ner, char_entity, finetune, forms):
    settings = [f"data.entities={forms}"]

    assert finetune(tmp_path / "run", ner, char_entity, "span_small", settings=settings) == 0

    assert Tagger.load(tmp_path / "run").tag(NerData.open(ner).split("test"))


def test_spans_cannot_be_entities_where_subwords_know_them(
    tmp_path, ner, char_entity, finetune, capsys
):
    with pytest.raises(SystemExit):
        finetune(
            tmp_path / "run", ner, char_entity, "span_small", settings=["head.span_features=both"]
        )

    assert "head.span_features=words" in capsys.readouterr().err


@pytest.mark.parametrize(("content", "message"), [("", "no form"), (None, "there is nothing")])
def test_what_has_no_forms_is_refused(tmp_path, bases, content, message):
    path = tmp_path / "forms.tsv"
    if content is not None:
        path.write_text(content)

    with pytest.raises(CorpusError, match=f"forms.tsv: {message}"):
        open_entities(str(path), Base.open(bases / "plain"))
