"""Paths that benchmarks read, checked while the command line is parsed.

parser.add_argument("--ner", type=existing, required=True)
parser.add_argument("--input", type=pattern, required=True)
"""

from argparse import ArgumentTypeError
from glob import glob
from pathlib import Path


def existing(text: str) -> Path:
    """Return a path to a file or a folder; raises ``ArgumentTypeError`` if it is not there."""
    if not text or not (path := Path(text)).exists():
        raise ArgumentTypeError(f"{text or 'an empty path'}: is not there. Name what is to be read")
    return path


def pattern(text: str) -> str:
    """Return a pattern of paths; raises ``ArgumentTypeError`` if it matches nothing."""
    if not glob(text, recursive=True):
        raise ArgumentTypeError(f"{text}: matches nothing. Name what is to be read")
    return text
