"""Errors that a user can act on: each message says where, what, and what to do."""

from typing import ClassVar


class CorpusError(Exception):
    """A fault of the input, the options or the disk that a user can fix."""

    exit_status: ClassVar[int] = 1
    """Of a command that it ends."""


class CountedError(CorpusError):
    """A record or a file that cannot be used; ``reason`` is what is counted."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class InvalidDocumentError(CorpusError):
    """A document, mention or span breaks its own rules."""


class ShardSchemaError(CorpusError):
    """A dataset has another schema or version than this code reads."""


class DamagedDatasetError(CorpusError):
    """A dataset on disk differs from its ``dataset.json``."""


class InputChangedError(CorpusError):
    """An input has other bytes than when the plan was made."""


class FolderInUseError(CorpusError):
    """Another run holds the output folder."""


class TooManyRejectsError(CorpusError):
    """More records were rejected than the run may lose."""


class UsageError(CorpusError):
    """An option, a pattern or a file of settings is wrong."""

    exit_status = 2
