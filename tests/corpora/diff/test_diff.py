"""Two versions of a dataset compared, against a slow comparison of dictionaries."""

import json
import random
from collections import Counter
from dataclasses import asdict, replace
from html.parser import HTMLParser

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.diff.__main__ import compare_all, main
from corpora.diff.limits import Limit
from corpora.document import Document, Mention
from corpora.errors import CorpusError, DamagedDatasetError, ShardSchemaError, UsageError
from corpora.rows import document_to_row
from corpora.schemas import SCHEMAS
from corpora.shards import ShardWriter, write_json


def document(number, title=None, text="Ein Text.", *, links=1, **more):
    mentions = tuple(Mention(i, i + 1, f"klwiki:{i}", origin="link") for i in range(links))
    title = title or f"Titel {number}"
    return Document(
        id=f"klwiki:{number}",
        group="klwiki",
        source="dump",
        lang="de",
        title=title,
        text=text,
        mentions=mentions,
        **more,
    )


def write_rows(folder, schema, rows, *, n_shards=2, **account):
    """A dataset of rows, dealt out to shards."""
    folder.mkdir(parents=True)
    shards = []
    size = -(-len(rows) // n_shards) or 1
    for number in range(n_shards):
        path = folder / f"shard-{number:05d}.arrow"
        with ShardWriter(path, SCHEMAS[schema]) as writer:
            for row in rows[number * size :][:size]:
                writer.write(row)
        shards.append(asdict(writer.shard))
    accounting = {"read": len(rows), "written": len(rows), "filtered": {}, "rejected": {}} | account
    about = {"schema": schema, "version": 1, "plan": {"fingerprint": "f"}, "shards": shards}
    write_json(folder / "dataset.json", about | {"accounting": accounting, "counters": {"x.y": 3}})
    return folder


def write_documents(folder, documents, **account):
    return write_rows(folder, "documents", [document_to_row(d) for d in documents], **account)


def entity(id, name, *, page=None, count=1, retired=False):
    return {
        "id": id,
        "entity": name,
        "title": name.partition(":")[2],
        "page_id": page,
        "count": count,
        "counts": [],
        "aliases": [],
        "retired": retired,
    }


def compare_documents(tmp_path, old, new, **settings):
    write_documents(tmp_path / "old", old)
    write_documents(tmp_path / "new", new)
    [of] = compare_all(tmp_path / "old", tmp_path / "new", **settings)
    return of


def values_of(of):
    return {drift.name: (drift.old, drift.new) for drift in of.drift}


def test_documents_are_added_removed_renamed_and_changed(tmp_path):
    old = [document(n) for n in range(6)]
    new = [
        document(9),
        old[1],
        replace(old[2], title="Neuer Titel"),
        replace(old[3], text="Ein anderer Text."),
        replace(old[4], title="Anders", mentions=()),
        replace(old[5], source="another dump", url="https://x"),
    ]

    of = compare_documents(tmp_path, old, new)

    assert of.counts == {"added": 1, "removed": 1, "renamed": 2, "changed": 2, "same": 2}
    assert {name: n for name, n in of.changed_columns.items() if n} == {"text": 1, "mentions": 1}
    assert of.examples == {
        "added": ["Titel 9 (klwiki:9)"],
        "removed": ["Titel 0 (klwiki:0)"],
        "renamed": [
            "Titel 2 → Neuer Titel (klwiki:2)",
            "Titel 4 → Anders (klwiki:4)",
        ],
        "changed": ["Titel 3 (klwiki:3): text", "Anders (klwiki:4): mentions"],
    }


NUMBERED = st.dictionaries(
    st.integers(0, 12), st.tuples(st.sampled_from("AB"), st.sampled_from("xy")), max_size=10
)


@settings(max_examples=25, deadline=None)
@given(NUMBERED, NUMBERED, st.randoms())
def test_counts_are_those_of_a_comparison_of_dictionaries(tmp_path_factory, old, new, chance):
    order = sorted(new)
    chance.shuffle(order)
    both = old.keys() & new.keys()

    of = compare_documents(
        tmp_path_factory.mktemp("pair"),
        [document(n, *old[n]) for n in old],
        [document(n, *new[n]) for n in order],
        n_examples=99,
    )

    assert of.counts == {
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
        "renamed": sum(old[n][0] != new[n][0] for n in both),
        "changed": sum(old[n][1] != new[n][1] for n in both),
        "same": sum(old[n] == new[n] for n in both),
    }
    assert of.examples["added"] == [f"{new[n][0]} (klwiki:{n})" for n in order if n not in old]
    assert [line.split("(")[1] for line in of.examples["changed"]] == [
        f"klwiki:{n}): text" for n in order if n in both and old[n][1] != new[n][1]
    ]


def test_counts_and_rates_are_those_of_the_rows(tmp_path):
    chance = random.Random(4)
    new = [
        document(n, text="Wörter " * chance.randint(1, 30), links=chance.randint(0, 5))
        for n in range(40)
    ]
    new[3] = replace(new[3], mentions=(Mention(0, 2, label="PER", origin="annotation"),))

    of = compare_documents(tmp_path, [document(0)], new)

    values = {name: value for name, (_, value) in values_of(of).items()}
    origins = Counter(m.origin for d in new for m in d.mentions)
    assert values["documents"] == 40
    assert values["characters"] == sum(len(d.text) for d in new)
    assert values["mentions"] == origins.total()
    assert values["mentions.link"] == origins["link"]
    assert values["labels.PER"] == 1
    assert values["links_per_page"] == pytest.approx(origins["link"] / 40)
    assert values["counters.x.y"] == 3


def test_entities_are_recognised_by_page_and_then_by_name(tmp_path):
    old = [
        entity(0, "w:A", page="w:1"),
        entity(1, "w:B", page="w:2"),
        entity(2, "w:Red"),
        entity(3, "w:Gone"),
        entity(4, "w:Out", page="w:5"),
        entity(5, "w:Late"),
    ]
    new = [
        entity(0, "w:A2", page="w:1"),
        entity(1, "w:B", page="w:2", count=7),
        entity(2, "w:Red"),
        entity(4, "w:Out", page="w:5", retired=True),
        entity(5, "w:Late", page="w:9"),
        entity(6, "w:New"),
    ]
    write_rows(tmp_path / "old", "entities", old)
    write_rows(tmp_path / "new", "entities", new)

    [of] = compare_all(tmp_path / "old", tmp_path / "new")

    assert of.counts == {"added": 1, "removed": 2, "renamed": 1, "changed": 2, "same": 1}
    assert of.examples["renamed"] == ["w:A → w:A2 (w:1)"]
    assert of.examples["removed"] == ["w:Gone", "w:Out (w:5)"]
    assert of.examples["changed"] == ["w:B (w:2): counts", "w:Late (w:9): page_id"]
    assert values_of(of)["retired"] == (0, 1)
    assert values_of(of)["entities"] == (6, 5)


def test_other_datasets_are_compared_column_by_column(tmp_path):
    def sentence(n, tags, split="train"):
        row = {"id": f"s#{n}", "document_id": "s", "split": split, "tokens": ["a", "b"]}
        return row | {"tags": tags, "inner_tags": None, "token_starts": None}

    write_rows(tmp_path / "old", "ner", [sentence(n, ["B-PER", "I-PER"]) for n in range(4)])
    rows = [sentence(0, ["B-LOC", "O"]), sentence(1, ["B-PER", "I-PER"], "test")]
    write_rows(tmp_path / "new", "ner", rows)

    [of] = compare_all(tmp_path / "old", tmp_path / "new")

    assert {name: n for name, n in of.changed_columns.items() if n} == {"split": 1, "tags": 1}
    values = values_of(of)
    assert (values["labels.PER"], values["labels.LOC"]) == ((4, 1), (0, 1))
    assert (values["split.train"], values["split.test"]) == ((4, 1), (0, 1))
    assert values["tokens_per_sentence"] == (2.0, 2.0)


@pytest.mark.parametrize(
    ("how", "old", "new", "is_exceeded"),
    [
        ("-10%", 100, 90, False),
        ("-10%", 100, 89, True),
        ("-10%", 100, 300, False),
        ("-10%", 0, 0, False),
        ("+50%", 100, 150, False),
        ("+50%", 100, 151, True),
        ("-7%", 100, 93, False),
        ("-7%", 1000, 929, True),
        ("+7%", 100, 107, False),
        ("+50%", 0, 1, True),
        ("+50%", 0, 0, False),
        ("-20%", 0.3, 0.24, False),
        ("x2.3", 440, 1012, False),
        ("x2.3", 440, 1013, True),
        ("x3", 20, 60, False),
        ("x3", 20, 61, True),
        ("x3", 0, 30, False),
        ("x3", 0, 31, True),
        ("x3", 0.1, 0.4, True),
        ("off", 100, 0, False),
    ],
)
def test_a_limit_is_exceeded_only_beyond_it(how, old, new, is_exceeded):
    assert bool(Limit("measure", how).exceeded(old, new)) == is_exceeded


@pytest.mark.parametrize("text", ["documents", "=-10%", "documents=10%", "documents=x", "a=-1"])
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(UsageError, match="is no limit"):
        Limit.parse(text)


def pair(tmp_path, *, n_new=80, links=1, **account):
    write_documents(tmp_path / "old", [document(n) for n in range(100)])
    new = [document(n, links=links) for n in range(n_new)]
    write_documents(tmp_path / "new", new, **account)
    return [str(tmp_path / "old"), str(tmp_path / "new")]


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ({"n_new": 89}, "documents fell by 11.0 %"),
        ({"n_new": 100, "links": 0}, "links_per_page fell by 100.0 %"),
        ({"n_new": 100, "rejected": {"no_text": 31}}, "rejected went from 0 to 31"),
    ],
)
def test_drift_beyond_the_usual_limits_ends_with_status_3_and_says_why(new, why, tmp_path, capsys):
    assert main(pair(tmp_path, **new)) == 3

    assert why in capsys.readouterr().err


