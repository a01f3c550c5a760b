import json
import tracemalloc
from dataclasses import asdict, replace

from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.shards import Shard
from corpora.runs.plan import fingerprint_of
from corpora.runs.receipts import Accounting, Receipt, Totals, read_receipt, write_receipt

COUNTS = st.dictionaries(
    st.text(max_size=5) | st.text("a/b", max_size=5), st.integers(0, 1 << 40), max_size=5
)
ROWS = st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3), max_size=3)
RECEIPTS = st.builds(
    Receipt,
    fingerprint=st.just("f" * 64),
    unit=st.integers(-1, 9),
    shards=st.dictionaries(
        st.text(max_size=3), st.builds(Shard, st.just("s"), *[st.integers(0, 9)] * 2, st.just("h"))
    ),
    accounting=st.builds(Accounting, read=st.integers(0, 9), filtered=COUNTS, rejected=COUNTS),
    counters=COUNTS,
    rejected=ROWS,
    notes=ROWS,
    reused=COUNTS,
)
RECEIPT = Receipt(
    fingerprint="f" * 64,
    unit=0,
    shards={"": Shard("s", 1, 1, "h")},
    accounting=Accounting(),
    counters={},
    rejected=[],
)


@given(RECEIPTS)
def test_receipt_is_written_as_its_dictionary_with_a_hash_and_read_again(tmp_path_factory, receipt):
    path = tmp_path_factory.mktemp("receipts") / "00000.json"
    values = asdict(receipt)
    values["counters"] = {name: n for name, n in receipt.counters.items() if "/" not in name}

    write_receipt(path, receipt)

    text = path.read_text("utf-8")
    packed = {"named": json.loads(text)["named"]}
    written = values | packed | {"sha256": fingerprint_of(values | packed)}
    assert text == json.dumps(written, ensure_ascii=False) + "\n"
    assert read_receipt(path) == receipt


def test_counters_of_names_are_packed(tmp_path):
    path = tmp_path / "00000.json"
    names = [f"{what}/Template {number}" for number in range(1000) for what in ("hole", "words")]
    receipt = replace(RECEIPT, counters={"words.text": 5, **dict.fromkeys(names, 7)})

    write_receipt(path, receipt)

    assert read_receipt(path).counters == receipt.counters
    assert path.stat().st_size < len(json.dumps(receipt.counters)) / 3


def test_a_receipt_whose_packed_counters_are_damaged_is_none(tmp_path):
    path = tmp_path / "00000.json"
    write_receipt(path, replace(RECEIPT, counters={"hole/A": 1}))
    values = json.loads(path.read_text("utf-8")) | {"named": "AAAA"}
    del values["sha256"]
    path.write_text(json.dumps(values | {"sha256": fingerprint_of(values)}), "utf-8")

    assert read_receipt(path) is None


@given(st.lists(st.tuples(RECEIPTS, st.booleans()), max_size=5))
def test_what_units_say_together_is_the_sum_of_each_counter_and_the_shards_of_the_last(receipts):
    totals = Totals()

    for receipt, is_last in receipts:
        totals.add(receipt, is_last=is_last)

    names = {name for receipt, _ in receipts for name in receipt.counters}
    assert totals.counters == {n: sum(r.counters.get(n, 0) for r, _ in receipts) for n in names}
    assert totals.accounting == sum((r.accounting for r, _ in receipts), Accounting())
    assert totals.rejected == [row for receipt, _ in receipts for row in receipt.rejected]
    assert totals.shards == [receipt.shards for receipt, is_last in receipts if is_last]
    assert totals.notes == [
        row for receipt, is_last in receipts if is_last for row in receipt.notes
    ]


def test_receipts_of_many_counters_are_not_held(tmp_path):
    path = tmp_path / "00000.json"
    counters = {f"template/Name {number}": 1 for number in range(2000)}
    write_receipt(path, replace(RECEIPT, counters=counters))
    totals, held = Totals(), []
    tracemalloc.start()

    for _ in range(20):
        totals.add(read_receipt(path), is_last=True)
        held.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.stop()
    assert totals.counters == dict.fromkeys(counters, 20)
    assert held[-1] < 1.5 * held[0]
