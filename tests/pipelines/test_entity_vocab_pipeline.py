"""Documents to an entity vocabulary: against a naive count, from the options to the exports."""

import json
import random
import tempfile
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.build import hold
from corpora.document import Document, Mention
from corpora.entity_vocab import SPECIAL, EntityVocab
from corpora.inspection import main as shards
from corpora.rows import document_to_row
from corpora.schemas import SCHEMAS
from corpora.shards import ShardWriter, open_dataset, write_json
from pipelines import documents_to_entity_vocab as pipeline
from pipelines.run import _tasks
from pipelines.work import do_merge, do_unit
from tests.pipelines.test_tei_to_ner import files_of

NAME = "pipelines.documents_to_entity_vocab"


def document(number, title, text, *links, wiki="dawiki", origin="link"):
    """An article; a link is the surface text, found at its first place, and its entity."""
    spans = [(text.index(form), form, entity) for form, entity in links]
    mentions = [Mention(at, at + len(form), entity, origin=origin) for at, form, entity in spans]
    return Document(
        id=f"{wiki}:{number}",
        group=wiki,
        source="test",
        lang=wiki[:2],
        title=title,
        text=text,
        mentions=tuple(sorted(mentions)),
    )


def write_dataset(folder, *shards_of_documents):
    """A dataset of documents, a shard for each list."""
    folder.mkdir(parents=True)
    written = []
    for number, documents in enumerate(shards_of_documents):
        path = folder / f"shard-{number:05d}.arrow"
        with ShardWriter(path, SCHEMAS["documents"]) as writer:
            for each in documents:
                writer.write(document_to_row(each))
        written.append(asdict(writer.shard))
    about = {"schema": "documents", "version": 1, "plan": {}, "accounting": {}, "shards": written}
    write_json(folder / "dataset.json", about)
    return folder


def build(output, *inputs, **options):
    """Do what the command does, without Beam."""
    chosen = pipeline.Options(input=tuple(map(str, inputs)), output=output, **options)
    plan = pipeline.plan(chosen)
    with hold(output, plan) as held:
        for tasks, merge in _tasks(NAME, held.pending(), build=held):
            for task in tasks:
                do_unit(task)
            if merge:
                do_merge(merge)
        held.check_ids()
        held.publish(pipeline.write_side_files)
    return output


def rows_of(vocab):
    return list(open_dataset(vocab, "entities").rows())


def entities_of(vocab):
    """Id and entity of the rows that are neither special nor retired."""
    return {r["entity"]: r["id"] for r in rows_of(vocab)[len(SPECIAL) :] if not r["retired"]}


def luke_of(vocab):
    """The lines of the JSON for LUKE."""
    return [json.loads(line) for line in (vocab / "entity_vocab.jsonl").read_text().splitlines()]


def aliases_of(vocab, entity):
    [row] = [row for row in rows_of(vocab) if row["entity"] == entity]
    return {alias["form"]: alias for alias in row["aliases"]}


ARTICLES = (
    [
        document(1, "Berlin", "Berlin er Tysklands hovedstad.", ("Tysklands", "dawiki:Tyskland")),
        document(2, "Tyskland", "By: Berlin, Ulm.", ("Berlin", "dawiki:Berlin")),
    ],
    [
        document(3, "Ulm", "Ulm i Tyskland.", ("Tyskland", "dawiki:Tyskland")),
        document(4, "Jena", "I Jena, Ulm og Rom", ("Ulm", "dawiki:Ulm"), ("Rom", "dawiki:Rom")),
    ],
)


@pytest.fixture(scope="module")
def articles(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("articles") / "documents", *ARTICLES)


@pytest.fixture(scope="module")
def vocab(articles, tmp_path_factory):
    return build(tmp_path_factory.mktemp("vocab") / "out", articles)


# --- the whole, against the slow obvious way ---

ENTITIES = ("xwiki:A", "xwiki:B", "xwiki:Ab", "ywiki:A", "gnd:1", None)
ORIGINS = ("link", "link", "title_match")
TEXTS = st.text("ab A.\n\u00a0ö𝔸", min_size=1, max_size=30)