def test_drift_within_the_limits_is_no_failure(tmp_path):
    assert main(pair(tmp_path, n_new=90, rejected={"no_text": 30})) == 0


def test_limits_can_be_set_and_taken_away(tmp_path):
    folders = pair(tmp_path, n_new=85)

    assert main([*folders, "--fail-if", "documents=-20%"]) == 0
    assert main([*folders, "--fail-if", "documents=off", "characters=-5%"]) == 3
    assert main([*folders, "--fail-if", "documents=off"]) == 0


def test_a_limit_on_what_nothing_has_is_refused(tmp_path, capsys):
    assert main([*pair(tmp_path), "--fail-if", "documnets=-5%"]) == 2

    assert "links_per_page" in capsys.readouterr().err


def test_all_datasets_of_a_run_are_compared(tmp_path):
    for version in ("old", "new"):
        write_documents(tmp_path / version / "documents", [document(1)])
        row = {"id": "w:7", "title": "A", "target": "B", "section": "", "resolved": "B"}
        write_rows(tmp_path / version / "redirects", "redirects", [row])

    found = compare_all(tmp_path / "old", tmp_path / "new")

    assert [(of.name, of.counts["same"]) for of in found] == [("documents", 1), ("redirects", 1)]


def test_datasets_of_different_schemas_are_refused(tmp_path):
    write_documents(tmp_path / "old", [document(1)])
    write_rows(tmp_path / "new", "entities", [entity(0, "w:A")])

    with pytest.raises(ShardSchemaError, match="not 'documents'"):
        compare_all(tmp_path / "old", tmp_path / "new")


