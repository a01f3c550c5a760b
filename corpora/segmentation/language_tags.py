"""Tags of languages, and what they mean: ``de-AT``, ``ger`` and ``deu`` are all ``de``."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from corpora.errors import UsageError

CHINESE = frozenset(
    {
        "zh", "cdo", "cjy", "cnp", "cpx", "csp", "czh", "czo", "gan", "hak", "hsn", "lzh", "mnp",
        "nan", "wuu", "yue",
    }
)  # fmt: skip
"""Chinese, and its languages in ISO 639-3: Classical Chinese, Cantonese, Wu …"""
_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")


def is_tag(text: str) -> bool:
    """Tell whether a text is the tag of a language, such as ``de`` or ``zh-TW``."""
    return _TAG.fullmatch(text) is not None


def check_tag(lang: str | None) -> None:
    """Raise ``UsageError`` if the option ``--lang`` is given, but is no tag."""
    if lang is not None and not is_tag(lang):
        raise UsageError(f"--lang {lang}: no tag of a language (de, zh-TW).")


@cache
def primary_language(tag: str | None) -> str:
    """Find the shortest code of the language that a tag means.

    The tag is of BCP 47 (``de-AT``, ``zh_TW``), a code of ISO 639-1, 639-2 or 639-3, or the name of
    a Wikipedia (``simple``, ``zh-min-nan``). Empty where there is none.
    """
    name = (tag or "").replace("_", "-").lower()
    code = name.partition("-")[0]
    known = _codes()
    return known.get(name) or known.get(code) or code


@cache
def _codes() -> Mapping[str, str]:
    """Map the other names of each language to its code."""
    table = tomllib.loads(
        (files("corpora.segmentation") / "language_codes.toml").read_text("utf-8")
    )
    return {name: code for code, names in table.items() for name in names}
