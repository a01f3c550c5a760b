"""ZIM archives (Kiwix) of rendered pages, read by libzim: ``pip install 'onoma[zim]'``.

Ranges count entries. An entry is a page, a redirect to one, or no page, which is passed over.
"""

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.document import Rejected
from corpora.errors import CorpusError
from corpora.runs.plan import InputFile
from corpora.wikipedia.pages import HTML, PageError, WikiPage
from corpora.wikipedia.segments import HASH_DIGITS
from corpora.wikipedia.siteinfo import PROJECTS, SiteInfo, site_of

if TYPE_CHECKING:
    from libzim.reader import Archive, Entry

    from corpora.wikipedia.reuse_places import RowPlace

MAGIC = b"ZIM\x04"
_NAME = re.compile(rf"(?:.*[./])?({'|'.join(PROJECTS)})_([a-z-]+)(?:_|$)")
_OTHER_SPACE = re.compile(r"[B-Z-]/")
_PART = re.compile(r"\.zim[a-z]{2}$")
_AGAIN = "Download it again."


def with_parts(named: Mapping[str, Path]) -> dict[str, Path]:
    """Add to each first part of an archive (``….zimaa``) the other parts, which lie beside it."""
    found = dict(named)
    for name, path in named.items():
        if path.name.endswith(".zimaa"):
            for part in path.parent.glob(f"{glob.escape(path.name[:-2])}[a-z][a-z]"):
                found.setdefault(f"{name[:-2]}{part.name[-2:]}", part)
    return dict(sorted(found.items()))


def grouped(files: Iterable[InputFile]) -> list[tuple[InputFile, ...]]:
    """Group files, sorted by name: the parts of an archive belong together."""

    def key(file: InputFile) -> str:
        return file.name[:-2] if _PART.search(file.name) else file.name

    return [tuple(group) for _, group in groupby(files, key)]


def open_zim(path: Path) -> "Archive":
    """Open an archive, or the first of its parts; raises ``CorpusError`` for a damaged one."""
    from libzim.reader import Archive

    try:
        return Archive(path)
    except RuntimeError as error:
        why = " ".join(str(error).split())
        raise CorpusError(f"{path.name}: is a damaged ZIM archive ({why}). {_AGAIN}") from error


def examine_zim(path: Path) -> tuple[SiteInfo, int]:
    """Check the sums of an archive; return its wiki, and the number of its entries.

    Raises ``CorpusError`` for a damaged one.
    """
    archive = open_zim(path)
    if not archive.check():
        raise CorpusError(
            f"{path.name}: is a damaged ZIM archive (its checksum or an index is wrong). {_AGAIN}"
        )
    names = [
        archive.get_metadata("Name").decode() if "Name" in archive.metadata_keys else "",
        path.name,
    ]
    named = next(filter(None, map(_NAME.match, names)), None)
    project, lang = named.groups() if named else ("", "")
    base = f"https://{lang}.{project}.org/wiki/" if named else ""
    return site_of("", lang=lang, base=base, name=path.name), archive.all_entry_count


def read_zim(
    path: Path,
    start: int,
    end: int,
    *,
    source: str,
    max_bytes: int,
    find: "Callable[[WikiPage], RowPlace | None] | None" = None,
) -> "Iterator[WikiPage | Rejected | RowPlace]":
    """Read the pages among some entries; ``find`` and rejections as in ``dump.read_pages``."""
    archive = open_zim(path)
    is_spaced = not archive.has_new_namespace_scheme
    for number in range(start, end):
        try:
            entry = archive._get_entry_by_id(number)  # noqa: SLF001 - libzim has no other way
            page = _page(entry, f"entry {number}", is_spaced=is_spaced, max_bytes=max_bytes)
        except (RuntimeError, PageError) as error:
            reason = error.reason if isinstance(error, PageError) else "damaged_block"
            yield Rejected(
                source=source,
                position=f"entry {number}",
                reason=reason,
                message=f"{source}: entry {number}: {error}. {_AGAIN}",
            )
            continue
        if page is not None:
            yield (find(page) if find and page.hash else None) or page


def _page(entry: "Entry", position: str, *, is_spaced: bool, max_bytes: int) -> WikiPage | None:
    """Read an entry; None if it is no page. Raises ``PageError``."""
    if is_spaced and not entry.path.startswith("A/"):
        return None
    if entry.is_redirect:
        target = entry.get_redirect_entry()
        if is_spaced and not target.path.startswith("A/"):
            return None
        return WikiPage(
            title=_title(entry.path),
            namespace=0,
            redirect=_title(target.path),
            model=HTML,
            text="redirect",
            position=position,
        )
    item = entry.get_item()
    if not item.mimetype.startswith("text/html"):
        return None
    if item.size > max_bytes:
        raise PageError("too_large", f"has {item.size:,} bytes. Or raise the bound")
    content = bytes(item.content)
    return WikiPage(
        title=_title(entry.path),
        namespace=0,
        model=HTML,
        text=content.decode("utf-8", "replace"),
        position=position,
        hash=sha256(content).hexdigest()[:HASH_DIGITS],
    )


def _title(path: str) -> str:
    """Return the title of a page by its path."""
    return path.removeprefix("A/").removesuffix(".html").replace("_", " ")
