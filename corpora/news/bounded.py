"""Extraction in another process, with limits of time and memory."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from corpora.errors import UsageError
from corpora.news.blocks import Link
from corpora.news.extraction import Article, ExtractionError, extract
from corpora.news.page_metadata import PageMetadata
from corpora.system.sandbox import Bounds, Task, TaskError, ask

_INSTALL = {
    "trafilatura": "pip install 'onoma[news]'",
    "news-please": "pip install 'onoma[news-please]'",
}
_FIRST = "<html><body><p>A page to load the libraries with.</p></body></html>"
_REASONS = {
    "timeout": ("extraction_timeout", " (--max-seconds)."),
    "memory": ("extraction_memory", "."),
    "failed": ("extractor_failed", ". Leave the page out."),
}


def check_installed(extractor: str) -> str:
    """The extractor with its version; raises ``UsageError`` where it is not installed."""
    try:
        return f"{extractor} {version(extractor)}"
    except PackageNotFoundError:
        raise UsageError(
            f"--extractor {extractor}: it is not installed. Install it: {_INSTALL[extractor]}"
        ) from None


def extract_bounded(html: str, *, url: str | None, extractor: str, bounds: Bounds) -> Article:
    """``extract`` in another process; raises ``ExtractionError``."""
    request = {"html": html, "url": url, "extractor": extractor}
    try:
        return _article(ask(task_of(extractor), request, bounds=bounds))
    except TaskError as error:
        reason, rest = _REASONS.get(error.reason, (error.reason, ""))
        raise ExtractionError(reason, f"{error}{rest}") from error


def task_of(extractor: str) -> Task:
    """What the other process does."""
    first = {"html": _FIRST, "url": None, "extractor": extractor}
    return Task(f"{__name__}:extract_values", json.dumps(first))


def extract_values(html: str, url: str | None, extractor: str) -> dict[str, Any]:
    """``extract``, as values of JSON; raises ``ExtractionError``."""
    return asdict(extract(html, url=url, extractor=extractor))


def _article(answer: Mapping[str, Any]) -> Article:
    """An article as ``asdict`` and JSON left it."""
    told: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in answer["metadata"].items()
    }
    told["reservations"] = tuple((name, content) for name, content in told["reservations"])
    return Article(
        answer["text"],
        tuple((start, end, kind) for start, end, kind in answer["blocks"]),
        tuple(Link(**link) for link in answer["links"]),
        PageMetadata(**told),
        answer["linked"],
        answer["counters"],
    )
