"""The images of pages: files in folders, or addresses, that the command line allows."""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from corpora.errors import UsageError
from corpora.tei.source import Node, Source

KINDS = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
}


class Facsimiles:
    """The folders and the beginnings of addresses in which images may be."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self.folders: list[Path] = []
        self.addresses: list[str] = []
        for text in allowed:
            if urlsplit(text).scheme in {"http", "https"}:
                self.addresses.append(text)
            elif Path(text).is_dir():
                self.folders.append(Path(text).resolve())
            else:
                raise UsageError(f"--facsimiles {text}: is neither a folder nor an address.")

    @property
    def origins(self) -> list[str]:
        """The servers that the page may load images from."""
        parts = map(urlsplit, self.addresses)
        return sorted({f"{part.scheme}://{part.netloc}" for part in parts})

    def is_allowed(self, address: str) -> bool:
        """Tell whether an image on the net may be shown."""
        return address.startswith(tuple(self.addresses))

    def file(self, name: str) -> Path | None:
        """Find the file of an image, by its path in a folder or by its name alone."""
        plain = unquote(urlsplit(name).path)
        for folder in self.folders:
            for tried in (folder / plain.lstrip("/"), folder / PurePosixPath(plain).name):
                path = tried.resolve()
                if path.is_relative_to(folder) and path.suffix.lower() in KINDS and path.is_file():
                    return path
        return None


def image_of(source: Source, page: Node) -> str:
    """Return the image of a page: ``@facs``, or the ``graphic`` of the ``surface`` it points to."""
    address = next(iter(page.attributes.get("facs", "").split()), "")
    surface = source.by_id.get(address.removeprefix("#")) if address.startswith("#") else None
    if surface is None:
        return address
    graphics = (n for n in surface.walk() if n.name in {"graphic", "surface"})
    values = (n.attributes.get("url") or n.attributes.get("facs", "") for n in graphics)
    return next(filter(None, values), "")


def images_in(source: Source) -> Sequence[str]:
    """List the images of the pages of a file, in their order."""
    pages = (node for node in source.nodes if node.name == "pb" and node.attributes.get("facs"))
    return [image_of(source, page) for page in pages]
