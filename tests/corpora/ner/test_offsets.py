"""Offsets that count something else than characters are read right, or refused; no name is cut."""

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.ner.bad_records import BadRecordError
from corpora.ner.offsets import CHARACTERS, Counting, WrittenName, find_counting
from tests.corpora.ner.reading import read, show

TEXT = "👞👞 Heute ging Ada Lovelace nach Jena\r\nund wohnte in Łódź."
NAMES = [("Ada Lovelace", "PER"), ("Jena", "LOC"), ("Łódź", "LOC")]
LENGTHS = {
    "characters": len,
    "UTF-16 units": lambda text: len(text.encode("utf-16-le")) // 2,
    "bytes": lambda text: len(text.encode()),
    "characters with a line end as one": lambda text: len(text.replace("\r\n", "\n")),
}
COUNTINGS = [Counting(unit, is_inclusive) for unit in LENGTHS for is_inclusive in (False, True)]


class Text(NamedTuple):
    text: str
    names: list[WrittenName]


def written(counting, *, has_surfaces, text=TEXT, names=NAMES):
    """Write the names of a text with offsets of a kind."""
    length = LENGTHS[counting.unit]
    starts = [(length(text[: text.index(name)]), name, label) for name, label in names]
    return [
        WrittenName(
            start,
            start + length(name) - counting.is_inclusive,
            label,
            name if has_surfaces else None,
        )
        for start, name, label in starts
    ]


@pytest.mark.parametrize("has_surfaces", [True, False])
@pytest.mark.parametrize("counting", COUNTINGS, ids=str)
def test_what_offsets_count_is_found_out_from_the_text(counting, has_surfaces):
    names = written(counting, has_surfaces=has_surfaces)

    found = find_counting([Text(TEXT, names)])

    mentions = found.mentions(TEXT, names)
    assert [(TEXT[m.start : m.end], m.label) for m in mentions] == NAMES


@pytest.mark.parametrize("form", ["spans", "label studio", "csv", "pubtator", "brat"])
@pytest.mark.parametrize("unit", ["UTF-16 units", "bytes"])
def test_no_format_with_offsets_cuts_a_name(tmp_path, unit, form):
    text = TEXT.replace("\r\n", " ")
    names = written(Counting(unit), has_surfaces=False, text=text)
    places = [[name.start, name.end, name.label] for name in names]
    rows = [(*place, surface) for place, (surface, _) in zip(places, NAMES, strict=True)]
    path = tmp_path / {"csv": "a.csv", "brat": "a.ann", "pubtator": "a.tsv"}.get(form, "a.json")
    if form == "brat":
        (tmp_path / "a.txt").write_text(text, "utf-8")
    path.write_text(
        {
            "spans": json.dumps({"text": text, "label": places}),
            "label studio": json.dumps([{
                "data": {"text": text},
                "annotations": [{"result": [
                    {"value": {"start": a, "end": b, "labels": [label]}} for a, b, label in places
                ]}],
            }]),
            "csv": f'text,label\n{text},"{json.dumps(places).replace(chr(34), chr(34) * 2)}"\n',
            "pubtator": f"7|t|{text}\n7|a|Ende.\n"
            + "".join(f"7\t{a}\t{b}\t{name}\t{label}\n" for a, b, label, name in rows),
            "brat": "".join(f"T{a}\t{label} {a} {b}\t{name}\n" for a, b, label, name in rows),
        }[form],
        "utf-8",
    )  # fmt: skip

    _, found, made = read(path)

    shown = " ".join(show(row["tokens"], row["tags"]) for row in found)
    assert "Ada/B-PER Lovelace/I-PER nach Jena/B-LOC und wohnte in Łódź/B-LOC" in shown
    assert not made.rejected


def test_inclusive_ends_without_surfaces_need_most_names():
    texts = [Text("Ada kam nach Jena.", [WrittenName(0, 2, "PER"), WrittenName(13, 16, "LOC")])]
    parts = [Text("Jenas Wald.", [WrittenName(0, 4, "LOC")])]

    assert find_counting(texts) == Counting(is_inclusive=True)
    assert find_counting(parts) == CHARACTERS


def test_names_that_begin_inside_words_however_they_count_are_refused():
    names = [WrittenName(at, at + 5, "PER") for at in (2, 15, 30)]
    texts = [Text("Heinrich kam Wilhelmine sah Eduard.", names)]

    with pytest.raises(BadRecordError, match="3 of 3 names of the file begin inside words"):
        find_counting(texts)


@given(st.text(st.sampled_from("aä北한"), min_size=2, max_size=12), st.data())
def test_scripts_without_spaces_say_nothing_of_offsets(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    solid = text.replace("a", "北").replace("ä", "한")

    assert find_counting([Text(solid, [WrittenName(start, end, "X")])]) == CHARACTERS
