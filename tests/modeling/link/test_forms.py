import pytest

from modeling.link.forms import KINDS, LinkForms, learn_endings

PAIRS = [
    ("Franz Marc", "p:1"),
    ("Peru", "o:1"),
    ("Perus", "o:1"),
    ("Basel", "o:2"),
    ("Basels", "o:2"),
    ("Lichtenstein", "p:2"),
    ("Humboldt", "p:3"),
    ("Grillparzerstraße", "o:3"),
    ("Otto Julius Bierbaum", "p:4"),
    ("F. Hodler", "p:5"),
    ("Ehrhardt", "p:6"),
]


@pytest.fixture(scope="module")
def forms():
    return LinkForms(PAIRS)


@pytest.mark.parametrize(
    ("name", "entity", "kind"),
    [
        ("Franz Marc", "p:1", "exact"),
        ("franz MARC", "p:1", "normal"),
        ("FranzMarc", "p:1", "normal"),
        ("F. Marc", "p:1", "words"),
        ("Marc", "p:1", "words"),
        ("Herrn Franz Marc", "p:1", "words"),
        ("Humboldts", "p:3", "words"),  # the ending that Peru and Basel show
        ("Lichtenst.", "p:2", "words"),
        ("Grillparzerstr.", "o:3", "words"),
        ("Otto Jul. Bierbaum", "p:4", "words"),
        ("Ferdinand Hodler", "p:5", "words"),
        ("Lichtcnstein", "p:2", "similar"),  # as optical character recognition reads it
        ("Ehr hart", "p:6", "similar"),
    ],
)
def test_a_name_is_found_however_it_is_written(forms, name, entity, kind):
    hit = forms.look_up(name)[0]

    assert (forms.entities[hit.form], KINDS[hit.kind]) == (entity, kind)


def test_initials_alone_match_no_form_of_other_words(forms):
    assert [forms.entities[hit.form] for hit in forms.look_up("Fritz Baum")] == []


def test_a_word_of_a_form_is_matched_by_one_word_of_the_name():
    few = LinkForms([("A. Meier", "p:1"), ("Anna Alma Meier", "p:2"), ("Baden-Baden", "o:1")])

    def similarities(name):
        return {few.texts[hit.form]: hit.similarity for hit in few.look_up(name)}

    assert similarities("Anna Alma Meier")["A. Meier"] < similarities("Anna Meier")["A. Meier"]
    assert similarities("Meier Meier")["A. Meier"] < similarities("Meier")["A. Meier"]
    assert similarities("zu Baden-Baden")["Baden-Baden"] > similarities("Baden")["Baden-Baden"]


def test_hidden_forms_are_as_if_they_were_not_known(forms):
    hidden = frozenset({forms.number_of("Lichtenstein", "p:2")})

    assert not forms.look_up("Lichtenstein", hidden=hidden)
    assert forms.look_up("Lichtenstein")


def test_only_so_many_names_are_kept_with_what_was_found(monkeypatch):
    monkeypatch.setattr("modeling.link.forms._N_KEPT", 3)
    few, names = LinkForms(PAIRS), [form for form, _ in PAIRS]

    first = [few.look_up(name) for name in names]

    assert len(few._found) <= 3
    assert [few.look_up(name) for name in names] == first


@pytest.mark.parametrize(("n", "is_found"), [(2000, True), (2001, False)])
def test_a_word_of_very_many_forms_finds_none_of_them(n, is_found):
    many = LinkForms([(f"Street to Constantinople {number}", f"o:{number}") for number in range(n)])

    assert bool(many.look_up("Street")) == is_found


def test_endings_are_those_that_forms_of_several_entities_show():
    words = {"a": ["peru", "perus"], "b": ["basel", "basels"], "c": ["rom", "romanum"]}

    assert learn_endings(words) == {"s": [""], "": ["s"]}
