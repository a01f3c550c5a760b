"""An encoder beside the linear linker: names in their texts, and descriptions of entities."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.datasets.shards import open_dataset
from corpora.errors import CorpusError
from modeling.config import EncoderConfig
from modeling.link.__main__ import main
from modeling.link.candidates import FEATURES, N_PLAIN, READ, KnownEntity
from modeling.link.choice import softmax
from modeling.link.commands import describe_entry
from modeling.link.contexts import WindowReader
from modeling.link.linker import Linker, LinkerTraining
from modeling.link.records import MentionWindow, record_of
from modeling.taggers.encoder import Encoder
from modeling.taggers.folders import TAGGER_FILE, find_tagger
from tests.datasets import write_dataset
from tests.modeling.link.samples import letter

POET, PAINTER = "s:poet", "s:painter"
TEXTS = {POET: "ich war in Ulm , Otto Theo", PAINTER: "Anna und Otto bei Bad Berg ."}


def documents(n=24):
    """Make letters in which Otto is the poet where the words around are those of the first text."""
    who = [(POET, PAINTER)[number % 2] for number in range(n)]
    return [letter(f"{n}", TEXTS[entity], ("Otto", entity)) for n, entity in enumerate(who)]


def records(n=24):
    return [record_of(document, with_text=True) for document in documents(n)]


def describe(**texts):
    return {f"s:{name}": MentionWindow("", "Otto", f": {text}") for name, text in texts.items()}


@pytest.fixture(scope="module")
def reader(bases):
    return WindowReader(bases / "plain", keeps=True)


def columns(contexts, linker, document):
    """Return the encoder's features of each entity, for the only name of a document."""
    record = record_of(document, with_text=True)
    [found] = linker.knowledge.candidates(record, record.cases)
    without = record.id if record.id in linker.knowledge.counts else None
    contexts.add_features(found, contexts.read(record.windows())[0], without=without)
    first = FEATURES.index(READ[0])
    return {
        entity: dict(zip(READ, row[first : first + len(READ)], strict=True))
        for entity, row in zip(found.entities, found.features, strict=True)
    }


def test_a_name_is_like_the_mentions_whose_texts_are_like_its_text(reader):
    linker = LinkerTraining(records(), {}, reader=reader).train()

    found = columns(linker.contexts, linker, letter("x", TEXTS[PAINTER], ("Otto", None)))

    for name in ("like one mention", "like three mentions"):
        assert found[PAINTER][name] > 0 > found[POET][name]
    assert found[PAINTER]["no description"] == 1


@pytest.mark.parametrize(("n_layers", "n_read"), [(3, 3), (6, 6), (11, 6), (12, 6), (24, 12)])
def test_an_encoder_is_read_up_to_its_middle_layer(monkeypatch, n_layers, n_read):
    model = SimpleNamespace(encoder=SimpleNamespace(layers=list(range(n_layers))))
    encoder = Encoder.__new__(Encoder)
    encoder.model, encoder.config = model, EncoderConfig(n_layers=n_layers)
    monkeypatch.setattr(Encoder, "load", lambda _: encoder)

    assert WindowReader("encoder", keeps=False)._encoder.model.encoder.layers == list(range(n_read))


def test_mentions_of_the_document_itself_are_left_out(reader):
    linker = LinkerTraining(
        records(3), {}, reader=reader
    ).train()  # the painter in one document only
    known = columns(linker.contexts, linker, documents(2)[0])

    assert PAINTER in known
    assert known[PAINTER]["no mention elsewhere"] == 0
    own = columns(linker.contexts, linker, documents(2)[1])
    assert set(own) == {POET}  # nor is the entity known from elsewhere


def test_a_text_is_like_the_description_with_its_words(reader):
    described = describe(poet="in Ulm ich war Theo", painter="Anna und bei Bad Berg")
    linker = LinkerTraining(records(), {}, reader=reader, descriptions=described).train()

    found = columns(linker.contexts, linker, letter("x", TEXTS[POET], ("Otto", None)))

    assert found[POET]["text like the description"] > found[PAINTER]["text like the description"]
    assert found[POET]["no description"] == 0


def test_descriptions_of_entities_that_nobody_names_are_not_read(reader):
    training = LinkerTraining(records(), {}, reader=reader, descriptions=describe(nobody="Anna"))

    assert training.contexts.described == ()


