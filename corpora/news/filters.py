"""Filters of articles; each has a threshold, and a reason that is counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from tempfile import gettempdir
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corpora.errors import UsageError
from corpora.news.blocks import is_letter
from corpora.news.extraction import ExtractedArticle
from corpora.news.page_metadata import host_of
from corpora.news.rights import Rights
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.scripts import n_letters

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

MAX_NON_LETTERS = 0.25
"""The highest ratio of visible characters that are neither letters nor punctuation."""
MAX_LINKS = 0.5
"""The highest ratio of characters in links; a page with more is a list of links."""
STUB_CHARACTERS = 1_500
"""The number of characters below which the text of a page that is not free is only a stub."""
_LOOKED_AT = 20_000
"""The number of characters of a text from which its language is identified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Thresholds of the filters; the defaults are those of the command."""

    langs: tuple[str, ...] = ()
    """The languages that are kept; empty for all."""
    min_characters: int = 200
    """The fewest characters; a Han character counts as three, kana and Hangul as two."""
    keep_reserved: bool = False


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        return LanguageIdentifier.from_model_file(str(MODEL_FILE), norm_probs=True)
    except OSError as error:  # it unpacks its model (80 MB) into the folder for temporary files
        error.filename = error.filename or f"{gettempdir()} (TMPDIR)"
        raise


def check_langs(tags: Sequence[str]) -> None:
    """Raise ``UsageError`` for a language that the identifier does not know."""
    known = set(_identifier().labels)
    for tag in tags:
        if primary_language(tag) not in known:
            raise UsageError(f"--lang {tag}: not identified. There are {', '.join(sorted(known))}.")


def identify(text: str, declared: str | None) -> str | None:
    """Identify the language of a text, as a BCP 47 tag.

    The declared language is taken where the probability of the identified one is below 0.5. The
    declared region is kept where it belongs to the result.
    """
    found, probability = _identifier().classify(text[:_LOOKED_AT])
    if probability < 0.5 and declared:
        found = primary_language(declared)
    region = (declared or "").replace("_", "-")
    return region if region.lower().partition("-")[0] == found and len(region) < 12 else str(found)


def why_not(
    article: ExtractedArticle, *, lang: str | None, rights: Rights, thresholds: Thresholds
) -> str | None:
    """Return the reason why an article is left out; None if it is kept.

    The first that applies of: ``tdm_reserved``, ``list_page``, ``no_text``, ``paywall``, ``short``,
    ``non_letters``, ``language``.
    """
    text, metadata = article.text, article.metadata
    if rights.is_reserved and not thresholds.keep_reserved:
        return "tdm_reserved"
    if is_list(article):
        return "list_page"
    if not text:
        return "no_text"
    if metadata.is_free is False and n_letters(text) < STUB_CHARACTERS:
        return "paywall"
    if n_letters(text) < thresholds.min_characters:
        return "short"
    if non_letter_ratio(text) > MAX_NON_LETTERS:
        return "non_letters"
    if thresholds.langs and primary_language(lang) not in thresholds.langs:
        return "language"
    return None


def is_list(article: ExtractedArticle) -> bool:
    """Tell whether a page is a list of other pages.

    A page with more than ``MAX_LINKS`` of its characters in links is a list. For other pages their
    metadata decide, and where these do not say, whether the URL is that of a front page.
    """
    if article.linked > MAX_LINKS:
        return True
    if article.metadata.kind:
        return article.metadata.kind == "list"
    url = article.metadata.url
    return host_of(url) is not None and urlsplit(url or "").path.strip("/").lower() in _FRONT_PAGES


_FRONT_PAGES: Sequence[str] = ("", "index.html", "index.htm", "index.php", "home")


def non_letter_ratio(text: str) -> float:
    """Compute the ratio of visible characters that are neither letters nor punctuation marks."""
    letters = sum(map(is_letter, text))
    marks = sum(
        text.count(mark) for mark in ".,;:!?\"'()-–„“”‚‘’»«…。，、：；！？「」『』（）।॥،؛؟۔"
    )
    visible = sum(map(len, text.split()))
    return (visible - letters - marks) / visible if visible else 1.0
