"""A tagger in use: text in, names with offsets and probabilities out."""

from dataclasses import replace

import pytest
import torch

from corpora.document import Document, Mention, Paragraph, Sentence, Span
from corpora.errors import CorpusError, UsageError
from corpora.ner.labels import LabelMap
from modeling.finetune.data import NerData
from modeling.models.tagging_model import TaggingModel
from modeling.taggers import processes
from modeling.taggers.encoder import Encoder
from modeling.taggers.tagger import Tagger, document_of


@pytest.fixture(scope="module")
def tagger(tagger_run):
    return Tagger.load(tagger_run)


def test_a_document_is_no_text_and_a_text_no_document(tagger):
    document = document_of("Peter lebt.")

    with pytest.raises(TypeError, match=r"is no text\. .* tagger\.annotate\(document\)"):
        tagger(document)
    with pytest.raises(TypeError, match=r"'Peter' is no Document\. .* tagger\(text\)"):
        tagger.annotate("Peter")
    with pytest.raises(CorpusError, match=r"half a surrogate pair, at character 6 \(from 0\)"):
        tagger("Peter \ud800")


@pytest.mark.parametrize("device", ["gpu", "cpu:x", "meta"])
def test_a_device_that_torch_lacks_is_named(tagger_run, device):
    for load in (Tagger.load, Encoder.load):
        with pytest.raises(UsageError, match=f"device '{device}': torch cannot .* Take cpu, or"):
            load(tagger_run, device=device)


def test_a_forked_process_uses_one_thread_of_torch(tagger, monkeypatch):
    n_threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        monkeypatch.setattr(processes, "_USED_IN", set())
        tagger("ich war in Ulm")
        in_parent = torch.get_num_threads()
        monkeypatch.setattr(processes, "_USED_IN", {0})
        tagger("ich war in Ulm")
        in_child = torch.get_num_threads()
    finally:
        torch.set_num_threads(n_threads)

    assert (in_parent, in_child) == (2, 1)


def test_a_default_type_of_the_program_changes_nothing(tagger, tagger_run):
    text = "ich war in Ulm und bei Ida Berg."
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = Tagger.load(tagger_run)(text)
        [words] = Encoder.load(tagger_run).words([text])
    finally:
        torch.set_default_dtype(torch.float32)

    assert found == tagger(text)
    [expected] = Encoder.of(tagger).words([text])
    assert (words.vectors == expected.vectors).all()


def test_a_program_may_change_its_folder_after_a_tagger_is_loaded(
    tagger_run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tagger_run)
    tagger = Tagger.load(".")

    monkeypatch.chdir(tmp_path)

    assert 0 < tagger.threshold_of_editions <= 1


def test_names_of_a_text_have_its_offsets(tagger):
    text = "ich war in Ulm.\n\n  dann sah ich bei Ida Berg viel."

    found = tagger(text, lang="de")

    assert [(text[m.start : m.end], m.label) for m in found] == [
        ("Ulm", "place"),
        ("Ida Berg", "pers"),
    ]
    assert {m.origin for m in found} == {"prediction"}
    assert all(0 < m.score <= 1 for m in found)


def test_texts_that_are_piped_have_the_names_that_each_has_alone(tagger):
    texts = ["ich war in Ulm", "", "Ida Berg lebt."]

    assert list(tagger.pipe(texts, lang="de")) == [tagger(text, lang="de") for text in texts]
    assert repr(tagger).startswith(f"<Tagger of {tagger.folder}: crf, viterbi, labels ")


@pytest.mark.parametrize("text", ["", " \n\t\n", "…", "\u200b", "🙂"])
def test_texts_with_nothing_in_them_have_no_names(tagger, text):
    assert tagger(text) == []


def test_a_text_of_ten_thousand_words_is_read_to_its_end(tagger):
    text = "und dann " * 5000 + "sah ich in Jena"

    found = tagger(text)

    assert [(m.start, text[m.start : m.end]) for m in found][-1:] == [(len(text) - 4, "Jena")]