@st.composite
def many_documents(draw):
    documents = []
    for number in range(draw(st.integers(1, 5))):
        text = draw(TEXTS)
        mentions, at = [], 0
        while at < len(text) and draw(st.booleans()):
            start = draw(st.integers(at, len(text) - 1))
            at = draw(st.integers(start + 1, len(text)))
            for _ in range(draw(st.sampled_from([1, 1, 2]))):  # two in the same place, too
                entity, origin = draw(st.sampled_from(ENTITIES)), draw(st.sampled_from(ORIGINS))
                mentions.append(Mention(start, at, entity, origin=origin))
        documents.append(
            Document(
                id=f"xwiki:{number}",
                group="xwiki",
                source="",
                text=text,
                title=draw(st.sampled_from(("A", "B", None))),
                mentions=tuple(mentions),
            )
        )
    return documents


def find_naively(text, forms):
    """Leftmost-longest, between word boundaries."""
    at = 0
    while at < len(text):
        ends = [at + len(form) for form in forms if text.startswith(form, at)]
        ends = [end for end in ends if end == len(text) or not text[end].isalnum()]
        if ends and (at == 0 or not text[at - 1].isalnum()):
            yield at, max(ends)
            at = max(ends)
        else:
            at += 1


def count_naively(documents, min_count, max_size):
    """The rows that the vocabulary must have."""
    counted = [
        (d, m, " ".join(d.text[m.start : m.end].split()))
        for d in documents
        for m in d.mentions
        if m.entity
    ]
    links = [(m.entity, form) for _, m, form in counted if m.origin == "link"]
    origins = Counter((m.entity, m.origin) for _, m, _ in counted)
    pages = defaultdict(list)
    for each in documents:
        if each.title:
            pages[f"{each.group}:{each.title}"].append(each.id)
    counts = Counter(entity for entity, _ in links)
    known = {e.partition(":")[0] for e, _ in origins if e in pages}
    kept = [e for e, n in counts.items() if n >= min_count]
    kept = [e for e in kept if e in pages or e.partition(":")[0] not in known]
    kept.sort(key=lambda e: (-counts[e], e.partition(":")[2], e))
    kept = kept[:max_size]
    forms = {form for entity, form in links if entity in kept and form}
    linked = Counter(form for _, form in links)
    places = Counter()
    for each in documents:
        spans = {(m.start, m.end) for m in each.mentions if m.entity and m.origin == "link"}
        found = set(find_naively(each.text, forms)) - spans
        places.update(each.text[start:end] for start, end in found)
    return [
        {
            "id": id,
            "entity": entity,
            "title": entity.partition(":")[2],
            "page_id": min(pages[entity], default=None),
            "count": counts[entity],
            "counts": [
                {"key": origin, "value": n}
                for (of, origin), n in sorted(origins.items())
                if of == entity
            ],
            "aliases": [
                {
                    "form": form,
                    "count": n,
                    "prior": np.float32(n / linked[form]),
                    "link_probability": np.float32(linked[form] / (linked[form] + places[form])),
                }
                for (of, form), n in sorted(
                    Counter(links).items(), key=lambda item: (-item[1], item[0][1])
                )
                if of == entity and form
            ],
            "retired": False,
        }
        for id, entity in enumerate(kept, len(SPECIAL))
    ]


@settings(max_examples=60, deadline=None)
@given(
    documents=many_documents(),
    n_shards=st.integers(1, 3),
    part_bytes=st.sampled_from([1 << 28, 3000]),
    min_count=st.integers(1, 2),
    max_size=st.sampled_from([1, 2, 1000]),
)
def test_vocabulary_equals_naive_count(documents, n_shards, part_bytes, min_count, max_size):
    expected = count_naively(documents, min_count, max_size)
    any_link = any(m.entity and m.origin == "link" for d in documents for m in d.mentions)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "PART_BYTES", part_bytes)
        pieces = [documents[number::n_shards] for number in range(n_shards)]
        inputs = write_dataset(Path(folder) / "documents", *pieces)
        output = Path(folder) / "out"

        if any_link:
            rows = rows_of(build(output, inputs, min_count=min_count, max_size=max_size))

    if any_link:
        assert [row["entity"] for row in rows[: len(SPECIAL)]] == list(SPECIAL)
        assert rows[len(SPECIAL) :] == expected


