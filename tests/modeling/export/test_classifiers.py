"""Token classifiers of transformers as taggers: the same tags, and what is refused."""

import json
import random
from contextlib import suppress

import pytest
import torch
import transformers

from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import Tokenizer, wordpiece
from modeling.export.__main__ import main
from modeling.huggingface.classifiers import Classes, read_classifier
from modeling.huggingface.importing import read_pretrained
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.tagger import Tagger
from modeling.tagging_config import HeadConfig, TaggerConfig
from tests.modeling.export.conftest import SUBWORDS

IOB2 = ("I-PER", "O", "B-LOC", "I-LOC", "B-PER")
SIZES = {
    "vocab_size": len(SUBWORDS),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
OTHER_SIZES = {
    "DistilBert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
    "Electra": {"embedding_size": 16},
    "Luke": {"entity_vocab_size": 5, "entity_emb_size": 8},
}


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def make_classifier(folder, kind="Bert", *, classes=IOB2, **changes):
    """Save a token classifier of transformers whose weights are random; return it."""
    model_class = getattr(transformers, f"{kind}ForTokenClassification")
    named = dict(enumerate(classes))
    settings = SIZES | OTHER_SIZES.get(kind, {}) | {"id2label": named, "num_labels": len(named)}
    torch.manual_seed(1)
    model = model_class(model_class.config_class(**settings | changes)).eval()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(std=0.8)
    model.save_pretrained(folder)
    Tokenizer(wordpiece(SUBWORDS, cased=True), name="small").save(folder)
    return model


def sentences():
    """Return sentences of different lengths; some words have two subwords."""
    words = ["Peter", "lebt", "in", "Frankfurt", "am", "Main", ".", "Frank"]
    rng = random.Random(3)
    rows = [tuple(rng.choices(words, k=length)) for length in (1, 2, 5, 9, 20) for _ in range(4)]
    return [
        Sentence(id=f"s{n}", document_id="d", split="test", tokens=row, tags=("O",) * len(row))
        for n, row in enumerate(rows)
    ]


def best_classes(model, folder, rows):
    """Return the class of each word in transformers: the best one of its first subword."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = []
    for row in rows:
        encoded = tokenizer(" ".join(row.tokens), return_tensors="pt", return_offsets_mapping=True)
        offsets = encoded.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            best = model(**encoded).logits[0].argmax(1).tolist()
        firsts, at = [], 0
        for token in row.tokens:
            firsts.append(next(n for n, (start, end) in enumerate(offsets) if start == at < end))
            at += len(token) + 1
        found.append(tuple(model.config.id2label[best[first]] for first in firsts))
    return found


@pytest.mark.parametrize("kind", [*OTHER_SIZES, "Bert", "XLMRoberta", "DebertaV2"])
def test_a_classifier_and_its_tagger_give_the_same_tags(tmp_path, kind):
    theirs = make_classifier(tmp_path / "theirs", kind)

    given, output = ([str(tmp_path / name)] for name in ("theirs", "ours"))
    assert main([*given, "--to", "tagger", "--output", *output]) == 0

    tagger = Tagger.load(tmp_path / "ours")
    tagger.decoder = "free"
    rows = sentences()
    expected = best_classes(theirs, tmp_path / "theirs", rows)
    assert [one.tags for one in tagger.tag(rows)] == expected
    assert len({tag for tags in expected for tag in tags}) > 1


@pytest.mark.parametrize("classes", [("I-PER", "O", "I-LOC"), ("LOC", "O", "E-mail", "PER")])
def test_without_beginnings_adjacent_words_of_a_label_are_one_name(tmp_path, classes):
    theirs = make_classifier(tmp_path, classes=classes)
    rows = sentences()

    tagger = Tagger(read_classifier(tmp_path), Tokenizer.open(tmp_path))

    for one, best in zip(tagger.tag(rows), best_classes(theirs, tmp_path, rows), strict=True):
        labels = [name.removeprefix("I-") for name in best]
        found = [""] * len(labels)
        for span in one.spans:
            found[span.start : span.end] = [span.label] * (span.end - span.start)
            assert span.start == 0 or labels[span.start - 1] != span.label
        assert found == ["" if label == "O" else label for label in labels]
        assert all(0 < span.probability <= 1 for span in one.spans)


def test_a_tag_that_has_no_class_never_occurs(tmp_path):
    theirs = make_classifier(tmp_path, classes=("B_LOC", "O", "B_PER", "I_PER"))
    rows = sentences()

    tagger = Tagger(read_classifier(tmp_path), Tokenizer.open(tmp_path))
    tagger.decoder = "free"

    assert tagger.labels == ("LOC", "PER")
    tags = [tuple(tag.replace("-", "_") for tag in one.tags) for one in tagger.tag(rows)]
    assert tags == best_classes(theirs, tmp_path, rows)


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (("LABEL_0", "LABEL_1", "O"), "its classes have no names"),
        (("LABEL_0", "LABEL_1"), "not one class O"),
        (("O", "B-PER", "I-PER", "E-PER", "S-PER"), "some have E-, S- beside B- and I-"),
        (("O", "B-PER", "I-PER", "X"), "some have no prefix beside"),
        (("O", "B-PER", "I-PER", "I-LOC"), "no B-LOC: are its tags IOB1"),
        (("O", "O"), "other names once each"),
    ],
)
def test_other_classes_are_refused(classes, said):
    with pytest.raises(ValueError, match=said):
        Classes.of(classes, where="model")


def test_what_is_no_linear_classifier_is_refused(tmp_path, capsys):
    make_classifier(tmp_path / "modernbert", "ModernBert", cls_token_id=2, sep_token_id=3)
    make_classifier(tmp_path / "bert")
    settings = json.loads((tmp_path / "bert/config.json").read_text())

    def refused(changes, *options, model="bert"):
        (tmp_path / "bert/config.json").write_text(json.dumps(settings | changes))
        output = ["--output", str(tmp_path / "out")]
        with suppress(SystemExit):  # 2, or
            assert main([str(tmp_path / model), "--to", "tagger", *(options or output)]) == 1
        return capsys.readouterr().err

    assert "has more than a linear map on its encoder (head." in refused({}, model="modernbert")
    assert "no token classifier" in refused({"architectures": ["BertModel"]})
    assert "no id2label that names the classes" in refused({"id2label": {"1": "O"}})
    assert "has the shape (5, 16), by config.json" in refused({"id2label": {"0": "O", "1": "PER"}})
    assert "can be packed" in refused({}, "--archive", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_classifier_that_is_used_as_a_tagger_is_an_error_that_says_how(tmp_path):
    make_classifier(tmp_path)

    with pytest.raises(CorpusError, match="onoma export --to tagger makes a tagger"):
        Tagger.load(tmp_path)


@pytest.mark.parametrize("kind", ["DebertaV2", "Albert", "MPNet", "RemBert"])
def test_a_tagger_whose_encoder_transformers_runs_is_a_classifier_again(tmp_path, kind):
    theirs = make_classifier(tmp_path / "theirs", kind)
    given, ours, again = (str(tmp_path / name) for name in ("theirs", "ours", "again"))
    assert main([given, "--to", "tagger", "--output", ours]) == 0

    assert main([ours, "--output", again]) == 0

    model, report = transformers.AutoModelForTokenClassification.from_pretrained(
        again, output_loading_info=True
    )
    assert type(model) is type(theirs)
    assert not report["missing_keys"] | report["unexpected_keys"]
    encoded = transformers.AutoTokenizer.from_pretrained(again)(
        "Peter lebt in Frankfurt", return_tensors="pt"
    )
    with torch.no_grad():
        found, expected = (each.eval()(**encoded).logits for each in (model, theirs))
    order = [IOB2.index(model.config.id2label[id]) for id in range(len(IOB2))]
    torch.testing.assert_close(found, expected[..., order])


def test_a_tagger_on_modernbert_is_no_classifier(tmp_path, capsys):
    make_classifier(tmp_path / "theirs", "ModernBert", cls_token_id=2, sep_token_id=3)
    given = read_pretrained(tmp_path / "theirs")
    head = HeadConfig(kind="softmax")
    encoder = given.config.encoder
    config = TaggerConfig(labels=("PER",), encoder=encoder, head=head)
    ours = TaggingModel.from_config(config)
    with torch.no_grad():
        for weights in ours.parameters():
            weights.normal_()
    ours.save(tmp_path / "ours")
    Tokenizer.open(tmp_path / "theirs").save(tmp_path / "ours")

    with pytest.raises(SystemExit):
        main([str(tmp_path / "ours"), "--output", str(tmp_path / "again")])

    said = capsys.readouterr().err
    assert "ModernBertForTokenClassification has layers that a tagger has not (head." in said
    with pytest.raises(SystemExit):
        main([str(tmp_path / "theirs"), "--output", str(tmp_path / "again")])
    assert "transformers itself runs this encoder" in capsys.readouterr().err