def test_a_linker_with_an_encoder_is_saved_and_links_as_before(bases, reader, tmp_path):
    settings = {"encoder": str(bases / "plain")}
    described = describe(poet="Ulm", painter="Berg")
    training = LinkerTraining(records(), {}, reader=reader, descriptions=described)
    linker = training.train(settings=settings)
    linker.save(tmp_path)

    again = Linker.load(tmp_path)

    for text, entity in ((TEXTS[POET], POET), (TEXTS[PAINTER], PAINTER)):
        record = record_of(letter("x", text, ("Otto", None)), with_text=True)
        [one], [other] = linker.rank(record), again.rank(record)
        assert one.entities == other.entities
        assert one.entities[0] == entity
        assert one.probability == pytest.approx(other.probability, abs=1e-4)
    assert isinstance(again.contexts.vectors, np.memmap)


def test_strings_of_numpy_are_strings():
    plain = letter("x", "Otto in Ulm", ("Otto", None))
    [mention] = plain.mentions
    labelled = [replace(mention, label=kind("person")) for kind in (str, np.str_)]

    one, other = (record_of(replace(plain, mentions=(each,))) for each in labelled)

    assert one == other


def test_another_encoder_than_that_of_training_is_refused(bases, reader, tmp_path):
    linker = LinkerTraining(records(), {}, reader=reader).train(
        settings={"encoder": str(bases / "entities")}
    )
    linker.save(tmp_path)

    with pytest.raises(CorpusError, match="not the encoder that the linker was trained with"):
        Linker.load(tmp_path).rank(records(1)[0])
    np.save(tmp_path / "vectors.npy", linker.contexts.vectors[:-1])
    with pytest.raises(CorpusError, match="does not belong to the linker"):
        Linker.load(tmp_path)


def _with_a_full_name(encoder):
    """Train a linker, and make a letter with an unsure name and one that is sure without it."""
    named = [
        letter(f"{n}", f"{text} Herwarth Otto war da .", ("Otto", entity), ("Herwarth Otto", "s:h"))
        for n, (entity, text) in enumerate([*TEXTS.items()] * 20)
    ]
    training = [record_of(document, with_text=True) for document in named]
    reader = WindowReader(encoder, keeps=True)
    text = "Lieber Otto ! Gruss an Herwarth Otto"
    document = letter("x", text, ("Otto", None), ("Herwarth Otto", None))
    linker = LinkerTraining(training, {}, reader=reader).train()
    return linker, reader, record_of(document, with_text=True)


def test_names_that_are_sure_without_an_encoder_are_not_read(bases):
    linker, reader, record = _with_a_full_name(bases / "plain")

    [unsure, sure] = linker.rank(record)

    assert len(unsure.entities) > 1
    assert len(sure.entities) > 1
    assert [window in reader._known for window in record.windows()] == [True, False]
    assert sure.entities[0] == "s:h"


@pytest.mark.parametrize(("probability", "is_read"), [(0.88, True), (0.92, False)])
def test_a_name_is_sure_from_nine_tenths_on(bases, probability, is_read):
    linker, reader, record = _with_a_full_name(bases / "plain")
    features = linker.knowledge.candidates(record, record.cases)[1].features[:, :N_PLAIN]

    def scaled(by):
        return replace(linker.plain, weights=linker.plain.weights * by)

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        is_less = softmax(scaled(middle).score(features)).max() < probability
        low, high = (middle, high) if is_less else (low, middle)
    linker.plain = scaled(high)
    linker.rank(record)

    assert (record.windows()[1] in reader._known) == is_read


def test_documents_that_are_linked_together_are_linked_as_each_alone(reader):
    linker = LinkerTraining(records(), {}, reader=reader).train()
    some = [
        record_of(letter(f"x{n}", text, ("Otto", None)), with_text=True)
        for n, text in enumerate([*TEXTS.values(), "Otto ist da", f"Herr {TEXTS[POET]}"])
    ]

    found = linker.rank_all(some)

    for [one], record in zip(found, some, strict=True):
        [alone] = linker.rank(record)
        assert one.entities == alone.entities
        np.testing.assert_allclose(one.choice, alone.choice, atol=1e-5)


def test_long_texts_are_cut_around_the_name_and_what_is_read_together_does_not_matter(reader):
    long = MentionWindow("Anna und " * 60, "Otto", " bei Bad Berg" * 60)
    short = MentionWindow("und ", "Otto", " bei")

    [first, second] = reader.read([long, short])

    np.testing.assert_allclose(reader.read([short])[0], second, atol=1e-5)
    near = MentionWindow("und " + "Anna und " * 8, "Otto", " bei Bad Berg" * 6)
    [cut] = WindowReader(reader.folder, keeps=False).read([near])
    np.testing.assert_allclose(cut, first, atol=1e-5)


