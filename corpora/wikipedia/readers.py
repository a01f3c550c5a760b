"""What reads and what finishes the pages of a wiki, as the settings of a run say."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from corpora.wikipedia.articles import ArticleReader
from corpora.wikipedia.ledger import Ledger
from corpora.wikipedia.redirects import RedirectTable
from corpora.wikipedia.resolution import Augmentation, Resolver
from corpora.wikipedia.templates import TemplateTable, load_templates
from corpora.wikipedia.titles import Wiki, wiki_of


def reader_of(settings: Mapping[str, Any], tables: Sequence[Path]) -> ArticleReader:
    """What reads pages; ``tables`` are those of templates that the user adds."""
    return ArticleReader(
        _wiki(json.dumps(settings["site"], sort_keys=True)),
        _templates(settings["lang"], tuple(tables)),
        license=settings["license"],
        namespaces=frozenset(settings["namespaces"]),
        disambiguation=settings["disambiguation"] == "keep",
        engine=settings["extractor"].partition(" ")[0],
        ledger=Ledger(),
    )


def resolver_of(settings: Mapping[str, Any], table: RedirectTable) -> Resolver:
    """What finishes documents once all redirects are known."""
    wiki = _wiki(json.dumps(settings["site"], sort_keys=True))
    augmentation = Augmentation(
        lang=settings["lang"],
        min_characters=3 if wiki.trail else 2,
        right=settings["right"],
        anchors=settings["anchors"] == "on",
    )
    return Resolver(
        settings["wiki"], table, augmentation if settings["augment"] == "article" else None
    )


@cache
def _wiki(site: str) -> Wiki:
    """What is known of the wiki whose settings are given, as JSON."""
    return wiki_of(**json.loads(site))


@cache
def _templates(lang: str, paths: tuple[Path, ...]) -> TemplateTable:
    return load_templates(lang, paths)
