"""Write a file of a NER set, read it as the pipeline does, and show its rows."""

from corpora.ner.detection import Overrides
from corpora.ner.files import FilePart, describe, read_file
from corpora.ner.sentence_rows import RowMaker


def show(tokens, tags):
    """Show tokens with their tags, as ``Clara/B-PER geht``."""
    pairs = zip(tokens, tags, strict=True)
    return " ".join(token if tag == "O" else f"{token}/{tag}" for token, tag in pairs)


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def read(path, **said):
    """Read a file; returns its layout, its rows, and what made them."""
    layout = describe(path, name=path.name, overrides=Overrides(**said))
    text = path.with_suffix(".txt") if layout.format == "brat" else None
    [(found, origin)] = read_file(path, layout, name=path.name, part=FilePart(), text=text)
    made = RowMaker(split="train").make(found, layout, origin)
    rows = [row for batch in made.batches for row in batch.to_pylist()]
    return layout, rows, made
