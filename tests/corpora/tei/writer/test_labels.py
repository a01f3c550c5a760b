"""Labels and documents: which an edition can write, and which it cannot."""

from dataclasses import replace

import pytest

from corpora.document import Mention
from corpora.errors import UsageError
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from corpora.tei.style import template
from corpora.tei.writer import write_predictions
from tests.corpora.tei.writer.written_names import MODEL, body, find, tei, write


def test_an_unknown_label_is_an_error_that_lists_the_known(edition):
    data = tei("<p>Goethe</p>")

    with pytest.raises(UsageError, match="has no label 'PER', nor any other"):
        template(replace(edition, labels={}), "PER")
    with pytest.raises(UsageError, match="has no label 'PER', only person, place"):
        write(data, edition, find(data, edition, "Goethe", label="PER"))


def test_an_unknown_document_is_an_error(edition):
    with pytest.raises(UsageError, match=r"has no document y\.xml, but x\.xml"):
        write_predictions(tei("<p>a</p>"), edition, {"y.xml": []}, name="x.xml", model=MODEL)


@pytest.mark.parametrize("name", ["sturm", "arendt", "schnitzler", "escher", "sks", "tei"])
def test_every_label_of_every_shipped_edition_can_be_written(name):
    edition = load_edition(edition_path(name))
    data = tei("<p>Goethe</p>")
    names = [find(data, edition, "Goethe", label=label) for label in edition.labels]

    written = [write(data, edition, one) for one in names]

    back = [read_tei(one.data, edition, name="x.xml")[0].document.mentions for one in written]
    assert [[m.label for m in mentions] for mentions in back] == [[x] for x in edition.labels]


def test_the_defaults_write_events_as_all_releases_of_tei_have_them(edition):
    data = tei("<p>am Reichstag</p>")

    written = write(data, edition, find(data, edition, "Reichstag", label="event"))

    assert body(written) == '<p>am <name type="event">Reichstag</name></p>'


def test_the_edition_says_how_a_name_is_written(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        "[labels]\nperson = [\"persName\", \"rs[@type='person'|'god']\"]\n"
        "[write]\nperson = \"rs[@type='person']\"\n"
    )
    edition = load_edition(path)
    data = tei("<p>Goethe</p>")

    written = write(data, edition, find(data, edition, "Goethe"))

    assert body(written) == '<p><rs type="person">Goethe</rs></p>'


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("placeName", r"the element is read as no name; its pattern must stand in \[labels\]"),
        ("persName[@type]", "does not say what to write"),
        ("p/persName", "does not say what to write"),
        ("*", "does not say what to write"),
    ],
)
def test_a_template_that_cannot_be_read_back_is_refused(template, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f'[labels]\nperson = ["persName"]\n[write]\nperson = "{template}"\n')

    with pytest.raises(UsageError, match=message):
        load_edition(path)


def test_a_label_that_no_pattern_says_how_to_write_asks_for_a_template(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[labels]\nperson = ["p/persName"]\n')
    edition = load_edition(path)

    with pytest.raises(UsageError, match=r"its list in \[labels\] .*: \"(.*)\"\.") as error:
        write(tei("<p>a</p>"), edition, Mention(0, 1, label="person"))

    path.write_text("[labels]\nperson = ['p/persName', \"rs[@type='person']\"]\n")
    assert "\"rs[@type='person']\"" in str(error.value)
    assert body(write(tei("<p>a</p>"), load_edition(path), Mention(0, 1, label="person"))) == (
        '<p><rs type="person">a</rs></p>'
    )
