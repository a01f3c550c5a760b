"""The folders that a concordance is made from, and the folder that it is written to."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from corpora.datasets.shards import open_dataset
from corpora.document import Document
from corpora.errors import CorpusError
from corpora.system.files import is_one_plain_name
from corpora.system.parsing import read_json
from corpora.system.writing import write_json

_MIN_LINK_PROBABILITY = 0.1
"""The least link probability of a vocabulary's form; a form that is linked less often is a word."""


def open_documents(run: Path) -> tuple[Iterator[Document], Path]:
    """Open the documents of a run, or a dataset of documents; also returns the run's folder."""
    path = run / "documents" if (run / "documents/dataset.json").is_file() else run
    return iter(open_dataset(path, "documents")), run


def titles_of(vocab: Path) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Read an entity vocabulary: the title of each entity, and forms that mostly mean it."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for row in open_dataset(vocab, "entities").rows():
        if row["retired"]:
            continue
        forms = (
            alias["form"]
            for alias in row["aliases"] or ()
            if (alias["link_probability"] or 1.0) >= _MIN_LINK_PROBABILITY
        )
        found[row["entity"]] = (row["title"] or row["entity"], tuple(forms))
    return found


def earlier_pages(output: Path, *, manifest: str) -> list[str]:
    """Return the names of the pages of an earlier concordance; without a manifest, write one.

    The pages stay until there are new ones, which may take their names. After a full disk or a
    kill, the manifest says that the folder is one of ours.
    """
    if not (output / manifest).is_file():
        write_json(output / manifest, {"pages": []})
    pages = read_json(output / manifest)
    names = pages.get("pages", ()) if isinstance(pages, dict) else ()
    for name in names:
        if not is_one_plain_name(name) or not name.endswith(".html"):
            raise CorpusError(f"{output / manifest}: names {name!r}. Remove the folder.")
    return list(names)
