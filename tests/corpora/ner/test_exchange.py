"""Documents with names in the forms of annotation tools, and back."""

import json
import re
import zlib
from dataclasses import replace
from itertools import pairwise

import pytest
from cassis import load_cas_from_xmi, load_typesystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.document import Document, Mention, Span
from corpora.errors import CorpusError, UsageError
from corpora.ner.exchange import FORMS, files_of, read_annotated, write_documents
from corpora.tagging import from_iob2
from tests.corpora.ner.reading import read

TEXT = "Frau 𝔊oethe-Berg [sic] war in Bad\nBerg_1; „Ulm|Au“ \\ \t* Ende.\nUnd -> 100 % hier"


def at(surface, **fields):
    start = TEXT.index(surface)
    return Mention(start, start + len(surface), **fields)


DOCUMENT = Document(
    id="sub/a.xml",
    group="g",
    source="a",
    text=TEXT,
    lang="de",
    sentences=(Span(0, TEXT.index("\nUnd")), Span(TEXT.index("Und"), len(TEXT))),
    mentions=(
        at("𝔊oethe-Berg", label="person", entity="gnd:1 e:a%|_b"),
        at("oethe", label="name"),  # in another, and not at the end of a token
        at("Bad\nBerg_1", label="place"),
        at("Ulm", label="place", entity="e:P.1"),
        at("Und", label=None),
        at("hier", label="a-b_c"),
    ),
)


def keys(mentions):
    return sorted((m.start, m.end, m.label, m.entity or "") for m in mentions if m.label)


@pytest.mark.parametrize("form", FORMS)
def test_every_name_comes_back_with_its_place_label_and_id(form, tmp_path):
    [path] = write_documents([DOCUMENT], form, tmp_path)

    found = read_annotated(path)

    assert keys(found.mentions) == keys(DOCUMENT.mentions)
    assert found.text in {TEXT, None}
    assert found.name in {"sub/a.xml", "a.xml"}
    assert path in files_of([tmp_path])


@pytest.mark.parametrize("form", FORMS)
def test_files_in_which_somebody_worked_are_not_overwritten(form, tmp_path):
    [path] = write_documents([DOCUMENT], form, tmp_path)
    assert list(write_documents([DOCUMENT], form, tmp_path)) == [path]  # the same bytes
    path.write_bytes(path.read_bytes() + b"\n")
    before = {one: one.read_bytes() for one in path.parent.iterdir()}

    with pytest.raises(UsageError, match=f"{path}: is there already"):
        list(write_documents([DOCUMENT], form, tmp_path))

    assert {one: one.read_bytes() for one in path.parent.iterdir()} == before


@pytest.mark.parametrize("form", FORMS)
def test_an_id_with_white_space_of_any_script_comes_back(form, tmp_path):
    id = "e:東京\u3000駅 50%\u00a0C3"
    document = replace(DOCUMENT, mentions=(at("Ulm", label="place", entity=id),))

    [path] = write_documents([document], form, tmp_path)

    assert [mention.entity for mention in read_annotated(path).mentions] == [id]


def test_a_cas_is_what_dkpro_core_and_inception_read(tmp_path):
    [path] = write_documents([DOCUMENT], "xmi", tmp_path)

    with path.with_name("TypeSystem.xml").open("rb") as types, path.open("rb") as file:
        cas = load_cas_from_xmi(file, typesystem=load_typesystem(types))

    names = cas.select("de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity")
    assert "𝔊oethe-Berg" in [name.get_covered_text() for name in names]
    sentences = cas.select("de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence")
    assert [s.get_covered_text() for s in sentences] == [
        TEXT[: TEXT.index("\nUnd")],
        "Und -> 100 % hier",
    ]
    assert b'end="17"' in path.read_bytes()  # UIMA counts UTF-16 units: one more after 𝔊


def test_positions_of_a_browser_are_read_by_their_quotes(tmp_path):
    [path] = write_documents([DOCUMENT], "w3c", tmp_path)
    annotations = json.loads(path.read_text(encoding="utf-8"))
    for one in annotations:
        position = one["target"]["selector"][1]
        for name in ("start", "end"):
            position[name] += position[name] > TEXT.index("𝔊")
    path.write_text(json.dumps(annotations), encoding="utf-8")

    assert keys(read_annotated(path).mentions) == keys(DOCUMENT.mentions)


def test_an_annotation_page_is_read_if_it_is_the_only_one(tmp_path):
    [path] = write_documents([DOCUMENT], "w3c", tmp_path)
    page = {"type": "AnnotationPage", "items": json.loads(path.read_text(encoding="utf-8"))}
    path.write_text(json.dumps(page), encoding="utf-8")

    assert keys(read_annotated(path).mentions) == keys(DOCUMENT.mentions)
    for other, said in (
        (page | {"next": "https://a.example/page2"}, "one AnnotationPage of several"),
        ({"type": "AnnotationCollection"}, "no array of annotations, and no AnnotationPage"),
    ):
        path.write_text(json.dumps(other), encoding="utf-8")
        with pytest.raises(CorpusError, match=f"a.xml.json: .*{said}"):
            read_annotated(path)


def test_a_quote_that_is_not_at_its_place_is_said(tmp_path):
    [path] = write_documents([DOCUMENT], "w3c", tmp_path)
    path.with_suffix(".txt").write_text(f"Liebe {TEXT}", encoding="utf-8")

    with pytest.raises(
        CorpusError, match=r"a\.xml\.json: .*'𝔊oethe-Berg' is not at 5 in a\.xml\.txt"
    ):
        read_annotated(path)