def test_many_entities_equal_naive_count(tmp_path):
    chance = random.Random(20261120)
    documents = []
    for number in range(20):
        words = [f"{chance.choice('ABC')}{chance.randrange(300)}" for _ in range(100)]
        mentions, at = [], 0
        for word in words:
            entity, origin = f"xwiki:{word[1:]}", chance.choice(ORIGINS)
            if chance.random() < 0.9:
                mentions.append(Mention(at, at + len(word), entity, origin=origin))
            at += len(word) + 1
        title, text = str(number), " ".join(words)
        about = {"id": f"xwiki:{number}", "group": "xwiki", "source": "", "title": title}
        documents.append(Document(**about, text=text, mentions=tuple(mentions)))
    inputs = write_dataset(tmp_path / "documents", documents[:9], documents[9:])

    rows = rows_of(build(tmp_path / "out", inputs, existing="any"))

    named = [replace(each, title=None) for each in documents]  # so that all count as existing
    expected = count_naively(named, 1, 1000)
    pages = {f"xwiki:{number}": f"xwiki:{number}" for number in range(20)}
    assert rows[len(SPECIAL) :] == [row | {"page_id": pages.get(row["entity"])} for row in expected]


# --- what is kept ---


def test_red_links_are_left_out_and_counted(vocab):
    counters = open_dataset(vocab).description["counters"]

    assert entities_of(vocab) == {"dawiki:Tyskland": 3, "dawiki:Berlin": 4, "dawiki:Ulm": 5}
    assert (counters["mentions.counted"], counters["mentions.of_no_page"]) == (5, 1)


def test_entities_without_pages_are_kept_where_any_may_be(articles, tmp_path):
    assert "dawiki:Rom" in entities_of(build(tmp_path / "out", articles, existing="any"))


def test_entities_of_a_space_without_pages_are_kept_unless_pages_are_asked_for(tmp_path):
    letters = document(1, "Brief 1", "Marc an Klee", ("Klee", "gnd:118770950"), wiki="sturm")
    inputs = write_dataset(tmp_path / "documents", [letters, *ARTICLES[0]])

    kept = entities_of(build(tmp_path / "out", inputs))
    pages = entities_of(build(tmp_path / "pages", inputs, existing="pages"))

    assert "gnd:118770950" in kept
    assert pages == {"dawiki:Berlin": 3, "dawiki:Tyskland": 4}


def test_other_origins_are_shown_but_do_not_count(tmp_path):
    named = document(9, "By", "Ulm, Berlin", ("Ulm", "dawiki:Ulm"), origin="title_match")
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [named])

    [ulm] = [r for r in rows_of(build(tmp_path / "out", inputs)) if r["title"] == "Ulm"]

    assert ulm["count"] == 1
    assert ulm["counts"] == [{"key": "link", "value": 1}, {"key": "title_match", "value": 1}]


def test_several_origins_count_together(tmp_path):
    named = document(9, "By", "Ulm, Berlin", ("Ulm", "dawiki:Ulm"), origin="title_match")
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [named])

    [ulm] = [
        row
        for row in rows_of(build(tmp_path / "out", inputs, origins=("link,title_match",)))
        if row["title"] == "Ulm"
    ]

    assert ulm["count"] == 2


def test_minimum_count_and_size_cut_the_tail(articles, tmp_path):
    rare = build(tmp_path / "rare", articles, min_count=2)
    small = build(tmp_path / "small", articles, max_size=2)

    assert list(entities_of(rare)) == ["dawiki:Tyskland"]
    assert list(entities_of(small)) == ["dawiki:Tyskland", "dawiki:Berlin"]


def test_no_more_aliases_are_kept_than_asked_for(articles, tmp_path):
    capped = build(tmp_path / "out", articles, max_aliases=1)

    assert list(aliases_of(capped, "dawiki:Tyskland")) == ["Tyskland"]


def test_entity_named_like_a_special_row_is_left_out_and_counted(tmp_path):
    odd = document(9, "[MASK]", "En maske", ("maske", "dawiki:[MASK]"))
    inputs = write_dataset(tmp_path / "documents", [*ARTICLES[0], odd])

    out = build(tmp_path / "out", inputs)

    assert "dawiki:[MASK]" not in entities_of(out)
    assert open_dataset(out).description["counters"]["mentions.of_reserved_names"] == 1


# --- aliases ---


def test_link_probability_counts_unlinked_places(vocab):
    aliases = aliases_of(vocab, "dawiki:Berlin")

    assert aliases["Berlin"]["link_probability"] == 0.5  # "Berlin er …" is no link


