"""The parts of an entity vocabulary: looking up, giving ids, equivalents, counting in parts."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.entities.aliases import slice_size
from corpora.entities.choice import assign_ids, match
from corpora.entities.counts import FOLD_ROWS, Sums, by_partition, partitions_of
from corpora.entities.equivalents import read_equivalents
from corpora.entities.vocabulary import SPECIAL, EntityVocab, language_of, split_entities
from corpora.errors import CorpusError
from corpora.system.writing import write_json
from tests.corpora.entity_ids import id_of

TOTALS = pa.schema(
    [*(SCHEMAS["entity_totals"].columns), pa.field("title", pa.string())]
)  # what is chosen


def chosen(*entities):
    """Make the table of chosen entities of ``(entity, page_id)``, the most frequent first."""
    rows = [
        {
            "entity": entity,
            "page_id": page_id,
            "count": 10 - place,
            "counts": [],
            "title": entity.partition(":")[2],
        }
        for place, (entity, page_id) in enumerate(entities)
    ]
    return pa.Table.from_pylist(rows, schema=TOTALS)


def ids(vocab):
    return {row["entity"]: row["id"] for row in vocab.to_pylist() if not row["retired"]}


@pytest.fixture
def publish(tmp_path):
    """Write a vocabulary to disk and open it."""

    def write(table):
        with ShardWriter(tmp_path / "shard-00000.arrow", SCHEMAS["entities"]) as writer:
            for batch in table.to_batches():
                writer.write_batch(batch)
        shard = writer.shard
        about = {"schema": "entities", "version": 1, "plan": {}, "accounting": {}}
        listed = {"name": shard.name, "rows": shard.rows, "bytes": shard.bytes, "sha256": ""}
        write_json(tmp_path / "dataset.json", about | {"shards": [listed]})
        return EntityVocab(tmp_path)

    return write


BEFORE = assign_ids(chosen(("dawiki:A", "dawiki:1"), ("dawiki:B", "dawiki:2")), None)


def after(*entities, previous=BEFORE):
    return assign_ids(chosen(*entities), previous)


# --- looking up ---


def test_special_rows_come_first(publish):
    vocab = publish(BEFORE)

    assert [vocab.entity_of(id) for id in range(len(vocab))] == [*SPECIAL, "dawiki:A", "dawiki:B"]


def test_many_entities_are_looked_up_at_once(publish):
    asked = pa.array(["dawiki:B", None, "dawiki:C", "dawiki:B", "[UNK]"])

    found = publish(BEFORE).ids_of(asked)

    assert found.to_pylist() == [4, None, None, 4, 1]
    assert found.type == pa.int32()


def test_nothing_is_looked_up_in_nothing(publish):
    assert len(publish(BEFORE).ids_of(pa.array([], pa.string()))) == 0


def test_one_entity_is_looked_up(publish):
    vocab = publish(BEFORE)

    assert (id_of(vocab, "dawiki:A"), id_of(vocab, "dawiki:C")) == (3, None)


def test_retired_entity_has_an_id_but_is_not_found(publish):
    vocab = publish(after(("dawiki:B", "dawiki:2")))

    assert vocab.entity_of(3) == "dawiki:A"
    assert id_of(vocab, "dawiki:A") is None
    assert len(vocab) == 5


@pytest.mark.parametrize("id", [-1, 5])
def test_id_that_is_not_there_is_an_error(publish, id):
    with pytest.raises(IndexError, match="ids 0 to 4"):
        publish(BEFORE).entity_of(id)


def test_entities_are_split_at_the_first_colon():
    space, title = split_entities(pa.array(["dawiki:2001: A\nB", "Q42", "gnd:"]))

    assert space.to_pylist() == ["dawiki", "", "gnd"]
    assert title.to_pylist() == ["2001: A\nB", "Q42", ""]


@pytest.mark.parametrize(
    ("space", "language"),
    [
        ("dawiki", "da"),
        ("zh_yuewiki", "zh-yue"),
        ("dewiktionary", "de"),
        ("dewikisource", "de"),
        ("gnd", "gnd"),
    ],
)
def test_language_of_a_wiki(space, language):
    assert language_of(space) == language


# --- ids across refreshes ---


def test_page_is_recognised_before_a_name():
    vocab = after(("dawiki:B", "dawiki:1"), ("dawiki:C", "dawiki:2"))

    assert ids(vocab) == {**dict(zip(SPECIAL, range(3), strict=True)), "dawiki:B": 3, "dawiki:C": 4}


def test_name_that_two_rows_have_means_the_one_that_is_not_retired():
    both = after(("dawiki:A", "dawiki:2"))  # id 4; the A of before is retired as 3

    assert match(chosen(("dawiki:A", None)), both).tolist() == [4]


def test_page_that_stands_twice_in_the_input_is_recognised_once():
    found = match(chosen(("dawiki:New", "dawiki:1"), ("dawiki:Old", "dawiki:1")), BEFORE)

    assert found.tolist() == [3, -1]


def test_special_rows_are_never_taken():
    assert match(chosen(("[UNK]", None)), BEFORE).tolist() == [-1]


PAGES = st.permutations([f"dawiki:{n}" for n in range(6)])
NAMES = st.permutations([f"dawiki:{c}" for c in "ABCDEF"])
STATES = st.lists(
    st.builds(
        lambda pages, names, n: list(zip(names, pages, strict=True))[:n],
        PAGES,
        NAMES,
        st.integers(1, 6),
    ),
    min_size=2,
    max_size=5,
)


@given(STATES)
def test_ids_stay_dense_and_with_their_pages(states):
    vocab, before = None, {}
    for state in states:
        vocab = assign_ids(chosen(*state), vocab)
        rows = vocab.to_pylist()
        live = [row for row in rows if not row["retired"]]

        assert [row["id"] for row in rows] == list(range(len(rows)))
        assert sorted(r["entity"] for r in live) == sorted([*SPECIAL, *(e for e, _ in state)])
        assert all(before.get(row["page_id"], row["id"]) == row["id"] for row in live)
        before = {row["page_id"]: row["id"] for row in rows if row["page_id"]}


# --- equivalents ---


def equivalents_of(tmp_path, text):
    (tmp_path / "table.tsv").write_bytes(text)
    return read_equivalents(tmp_path / "table.tsv")


@pytest.mark.parametrize("head", [b"", b"# wikis\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf# wikis\r\n"])
def test_first_entity_of_a_line_names_the_others(head, tmp_path):
    table = equivalents_of(tmp_path, head + b"a:X \tb:Y\t c:Z Z\r\n\na:W\n")

    assert table.select(["title", "target"]).to_pylist() == [
        {"title": "b:Y", "target": "a:X"},
        {"title": "c:Z Z", "target": "a:X"},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a:X\tb:Y\n\na:Z\tb:Y\n", r"table.tsv:3: 'b:Y' stands in the table already, in line 1"),
        (b"a:X\tb:Y\nc:Z\ta:X\n", r"table.tsv:2: 'a:X' stands"),
        (b"a:X\tb:Y\nBerlin\tb:Berlin\n", r"table.tsv:2: 'Berlin' is no entity"),
        (b"a:X\t\n", r"table.tsv:1: '' is no entity"),
        (b"a:X\tb:\xff\n", r"not UTF-8"),
    ],
)
def test_wrong_table_of_equivalents_is_an_error(tmp_path, text, message):
    with pytest.raises(CorpusError, match=message):
        equivalents_of(tmp_path, text)


# --- counting in parts ---


def counts_as_on_disk(entities: list[str]) -> pa.Table:
    """Make rows as an intermediate shard has them: by its schema, no column holds nulls."""
    names = dict.fromkeys(("entity", "form", "origin", "lang"), entities)
    zeros, ones = [0] * len(entities), [1] * len(entities)
    return pa.table({"part": zeros, **names, "count": ones}, SCHEMAS["entity_counts"].columns)


def test_sums_fold_rows_as_they_lie_on_disk(monkeypatch):
    monkeypatch.setattr("corpora.entities.counts.FOLD_ROWS", 2)
    sums = Sums(("entity", "form"))
    for entity in "abacab":
        sums.add(counts_as_on_disk([entity]))

    summed = sums.table().sort_by("entity").to_pydict()

    assert summed == {"entity": ["a", "b", "c"], "form": ["a", "b", "c"], "count": [3, 2, 1]}


def test_sums_fold_at_their_true_size():
    forms = [str(number) for number in range(FOLD_ROWS // 2 + 1)]
    schema = SCHEMAS["word_counts"].columns
    columns = [np.zeros(len(forms), np.int32), forms, np.ones(len(forms), np.int64)]
    table = pa.table(columns, schema=schema)
    sums = Sums(("word",))
    for _ in range(4):  # the second and the fourth make it fold
        sums.add(table)

    summed = sums.table()

    assert len(summed) == len(forms)
    assert pc.unique(summed.column("count")).to_pylist() == [4]


def test_batches_are_of_one_part_each_and_keep_their_order():
    names = {key: list("abcd") for key in ("entity", "form", "origin", "lang")}
    table = pa.table(names | {"count": [0, 0, 0, 0]})

    batches = list(by_partition(table, np.array([1, 0, 1, 0]), schema="entity_counts"))

    assert [batch.column("part").to_pylist() for batch in batches] == [[0, 0], [1, 1]]
    assert [batch.column("entity").to_pylist() for batch in batches] == [["b", "d"], ["a", "c"]]


def test_part_of_a_key_never_changes():
    keys = pa.chunked_array([["dawiki:Berlin", "dawiki:Ulm"], ["dawiki:Jena"]])

    assert partitions_of(keys, 7).tolist() == [6, 6, 4]


@given(st.integers(0, 50), st.integers(1, 7))
def test_slices_cover_all_rows(n_rows, n_units):
    size = slice_size(n_rows, n_units)

    assert size * n_units >= n_rows
