"""References as an edition writes them."""

from collections import Counter

import pytest

from corpora.document import Document, Mention
from corpora.registers.entry import Entry
from corpora.registers.references import Habits, Referrer, Usage, parse_style, usages_of, usual
from corpora.registers.register import Register
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.style import reference


@pytest.fixture(scope="module")
def edition(tmp_path_factory):
    path = tmp_path_factory.mktemp("edition") / "mine.toml"
    path.write_text('name = "mine"\n[entities.spaces]\n"#pmb" = "pmb"\n')
    return load_edition(edition_path(str(path)))


def mention(entity, label="place", **attributes):
    own = {f"@{name}": value for name, value in attributes.items()}
    return Mention(0, 3, label=label, entity=entity, attributes=own)


def document(name):
    return Document(id="a", group="mine", source="a", text="Ulm", mentions=(name,))


SEEN = [
    mention("mine:o1", ref="#o1"),
    mention("mine:o2 mine:o3", ref="#o2 #o3"),
    mention("pmb:50", ref="#pmb50"),
    mention("mine:Lang (Ida)", "person", key="Lang (Ida)"),
]


@pytest.mark.parametrize(
    ("entity", "label", "written"),
    [
        ("mine:o9", "place", {"@ref": "#o9"}),
        ("mine:o9 mine:o1", "place", {"@ref": "#o9 #o1"}),
        ("mine:o9 pmb:7", "place", {"@ref": "#o9 #pmb7"}),
        ("pmb:7", "place", {"@ref": "#pmb7"}),
        ("mine:Roth (Eva)", "person", {"@key": "Roth (Eva)"}),
        ("gnd:7", "place", {}),
        ("mine:o9", "date", {}),
        ("mine:Ulm (Stadt)", "place", {}),
    ],
)
def test_a_name_is_referred_to_as_others_of_its_label_are(entity, label, written, edition):
    habits = Habits(edition)
    habits.learn(map(document, SEEN))

    referred = habits.refer_to_same(mention(entity, label))

    assert (referred.attributes, referred.entity) == (written, entity)


def test_several_entities_are_written_as_one_ref(edition):
    habits, several = Habits(edition), mention("mine:o9 mine:o1")

    assert reference(several, edition) == ("ref", "#o9 #o1")  # nothing shows how
    habits.learn(map(document, SEEN))
    assert habits.refer(several).attributes == {"@ref": "#o9 #o1"}
    assert reference(mention("mine:Lang (Ida)"), edition) == ("key", "Lang (Ida)")


def test_several_ids_show_how_each_of_them_is_written(edition):
    several = mention("mine:o2 pmb:3", ref="#o2 #pmb3")
    habits = Habits(edition)

    habits.learn([document(several)])

    assert habits.refer_to_same(mention("pmb:7")).attributes == {"@ref": "#pmb7"}
    assert [*usages_of([several])] == [
        Usage("place", "mine", "ref", "#{}"),
        Usage("place", "pmb", "ref", "#pmb{}"),
    ]


@pytest.mark.parametrize(
    ("entity", "ref"), [("mine:o1", "#o1 #pmb2"), ("mine:o1 mine:o2", "#o1 #o2")]
)
def test_several_ids_show_how_entries_of_a_register_are_written(entity, ref, edition):
    entries = {id: Entry(id=id, kind="place", name="Ulm") for id in ("o1", "o2", "o9")}
    referrer = Referrer(edition)

    referrer.learn([document(mention(entity, ref=ref))], Register(entries, Counter(), {}))

    assert referrer.refer(mention(None), entries["o9"]).attributes == {"@ref": "#o9"}


def test_of_two_attributes_that_refer_equally_often_the_edition_s_first_is_written(edition):
    register = Register({"o1": Entry(id="o1", kind="place", name="Ulm")}, Counter(), {})
    referrer, labels = Referrer(edition), [f"place{n}" for n in range(20)]
    names = [mention("mine:o1", of, key=f"{of}/o1", ref=f"#{of}-o1") for of in labels]

    referrer.learn(map(document, names), register)

    assert {referrer.style(label).attribute for label in labels} == {edition.entity[0]}


def test_what_files_do_not_show_is_written_as_elsewhere_in_the_edition(edition):
    elsewhere = [Usage("place", "pmb", "n", "{}"), *usages_of(SEEN)]  # @n refers to nothing here

    habits = Habits(edition, elsewhere=elsewhere)

    assert habits.refer_to_same(mention("pmb:7")).attributes == {"@ref": "#pmb7"}
    assert habits.refer_to_same(mention("mine:o9")).attributes == {"@ref": "#o9"}
    assert habits.refer_to_same(mention("gnd:7")).attributes == {}
    habits.learn([document(mention("mine:o9", key="o9"))])
    assert habits.refer_to_same(mention("mine:o8")).attributes == {"@key": "o8"}


def test_of_the_styles_of_an_attribute_the_most_frequent_is_kept():
    seen = [mention(f"mine:o{n}", ref=f"list{n % 500}.xml#o{n}", n=f"{n}") for n in range(1000)]
    seen += [mention(f"mine:o{n}", ref=f"#o{n}") for n in range(3)]

    assert usual(Counter(usages_of(seen))) == [Usage("place", "mine", "ref", "#{}")]


def test_a_given_style_outweighs_habits_where_it_says_the_same(edition):
    habits = Habits(edition, given=parse_style("key={}", edition))
    habits.learn(map(document, SEEN))

    assert habits.refer_to_same(mention("mine:o9")).attributes == {"@key": "o9"}
    assert habits.refer_to_same(mention("pmb:7")).attributes == {}