def test_sentences_come_back_in_their_order_whatever_is_read_together(tagger, ner):
    sentences = NerData.open(ner).split("test")

    together = tagger.tag(sentences)
    alone = [tagger.tag([sentence])[0] for sentence in sentences]

    assert [one.sentence for one in together] == sentences
    for one, other in zip(together, alone, strict=True):
        assert [(s.start, s.end, s.label) for s in one.spans] == [
            (s.start, s.end, s.label) for s in other.spans
        ]


def test_gold_tags_are_not_looked_at(tagger, ner):
    sentences = NerData.open(ner).split("test")
    bare = [replace(s, tags=("O",) * len(s.tags)) for s in sentences]

    assert [t.spans for t in tagger.tag(bare)] == [t.spans for t in tagger.tag(sentences)]


def test_a_head_that_reads_words_misses_no_span_by_its_length(tagger, ner):
    assert tagger.too_long(NerData.open(ner).split("dev")) == {"spans": 0, "some": []}


def test_names_below_the_threshold_are_left_out(tagger, ner):
    sentences = NerData.open(ner).split("test")
    every = [span.probability for one in tagger.tag(sentences) for span in one.spans]
    middle = sorted(every)[len(every) // 2]

    kept = [s.probability for one in tagger.tag(sentences, threshold=middle) for s in one.spans]

    assert kept == [probability for probability in every if probability >= middle]


def test_labels_are_mapped_and_left_out(tagger):
    tagger = Tagger(tagger.model, tagger.tokenizer, folder=tagger.folder)
    tagger.label_map = LabelMap("m", {"pers": "PER", "place": ""})

    found = tagger("ich war in Ulm und bei Anna.")

    assert [m.label for m in found] == ["PER"]


def test_documents_keep_all_but_their_mentions(tagger):
    text = "ich war in Ulm . Anna sah viel ."
    document = Document(
        id="d",
        group="g",
        source="s",
        text=text,
        title="T",
        paragraphs=(Paragraph(0, len(text)),),
        sentences=(Span(0, 16), Span(17, len(text))),
        mentions=(Mention(0, 3, label="x"),),
    )

    annotated = tagger.annotate(document)

    assert replace(annotated, mentions=()) == replace(document, mentions=())
    assert "Ulm" in [text[m.start : m.end] for m in annotated.mentions]


def test_documents_without_sentences_pass(tagger):
    documents = [document_of("in Ulm ."), document_of(""), document_of("bei Anna .")]

    found = list(tagger.annotate_all(documents))

    assert [len(document.mentions) for document in found] == [1, 0, 1]


def test_probabilities_of_a_sentence_do_not_depend_on_what_is_read_with_it(tagger):
    short = Sentence(id="a", document_id="a", split="test", tokens=("in", "Ulm"), tags=("O", "O"))
    long = Sentence(id="b", document_id="b", split="test", tokens=("und",) * 30, tags=("O",) * 30)

    [alone] = tagger.tag([short])
    together = tagger.tag([short, long])[0]

    assert together.spans[0].probability == pytest.approx(alone.spans[0].probability, abs=1e-6)


def test_documents_are_no_context_of_others_with_the_same_id(tagger):
    model = TaggingModel.load(tagger.folder)
    model.config = replace(model.config, data=replace(model.config.data, context="document"))
    reading_around = Tagger(model, tagger.tokenizer)
    texts = ["ich war in Ulm.", "bei Anna viel und dann Otto"]
    documents = [document_of(text) for text in texts]
    alone = [reading_around.annotate(document).mentions for document in documents]

    together = [one.mentions for one in reading_around.annotate_all(documents)]

    assert [[m.key for m in own] for own in together] == [[m.key for m in own] for own in alone]
    assert [m.score for own in together for m in own] == pytest.approx(
        [m.score for own in alone for m in own], rel=1e-5
    )


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", "5", '{"trials": []}'])
def test_a_damaged_summary_is_named(tmp_path, content):
    (tmp_path / "summary.json").write_text(content)

    with pytest.raises(
        CorpusError, match=r"summary\.json: not readable .*finetune writes it again"
    ):
        Tagger.load(tmp_path)


def test_what_is_no_tagger_is_refused(tmp_path, bases):
    for folder in (tmp_path, bases / "plain"):
        with pytest.raises(CorpusError, match="onoma finetune"):
            Tagger.load(folder)
