"""Suggestions of a tagger, and the file that keeps them."""

import logging
from dataclasses import replace

from corpora.document import Document, Mention
from corpora.tei.provenance import Model
from modeling.workbench.letters import FileTexts
from modeling.workbench.suggestions import TaggedSuggestions

MODEL = Model(id="onoma-1", name="A tagger", version="1", sha256="0" * 64)
NAME = Mention(0, 4, label="Ort", entity="Köln", score=0.9, origin="prediction")
FILE = FileTexts("1.xml", [Document(id="1", group="1", source="1", text="Köln")])
OTHER = FileTexts("2.xml", [Document(id="2", group="2", source="2", text="Köln.")])


class Tagger:
    """A tagger that finds the same name in all documents."""

    label_map = None

    def annotate_all(self, documents):
        return [replace(document, mentions=(NAME,)) for document in documents]


def suggestions(cache):
    return TaggedSuggestions(Tagger(), MODEL, cache)


def test_a_line_that_was_cut_inside_a_character_is_found_again(tmp_path):
    cache = tmp_path / "names.jsonl"
    for file in (FILE, OTHER):
        suggestions(cache).find(file)
    data = cache.read_bytes().rstrip()
    cache.write_bytes(data[: data.rindex("ö".encode()) + 1])  # half of a character

    opened = suggestions(cache)
    assert opened.known(FILE) == [[NAME]]
    assert opened.known(OTHER) is None
    opened.find(OTHER)

    assert suggestions(cache).known(OTHER) == [[NAME]]  # the cut line has an end


def test_a_line_end_in_an_id_of_a_document_cuts_no_line(tmp_path):
    cache = tmp_path / "names.jsonl"
    documents = [replace(document, id="1\u2028") for document in FILE.documents]
    suggestions(cache).find(FileTexts("1.xml", documents))

    assert suggestions(cache).known(FileTexts("1.xml", documents)) == [[NAME]]


def test_names_are_suggested_where_they_cannot_be_kept(tmp_path, caplog):
    (tmp_path / "file").touch()

    with caplog.at_level(logging.WARNING):
        found = suggestions(tmp_path / "file" / "names.jsonl").find(FILE)

    assert found == [[NAME]]
    assert "tagged again" in caplog.text
