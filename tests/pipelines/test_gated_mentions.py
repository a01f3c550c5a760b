"""Mentions that are added where links of the same documents show them to be probable."""

import json
import random
from dataclasses import replace

import pytest

from corpora.datasets.shards import open_dataset
from corpora.document import Document, Mention
from corpora.matching import place_gate
from pipelines.augment_mentions import main
from tests.datasets import write_dataset

pytestmark = pytest.mark.usefixtures("without_runner")
TOWNS = [
    f"{first}{last}" for first in ("Vel", "Kor", "Alb", "Nim") for last in ("mo", "ta", "sund")
]
TYPES = ("Museum", "Harbour Railway", "Cathedral", "Football Club", "Observatory")


def document(number, *parts, title=None):
    """Build a document of strings, of (text, entity) for links, and of (text, entity, origin)."""
    text, mentions = "", []
    for part in parts:
        surface, entity, *origin = part if isinstance(part, tuple) else (part, None)
        if entity:
            start, end = len(text), len(text) + len(surface)
            origin = origin[0] if origin else "link"
            mentions.append(Mention(start, end, entity=f"x:{entity}", origin=origin))
        text += surface
    return Document(
        id=f"x:{number}",
        group="x",
        source="s",
        lang="en",
        title=title or f"Page {number}",
        text=text,
        mentions=tuple(mentions),
    )


def wiki(*, n=80):
    """Build pages that link towns, and longer names with the name of a town inside.

    The words *bank* and *up* are linked once; all pages have both without a link.
    """
    rng = random.Random(4)
    for number in range(n):
        linked, other, plain, long = rng.sample(TOWNS, 4)
        bank = ("bank", "Bank of Velmo") if number == 0 else "bank"
        up = ("up", "Up (film)") if number == 1 else "up"
        name = f"{long} {rng.choice(TYPES)}"
        yield document(
            number,
            *("They went to ", (linked, linked), " and saw ", (other, other), ", where a ", bank),
            *(
                " went ",
                up,
                ". Then they saw ",
                plain,
                ", and left for the ",
                (name, name),
                " in 1920.",
            ),
        )


