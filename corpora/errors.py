"""Errors that a user can fix: each message says where, what is wrong, and what to do.

An error has the exit status of the command that it ends: 1, or 2 for a ``UsageError``. Ctrl-C (130)
and SIGTERM (143) are in ``corpora/system/interrupts.py``; 3 is of the commands that compare.
"""

from collections.abc import Callable
from typing import ClassVar


class CorpusError(Exception):
    """A fault of the input, the options or the disk that a user can fix."""

    exit_status: ClassVar[int] = 1
    """The exit status of a command that ends with the error."""

    def __reduce__(
        self,
    ) -> tuple[Callable[..., BaseException], tuple[object, ...], dict[str, object]]:
        """Describe the error for pickling: its arguments and attributes, whatever made them.

        Otherwise Python calls the class with ``args`` alone. For an error that is made of more,
        this fails in the process that waits for it, which breaks a ``ProcessPoolExecutor``.
        """
        return BaseException.__new__, (type(self), *self.args), self.__dict__


class CountedError(CorpusError):
    """A record or a file that cannot be used; rejects are counted by ``reason``."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class InvalidDocumentError(CorpusError):
    """A document, mention or span that breaks a rule, such as an empty span."""


class ShardSchemaError(CorpusError):
    """A dataset with another schema or version than this code reads."""


class DamagedDatasetError(CorpusError):
    """A dataset or a file of a run that is not as it was written."""


class InputChangedError(CorpusError):
    """An input that has changed since the plan was made."""


class FolderInUseError(CorpusError):
    """A folder that another process holds."""


class TooManyRejectsError(CorpusError):
    """More rejected records than a run allows."""


class UsageError(CorpusError):
    """A wrong option, pattern or file of settings."""

    exit_status = 2
