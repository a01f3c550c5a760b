"""Documents of several wikis to one space of entities, by their items in Wikidata."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from corpora.datasets.shards import open_dataset
from corpora.entities.lookup import EntityLookup, pairs_of, write_lookup
from corpora.entities.vocabulary import EntityVocab
from modeling.link.__main__ import main as link
from pipelines import augment_mentions, documents_to_entity_vocab
from tests.datasets import write_dataset
from tests.pipelines.entity_vocab.made_vocabularies import (
    aliases_of,
    build,
    document,
    entities_of,
    luke_of,
    rows_of,
)

pytestmark = pytest.mark.usefixtures("without_runner")

GERMANY, BERLIN = "wikidata:Q183", "wikidata:Q64"


def page(number, title, text, *links, wiki, item=None):
    made = document(number, title, text, *links, wiki=wiki)
    return replace(made, metadata={"wikidata": item} if item else {})


DANISH = [
    page(
        *(1, "Berlin", "Berlin er Tysklands hovedstad, ikke Rom."),
        *(("Tysklands", "dawiki:Tyskland"), ("Rom", "dawiki:Rom")),
        wiki="dawiki",
        item="Q64",
    ),
    page(2, "Tyskland", "Byen Berlin.", ("Berlin", "dawiki:Berlin"), wiki="dawiki", item="Q183"),
]
GERMAN = [
    page(5, "Berlin", "Berlin liegt da.", ("Berlin", "dewiki:Berlin"), wiki="dewiki", item="Q64"),
    page(
        *(6, "Deutschland", "Das Land der Spree."),
        *(("Land", "dewiki:Deutschland"), ("Spree", "dewiki:Spree")),
        wiki="dewiki",
        item="Q183",
    ),
    page(7, "Spree", "Ein Fluss.", wiki="dewiki"),
]
ENGLISH = [page(9, "Germany", "A state", ("state", "enwiki:Germany"), wiki="enwiki", item="Q183")]


@pytest.fixture(scope="module")
def wikis(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wikis")
    named = {"da": DANISH, "de": GERMAN, "en": ENGLISH}
    return [write_dataset(folder / lang / "documents", pages) for lang, pages in named.items()]


@pytest.fixture(scope="module")
def items(wikis, tmp_path_factory):
    return build(tmp_path_factory.mktemp("items") / "out", *wikis, languages=True)


def test_pages_of_one_item_are_one_entity_with_its_names_in_all_wikis(items):
    rows = {row["entity"]: row for row in rows_of(items)}

    assert entities_of(items) == {GERMANY: 3, BERLIN: 4, "dewiki:Spree": 5}
    assert rows[GERMANY]["names"] == ["dawiki:Tyskland", "dewiki:Deutschland", "enwiki:Germany"]
    assert (rows[GERMANY]["title"], rows[GERMANY]["count"]) == ("Tyskland", 3)
    assert rows["dewiki:Spree"]["names"] is None


def test_forms_of_an_item_say_in_which_languages_they_are_used(items):
    forms = {form: alias["langs"] for form, alias in aliases_of(items, GERMANY).items()}

    assert forms == {"Land": ["de"], "Tysklands": ["da"], "state": ["en"]}
    assert aliases_of(items, BERLIN)["Berlin"]["langs"] == ["da", "de"]


def test_red_links_stay_out_though_the_pages_of_their_wiki_are_called_after_items(items):
    assert open_dataset(items).description["counters"]["mentions.of_no_page"] == 1


def test_entities_of_few_languages_are_left_out_and_counted(wikis, tmp_path):
    three = build(tmp_path / "out", *wikis, languages=True, min_languages=3)

    assert entities_of(three) == {GERMANY: 3}
    counters = open_dataset(three).description["counters"]
    assert (counters["mentions.of_few_languages"], counters["mentions.of_no_page"]) == (4, 0)


def test_exports_have_the_titles_in_all_languages_as_mluke_does(items):
    keys = json.loads((items / "entity_vocab.json").read_text())

    assert luke_of(items)[3]["entities"] == [
        ["Tyskland", "da"],
        ["Deutschland", "de"],
        ["Germany", "en"],
    ]
    assert keys["de:Berlin"] == keys["da:Berlin"] == 4
    assert "wikidata:Berlin" not in keys
    assert luke_of(items)[0]["entities"] == [["[PAD]", lang] for lang in ("da", "de", "en")]


def test_an_entity_is_found_by_its_name_in_any_wiki(items):
    asked = pa.array(["enwiki:Germany", "dawiki:Berlin", GERMANY, "dewiki:Spree", "dawiki:Rom"])

    assert EntityVocab(items).ids_of(asked).to_pylist() == [3, 4, 3, 5, None]


def test_a_form_of_another_language_leads_to_the_page_of_the_documents_wiki(items, tmp_path):
    text = "Deutschland? Das Land er Tyskland; Spree."
    letters = write_dataset(tmp_path / "docs", [document(1, "Brev", text, wiki="dawiki")])

    output = tmp_path / "out"
    arguments = ["--input", str(letters), "--forms", str(items), "--output", str(output)]
    assert augment_mentions.main(arguments) == 0

    [made] = open_dataset(output).records()
    added = {text[m.start : m.end]: m.entity for m in made.mentions}
    assert added == {"Land": "dawiki:Tyskland", "Spree": "dewiki:Spree"}


def test_linkers_know_items_by_the_titles_of_a_wiki(items, tmp_path):
    write_lookup(tmp_path / "items", pairs_of(items))
    write_lookup(tmp_path / "german", pairs_of(items, space="dewiki"))

    items_of_form, of_german = (EntityLookup(tmp_path / name) for name in ("items", "german"))

    assert items_of_form.look_up("state") == [(GERMANY, 1.0)]
    assert of_german.look_up("state") == [("dewiki:Deutschland", 1.0)]
    assert "dewiki:Deutschland" in of_german
    assert "enwiki:Germany" in items_of_form


def test_a_linker_finds_what_a_form_of_another_language_means(tmp_path):
    folders = []
    for wiki, town in (("dawiki", "By"), ("dewiki", "Stadt")):
        pages = [
            page(
                *(n, f"{town} {n}", f"Om {town} {n} og {town} {(n + 1) % 20}."),
                *((f"{town} {m}", f"{wiki}:{town} {m}") for m in (n, (n + 1) % 20)),
                wiki=wiki,
                item=f"Q{n + 1}",
            )
            for n in range(20)
        ]
        folders.append(write_dataset(tmp_path / wiki, pages))
    vocab = build(tmp_path / "vocab", *folders, languages=True)
    new = document(99, "Brev", "Mod Stadt 7.", ("Stadt 7", None), wiki="dawiki")
    letters = write_dataset(tmp_path / "new", [new])
    index, linker, out = (str(tmp_path / name) for name in ("index", "linker", "out"))

    assert link(["index", str(vocab), "--wiki", "dawiki", "--output", index]) == 0
    given = ("--vocabulary", index, "--max-wrong", "0.1", "--output", linker)
    assert link(["train", str(folders[0]), *given]) == 0
    assert link(["apply", linker, "--documents", str(letters), "--output", out]) == 0

    [linked] = open_dataset(tmp_path / "out").records()
    assert [mention.entity for mention in linked.mentions] == ["dawiki:By 7"]


def langlinks(folder, wiki, *rows):
    """Write the dump of a wiki's links to other languages."""
    values = ",".join(f"({page},'{code}','{title}')" for page, code, title in rows)
    path = folder / f"{wiki}-20261101-langlinks.sql"
    path.write_text(
        f"-- Host: localhost    Database: {wiki}\nCREATE TABLE `langlinks` (\n  `ll_from` int,\n"
        f"  `ll_lang` varbinary(35),\n  `ll_title` varbinary(255)\n);\n"
        f"INSERT INTO `langlinks` VALUES {values};\n"
    )
    return path


