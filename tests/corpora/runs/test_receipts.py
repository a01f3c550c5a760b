import json
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.shards import Shard
from corpora.runs.plan import fingerprint_of
from corpora.runs.receipts import Accounting, Receipt, read_receipt, total_of, write_receipt

COUNTS = st.dictionaries(st.text(max_size=5), st.integers(0, 1 << 40), max_size=5)
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


@given(RECEIPTS)
def test_receipt_is_written_as_its_dictionary_with_a_hash_and_read_again(tmp_path_factory, receipt):
    path = tmp_path_factory.mktemp("receipts") / "00000.json"
    values = asdict(receipt)

    write_receipt(path, receipt)

    written = values | {"sha256": fingerprint_of(values)}
    assert path.read_text("utf-8") == json.dumps(written, ensure_ascii=False) + "\n"
    assert read_receipt(path) == receipt


@given(st.lists(COUNTS))
def test_total_has_the_sum_of_each_counter_in_the_order_of_names(counters):
    names = sorted({name for counter in counters for name in counter})

    total = total_of(counters)

    assert list(total.items()) == [(n, sum(c.get(n, 0) for c in counters)) for n in names]
