"""The language that a tag means: ``de-AT``, ``ger`` and ``deu`` are all ``de``."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

CHINESE = frozenset(
    {
        "zh", "cdo", "cjy", "cnp", "cpx", "csp", "czh", "czo", "gan", "hak", "hsn", "lzh", "mnp",
        "nan", "wuu", "yue",
    }
)  # fmt: skip
"""Chinese, and its languages in ISO 639-3: Classical Chinese, Cantonese, Wu …"""


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