@pytest.fixture
def prompted(bases, tmp_path):
    def make(prompt):
        for file in (bases / "plain").iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        prompts = {"prompts": {"query": prompt}}
        (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(prompts))
        return WindowReader(tmp_path, keeps=False)

    return make


def test_what_the_model_wants_before_a_text_is_written_before_it(bases, prompted):
    [found] = prompted("Anna ").read([MentionWindow("und ", "Otto", "")])

    [written] = WindowReader(bases / "plain", keeps=False).read(
        [MentionWindow("Anna und ", "Otto", "")]
    )
    np.testing.assert_allclose(found, written, atol=1e-5)


def test_a_name_is_read_after_a_long_prompt(prompted):
    window = MentionWindow("ich war in Ulm und sah ", "Otto", " bei Anna und Theo")
    reader = prompted("Anna " * 29)

    [cut] = reader._cut([window])
    [found] = reader.read([window])

    assert cut == MentionWindow("Ulm und sah ", "Otto", " bei Anna und Th")
    assert np.isfinite(found).all()


def test_a_prompt_that_leaves_no_room_for_a_name_is_refused(prompted):
    reader = prompted("Anna " * 600)

    with pytest.raises(CorpusError, match=r"prompts.query has 600 subwords.* reads 46 at once"):
        reader.read([MentionWindow("und ", "Otto", "")])


def test_texts_are_cut_to_the_windows_of_a_tagger(tagger_run, tmp_path):
    shutil.copytree(find_tagger(tagger_run).path, tmp_path / "tagger")
    file = tmp_path / "tagger" / TAGGER_FILE
    settings = json.loads(file.read_text())
    settings["data"]["max_length"] = 18
    file.write_text(json.dumps(settings))

    long = MentionWindow("Anna " * 60, "Otto", " Anna" * 60)
    [found] = WindowReader(tmp_path / "tagger", keeps=False).read([long])

    assert np.isfinite(found).all()


def test_an_entry_is_described_by_its_forms_its_kind_and_what_the_register_says():
    known = KnownEntity(
        entity="s:P.3", forms=("Klee, Paul", "Klee"), kind="person", description="Maler"
    )

    assert describe_entry(known) == MentionWindow("", "Klee, Paul", ": Klee; person; Maler")


def test_commands_take_an_encoder_and_links_follow_from_the_words_around(bases, tmp_path):
    write_dataset(tmp_path / "letters", documents(40))
    new = letter("new", TEXTS[PAINTER], ("Otto", None))
    write_dataset(tmp_path / "new", [new])
    model = ("--encoder", str(bases / "plain"))
    learned = (str(tmp_path / "letters"), *model, "--max-wrong", "0.1")

    assert main(["train", *learned, "--output", str(tmp_path / "linker")]) == 0
    apply = ("apply", str(tmp_path / "linker"), "--documents", str(tmp_path / "new"))
    assert main([*apply, "--output", str(tmp_path / "linked")]) == 0
    evaluate = ("evaluate", *learned, "--output", str(tmp_path / "report"))
    assert main(evaluate) == 0

    [linked] = open_dataset(tmp_path / "linked")
    assert linked.mentions[0].entity == PAINTER
    found = json.loads((tmp_path / "report" / "report.json").read_text())
    assert found["accuracy, all features"]["value"] == 1
    assert found["accuracy, prior alone"]["value"] < 1


def test_descriptions_without_an_encoder_are_refused(tmp_path, capsys):
    write_dataset(tmp_path / "letters", documents(4))
    arguments = [str(tmp_path / "letters"), "--descriptions", "x", "--output", str(tmp_path / "o")]

    assert main(["train", *arguments]) == 2

    assert "--descriptions is for --encoder" in capsys.readouterr().err


def test_an_encoder_with_impossible_settings_is_a_wrong_command(bases, tmp_path, capsys):
    write_dataset(tmp_path / "letters", documents(4))
    shutil.copytree(bases / "plain", tmp_path / "model")
    file = tmp_path / "model" / "config.json"
    settings = json.loads(file.read_text())
    settings["encoder"]["n_heads"] = 3
    file.write_text(json.dumps(settings))
    learned = (str(tmp_path / "letters"), "--encoder", str(tmp_path / "model"))

    assert main(["train", *learned, "--output", str(tmp_path / "linker")]) == 2
    assert "is no multiple of encoder.n_heads=3" in capsys.readouterr().err
