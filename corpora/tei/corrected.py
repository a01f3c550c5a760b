"""Names that people corrected in another tool, written back into the bytes of a TEI file.

Names that only the tool has are written. Names that one of our models had written, and that the
tool no longer has, are taken out. Names of the edition itself stay as they are; those that the
tool lacks are counted. The proof of the writer holds for all of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpora.document import Document, Mention
from corpora.tei.provenance import Model, parties
from corpora.tei.undo import take_out_of
from corpora.tei.writer import DEFAULT_OPTIONS, TeiFile, WriteOptions, Written

CORRECTED = Model(id="onoma-corrected", name="Onoma, names of another tool", version="", sha256="")
"""Stands in place of a model for what people found or changed in another tool."""
LEFT = "names of the edition that the tool has not: left as they are"


def write_corrected(
    file: TeiFile,
    corrected: Mapping[str, Sequence[Mention]],
    *,
    options: WriteOptions = DEFAULT_OPTIONS,
) -> Written:
    """Write a tool's corrected names into documents, given by id; other documents stay as they are.

    Raises what ``TeiFile.write`` raises.
    """
    documents = {d.id: d for d in file.documents if d.id in corrected}
    gone, n_left = _gone(file, documents, corrected)
    names = {n.number for n in file.source.nodes if parties(n.attributes.get("resp"))[0]}
    data = file.source.data
    if gone:
        keep = {number for number in names if number not in gone}
        data = take_out_of(file.source, reviewer=options.reviewer, keep=keep).data
    bare = TeiFile.read(data, file.edition, name=file.source.name) if gone else file
    there = {document.id: {m.key for m in document.mentions} for document in bare.documents}
    new = {id: [m for m in corrected[id] if m.label and m.key not in there[id]] for id in documents}
    written = bare.write(new, model=CORRECTED, options=replace(options, existing="keep"))
    counters = written.counters + Counter({LEFT: n_left, "names taken out": len(gone)})
    return replace(written, counters=counters)


def _gone(
    file: TeiFile, documents: Mapping[str, Document], corrected: Mapping[str, Sequence[Mention]]
) -> tuple[set[int], int]:
    """Find the elements of a model's names that the tool lacks.

    Also returns how many names of the edition it lacks.
    """
    gone: set[int] = set()
    n_left = 0
    for id, document in documents.items():
        wanted = {mention.key for mention in corrected[id]}
        for mention in document.mentions:
            if not mention.label or mention.key in wanted:
                continue
            nodes = file.nodes_of(mention)
            if all(parties(node.attributes.get("resp"))[0] for node in nodes):
                gone |= {node.number for node in nodes}
            else:
                n_left += 1
    return gone, n_left