@pytest.mark.parametrize("form", ["webanno", "w3c"])
def test_a_file_without_the_text_fits_one_that_has_its_words_at_their_places(form, tmp_path):
    [path] = write_documents([DOCUMENT], form, tmp_path)
    path.with_suffix(".txt").unlink(missing_ok=True)

    found = read_annotated(path)

    assert found.text is None
    assert found.fits(TEXT)
    assert not found.fits(f"Liebe {TEXT}")


def test_parts_of_a_token_are_counted_once(tmp_path):
    [path] = write_documents([DOCUMENT], "webanno", tmp_path)
    rows = path.read_text(encoding="utf-8").replace(
        "\n1-3\t", "\n1-2.1\t5-7\t𝔊\t_\tpart[9]\t\n1-3\t"
    )
    path.write_text(rows, encoding="utf-8")

    found = read_annotated(path)

    assert keys(found.mentions) == sorted([*keys(DOCUMENT.mentions), (5, 6, "part", "")])
    assert found.fits(TEXT)


def test_what_is_none_of_the_forms_is_named(tmp_path):
    (tmp_path / "a.xmi").write_text("<xmi")

    with pytest.raises(UsageError, match="of what form is it"):
        read_annotated(tmp_path / "a.docx")
    with pytest.raises(CorpusError, match=r"a\.xmi: cannot be read as UIMA CAS"):
        read_annotated(tmp_path / "a.xmi")


def test_a_path_without_files_of_a_tool_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere: no such file or folder"):
        files_of([tmp_path / "nowhere"])
    with pytest.raises(UsageError, match=r": holds no file that ends in \.xmi, "):
        files_of([tmp_path])


@pytest.mark.filterwarnings("default")  # as outside of tests
@pytest.mark.parametrize("form", ["xmi", "cas-json"])
def test_a_cas_with_a_place_outside_its_text_is_refused_at_once(form, tmp_path):
    [path] = write_documents([DOCUMENT], form, tmp_path)
    path.write_text(
        re.sub(r"(\bend\W+)\d+", r"\g<1>999", path.read_text("utf-8"), count=1), "utf-8"
    )

    with pytest.raises(CorpusError, match=r"offset \[999\]"):
        read_annotated(path)


def test_a_cas_with_a_dtd_is_refused(tmp_path):
    [path] = write_documents([DOCUMENT], "xmi", tmp_path)
    (tmp_path / "secret.txt").write_text("SECRET")
    declared = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{tmp_path}/secret.txt">]>'
    for file in (path, path.with_name("TypeSystem.xml")):
        whole = file.read_text("utf-8")
        file.write_text(whole.replace("?>", f"?>{declared}", 1), "utf-8")
        with pytest.raises(CorpusError, match="DOCTYPE"):
            read_annotated(path)
        file.write_text(whole, "utf-8")
    assert read_annotated(path).text == TEXT


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "[" * 100_000),
        ("a.cas.json", "[" * 100_000),
        (
            "a.json",
            '[{"target": {"selector": {"type": "TextPositionSelector", "start": 0.5, "end": 1}}}]',
        ),
        ("a.ann", "T1\tperson 2 99\tx"),
        ("a.spacy", "x"),
    ],
)
def test_what_cannot_be_in_a_text_is_said(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    (tmp_path / "a.txt").write_text("Ida")

    with pytest.raises(CorpusError, match=name):
        read_annotated(tmp_path / name)


def test_a_packed_file_that_is_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("corpora.ner.exchange._MAX_BYTES", 1000)
    (tmp_path / "a.spacy").write_bytes(zlib.compress(bytes(100_000)))

    with pytest.raises(CorpusError, match="unpacked"):
        read_annotated(tmp_path / "a.spacy")


CHARACTERS = st.text("aB1 \t\n[]|_\\;*->.\U0001d50a\u0301", min_size=1, max_size=20)


@st.composite
def documents(draw):
    """Draw a text with names that nest in two levels at most."""
    text = draw(CHARACTERS.filter(str.strip))
    mentions = []
    for start, end in pairwise(sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))):
        label = draw(st.sampled_from(["a|b", "_", "x[1]", "*y"]))
        mentions.append(Mention(start, end, label=label))
        if end - start > 1 and draw(st.booleans()):
            mentions.append(Mention(start + 1, end, label="inner"))
    kept = tuple(m for m in mentions if text[m.start : m.end].strip())
    return Document(id="d", group="g", source="d", text=text, mentions=kept)


def surfaces(rows):
    """Return each name as its characters without blanks, and its label."""
    return sorted(
        ("".join("".join(row["tokens"][s.start : s.end]).split()), s.label)
        for row in rows
        for tags in (row["tags"], row["inner_tags"] or [])
        for s in from_iob2(tags)
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(document=documents())
@pytest.mark.parametrize("form", ["webanno", "brat"])
def test_files_of_a_tool_are_read_as_a_set_without_loss(tmp_path, form, document):
    [path] = write_documents([document], form, tmp_path / form)

    _, rows, made = read(path)
    for written in (tmp_path / form).iterdir():
        written.unlink()

    names = ((document.text[m.start : m.end], m.label) for m in document.mentions)
    expected = [("".join(surface.split()), label) for surface, label in names]
    assert surfaces(rows) == sorted(expected)
    assert not made.rejected
