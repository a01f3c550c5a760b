"""Refreshes of a small wiki, beside full rebuilds; what may be edited in it."""

import json
from dataclasses import replace

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from pipelines import wikipedia_to_documents
from pipelines.transforms import wikipedia as transforms
from pipelines.wikipedia_to_documents import main
from tests.corpora.wikipedia.small_wiki import NAMES, Page, SmallWiki, article

WIKI = SmallWiki()
N_DOCUMENTS = len(NAMES) + 1


def cut_small(patch, *, range_bytes=8000, batch=3000):
    """Cut a small dump into several units, and these into several batches."""
    patch.setattr(wikipedia_to_documents, "RANGE_BYTES", (range_bytes, range_bytes))
    patch.setattr(transforms, "CHARACTERS_PER_BATCH", batch)


def run(wiki, output, *options, month=11):
    """Write the dump of a wiki, and make documents of it."""
    dump = output.parent / f"kleinwiki-2026{month}01-pages-articles.xml"
    dump.write_text(wiki if isinstance(wiki, str) else wiki.dump(), encoding="utf-8")
    return main(["--input", str(dump), "--output", str(output), *map(str, options)])


def files_of(output):
    """Return the bytes of all published files; of ``run.json`` all but what was taken over."""
    paths = [p for p in output.rglob("*") if p.is_file() and ".build" not in p.parts]
    files = {p.relative_to(output).as_posix(): p.read_bytes() for p in paths if p.name != ".lock"}
    about = json.loads(files["run.json"])
    about.pop("reused", None)
    return files | {"run.json": about}


def reused(output):
    return json.loads((output / "run.json").read_text("utf-8")).get("reused", {})


def rows_of(output):
    return open_dataset(output / "documents").rows()


def texts_of(file):
    """Read the texts in a shard that is passed on between the stages."""
    return [
        text
        for batch in read_batches(file, SCHEMAS["wiki_pages"], columns=("text",))
        for text in batch.column("text").to_pylist()
    ]


def account(output):
    return open_dataset(output / "documents").description["accounting"]


def refresh(wiki, old, folder, *options):
    """Make documents of a wiki in both ways, which must not differ; returns what was taken over."""
    folder.mkdir(exist_ok=True)
    assert run(wiki, folder / "full", *options) == 0
    assert run(wiki, folder / "new", "--reuse", old, *options) == 0

    assert files_of(folder / "new") == files_of(folder / "full")
    return reused(folder / "new")


def renamed(wiki):
    """Rename a page as MediaWiki does: it keeps its id, and a redirect with a new one stays."""
    return wiki.edit("Hafen", title="Hafenbecken").plus(
        Page(70, "Hafen", "Hafenbecken", is_redirect=True)
    )


# name: (edit, documents that are read, documents whose links lead elsewhere)
EDITS = {
    "nothing": (lambda w: w, 0, 0),
    "page changed": (lambda w: w.edit("Korn", text=article(3, ("Mehl", "Kahn"))), 1, 0),
    "text changed, revision kept": (
        lambda w: w.edit("Korn", text=article(3, ("Mehl",)), revision=w.page("Korn").revision),
        1,
        0,
    ),
    "revision changed, text kept": (lambda w: w.edit("Korn"), 1, 0),
    "page renamed": (renamed, 1, 3),
    "page deleted": (lambda w: w.without("Deich"), 0, 0),
    "page new": (lambda w: w.plus(Page(80, "Schleuse", article(9, ("Mühlen", "Netz")))), 1, 0),
    "page in the middle new": (
        lambda w: replace(w, pages=(*w.pages[:7], Page(80, "Watt", "[[Kahn]]"), *w.pages[7:])),
        1,
        0,
    ),
    "pages in another order": (lambda w: replace(w, pages=w.pages[::-1]), 0, 0),
    "redirect new": (lambda w: w.plus(Page(81, "Rotlink", "Torf", is_redirect=True)), 0, 4),
    "redirect new, for nobody": (lambda w: w.plus(Page(81, "X", "Torf", is_redirect=True)), 0, 0),
    "redirect removed": (lambda w: w.without("Kahn"), 0, 4),
    "redirect retargeted": (lambda w: w.edit("Kahn", text="Netz"), 0, 4),
    "redirect in a chain retargeted": (lambda w: w.edit("Mühle", text="Windrad"), 0, 8),
    "redirect to a section": (lambda w: w.edit("Kahn", text="Kutter#Liste"), 0, 0),
    "redirect to another wiki": (lambda w: w.edit("Kahn", text="en:Boat"), 0, 4),
    "loop closed": (lambda w: w.edit("Mühle", text="Mühlen"), 0, 8),
    "loop opened": (lambda w: w.edit("Schlaufe", text="Netz"), 0, 4),
    "redirect to an article": (
        lambda w: w.edit("Kahn", text=article(8, ("Kutter",)), is_redirect=False),
        1,
        4,
    ),
    "article to a redirect": (lambda w: w.edit("Netz", text="Reuse", is_redirect=True), 0, 2),
    "page of meanings": (lambda w: w.edit("Korn", text="* [[Mehl]]\n{{Begriffsklärung}}"), 1, 2),
    "page of meanings no more": (lambda w: w.edit("Anker", text=article(3, ("Mehl",))), 1, 0),
    "redirect to a page of meanings": (lambda w: w.edit("Kahn", text="Anker"), 0, 4),
    "page emptied": (lambda w: w.edit("Korn", text=""), 0, 0),
    "page to another namespace": (
        lambda w: w.edit("Korn", title="Vorlage:Korn", namespace=10),
        0,
        0,
    ),
    "page twice": (lambda w: w.plus(w.page("Moor")), 0, 0),
    "page twice, the first another": (
        lambda w: replace(w, pages=(replace(w.page("Moor"), text="Anders."), *w.pages)),
        1,
        0,
    ),
}
