"""What is raised while a record is read: which errors are its own, and what is said of it."""

import logging

import pyarrow as pa
import pytest

from corpora.document import Rejected
from corpora.runs.record_errors import read_file_records, read_record, read_rows


def fail(error):
    raise error


def batch_of(*ids):
    return pa.RecordBatch.from_pydict({"id": list(ids), "text": [f"text {id}" for id in ids]})


def lengths(batch):
    texts = batch.column("text").to_pylist()
    if "text b" in texts:
        raise RecursionError("too deep")
    return [len(text) for text in texts]


def test_what_is_read_is_handed_on():
    assert read_record(lambda: 7, source="a.txt") == 7


def test_rows_are_read_at_once_where_all_goes_well():
    batch = batch_of("a", "c")

    assert list(read_rows(batch, lengths)) == [(batch, [6, 6])]


def test_only_the_row_that_raises_is_rejected():
    found = list(read_rows(batch_of("a", "b", "c"), lengths))

    assert [rows.num_rows for rows, _ in found] == [1, 1, 1]
    assert [made for _, made in found if not isinstance(made, Rejected)] == [[6], [6]]
    assert [made.source for _, made in found if isinstance(made, Rejected)] == ["b"]


def test_a_row_is_named_even_where_its_id_is_no_utf_8():
    id = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"a\xff")]
    )
    batch = pa.RecordBatch.from_arrays([id], ["id"])

    [(_, made)] = read_rows(batch, lambda rows: rows.column("id").to_pylist())

    assert made.source == "a\ufffd"


def test_after_an_error_in_a_file_its_rest_is_one_rejection():
    def records():
        yield 1
        fail(ZeroDivisionError("what nobody has thought of"))

    one, rest = read_file_records(records(), source="a.txt")

    assert one == 1
    assert (rest.source, rest.reason) == ("a.txt", "internal_error")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), OSError(5, "I/O error")])
def test_what_is_no_error_of_a_record_is_raised(error):
    with pytest.raises(type(error)):
        read_record(lambda: fail(error), source="a.txt")


def test_a_panic_of_a_library_is_an_error_of_the_record():
    panic = type("PanicException", (BaseException,), {})  # as libraries written in Rust have it

    made = read_record(lambda: fail(panic("index out of bounds")), source="a.txt")

    assert made.reason == "internal_error"


def test_what_is_said_can_be_written_whatever_the_record_holds():
    def read():
        raise ValueError("\ud800 " * 400)

    made = read_record(read, source="\ud800.txt", excerpt="\udfff")

    for text in (made.source, made.message, made.excerpt):
        assert text.encode()
    assert len(made.message) < 2000


def test_a_traceback_is_logged_once_for_each_place_in_the_code(caplog):
    def read():
        raise LookupError("what nobody has thought of")

    for name in ("a.txt", "b.txt", "c.txt"):
        read_record(read, source=name)

    assert [bool(record.exc_info) for record in caplog.records] == [True, False, False]
    assert all(record.levelno == logging.ERROR for record in caplog.records)
