"""The settings by which a run reads a wiki."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from corpora.wikipedia.siteinfo import SiteInfo


@dataclass(frozen=True, kw_only=True)
class WikiSettings:
    """The settings by which the pages of a wiki are read: from its dump, and from options."""

    site: SiteInfo
    """The wiki as its dump describes it; name and language are never empty."""
    namespaces: Sequence[int]
    """The numbers of the namespaces that are read, in order."""
    disambiguation: Literal["keep", "drop"]
    interwiki: Literal["keep", "drop"]
    extractor: str
    """The name of the extractor, and the version if it is not ours."""
    augment: Literal["article", "off"]
    license: str | None
    max_page_bytes: int
    n_tables: int
    """The number of the user's tables of templates."""
    variants: str
    """The table by which titles are found in another script; empty if the wiki has one script."""
    blocks: Sequence[str]
    """The kinds of blocks that are kept, in the order of ``KINDS``."""
    expand_templates: bool
    abbreviations: Mapping[str, object] | None = None
    """A table that replaces ours of the language, as in a TOML file; None: ours."""
    name_edges: str | None = None
    """The words between which titles are matched (``NameEdges.packed``); None: not known."""
    earlier: Mapping[str, str] | None = None
    """The ``folder`` and ``fingerprint`` of a run from which rows are taken over, if any.

    They decide no byte, so they are no parameters of a plan.
    """

    @property
    def is_html(self) -> bool:
        """Whether the pages are rendered ones."""
        return self.extractor.startswith("html ")

    def to_json(self) -> dict[str, object]:
        """Return the settings in the form of the parameters of a plan."""
        site = self.site
        return {
            "wiki": site.wiki,
            "lang": site.lang,
            **{name: value for name, value in vars(self).items() if name != "earlier"},
            "site": {
                "name": site.wiki,
                "lang": site.lang,
                "base": site.base,
                "case_sensitive": site.case_sensitive,
                "namespaces": dict(site.namespaces),
            },
        }
