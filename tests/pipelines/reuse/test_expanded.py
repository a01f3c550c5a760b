"""A refresh with --reuse of a wiki whose own templates are shown by their definitions."""

from dataclasses import replace

import pytest

from corpora.datasets.shards import open_dataset
from tests.corpora.wikipedia.small_wiki import Page, SmallWiki
from tests.pipelines.reuse.small_refreshes import N_DOCUMENTS, WIKI, refresh, rows_of, run

pytestmark = pytest.mark.usefixtures("without_runner")
EXPAND = ("--expand-templates",)
TEMPLATES = (
    Page(500, "Vorlage:Fluss", "der [[{{{1}}}]]{{{2|, ein Fluss}}}", namespace=10),
    Page(501, "Vorlage:Strom", "Vorlage:Fluss", namespace=10, is_redirect=True),
    Page(502, "Vorlage:Maß", "Vorlage:Nowrap", namespace=10, is_redirect=True),
    Page(503, "Vorlage:Rechnung", "{{#time:Y}}", namespace=10),
    Page(504, "Vorlage:Ort", "[[Kahn]] ({{{1}}})", namespace=10),
    Page(505, "Vorlage:Bach", "{{Rinnsal|{{{1}}}}} im Tal", namespace=10),
    Page(506, "Vorlage:Rinnsal", "[[{{{1}}}]]", namespace=10),
    Page(509, "Vorlage:Belege fehlen", "Quelle? [[Kategorie:Ohne Quelle]]", namespace=10),
    Page(508, "Vorlage:Lage", "* Karte\n[[Kategorie:Im {{{1}}}]]", namespace=10),
)
ARTICLES = (
    Page(600, "Tal", "Hier fließt {{Strom|Orbel}}."),
    Page(601, "Aue", "Hier fließt {{fluss|Flanne|}} {{Maß|5 km}} breit."),
    Page(602, "Wehr", "Es hat {{Rechnung|2}} Tore und {{Neu|drei}} Stege."),
    Page(603, "Furt", "Sie liegt flach.<ref>{{Ort|[[Mühle]]}}</ref>\n{|\n| {{Ort|Heck}}\n|}"),
    Page(604, "Klamm", "Darin rauscht {{Bach|Orbel}}."),
    Page(605, "Joch", "Hier ist es eng. {{Lage|Tal}} [[Kategorie:Pass]]{{Belege fehlen}}"),
)
N = len(ARTICLES)
ALL = SmallWiki((*WIKI.pages, *TEMPLATES, *ARTICLES))

# name: (edit, titles of the articles that are read again)
EDITS = {
    "nothing": (lambda w: w, set()),
    "definition changed": (lambda w: w.edit("Vorlage:Fluss", text="[[{{{1}}}]]"), {"Tal", "Aue"}),
    "redirect of a template changed": (
        lambda w: w.edit("Vorlage:Strom", text="Vorlage:Ort"),
        {"Tal"},
    ),
    "definition gone": (lambda w: w.without("Vorlage:Strom"), {"Tal"}),
    "definition new": (
        lambda w: w.plus(Page(507, "Vorlage:Neu", "''{{{1}}}''", namespace=10)),
        {"Wehr"},
    ),
    "no definition becomes one": (lambda w: w.edit("Vorlage:Rechnung", text="{{{1}}}"), {"Wehr"}),
    "definition of a template that is not used": (
        lambda w: w.plus(Page(507, "Vorlage:Leer", "leer", namespace=10)),
        set(),
    ),
    "edited, but not what is shown": (
        lambda w: w.edit("Vorlage:Ort", text="[[Kahn]] ({{{1}}})<noinclude>Doku</noinclude>"),
        set(),
    ),
    "definition that another one calls changed": (
        lambda w: w.edit("Vorlage:Rinnsal", text="der Bach [[{{{1}}}]]"),
        {"Klamm"},
    ),
    "category of a template changed": (
        lambda w: w.edit("Vorlage:Lage", text="* Karte\n[[Kategorie:Am {{{1}}}]]"),
        {"Joch"},
    ),
    "redirect to what our tables show is gone": (lambda w: w.without("Vorlage:Maß"), {"Aue"}),
}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    output = tmp_path_factory.mktemp("earlier") / "out"
    assert run(ALL, output, *EXPAND, month=10) == 0
    return output


@pytest.mark.parametrize("name", EDITS)
def test_pages_whose_templates_say_something_else_are_read_again(name, earlier, tmp_path):
    edit, titles = EDITS[name]

    counts = refresh(edit(ALL), earlier, tmp_path, *EXPAND)

    assert counts["taken over"] == N_DOCUMENTS + N - len(titles)
    texts, before = (
        {row["title"]: (row["text"], row["categories"]) for row in rows_of(output)}
        for output in (tmp_path / "new", earlier)
    )
    assert {title for title in texts if texts[title] != before[title]} == titles


def test_templates_put_pages_into_categories(earlier):
    [pass_] = [row for row in rows_of(earlier) if row["title"] == "Joch"]

    assert pass_["categories"] == ["Im Tal", "Ohne Quelle", "Pass"]


def test_templates_in_blocks_are_asked_for_too(tmp_path):
    options = (*EXPAND, "--blocks", "tables,references")
    assert run(ALL, tmp_path / "old", *options, month=10) == 0

    wiki = ALL.edit("Vorlage:Ort", text="{{{1}}} am [[Netz]]")
    counts = refresh(wiki, tmp_path / "old", tmp_path, *options)

    assert counts["taken over"] == N_DOCUMENTS + N - 1
    blocks = list(open_dataset(tmp_path / "new" / "blocks").rows())
    assert [block["text"] for block in blocks] == ["Mühle am Netz", "Heck am Netz"]


def test_only_runs_that_show_templates_keep_their_names(earlier, tmp_path):
    assert run(replace(ALL, pages=ALL.pages[-9:]), tmp_path / "plain") == 0

    asked = {note["id"]: note["templates"] for note in open_dataset(earlier / "reuse").rows()}

    assert asked["kleinwiki:601"] == ["Fluss", "Maß"]
    assert asked["kleinwiki:602"] == ["Neu", "Rechnung"]
    assert all(
        note["templates"] is None and note["definitions"] is None
        for note in open_dataset(tmp_path / "plain" / "reuse").rows()
    )
