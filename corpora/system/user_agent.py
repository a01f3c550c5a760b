"""The ``User-Agent`` of the crawler, and the contact address that servers are told."""

import re
from importlib.metadata import version

from corpora.errors import UsageError

AGENT = "Onoma"
"""The name of the crawler in robots.txt and in the ``User-Agent``."""
_CONTACT = re.compile(r"[\x21-\x7e]+@[\x21-\x7e]+|https?://[\x21-\x7e]+")


def check_contact(contact: str, *, name: str) -> None:
    """Raise ``UsageError`` unless ``contact`` is an e-mail address or the URL of a page.

    ``name`` is the option that the user gave: ``--contact``.
    """
    if not _CONTACT.fullmatch(contact):
        raise UsageError(
            f"{name} {contact!r}: must be your address of mail or of a page. It goes to the "
            "server, whose operators block who cannot be reached."
        )


def crawler_agent(contact: str) -> str:
    """Return the ``User-Agent``: the crawler with its version, and who is responsible."""
    number = ".".join(version("onoma").split(".")[:2])
    return f"{AGENT}/{number} (+{contact})"
