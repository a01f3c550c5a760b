"""The cause of a failed run, found among the exceptions of Beam, as an error for users."""

import re

from corpora.errors import CorpusError
from corpora.system.arguments import message_of

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
    if match := _IN_TEXT.search(str(error)):
        return CorpusError(match[1])
    return None


def explain(error: Exception, *, where: str) -> str:
    """Describe an error, and what to do."""
    if not isinstance(error, OSError):
        return str(error)
    remedy = "Nothing was published; fix it and run the same command again."
    return f"{message_of(error, path=where)} {remedy}"
