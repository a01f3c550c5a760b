"""What ended a run: found in what Beam made of it, and said for people."""

import errno
import re

from corpora.errors import CorpusError

_OF_BEAM = r" \[while running '[^']*'\]"
_IN_TEXT = re.compile(rf"UnitFailedError: (.*?){_OF_BEAM}", re.DOTALL)


class UnitFailedError(CorpusError):
    """A failed unit; the message says where, what is wrong, and what to do."""


class WorkerDiedError(Exception):
    """A worker process that ended in the middle of its work."""


def failure_of(error: BaseException) -> CorpusError | None:
    """Find the ``CorpusError`` that a transform raised; None where there is none.

    Beam's in-memory runner raises it with a note at its end; other runners raise an error of their
    own whose text contains it.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CorpusError):
            text = re.sub(_OF_BEAM, "", str(cause))
            return cause if text == str(cause) else type(cause)(text)
        cause = cause.__cause__ or cause.__context__
    if found := _IN_TEXT.search(str(error)):
        return CorpusError(found[1])
    return None


def explain(error: Exception, *, where: str) -> str:
    """Describe an error, and what to do."""
    if not isinstance(error, OSError):
        return str(error)
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}  # of a copy, its target is full
    return (
        f"{(is_full and error.filename2) or error.filename or where}: {error.strerror or error}. "
        "Nothing was published; fix it and run the same command again."
    )