def test_a_dataset_that_is_missing_is_an_error(tmp_path):
    write_documents(tmp_path / "old" / "documents", [document(1)])
    write_documents(tmp_path / "new" / "others", [document(1)])

    with pytest.raises(CorpusError, match="no dataset"):
        compare_all(tmp_path / "old", tmp_path / "new")
    with pytest.raises(CorpusError, match="no dataset"):
        compare_all(tmp_path / "nothing", tmp_path / "new")


def test_what_is_not_listed_is_counted(tmp_path, capsys):
    main([*pair(tmp_path, n_new=90), "--examples", "3"])

    assert "removed: … 7 more" in capsys.readouterr().out


class Page(HTMLParser):
    """Checks that tags are balanced, and collects the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.seen = [], "", set()

    def handle_starttag(self, tag, _):
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_says_the_same_and_cannot_be_broken_by_titles(tmp_path):
    evil = "<script>alert('1')</script> & \u202e\n"
    write_documents(tmp_path / "old", [document(1), document(2, evil)])
    write_documents(tmp_path / "new", [document(1, evil)])
    file = tmp_path / "diff.html"

    status = main([str(tmp_path / "old"), str(tmp_path / "new"), "--html", str(file)])

    page = Page()
    page.feed(file.read_text("utf-8"))
    assert status == 3
    assert page.open == []
    assert "script" not in page.seen
    assert "<script>alert('1')</script>" in page.text
    assert "\u202e" not in page.text
    assert "documents fell by 50.0 %" in page.text


def test_json_and_html_are_the_same_bytes_each_time(tmp_path):
    folders = pair(tmp_path)
    made = []
    for number in "12":
        files = [tmp_path / f"{number}.json", tmp_path / f"{number}.html"]
        main([*folders, "--json", str(files[0]), "--html", str(files[1])])
        made.append([file.read_bytes() for file in files])

    assert made[0] == made[1]
    [of] = json.loads(made[0][0])["datasets"]
    assert of["counts"] == {"added": 0, "removed": 20, "renamed": 0, "changed": 0, "same": 80}
    assert of["drift"]["documents"] == {"old": 100, "new": 80}


def test_a_dataset_that_only_the_new_run_has_is_named(tmp_path, capsys):
    for name in ("old/documents", "new/documents", "new/more"):
        write_documents(tmp_path / name, [document(1)])

    assert main([str(tmp_path / "old"), str(tmp_path / "new")]) == 0

    assert f"more: only in {tmp_path / 'new'}" in capsys.readouterr().out


def test_offsets_that_lead_out_of_a_column_are_an_error_and_no_crash(tmp_path):
    write_documents(tmp_path / "old", [document(n) for n in range(9)])
    new = write_documents(tmp_path / "new", [document(n) for n in range(9)], read=9)
    shard = new / "shard-00000.arrow"
    data = shard.read_bytes()
    with pa.memory_map(str(shard)) as source, pa.ipc.open_file(source) as reader:
        origin = reader.get_batch(0).column("mentions").flatten().field("origin")
    offsets = origin.buffers()[1].to_pybytes()[: 4 * (len(origin) + 1)]
    assert offsets in data
    wrong = offsets[:-4] + (1 << 30).to_bytes(4, "little")
    shard.write_bytes(data.replace(offsets, wrong))

    with pytest.raises(DamagedDatasetError, match="shard-00000"):
        compare_all(tmp_path / "old", new)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("plan", None),
        ("shards", []),
        ("accounting", 3),
        ("accounting", {"read": float("nan")}),
        ("accounting", {"rejected": {"no_text": "many"}}),
        ("counters", [1]),
    ],
)
def test_a_damaged_description_is_an_error_or_no_matter(part, value, tmp_path):
    old, new = (
        write_documents(tmp_path / name, [document(1), document(2)]) for name in ("old", "new")
    )
    about = json.loads((new / "dataset.json").read_text())
    (new / "dataset.json").write_text(json.dumps(about | {part: value}))

    status = main([str(old), str(new)])

    assert status == {"plan": 0, "shards": 3}.get(part, 1)
