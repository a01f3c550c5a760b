from dataclasses import replace

import pytest

from corpora.document import Mention
from corpora.errors import UsageError
from corpora.tei.edition import Role, edition_path, load_edition, shipped_editions
from corpora.tei.pointers import with_space
from corpora.tei.style import reference
from corpora.tei.xml import Element


def load(tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return load_edition(file)


def labels_of(edition, element):
    meaning = edition.meaning(element)
    return [meaning.label] if meaning.is_name else []


def is_left_out(edition, name):
    return edition.meaning(Element(name, {})).role is Role.LEAVE_OUT


def test_edition_lies_over_the_defaults(tmp_path):
    edition = load(tmp_path, '[labels]\nPER = ["persName"]\n')

    assert edition.name == "mine"
    assert labels_of(edition, Element("persName", {})) == ["PER"]
    assert labels_of(edition, Element("placeName", {})) == []
    assert is_left_out(edition, "teiHeader")


def test_the_defaults_have_no_patterns_of_their_own_wherever_they_lie(tmp_path):
    copy = tmp_path / "tei.toml"
    copy.write_bytes(edition_path("tei").read_bytes())

    assert load_edition(copy).own == load_edition(edition_path("tei")).own == ()


def test_dots_stand_for_the_default_and_an_exclamation_mark_takes_away(tmp_path):
    edition = load(tmp_path, '[text]\nleave_out = ["...", "!del", "note"]\n')

    assert is_left_out(edition, "note")
    assert is_left_out(edition, "fw")
    assert not is_left_out(edition, "del")


def test_list_without_dots_replaces_the_default(tmp_path):
    edition = load(tmp_path, '[text]\nleave_out = ["note"]\n')

    assert not is_left_out(edition, "fw")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'lang = "de"\n\n[lables]\npers = ["persName"]\n',
            r"mine.toml:3: lables: unknown .*labels",
        ),
        ('\n[text]\nleave_uot = ["note"]\n', r"mine.toml:3: leave_uot: unknown .*leave_out"),
        ('[labels]\na = ["x"]\npers = ["persName[@type=x]"]\n', r"mine.toml:3: .*cannot read"),
        ('[labels]\npers = "persName"\n', r"mine.toml:2: pers = 'persName': must be a list"),
        ('[labels]\npers = ["persName"\n', r"mine.toml:3: not valid TOML"),
        ('[labels]\npers = ["persName]\n', r"mine.toml:2: not valid TOML"),
        ('extends = "strum"\n', r"mine.toml:1: extends 'strum'"),
        ("# about lang\nlang = 5\n", r"mine.toml:2: lang = 5: must be a non-empty string"),
        ('content = "text"\n', r"mine.toml:1: content = 'text': must be a list"),
        ("content = []\n", r"mine.toml:1: content must name"),
        ("[entities]\nattributes = 'key'\n", r"mine.toml:2: attributes = 'key': must be a list"),
        ("[entities]\nspaces = 3\n", r"mine.toml:2: spaces = 3: must be a table"),
        ("[choose]\n\"choice[@x]\" = ['abbr']\n", r"mine.toml:2: .*must be the name"),
        ("[choose.choice]\nabbr = 'x'\n", r"mine.toml:1: choice = .*: must be a list"),
        ("[labels]\n'my label' = ['x']\n", r"mine.toml:2: the label 'my label'"),
        ('name = "my letters"\n', r"mine.toml:1: 'my letters' holds white .*'my-letters'"),
        ('[entities.spaces]\n"http://a.b/" = "a:b"\n', r"mine.toml:2: 'a:b' holds .*'a-b'"),
        ("[labels]\na = ['...', 'x']\n", r"mine.toml:2: .*expected an element's name"),
        ("[labels]\na = ['tei:persName']\n", r"mine.toml:2: .*cannot read"),
        ("[text]\nleave_out = ['...', '!lbb']\n", r"mine.toml:2: '!lbb' takes nothing"),
        ("[breaks]\nline_end_hyphens = 'no'\n", r"mine.toml:2: .*must be one of keep, remove"),
        ("[characters]\nc = ''\n", r"mine.toml:2: c = '': must be a non-empty string"),
        ("a = " + "[" * 3000, r"mine.toml: cannot be read"),
    ],
)
def test_typo_is_refused_with_file_and_line(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        load(tmp_path, text)


def test_unknown_edition_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="arendt, escher, schnitzler, sks, sturm, tei"):
        edition_path("strum")


@pytest.mark.parametrize("name", shipped_editions())
def test_shipped_edition_is_valid(name):
    edition = load_edition(edition_path(name))

    assert edition.name == name
    assert edition.labels


def test_arendt_labels_follow_the_published_set():
    edition = load_edition(edition_path("arendt"))
    labels = {
        kind: labels_of(edition, Element("name", {"type": kind}))
        for kind in ("deity", "country", "ethnicity", "ship", "language")
    }

    assert labels == {
        "deity": ["person"],
        "country": ["place"],
        "ethnicity": ["ethnicity"],
        "ship": [],
        "language": ["language"],
    }


def test_the_name_of_a_file_with_spaces_is_that_of_an_edition_without(tmp_path):
    file = tmp_path / "Meine Briefe 1.toml"
    file.write_text("[labels]\nperson = ['persName']\n")

    edition = load_edition(file)

    assert edition.name == "Meine-Briefe-1"
    mention = Mention(0, 3, label="person", entity=f"{edition.name}:p1 {edition.name}:p2")
    assert reference(mention, replace(edition, entity=("ref",))) == ("ref", "#p1 #p2")


def test_of_the_beginnings_of_an_id_the_longest_says_its_space(tmp_path):
    spaces = '[entities.spaces]\n"https://a.org/" = "a"\n"https://a.org/works/" = "works"\n'
    edition = load(tmp_path, spaces)

    assert with_space("https://a.org/works/7", edition) == "works:7"
    assert with_space("https://a.org/p7", edition) == "a:p7"
