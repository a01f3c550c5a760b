"""Two versions of a dataset compared, against a slow comparison of dictionaries."""

import random
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.diff.__main__ import compare_all
from corpora.diff.kinds import kind_of
from corpora.document import Mention
from corpora.errors import CorpusError, DamagedDatasetError, ShardSchemaError
from tests.corpora.diff.two_versions import (
    compare_documents,
    document,
    entity,
    values_of,
    write_documents,
    write_rows,
)


def test_a_document_without_a_title_is_named_by_its_id(tmp_path):
    old = [replace(document(n), title=title) for n, title in enumerate([None, "", "A", None])]
    new = [replace(document(n), title=title) for n, title in enumerate([None, "", None, "B"])]
    new = [replace(one, text="Anderer Text.") for one in new[:2]] + new[2:]

    found = compare_documents(tmp_path, [*old, replace(document(7), title=None)], new)

    assert found.examples["changed"] == ["klwiki:0: text", "klwiki:1: text"]
    assert found.examples["renamed"] == ["A → klwiki:2", "no name → B (klwiki:3)"]
    assert found.examples["removed"] == ["klwiki:7"]


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
        "renamed": ["Titel 2 → Neuer Titel (klwiki:2)", "Titel 4 → Anders (klwiki:4)"],
        "changed": ["Titel 3 (klwiki:3): text", "Anders (klwiki:4): mentions"],
    }


NUMBERED = st.dictionaries(
    st.integers(0, 12), st.tuples(st.sampled_from("AB"), st.sampled_from("xy")), max_size=10
)


@settings(max_examples=25)
@given(NUMBERED, NUMBERED, st.randoms())
def test_counts_are_those_of_a_comparison_of_dictionaries(tmp_path_factory, old, new, rng):
    order = sorted(new)
    rng.shuffle(order)
    both = old.keys() & new.keys()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("corpora.diff.comparison.N_EXAMPLES", 99)
        of = compare_documents(
            tmp_path_factory.mktemp("pair"),
            [document(n, *old[n]) for n in old],
            [document(n, *new[n]) for n in order],
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
    rng = random.Random(4)
    new = [
        document(n, text="Wörter " * rng.randint(1, 30), links=rng.randint(0, 5)) for n in range(40)
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
        return row | {"tags": tags, "inner_tags": None, "token_starts": None, "origin": None}

    write_rows(tmp_path / "old", "ner", [sentence(n, ["B-PER", "I-PER"]) for n in range(4)])
    rows = [sentence(0, ["B-LOC", "O"]), sentence(1, ["B-PER", "I-PER"], "test")]
    write_rows(tmp_path / "new", "ner", rows)

    [of] = compare_all(tmp_path / "old", tmp_path / "new")

    assert {name: n for name, n in of.changed_columns.items() if n} == {"split": 1, "tags": 1}
    values = values_of(of)
    assert (values["labels.PER"], values["labels.LOC"]) == ((4, 1), (0, 1))
    assert (values["split.train"], values["split.test"]) == ((4, 1), (0, 1))
    assert values["tokens_per_sentence"] == (2.0, 2.0)


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

    with pytest.raises(ShardSchemaError, match=r"not 'documents'\. Name a dataset of .*onoma tei"):
        compare_all(tmp_path / "old", tmp_path / "new")


def test_a_dataset_that_is_missing_is_an_error(tmp_path):
    write_documents(tmp_path / "old" / "documents", [document(1)])
    write_documents(tmp_path / "new" / "others", [document(1)])

    with pytest.raises(CorpusError, match="no dataset"):
        compare_all(tmp_path / "old", tmp_path / "new")
    with pytest.raises(CorpusError, match="no dataset"):
        compare_all(tmp_path / "nothing", tmp_path / "new")


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


def test_every_column_is_compared_or_left_out_on_purpose():
    for name in ("documents", "entities", "redirects", "ner"):
        schema = SCHEMAS[name]
        more = replace(schema, columns=schema.columns.append(pa.field("mood", pa.string())))

        kind = kind_of(more)

        compared = {column for columns in kind.groups.values() for column in columns}
        named = {*kind.keys, kind.name, kind.retired, *kind.ignored, ""}
        assert "mood" in compared
        assert compared | named == {*more.columns.names, ""}
