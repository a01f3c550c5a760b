"""The parts of news-please that find articles, imported without the rest of it.

``import newsplease`` would load its extractors and, with its pipelines, clients of databases. So
the modules are imported through an empty package of that name, which is removed afterwards: a later
``import newsplease`` gets the whole package.
"""

import sys
import warnings
from ast import literal_eval
from collections.abc import Iterator, Mapping
from configparser import RawConfigParser
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

NAME = "newsplease"


@contextmanager
def _without_its_init() -> Iterator[None]:
    spec = find_spec(NAME)
    if NAME in sys.modules or spec is None:
        yield
        return
    package = ModuleType(NAME)
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[NAME] = package
    try:
        yield
    finally:
        del sys.modules[NAME]


with _without_its_init(), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of newspaper, which lacks a library for summaries
    from newsplease.crawler.spiders.recursive_crawler import RecursiveCrawler
    from newsplease.crawler.spiders.recursive_sitemap_crawler import RecursiveSitemapCrawler
    from newsplease.crawler.spiders.rss_crawler import RssCrawler
    from newsplease.crawler.spiders.sitemap_crawler import SitemapCrawler
    from newsplease.helper_classes.heuristics import Heuristics
    from newsplease.helper_classes.parse_crawler import ParseCrawler

__all__ = [
    "Heuristics",
    "ParseCrawler",
    "RecursiveCrawler",
    "RecursiveSitemapCrawler",
    "RssCrawler",
    "SitemapCrawler",
    "shipped_settings",
]


def shipped_settings(section: str) -> Mapping[str, Any]:  # Any: literals of its file
    """Read a section of the settings that news-please ships, as its tests for articles."""
    spec = find_spec(NAME)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(NAME)
    parser = RawConfigParser()
    folder = Path(spec.submodule_search_locations[0])
    parser.read(folder / "config" / "config.cfg", encoding="utf-8")
    return {key: _value(text) for key, text in parser.items(section)}


def _value(text: str) -> object:
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text
