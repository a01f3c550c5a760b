"""Ctrl-C and SIGTERM: the end of a command that is still loading, or in the middle of its work."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

_STATUS = 130
_OURS = frozenset({"corpora", "pipelines", "modeling"})
TERMINATED: Final = 128 + signal.SIGTERM
"""The exit status of a command that SIGTERM has stopped."""


class Terminated(KeyboardInterrupt):
    """The exception for SIGTERM, which ends the work in the same orderly way as Ctrl-C."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise ``Terminated`` at a SIGTERM inside the block.

    Does nothing outside the main thread, which alone hears signals, or where the program has a
    handler of its own.
    """
    is_free = threading.current_thread() is threading.main_thread()
    if not (is_free and signal.getsignal(signal.SIGTERM) in {signal.SIG_DFL, _end}):
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(_: int, __: FrameType | None) -> NoReturn:
    raise Terminated


def end_quietly_while_loading(*, is_command: bool = False) -> None:
    """Let Ctrl-C and SIGTERM end this process at once until a command reads its arguments.

    SIGTERM then ends it as it ends any process (``let_sigterm_end``), except in ``terminable``.

    This is only for ``onoma`` (``is_command``) and ``python -m`` with a module of Onoma. Code
    that is being imported may turn the
    ``KeyboardInterrupt`` into any other error; there is nothing yet to be cleaned up.
    """
    is_command = is_command or _started_module().partition(".")[0] in _OURS
    is_free = threading.current_thread() is threading.main_thread()
    if not (is_command and is_free):
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def let_sigterm_end() -> None:
    """Let SIGTERM end this process without Python, which may be waiting for a library.

    From now on, Ctrl-C raises ``KeyboardInterrupt``.
    """
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _started_module() -> str:
    """Return the module of ``python -m`` while Python looks for it; empty at other times.

    Until it is found, ``sys.argv`` begins with ``-m``, and has no module.
    """
    argv = getattr(sys, "argv", [""])
    return sys.orig_argv[-len(argv)].removeprefix("-m") if argv[:1] == ["-m"] else ""


def _end(number: int, _: FrameType | None) -> None:
    is_interrupted = number == signal.SIGINT
    os.write(2, b"error: interrupted.\n" if is_interrupted else b"error: stopped by SIGTERM.\n")
    os._exit(_STATUS if is_interrupted else TERMINATED)