FORMS = "".join(
    f"{form}\tx:{entity}\t1\t0.4\n"
    for form, entity in [
        *zip(TOWNS, TOWNS, strict=True),
        ("bank", "Bank of Velmo"),
        ("1920", "1920"),
    ]
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gated")
    (folder / "forms.tsv").write_text(FORMS, encoding="utf-8")
    write_dataset(folder / "documents", [*wiki()][:40], [*wiki()][40:])
    return folder


def run(folder, output, *options, policy="gated"):
    command = ["--input", str(folder / "documents"), "--forms", str(folder / "forms.tsv")]
    return main([*command, "--policy", policy, "--output", str(output), *options])


def added(output, *, origin="lexicon"):
    """Return the texts of added mentions, with the text beside them, in order."""
    return [
        (document.text[m.start : m.end], document.text[m.end :][:8])
        for document in open_dataset(output, "documents").records()
        for m in document.mentions
        if m.origin == origin
    ]


def test_names_are_added_and_common_words_are_not(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--min-precision", "0.8") == 0

    forms = [form for form, _ in added(tmp_path / "out")]
    assert len(forms) > 60
    assert set(forms) <= set(TOWNS)


def test_a_name_inside_a_longer_name_that_nobody_listed_is_held_back(tmp_path):
    text = " and then the Albta Museum, a sub-Albta, and Albta now."
    more = document(99, "See the ", ("Velmo", "Velmo"), text)
    write_dataset(tmp_path / "documents", *[[*wiki(), more]])
    (tmp_path / "forms.tsv").write_text(FORMS, encoding="utf-8")

    assert run(tmp_path, tmp_path / "out", "--min-precision", "0.8") == 0

    assert added(tmp_path / "out")[-1] == ("Albta", " now.")
    assert not {("Albta", " Museum,"), ("Albta", ", and Al")} & {*added(tmp_path / "out")}
    counters = open_dataset(tmp_path / "out").description["counters"]
    assert counters["mentions.held_back.inside_a_longer_name"] == 2
    assert counters["mentions.held_back.no_title"] == 0


def test_in_scripts_without_capitals_a_word_of_longer_names_after_a_form_shows_one(tmp_path):
    letters = "abcdefghijklmnopqrstuvwxyz"
    hebrew = {ord(x): 0x5D0 + n for n, c in enumerate(letters) for x in (c, c.upper())}
    more = document(99, "See ", ("Velmo", "Velmo"), " and Nimta Museum, and Nimta now.")
    documents = [
        replace(
            each,
            text=each.text.translate(hebrew),
            mentions=[
                replace(m, entity=f"x:{m.entity[2:].translate(hebrew)}") for m in each.mentions
            ],
        )
        for each in [*wiki(), more]
    ]
    write_dataset(tmp_path / "documents", documents)
    towns = [town.translate(hebrew) for town in TOWNS]
    lines = "".join(f"{town}\tx:{town}\t1\t0.4\n" for town in towns)
    (tmp_path / "forms.tsv").write_text(lines, encoding="utf-8")

    assert run(tmp_path, tmp_path / "out", "--min-precision", "0.5") == 0

    assert added(tmp_path / "out")[-1] == (towns[-2], " now.".translate(hebrew))
    assert (towns[-2], " Museum,".translate(hebrew)) not in added(tmp_path / "out")


def test_a_form_is_added_only_if_it_is_the_title(tmp_path):
    linked = document(98, "They went to ", ("Zelbor", "Zelbor (Peru)"), " and ", ("Zelta", "Zelta"))
    plain = document(
        *(99, "They went to Zelta and saw ", ("Velmo", "Velmo"), ", a zeltan town, ", "and Zelbor.")
    )
    write_dataset(tmp_path / "documents", [*wiki(), linked, plain])
    more = "Zelbor\tx:Zelbor (Peru)\t1\t0.4\n"
    more += "".join(f"{form}\tx:Zelta\t1\t0.4\n" for form in ("Zelta", "zeltan"))
    (tmp_path / "forms.tsv").write_text(FORMS + more, encoding="utf-8")

    assert run(tmp_path, tmp_path / "out", "--min-precision", "0.5") == 0

    assert {form for form, _ in added(tmp_path / "out")} - {*TOWNS} == {"Zelta"}
    counters = open_dataset(tmp_path / "out").description["counters"]
    assert counters["mentions.held_back.no_title"] >= 1


@pytest.mark.parametrize(("n_alike", "are_ids"), [(1, True), (2, False)])  # of 13: a tenth is 1.3
def test_ids_are_added_though_few_of_them_are_like_their_forms(tmp_path, n_alike, are_ids):
    ids = {f"x:{town}": f"x:P{number}" for number, town in enumerate(TOWNS[n_alike:])}
    documents = [
        replace(
            each, mentions=[replace(m, entity=ids.get(m.entity, m.entity)) for m in each.mentions]
        )
        for each in wiki()
    ]
    write_dataset(tmp_path / "documents", documents)
    forms = (f"{town}\t{ids.get(f'x:{town}', f'x:{town}')}\t1\t0.4\n" for town in TOWNS)
    text = "".join([*forms, "bank\tx:Bank of Velmo\t1\t0.4\n"])
    (tmp_path / "forms.tsv").write_text(text, encoding="utf-8")

    assert run(tmp_path, tmp_path / "out", "--min-precision", "0.8") == 0

    forms = {form for form, _ in added(tmp_path / "out")}
    assert bool(forms - {*TOWNS[:n_alike]}) == are_ids


def test_the_model_and_its_precision_lie_beside_the_output(inputs, tmp_path, capsys):
    assert run(inputs, tmp_path / "out", "--min-precision", "0.8") == 0

    evidence = json.loads((tmp_path / "out" / "evidence.json").read_text("utf-8"))
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert evidence["measured"]["precision"]["value"] >= 0.8
    assert "Expected precision: " in report
    assert "| Velmo | x:Velmo | " in report
    assert "links lead to entities" not in report
    scores = [
        mention.score
        for document in open_dataset(tmp_path / "out", "documents").records()
        for mention in document.mentions
        if mention.origin == "lexicon"
    ]
    assert min(scores) >= evidence["measured"]["threshold"] - 1e-6
    assert f"read  {tmp_path / 'out'}/report.md" in capsys.readouterr().out


def test_the_report_says_that_most_links_lead_to_other_entities(inputs, tmp_path):
    (tmp_path / "forms.tsv").write_text("Velmo\tx:Velmo\t1\t0.4\n", encoding="utf-8")
    (tmp_path / "documents").symlink_to(inputs / "documents")

    assert run(tmp_path, tmp_path / "out") == 0

    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert " of 242 links lead to entities of --forms" in report
    assert "`onoma vocab --existing any`" in report


def test_a_title_in_another_case_is_no_error_where_a_link_is_finer(tmp_path):
    (tmp_path / "forms.tsv").write_text(f"{FORMS}Velmos\tx:Velmo\t1\t0.4\n", encoding="utf-8")
    judged = []
    for name in ("Velmo (river)", "History of Velmo"):
        linked = document(99, "The past ", ("Velmos", name), " was short.")
        write_dataset(tmp_path / "documents", [*wiki(), linked])
        assert run(tmp_path, tmp_path / name) == 0
        judged.append(open_dataset(tmp_path / name).description["counters"]["places.judged"])

    assert judged[0] - judged[1] == 1


def test_two_workers_write_the_same_bytes(inputs, tmp_path):
    assert run(inputs, tmp_path / "one") == 0
    assert run(inputs, tmp_path / "two", "--workers", "2") == 0

    for name in ("shard-00000.arrow", "shard-00001.arrow", "evidence.json", "report.md"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def few_links(folder, *parts, forms):
    """Write one document and a table of forms: nothing to learn from."""
    write_dataset(folder / "documents", [document(1, *parts)])
    (folder / "forms.tsv").write_text(forms, encoding="utf-8")
    return folder


def test_without_links_only_sure_forms_are_added_and_the_precision_is_unknown(tmp_path):
    texts = ["Who went up to see the WHO. Up they went, and who saw Alba Korin up there? Up it is."]
    forms = "WHO\tx:World Health Organization\nUp\tx:Up (film)\nAlba Korin\tx:Alba Korin\n"
    few_links(tmp_path, *texts, forms=forms)

    assert run(tmp_path, tmp_path / "out") == 0

    assert [form for form, _ in added(tmp_path / "out")] == ["WHO", "Alba Korin"]
    assert "Precision unknown" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert not (tmp_path / "out" / "evidence.json").exists()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("There she met Paula Korin again.", "Korin"),
        ("They live in Frankfurt am Main now.", "Frankfurt"),
    ],
)
def test_a_known_form_that_is_refused_blocks_what_lies_inside_it(tmp_path, text, form):
    forms = (
        "Korin\tx:Korin\t1\t1\nFrankfurt\tx:Frankfurt (Oder)\t1\t1\n"
        "Paula Korin\tx:Paula 1\t0.5\t1\nPaula Korin\tx:Paula 2\t0.5\t1\n"
        "Frankfurt am Main\tx:A\t0.5\t1\nFrankfurt am Main\tx:B\t0.5\t1\n"
    )
    few_links(tmp_path, text, f" And {form} alone.", forms=forms)

    assert run(tmp_path, tmp_path / "out") == 0

    assert added(tmp_path / "out") in ([(form, " alone.")], [])
    counters = open_dataset(tmp_path / "out").description["counters"]
    assert counters["mentions.held_back.several_entities"] == 1


def test_only_remove_takes_out_doubtful_title_matches_and_adds_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(place_gate, "DOUBTFUL", 0.25)  # so few pages leave everything possible
    match = ("bank", "Bank of Velmo", "title_match")
    town = ("Velmo", "Velmo", "title_match")
    other = ("grammar", "Grammar", "title_match")  # no form of the list: its page links it
    part = "Here ", ("Velmo", "Velmo"), " is, and ", town, ", where a "
    more = document(99, *part, match, " went by ", other, ".")
    write_dataset(tmp_path / "documents", [*wiki(), more])
    (tmp_path / "forms.tsv").write_text(FORMS, encoding="utf-8")

    assert run(tmp_path, tmp_path / "out", "--only-remove", "--min-precision", "0.8") == 0

    assert added(tmp_path / "out") == []
    left = [form for form, _ in added(tmp_path / "out", origin="title_match")]
    assert left == ["Velmo", "grammar"]
