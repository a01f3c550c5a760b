"""Names that people corrected in another tool, written back into the bytes of a TEI file.

Names that only the tool has are written, and the ids that it gives to names without one. Names that
one of our models had written, and that the tool no longer has, are taken out, unless somebody
changed or reviewed them. Names of the edition itself stay as they are; those that the tool lacks
are counted. The proof of the writer holds for all of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpora.document import Document, Mention
from corpora.tei.provenance import Model, parties
from corpora.tei.undo import CHANGED, Undone, take_out_of
from corpora.tei.writer import DEFAULT_OPTIONS, TeiFile, WriteOptions, WrittenFile

CORRECTED = Model(id="onoma-corrected", name="Onoma, names of another tool", version="", sha256="")
"""Stands in place of a model for what people found or changed in another tool."""
LEFT = "names of the edition that the tool has not: left as they are"
"""Counts also a model's names that somebody changed or reviewed."""


def write_corrected(
    file: TeiFile,
    corrected: Mapping[str, Sequence[Mention]],
    *,
    options: WriteOptions = DEFAULT_OPTIONS,
) -> WrittenFile:
    """Write a tool's corrected names into documents, given by id; other documents stay as they are.

    Raises what ``TeiFile.write`` raises.
    """
    bare, taken = file, Undone(file.source.data, 0, ())
    if gone := _gone(file, corrected):
        nodes = file.source.nodes
        keep = {node.number for node in nodes if parties(node.attributes.get("resp"))[0]} - gone
        taken = take_out_of(file.source, reviewer=options.reviewer, keep=keep)
        bare = TeiFile.read(taken.data, file.edition, name=file.source.name)
    new: dict[str, list[Mention]] = {}
    n_left = 0
    for document in bare.documents:
        if (wanted := corrected.get(document.id)) is not None:
            there = {mention.key for mention in document.mentions}
            new[document.id] = [mention for mention in wanted if mention.key not in there]
            n_left += _count_left(document, wanted)
    options = replace(options, existing="keep", references=True)
    written = bare.write(new, model=CORRECTED, options=options)
    counters = written.counters + Counter({LEFT: n_left, "names taken out": taken.n_taken})
    kept = tuple(name for name in taken.kept if name.reason == CHANGED)
    return replace(written, counters=counters, kept=kept)


def _gone(file: TeiFile, corrected: Mapping[str, Sequence[Mention]]) -> set[int]:
    """Find the elements of a model's names that the tool lacks."""
    gone: set[int] = set()
    for document in file.documents:
        wanted = {mention.key for mention in corrected.get(document.id, document.mentions)}
        for mention in document.mentions:
            if mention.label and mention.key not in wanted:
                nodes = file.nodes_of(mention)
                if all(parties(node.attributes.get("resp"))[0] for node in nodes):
                    gone |= {node.number for node in nodes}
    return gone


def _count_left(document: Document, wanted: Sequence[Mention]) -> int:
    """Count the names that the tool lacks; one without an id may have an id in the tool."""
    keys = {mention.key for mention in wanted}
    keys |= {(mention.start, mention.end, mention.label, None) for mention in wanted}
    return sum(bool(mention.label) and mention.key not in keys for mention in document.mentions)
