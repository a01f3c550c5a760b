"""Copies of files in buckets, which all that is printed names by their addresses (``s3://…``)."""

import re
from typing import Final

_COPY: Final = re.compile(r"(?<=/)[0-9a-f]{32}(?=/)")

copied: dict[str, tuple[str, str]] = {}
"""The names of the folders of copies (``_COPY``), to the path of the folder, and the address of the
folder in which the original lies."""


def with_addresses(text: str) -> str:
    """Replace the paths of copies in a text by the addresses of their originals."""
    for name in set(_COPY.findall(text)) & copied.keys() if copied else ():
        text = text.replace(*copied[name])
    return text
