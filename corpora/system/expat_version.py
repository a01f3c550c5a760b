"""A warning if the XML parser (expat) of this Python has known faults."""

import logging
from functools import cache
from xml.parsers import expat

log = logging.getLogger(__name__)

SAFE = (2, 7, 4)
"""The first version without these faults, in Python since 3.11.15 and 3.12.13 (SECURITY.md)."""


@cache
def warn_of_old_expat(version: tuple[int, int, int] = expat.version_info) -> None:
    """Warn, once, if the XML parser of this Python has known faults."""
    if version < SAFE:
        log.warning(
            "expat %s, the XML parser of this Python, has known faults. Take Python 3.11.15, "
            "3.12.13, or the newest of a later line, above all for strangers' files (SECURITY.md).",
            ".".join(map(str, version)),
        )