def test_pages_that_link_to_each_other_are_one_entity_without_items(wikis, tmp_path):
    tables = [
        langlinks(
            tmp_path, "dawiki", (1, "de", "Berlin"), (2, "de", "Deutschland"), (2, "en", "Germany")
        ),
        langlinks(
            tmp_path,
            "dewiki",
            (5, "da", "Berlin"),
            (6, "da", "Tyskland"),
            (6, "en", "Germany"),
            (7, "fr", "Spree"),
        ),
        langlinks(
            tmp_path, "enwiki", (9, "da", "Tyskland"), (9, "de", "Deutschland"), (9, "sv", "X")
        ),
    ]

    linked = build(tmp_path / "out", *wikis, languages=True, langlinks=tuple(tables))

    germany = {row["entity"]: row for row in rows_of(linked)}["dawiki:Tyskland"]
    assert entities_of(linked) == {"dawiki:Tyskland": 3, "dawiki:Berlin": 4, "dewiki:Spree": 5}
    assert germany["names"] == ["dawiki:Tyskland", "dewiki:Deutschland", "enwiki:Germany"]
    assert germany["count"] == 3


def test_a_wiki_without_its_table_of_links_is_an_error(wikis, tmp_path, capsys):
    table = langlinks(tmp_path, "dawiki", (1, "de", "Berlin"))
    arguments = ["--input", *map(str, wikis), "--languages", "--langlinks", str(table)]

    assert documents_to_entity_vocab.main([*arguments, "--output", str(tmp_path / "out")]) == 1
    assert "no table of dewiki, enwiki" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--min-languages", "3"), "--min-languages is for --languages"),
        (("--languages", "--equivalents", "x.tsv"), "--equivalents: --languages finds them"),
    ],
)
def test_options_that_do_not_go_together_are_refused(wikis, tmp_path, options, message, capsys):
    arguments = ["--input", str(wikis[0]), "--output", str(tmp_path / "out"), *options]

    assert documents_to_entity_vocab.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_wikis_without_items_are_warned_of(tmp_path, capsys):
    bare = [replace(each, metadata={}) for each in DANISH]
    inputs = write_dataset(tmp_path / "documents", bare)

    arguments = ["--input", str(inputs), "--output", str(tmp_path / "out"), "--languages"]

    assert documents_to_entity_vocab.main(arguments) == 0
    assert "--page-props" in capsys.readouterr().out