def test_prior_counts_entities_outside_the_vocabulary(tmp_path):
    red = document(9, "By", "Se Berlin", ("Berlin", "dawiki:Berlin (film)"))
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [red])

    aliases = aliases_of(build(tmp_path / "out", inputs), "dawiki:Berlin")

    assert aliases["Berlin"]["prior"] == 0.5


def test_link_probability_is_null_where_it_is_off(articles, tmp_path):
    out = build(tmp_path / "out", articles, link_probability="off")

    assert aliases_of(out, "dawiki:Berlin")["Berlin"]["link_probability"] is None


def test_white_space_in_a_form_becomes_one_space(tmp_path):
    broken = document(9, "By", "I Ny\n York", ("Ny\n York", "dawiki:Ulm"))
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [broken])

    assert "Ny York" in aliases_of(build(tmp_path / "out", inputs), "dawiki:Ulm")


# --- refreshing ---


def refreshed(tmp_path, *changed, before=ARTICLES, **options):
    """The vocabulary of changed articles after that of others: both folders."""
    first = build(tmp_path / "first", write_dataset(tmp_path / "before" / "documents", *before))
    inputs = write_dataset(tmp_path / "after" / "documents", *changed)
    return first, build(tmp_path / "second", inputs, previous=first, **options)


def changes_of(vocab):
    return [
        tuple(line.split("\t")) for line in (vocab / "changes.tsv").read_text().split("\n")[1:-1]
    ]


# Tyskland (page 2) is now called Forbundsrepublikken; nobody links to Berlin; Jena is new.
CHANGED = [
    document(1, "Berlin", "I Forbundsrepublikken", ("Forbunds", "dawiki:Forbundsrepublikken")),
    document(2, "Forbundsrepublikken", "Se Ulm", ("Ulm", "dawiki:Ulm")),
    document(3, "Ulm", "Se Jena, Jena", ("Jena", "dawiki:Jena")),
    document(4, "Jena", "Jena", ("Jena", "dawiki:Jena")),
]


def test_previous_ids_are_kept_and_new_ones_come_after(tmp_path):
    first, second = refreshed(tmp_path, CHANGED)

    assert entities_of(first) == {"dawiki:Tyskland": 3, "dawiki:Berlin": 4, "dawiki:Ulm": 5}
    assert entities_of(second) == {
        "dawiki:Forbundsrepublikken": 3,
        "dawiki:Ulm": 5,
        "dawiki:Jena": 6,
    }


def test_entity_that_fell_out_stays_as_a_retired_row(tmp_path):
    _, second = refreshed(tmp_path, CHANGED)

    [row] = [row for row in rows_of(second) if row["retired"]]

    assert (row["id"], row["entity"], row["count"]) == (4, "dawiki:Berlin", 0)
    assert row["aliases"] == []


def test_changes_are_listed_and_counted(tmp_path):
    _, second = refreshed(tmp_path, CHANGED)
    counters = open_dataset(second).description["counters"]

    assert sorted(changes_of(second)) == [
        ("added", "6", "", "dawiki:Jena", ""),
        ("removed", "4", "4", "", "dawiki:Berlin"),
        ("renamed", "3", "3", "dawiki:Forbundsrepublikken", "dawiki:Tyskland"),
    ]
    assert [counters[f"changes.{kind}"] for kind in ("added", "removed", "renamed")] == [1, 1, 1]


def test_retired_entity_that_comes_back_has_its_id_again(articles, tmp_path):
    _, second = refreshed(tmp_path, CHANGED)

    third = build(tmp_path / "third", articles, previous=second)

    assert entities_of(third) == {"dawiki:Tyskland": 3, "dawiki:Berlin": 4, "dawiki:Ulm": 5}
    assert ("returned", "4", "4", "dawiki:Berlin", "dawiki:Berlin") in changes_of(third)


def test_compact_numbers_densely_and_lists_who_moved(tmp_path):
    _, second = refreshed(tmp_path, CHANGED, compact=True)

    assert entities_of(second) == {
        "dawiki:Jena": 3,
        "dawiki:Forbundsrepublikken": 4,
        "dawiki:Ulm": 5,
    }
    assert not any(row["retired"] for row in rows_of(second))
    assert ("moved", "4", "3", "dawiki:Forbundsrepublikken", "dawiki:Tyskland") in changes_of(
        second
    )
    assert ("removed", "", "4", "", "dawiki:Berlin") in changes_of(second)


