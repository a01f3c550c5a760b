"""The common parts of all commands: options, signals, exit statuses for errors."""

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Final, TypeVar

from corpora.errors import UsageError
from corpora.system import arguments, imports
from corpora.system.imports import hide_pandas_from_pyarrow
from corpora.system.interrupts import Terminated

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
_PATIENCE: Final = b"\nA checkpoint is written after this step. Ctrl-C again ends at once.\n"


class Termination:
    """A listener for SIGTERM and Ctrl-C, which raises an exception, or only sets a flag.

    Inside ``deferred``, a signal only sets ``is_asked``; but a second Ctrl-C always raises at once.
    """

    def __init__(self) -> None:
        self.is_asked = False
        self._is_deferred = False
        self._is_interrupted = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen to the signals inside the block; other threads than the main one hear none.

        If Ctrl-C is ignored when the block begins, it stays ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        earlier = {signal.SIGTERM: signal.signal(signal.SIGTERM, self._hear)}
        if callable(signal.getsignal(signal.SIGINT)):  # SIG_IGN and SIG_DFL are numbers
            earlier[signal.SIGINT] = signal.signal(signal.SIGINT, self._hear)
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Take note of signals inside the block; the caller must check ``is_asked`` regularly."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False

    def end(self) -> KeyboardInterrupt:
        """Return the exception to raise: ``KeyboardInterrupt`` after Ctrl-C or ``Terminated``."""
        return KeyboardInterrupt() if self._is_interrupted else Terminated()

    def _hear(self, number: int, _: object) -> None:
        is_second = self._is_interrupted and number == signal.SIGINT
        self.is_asked = True
        self._is_interrupted |= number == signal.SIGINT
        if is_second or not self._is_deferred:
            raise self.end()
        if number == signal.SIGINT:
            os.write(2, _PATIENCE)  # the interrupted code may be writing to sys.stderr


def show(lines: Iterable[str | arguments.Summary]) -> arguments.Summary | None:
    """Write lines to standard output; return the summary if there is one among them."""
    summary = None
    for line in lines:
        if isinstance(line, arguments.Summary):
            summary = line
        else:
            arguments.say(f"{line}\n")
    return summary


def start(
    kind: type[T],
    argv: Sequence[str] | None,
    work: Callable[[T], arguments.Summary | None],
    *,
    name: str,
    about: str | None,
    resumes: str = "",
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Read the command line into ``kind``, a frozen dataclass, and do the ``work``.

    If ``kind`` has a field ``json`` and it is set, only the summary is written to
    standard output, and all other output to standard error.

    Returns the status of the summary, or 0; 1 for an error, 130 for Ctrl-C, 143 for SIGTERM. Ends
    the process with status 2 if the command is wrong. ``resumes`` says where a stopped run resumes;
    ``errors`` are exceptions that are reported as errors, besides those of all commands.
    """
    parser = arguments.make_parser(name, about)
    arguments.add_options(parser, kind)
    given = arguments.values_of(parser.parse_args(argv))
    # Set before torch is loaded: threads that wait actively slow down other jobs, and this one.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=logging.WARNING)
    try:
        if argv is None or imports.own_process:
            hide_pandas_from_pyarrow()
        options = kind(**given)
        arguments.check(options)
        is_json = bool(getattr(options, "json", False))
        with redirect_stdout(sys.stderr) if is_json else nullcontext():
            summary = work(options)
        if is_json and summary:
            summary.write()
        return summary.status if summary else 0
    except arguments.ENDS as error:
        resumes = f"The same command resumes{resumes}."
        status = arguments.end(error, path=given.get("output"), resumes=resumes)
        return sys.exit(status) if isinstance(error, UsageError) else status
    except errors as error:
        return arguments.fail(str(error), status=1)


def check_given(options: object, *names: str) -> None:
    """Raise ``UsageError`` for the first of the named options that was not given."""
    for name in names:
        if not getattr(options, name):
            raise UsageError(f"{'a recipe' if name == 'recipe' else '--' + name} is needed")


def counts(text: str) -> tuple[int, ...]:
    """Parse integers from 0 on (``0,1,2``); raise ``ArgumentTypeError`` for any other text."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: numbers from 0 on, with commas between")
    return tuple(map(int, parts))
