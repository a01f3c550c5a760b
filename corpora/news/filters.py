"""Which articles are left out, and why: each filter has a threshold and a reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from corpora.errors import UsageError
from corpora.news.extraction import Article
from corpora.news.page_metadata import host_of
from corpora.news.rights import Rights
from corpora.segmentation.language_tags import primary_language

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_LOOKED_AT = 20_000
"""Characters of a text that its language is identified from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Thresholds of articles; the defaults are those of the command."""

    langs: tuple[str, ...] = ()
    """Languages that are kept; empty for all."""
    min_characters: int = 200
    max_non_letters: float = 0.25
    """Ratio of the characters, without white space, that are neither letters nor marks."""
    max_links: float = 0.5
    """Ratio of the characters that stand in links: more of them make a list."""
    stub_characters: int = 1_500
    """A page that says that it is not free is a stub if its text is shorter."""
    keep_reserved: bool = False


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(str(MODEL_FILE), norm_probs=True)


def check_langs(tags: Sequence[str]) -> None:
    """Raise ``UsageError`` for a language that is never identified."""
    known = set(_identifier().labels)
    for tag in tags:
        if primary_language(tag) not in known:
            raise UsageError(f"--lang {tag}: not identified. There are {', '.join(sorted(known))}.")


def identify(text: str, declared: str | None) -> str | None:
    """The language of a text as a BCP 47 tag: identified, with the region that is declared."""
    found, probability = _identifier().classify(text[:_LOOKED_AT])
    if probability < 0.5 and declared:
        found = primary_language(declared)
    region = (declared or "").replace("_", "-")
    return region if region.lower().partition("-")[0] == found and len(region) < 12 else str(found)


def why_not(
    article: Article, *, lang: str | None, rights: Rights, thresholds: Thresholds
) -> str | None:
    """Find why an article is left out; None if it is kept.

    The first of: ``tdm_reserved``, ``list_page``, ``no_text``, ``paywall``, ``short``,
    ``non_letters``, ``language``.
    """
    text, metadata = article.text, article.metadata
    if rights.is_reserved and not thresholds.keep_reserved:
        return "tdm_reserved"
    if is_list(article, max_links=thresholds.max_links):
        return "list_page"
    if not text:
        return "no_text"
    if metadata.is_free is False and len(text) < thresholds.stub_characters:
        return "paywall"
    if len(text) < thresholds.min_characters:
        return "short"
    if non_letter_ratio(text) > thresholds.max_non_letters:
        return "non_letters"
    if thresholds.langs and primary_language(lang) not in thresholds.langs:
        return "language"
    return None


def is_list(article: Article, *, max_links: float) -> bool:
    """Say whether a page lists others: it says so, is the front page, or is made of links.

    What a page says counts more than where it lies, and what it is made of more than what it says.
    """
    if article.linked > max_links:
        return True
    if article.metadata.kind:
        return article.metadata.kind == "list"
    url = article.metadata.url
    return host_of(url) is not None and urlsplit(url or "").path.strip("/").lower() in _FRONT_PAGES


_FRONT_PAGES: Sequence[str] = ("", "index.html", "index.htm", "index.php", "home")


def non_letter_ratio(text: str) -> float:
    """The ratio of the characters, white space left out, that are neither letters nor marks."""
    letters = sum(map(str.isalpha, text))
    marks = sum(text.count(mark) for mark in ".,;:!?\"'()-–„“”‚‘’»«…。，、：；！？「」『』（）")
    visible = sum(map(len, text.split()))
    return (visible - letters - marks) / visible if visible else 1.0
