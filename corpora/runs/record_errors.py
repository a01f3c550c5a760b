"""Conversion of exceptions to rejections, so that no single record ends a run.

The traceback goes to the log. Exceptions that are not the fault of a record still end the run: of
the disk, memory, a missing library, an input that has changed since the run was planned.
"""

import logging
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from corpora.document import Rejected
from corpora.errors import DamagedDatasetError, InputChangedError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
INTERNAL_ERROR = "internal_error"
"""The reason of a rejection for an exception that nobody expected."""
_OF_THE_RUN = (
    OSError,
    MemoryError,
    ImportError,
    InputChangedError,
    DamagedDatasetError,
    UsageError,
)
_MAX_CHARACTERS = 200
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_log = logging.getLogger(__name__)
_logged: set[tuple[str, str, int]] = set()


def read_record(
    read: Callable[[], T], *, source: str, position: str = "", excerpt: str = ""
) -> T | Rejected:
    """Read one record by ``read``; turn any exception into a rejection, ``internal_error``.

    ``read`` must leave nothing half-done where it raises.
    """
    try:
        return read()
    except BaseException as error:  # noqa: BLE001 - see check_error
        return reject(error, source=source, position=position, excerpt=excerpt)


def read_rows(
    batch: "pa.RecordBatch", read: "Callable[[pa.RecordBatch], T]"
) -> "Iterator[tuple[pa.RecordBatch, T | Rejected]]":
    """Read a batch of rows at once; if that raises, read it row by row.

    Yields rows with the result of ``read`` for them. ``read`` must leave nothing half-done where it
    raises.
    """
    try:
        done = read(batch)
    except BaseException as error:  # noqa: BLE001 - see check_error
        check_error(error)
    else:
        yield batch, done
        return
    for number in range(batch.num_rows):
        row = batch.slice(number, 1)
        id = _value(row, "id")
        source = _value(row, "source") or id or f"row {number}"
        position = f"document {id}" if id and id != source else ""
        yield row, read_record(partial(read, row), source=source, position=position)


def read_file_records(records: Iterable[T], *, source: str) -> Iterator[T | Rejected]:
    """Yield the records of a file; an exception turns the rest of the file into one rejection."""
    try:
        yield from records
    except BaseException as error:  # noqa: BLE001 - see check_error
        yield reject(error, source=source)


def reject(error: BaseException, *, source: str, position: str = "", excerpt: str = "") -> Rejected:
    """Log an exception and make it a rejection; raise it again where it is no error of a record."""
    check_error(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{source}: {position}" if position else source
    _write_log(error, where=where, frame=frame)
    what = " ".join(_ADDRESS.sub("0x…", f"{type(error).__name__}: {error}").split())
    return Rejected(
        source=_writable(source),
        position=_writable(position),
        reason=INTERNAL_ERROR,
        message=_writable(
            f"{where}: an error of Onoma in {frame.name}(): {what[:_MAX_CHARACTERS]}. Please "
            "report it, with the traceback in the log and this record."
        ),
        excerpt=_writable(excerpt[:_MAX_CHARACTERS]),
    )


def check_error(error: BaseException) -> None:
    """Raise an exception again unless it is the error of a record; panics of Rust libraries are."""
    is_panic = type(error).__name__ == "PanicException"
    if isinstance(error, _OF_THE_RUN) or not (is_panic or isinstance(error, Exception)):
        raise error


def _write_log(error: BaseException, *, where: str, frame: traceback.FrameSummary) -> None:
    """Log the traceback, but only once for the same error in the same line of code."""
    place = (type(error).__name__, frame.filename, frame.lineno or 0)
    if place in _logged:
        _log.error("%s: %s as before", where, place[0])
        return
    _logged.add(place)
    _log.error("%s: rejected for an error of Onoma", where, exc_info=error)


def _value(row: "pa.RecordBatch", name: str) -> str:
    """Return the string of a row in a column, whatever its bytes are; empty where there is none."""
    import pyarrow as pa

    if name not in row.schema.names:
        return ""
    value: bytes | None = row.column(name).cast(pa.binary())[0].as_py()
    return (value or b"").decode("utf-8", "replace")


def _writable(text: str) -> str:
    """Escape characters that cannot be written as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
