"""Readers and resolvers of a wiki, made from the settings of a run."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from corpora.datasets.redirect_table import RedirectTable
from corpora.matching.name_edges import NameEdges
from corpora.matching.title_matches import Augmentation
from corpora.segmentation.sentences import has_table, segmenter, segmenter_with
from corpora.wikipedia.articles import ArticleReader
from corpora.wikipedia.aside import KINDS
from corpora.wikipedia.definitions import Definitions
from corpora.wikipedia.disambiguation import signs_of
from corpora.wikipedia.image_options import options_of
from corpora.wikipedia.resolution import Resolver
from corpora.wikipedia.settings import WikiSettings
from corpora.wikipedia.siteinfo import SiteInfo
from corpora.wikipedia.templates import TemplateTable, has_templates, load_templates
from corpora.wikipedia.titles import Wiki, codes_of, wiki_of
from corpora.wikipedia.unmatched import Unmatched
from corpora.wikipedia.variant_titles import has_chinese_scripts, table_for

REDIRECTS, UNMATCHED, DEFINITIONS = "redirects", "unmatched", "definitions"
"""The names of the tables of a run."""


def reader_of(
    settings: WikiSettings, tables: Sequence[Path], definitions: Path | None = None
) -> ArticleReader:
    """Build the reader of a wiki's pages; ``tables`` are files with the user's templates.

    ``definitions`` is the table of the dump's own templates, if they are to be shown.
    """
    wiki = _wiki_of(settings)
    own = settings.abbreviations
    templates = _templates(wiki.codes, tuple(tables))
    if definitions:
        templates = replace(templates, definitions=Definitions(definitions), _actions={})
    return ArticleReader(
        wiki,
        templates,
        license=settings.license,
        keeps_disambiguation=settings.disambiguation == "keep",
        engine=settings.extractor.partition(" ")[0],
        blocks=frozenset(KINDS[name] for name in settings.blocks),
        segmenter=segmenter(wiki.lang) if own is None else segmenter_with(wiki.lang, own),
    )


def resolver_of(settings: WikiSettings, tables: Path) -> Resolver:
    """Build the resolver that finishes documents, once a run's ``tables`` hold all titles."""
    wiki = _wiki_of(settings)
    augmentation = Augmentation(
        lang=wiki.lang,
        min_characters=3 if wiki.trail else 2,
        name_edges=NameEdges.unpacked(settings.name_edges) if settings.name_edges else None,
    )
    return Resolver(
        wiki.name,
        RedirectTable(tables / REDIRECTS),
        Unmatched(tables / UNMATCHED, wiki.codes),
        augmentation if settings.augment == "article" else None,
    )


def has_own_templates(name: str, lang: str) -> bool:
    """Tell whether there is a table of templates of a wiki's own, not only of its project."""
    return any(has_templates(code) for code in codes_of(name, lang) if not name.endswith(code))


def missing_tables(name: str, lang: str) -> list[str]:
    """List the tables that lack this wiki, each with the effect on its text."""
    codes = codes_of(name, lang)
    found = {
        "templates (those of the dump are expanded; of others, what they carry is lost where "
        "their names are not English: --templates)": has_own_templates(name, lang),
        "disambiguation pages (only English signs and __DISAMBIG__ are known: --templates)": (
            signs_of(codes).is_own
        ),
        "options of images (only English ones are known: others are taken for captions)": (
            options_of(codes).is_own
        ),
        "Chinese scripts (links in the other script lead nowhere: pip install 'onoma[chinese]')": (
            bool(table_for(codes)) or not has_chinese_scripts(codes)
        ),
        "abbreviations (they are learned from the first pages: abbreviations.toml)": has_table(
            lang
        ),
    }
    return [what for what, is_there in found.items() if not is_there]


def _wiki_of(settings: WikiSettings) -> Wiki:
    reads, keeps_interwiki = tuple(settings.namespaces), settings.interwiki == "keep"
    return _wiki(settings.site, reads, keeps_interwiki=keeps_interwiki)


@cache
def _wiki(site: SiteInfo, reads: tuple[int, ...], *, keeps_interwiki: bool) -> Wiki:
    """Build the wiki, once per process."""
    return wiki_of(
        name=site.wiki,
        lang=site.lang,
        base=site.base,
        namespaces=site.namespaces,
        case_sensitive=site.case_sensitive,
        reads=reads,
        keeps_interwiki=keeps_interwiki,
    )


@cache
def _templates(codes: tuple[str, ...], paths: tuple[Path, ...]) -> TemplateTable:
    return load_templates(codes, paths)
