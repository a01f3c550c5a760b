"""Numbers on command lines."""

from argparse import ArgumentTypeError


def count(text: str) -> int:
    """0, 1, 2 …; ``ArgumentTypeError`` for what is none."""
    return _number(text, least=0)


def positive(text: str) -> int:
    """1, 2, 3 …; ``ArgumentTypeError`` for what is none."""
    return _number(text, least=1)


def _number(text: str, *, least: int) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise ArgumentTypeError(f"{text!r}: expected a whole number, {least} or more")
    return int(text)