def test_title_taken_over_by_another_page_goes_with_the_page(tmp_path):
    moved = [document(3, "Berlin", "Se Berlin", ("Berlin", "dawiki:Berlin"))]

    _, second = refreshed(tmp_path, moved)

    assert entities_of(second) == {"dawiki:Berlin": 5}  # the id that Ulm had, page 3
    assert [row["id"] for row in rows_of(second) if row["retired"]] == [3, 4]


def test_page_made_anew_under_its_old_title_keeps_the_id(tmp_path):
    anew = [document(77, "Berlin", "Se Berlin", ("Berlin", "dawiki:Berlin"))]

    _, second = refreshed(tmp_path, anew)

    assert entities_of(second) == {"dawiki:Berlin": 4}


# --- several wikis ---

GERMAN = [
    document(51, "Berlin", "Berlin liegt", ("Berlin", "dewiki:Berlin"), wiki="dewiki"),
    document(52, "Deutschland", "Das Land", ("Land", "dewiki:Deutschland"), wiki="dewiki"),
    document(53, "Bonn", "In Bonn", ("Bonn", "dewiki:Bonn"), wiki="dewiki"),
]
EQUIVALENTS = "# a table\ndawiki:Berlin\tdewiki:Berlin\n\ndawiki:Tyskland\tdewiki:Deutschland\r\n"


@pytest.fixture(scope="module")
def family(articles, tmp_path_factory):
    """A vocabulary of two wikis."""
    folder = tmp_path_factory.mktemp("family")
    german = write_dataset(folder / "german" / "documents", GERMAN)
    (folder / "equivalents.tsv").write_bytes(EQUIVALENTS.encode())
    return build(folder / "out", articles, german.parent, equivalents=folder / "equivalents.tsv")


def test_equivalents_are_one_entity(family):
    [berlin] = [row for row in rows_of(family) if row["title"] == "Berlin"]

    assert (berlin["entity"], berlin["page_id"], berlin["count"]) == (
        "dawiki:Berlin",
        "dawiki:1",
        2,
    )
    assert entities_of(family) == {
        "dawiki:Tyskland": 3,
        "dawiki:Berlin": 4,
        "dewiki:Bonn": 5,
        "dawiki:Ulm": 6,
    }


def test_exports_of_several_wikis_name_the_language(family):
    keys = json.loads((family / "entity_vocab.json").read_text())
    lines = luke_of(family)

    assert keys["de:Deutschland"] == keys["da:Tyskland"] == 3
    assert keys["de:Bonn"] == 5
    assert lines[3]["entities"] == [["Tyskland", "da"], ["Deutschland", "de"]]
    assert lines[0]["entities"] == [["[PAD]", "da"], ["[PAD]", "de"]]


def test_entity_whose_own_page_is_not_there_has_that_of_an_equivalent(articles, tmp_path):
    (tmp_path / "equivalents.tsv").write_text("frwiki:Allemagne\tdawiki:Tyskland\n")

    out = build(tmp_path / "out", articles, equivalents=tmp_path / "equivalents.tsv")

    [row] = [row for row in rows_of(out) if row["title"] == "Allemagne"]
    assert (row["entity"], row["page_id"]) == ("frwiki:Allemagne", "dawiki:2")


# --- exports ---


def test_exports_hold_every_id(vocab):
    lines = luke_of(vocab)

    assert lines[2] == {"id": 2, "entities": [["[MASK]", "da"]], "count": 0}
    assert lines[3] == {"id": 3, "entities": [["Tyskland", "da"]], "count": 2}
    assert (vocab / "entity_vocab.tsv").read_text().split("\n")[3:6] == [
        "Tyskland\t2",
        "Berlin\t1",
        "Ulm\t1",
    ]


def test_tokenizer_json_has_the_second_mask_past_the_end(vocab):
    assert json.loads((vocab / "entity_vocab.json").read_text()) == {
        "[PAD]": 0,
        "[UNK]": 1,
        "[MASK]": 2,
        "Tyskland": 3,
        "Berlin": 4,
        "Ulm": 5,
        "[MASK2]": 6,
    }


def test_retired_rows_hold_their_place_in_exports_but_have_no_name(tmp_path):
    _, second = refreshed(tmp_path, CHANGED)
    keys = json.loads((second / "entity_vocab.json").read_text())
    lines = luke_of(second)

    assert "Berlin" not in keys
    assert keys["[MASK2]"] == 7
    assert lines[4] == {"id": 4, "entities": [["[RETIRED 4]", "da"]], "count": 0}
    assert (second / "entity_vocab.tsv").read_text().split("\n")[4] == "[RETIRED 4]\t0"


def test_transformers_loads_the_entities(vocab):
    luke = pytest.importorskip("transformers").LukeTokenizer
    words = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "U": 5, "l": 6, "m": 7}

    tokenizer = luke(vocab=words, merges=[], entity_vocab_file=str(vocab / "entity_vocab.json"))
    encoded = tokenizer("Ulm", entities=["Ulm", "Atlantis"], entity_spans=[(0, 3), (0, 3)])

    assert encoded["entity_ids"] == [5, 1]
    assert (tokenizer.entity_mask_token_id, tokenizer.entity_mask2_token_id) == (2, 6)


def test_coverage_says_what_each_limit_keeps(vocab):
    lines = [line.split("\t") for line in (vocab / "coverage.tsv").read_text().splitlines()]

    table = {(rule, value): rest for rule, value, *rest in lines}

    assert table["size", "all"] == table["min_count", "1"] == ["3", "4", "0.800000"]
    assert table["min_count", "2"] == ["1", "2", "0.400000"]
    assert table["min_count", "50"] == ["0", "0", "0.000000"]
    assert "| min_count 2 | 1 | 2 | 40.0% |" in (vocab / "report.md").read_text()


# --- the command ---


def run(output, inputs, *options):
    return pipeline.main(["--input", str(inputs), "--output", str(output), *options])


@pytest.mark.parametrize("workers", ["1", "2"])
def test_command_makes_the_same_bytes_with_any_workers(articles, vocab, tmp_path, workers):
    assert run(tmp_path / "out", articles, "--workers", workers) == 0
    assert files_of(tmp_path / "out") == files_of(vocab)


def test_run_verifies(vocab, capsys):
    assert shards(["verify", str(vocab)]) == 0
    assert "read 4 = written 4 + filtered 0 + rejected 0" in capsys.readouterr().out


def test_folder_that_holds_documents_is_an_input(articles, vocab, tmp_path):
    assert run(tmp_path / "out", articles.parent) == 0
    assert files_of(tmp_path / "out") == files_of(vocab)


def test_lost_side_file_is_made_again_after_the_stages_are_gone(articles, tmp_path):
    (tmp_path / "table.tsv").write_text("frwiki:Allemagne\tdawiki:Tyskland\n")
    options = ("--equivalents", str(tmp_path / "table.tsv"))
    assert run(tmp_path / "out", articles, *options) == 0
    before = files_of(tmp_path / "out")
    (tmp_path / "out" / "entity_vocab.jsonl").unlink()

    assert run(tmp_path / "out", articles, *options) == 0
    assert files_of(tmp_path / "out") == before


def test_input_without_counted_mentions_is_a_clear_error(tmp_path, capsys):
    inputs = write_dataset(tmp_path / "documents", [document(1, "A", "Intet her")])

    assert run(tmp_path / "out", inputs) == 1
    assert "--origins" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--min-count", "0"), "--min-count 0: must be at least 1"),
        (("--origins", "link,links"), "--origins links: there are annotation"),
        (("--max-aliases", "0"), "--max-aliases 0: must be at least 1"),
        (("--compact",), "--previous"),
        (("--previous", "{output}"), "are the same"),
    ],
)
def test_wrong_options_end_with_status_2(articles, vocab, options, message, capsys):
    chosen = [option.format(output=vocab) for option in options]

    assert run(vocab, articles, *chosen) == 2
    assert message in capsys.readouterr().err


def test_input_that_is_no_dataset_is_named(tmp_path, capsys):
    (tmp_path / "empty").mkdir()

    assert run(tmp_path / "out", tmp_path / "empty") == 1
    assert "dataset.json is missing" in capsys.readouterr().err


def test_damaged_shard_is_named(tmp_path, capsys):
    inputs = write_dataset(tmp_path / "documents", *ARTICLES)
    shard = inputs / "shard-00001.arrow"
    shard.write_bytes(shard.read_bytes() + b"x")

    assert run(tmp_path / "out", inputs) == 1
    assert "shard-00001.arrow: damaged" in capsys.readouterr().err


def test_vocabulary_opens(vocab):
    opened = EntityVocab(vocab)

    assert len(opened) == 6
    assert opened.id_of("dawiki:Ulm") == 5
