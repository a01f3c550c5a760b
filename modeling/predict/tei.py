"""Names written into TEI files, listed for review, and taken out (``corpora/tei/writer.py``).

``modeling/predict/tei_work.py`` reads the files, chooses the threshold, and keeps the outcome for
each file.
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from corpora.document import Document, Mention
from corpora.errors import CorpusError, UsageError
from corpora.ner.exchange import Annotated, files_of, read_annotated
from corpora.registers.joining import Joined
from corpora.reports import counted
from corpora.system.arguments import Summary
from corpora.system.files import sha256_of
from corpora.system.writing import write_json
from corpora.tei import review
from corpora.tei.corrected import write_corrected
from corpora.tei.decisions import Decision
from corpora.tei.edition import Edition
from corpora.tei.provenance import Model
from corpora.tei.style import NO_XML, REMARK, template
from corpora.tei.undo import take_out
from corpora.tei.writer import Correction, Standing, TeiFile, WriteOptions, WrittenFile
from modeling.predict.tei_work import TeiWork, write_new
from modeling.taggers.folders import read_manifest, weights_of
from modeling.training.run_folder import versions

if TYPE_CHECKING:  # applying lists and --undo need no tagger, and no torch
    from modeling.predict.__main__ import Options
    from modeling.taggers.tagger import Tagger

_HEADER = """\
  <teiHeader>
    <fileDesc>
      <titleStmt>
        <title>{title}</title>
      </titleStmt>
      <publicationStmt><p>Not published.</p></publicationStmt>
      <sourceDesc><p>Made of a plain text.</p></sourceDesc>
    </fileDesc>
  </teiHeader>
"""


def model_of(tagger: "Tagger") -> Model:
    """Describe a tagger, for the header of an enriched file."""
    if tagger.folder is None:
        raise ValueError("Only a tagger that was loaded from a folder can be named.")
    sha256 = sha256_of(weights_of(tagger.folder))
    manifest = read_manifest(tagger.folder)
    settings = manifest["config"]
    name = f"{manifest.get('recipe') or settings['head']['kind']} on {manifest['data']['ner']}"
    return Model(
        id=f"onoma-{sha256[:12]}",
        name=f"Onoma name tagger ({name})",
        version=versions()["onoma"],
        sha256=sha256,
        desc=f"labels {', '.join(tagger.labels)}",
    )


def enrich(options: "Options", tagger: "Tagger | None") -> Summary:
    """Write what the tagger, the dictionary and the linker find into copies of the files."""
    work, model = TeiWork(options), model_of(tagger) if tagger else None
    if tagger:
        check_tagger_labels(tagger, work.edition)
    threshold, dictionary, linker = work.threshold(tagger), work.dictionary, work.linker
    for file, predicted in work.tagged(tagger):
        with work.rejecting(name := file.source.name):
            given, standing = work.write_options(name, threshold=threshold), work.standing(file)
            ready = with_decided(file, standing, given, refer=work.refer)
            made, mentions = WrittenFile(ready.file), mentions_of(predicted)
            joined: Mapping[str, Joined] = {}
            if dictionary is not None:
                if given.existing == "replace-predicted":
                    made = ready.file.write({}, model=dictionary.model, options=given)
                there = {document.id: document for document in made.file.documents}
                joined = {
                    document.id: dictionary.join(document, there[document.id], threshold=threshold)
                    for document in predicted
                }
                mentions = {id: parts.tagged for id, parts in joined.items()}
            if model is not None:
                made = made.file.write(mentions, model=model, options=given, standing=standing)
            if dictionary is not None:
                made = dictionary.add_to(made, joined, options=given, standing=standing)
            if linker is not None:
                made = linker.add_to(made, options=given, standing=standing)
            made.counters["written: a person had decided so"] += ready.written
            made.counters["not written, though a person had decided so"] += len(ready.skipped)
            made.skipped.extend(ready.skipped)
            work.save(name, made)
    work.report_dictionary()
    return work.finish(made=f"{options.output} (skipped.tsv says what was not written, and why)")


def with_decided(
    file: TeiFile, standing: Standing, options: WriteOptions, *, refer: review.Refer
) -> WrittenFile:
    """Write earlier decisions of people that the file lacks.

    They are written as a list of candidates is: each in the name of the person who decided.
    """
    wanted: defaultdict[str, defaultdict[str, list[Mention]]]
    wanted = defaultdict(lambda: defaultdict(list))
    corrections: defaultdict[str, defaultdict[str, list[Correction]]]
    corrections = defaultdict(lambda: defaultdict(list))
    for document in file.documents:
        there = {(mention.start, mention.end) for mention in document.mentions if mention.label}
        for one in standing.get(document.id, ()):
            span, name, reviewer = one.span, one.decision.name, one.decision.reviewer
            remark = {REMARK: one.decision.remark} if one.decision.remark else {}
            mention = Mention(span.start, span.end, name.entity, name.label, attributes=remark)
            mention = refer(mention)
            if one.decision.there:
                if old := one.existing(document):
                    new = mention if one.is_name else None
                    corrections[reviewer][document.id].append(Correction(old, new))
            elif one.is_name and name.label and (span.start, span.end) not in there:
                wanted[reviewer][document.id].append(mention)
    made = WrittenFile(file)
    for reviewer in sorted({*wanted, *corrections}):
        by = replace(options, reviewer=reviewer)
        names, corrected = wanted[reviewer], corrections[reviewer]
        made = made.add(names, model=review.REVIEW, options=by, corrections=corrected)
    return made


def mentions_of(documents: Sequence[Document]) -> Mapping[str, Sequence[Mention]]:
    """Map the id of each document to its mentions."""
    return {document.id: document.mentions for document in documents}


def check_tagger_labels(tagger: "Tagger", edition: Edition) -> None:
    """Raise ``UsageError`` if the edition cannot write a label, before any file is written."""
    labels = tagger.labels
    if tagger.label_map is not None:
        labels = tuple(filter(None, map(tagger.label_map.target, labels)))
    for label in labels:
        try:
            template(edition, label)
        except UsageError as error:
            raise UsageError(
                f"{error} Or rename the tagger's labels, or leave some out, with --labels MAP."
            ) from error


def list_candidates(options: "Options", tagger: "Tagger | None") -> Summary:
    """Write what the tagger, the dictionary, or the linker alone finds into a list for review."""
    work, path = TeiWork(options), options.candidates
    assert path is not None  # noqa: S101 - or nobody asks
    rows: list[tuple[str, Document, Sequence[Mention]]] = []
    threshold, dictionary, linker = options.threshold or 0.0, work.dictionary, work.linker
    if tagger:
        check_tagger_labels(tagger, work.edition)
        model = model_of(tagger)
    elif dictionary:
        model = dictionary.model
    else:
        assert linker is not None  # noqa: S101 - the command line asks for one of them
        model = linker.model
    is_linking = not tagger and not dictionary
    for file, found in work.tagged(tagger):
        work.n_written += 1
        if dictionary is not None:
            there = {document.id: document for document in file.documents}
            found = [dictionary.merged(each, there[each.id]) for each in found]  # noqa: PLW2901
        if linker is not None and is_linking:
            found = [  # noqa: PLW2901
                replace(document, mentions=tuple(linker.missing(document, work.counters)))
                for document in file.documents
            ]
        given = work.write_options(file.source.name, threshold=threshold)
        given = replace(given, references=is_linking)
        tried = file.write(
            mentions_of(found), model=model, options=given, standing=work.standing(file)
        )
        work.counters.update(Counter(f"not listed: {one.reason}" for one in tried.skipped))
        out = Counter((one.document, one.mention) for one in tried.skipped)
        for document in found:
            kept = [m for m in document.mentions if (document.id, m) not in out]
            rows.append((file.source.name, document, kept))
    work.report_dictionary()
    if dictionary and dictionary.referrer and dictionary.referrer.example:
        attribute, value = dictionary.referrer.example
        work.notes.append(
            "no name of the files shows how ids are written. --apply writes "
            f'{attribute}="{value}" and so on; --reference says another way: '
            "'ref=#{}', with {} for the id."
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        n = review.write_candidates(Path(folder) / "list", rows)
        write_new(path, (Path(folder) / "list").read_bytes())
    write_json(review.model_file(path), asdict(model))
    return work.finish(
        made=f"{path} ({counted(n, 'name')}); next: write no into accept where one is wrong, and "
        f"--apply {path}"
    )


def apply_list(options: "Options") -> Summary:
    """Write the names of a reviewed list into copies of the files."""
    work, path = TeiWork(options), options.apply
    assert path is not None  # noqa: S101 - or nobody asks
    candidates = review.read_candidates(path)
    model, listed = review.model_of_list(path, candidates), review.by_file(candidates)
    if unknown := [name for name in listed if name not in work.files]:
        raise UsageError(
            f"--apply {path}: names {unknown[0]}, which is none of the files of --tei "
            f"(as {min(work.files)}). Name the same files as for --candidates."
        )
    made: list[Decision] = []
    for name, file in work.files.items():
        with work.rejecting(name):
            given = replace(work.write_options(name), references=True)
            applied = review.apply_candidates(
                file.read_bytes(),
                work.edition,
                listed.get(name, []),
                name=name,
                model=model,
                options=given,
                decisions=work.decisions,
                refer=work.refer,
            )
            work.notes.extend(applied.unplaced)
            made.extend(applied.decisions)
            work.save(name, applied.written)
    work.remember(made)
    return work.finish(made=str(options.output))


def take_corrected(options: "Options") -> Summary:
    """Write what people corrected in another tool into copies of the files.

    A file of the tool belongs to the document with the same text. If it holds no whole text, it
    belongs to the document that it names, if its words are there. A file is rejected if several
    files of the tool, with different names in them, belong to one of its documents.
    """
    work = TeiWork(options)
    waiting = {path: read_annotated(path) for path in files_of(options.from_)}
    for path, one in waiting.items():
        _check_tool_labels(path, one, work.edition)
    used: set[Path] = set()
    changed: dict[Path, str] = {}
    for file in work.read():
        with work.rejecting(name := file.source.name):
            corrected: dict[str, Sequence[Mention]] = {}
            for document in file.documents:
                named = [path for path, one in waiting.items() if _is_named(path, one, document.id)]
                changed |= {p: document.id for p in named if not waiting[p].fits(document.text)}
                if own := _belonging(document, waiting):
                    used.update(own)
                    corrected[document.id] = _same_mentions(document, own)
            given = work.write_options(name)
            work.save(name, write_corrected(file, corrected, options=given))
    work.counters["files of the tool that were read"] = len(used)
    for path in sorted(waiting.keys() - used):
        why = "belongs to no document of --tei"
        if id := changed.get(path):
            why = f"has another text than {id} (edited since it was converted for the tool?)"
        work.notes.append(f"{path}: {why}; it was left out")
    return work.finish(made=str(options.output))


def _check_tool_labels(path: Path, one: Annotated, edition: Edition) -> None:
    """Raise ``UsageError`` if a tool's file has a label that the edition has not."""
    for mention in one.mentions:
        if mention.label and mention.label not in edition.labels:
            known = ", ".join(edition.labels)
            raise UsageError(
                f"{path}: edition {edition.name} has no label {mention.label!r}, only {known}. "
                "Rename it in the tool, or add it to [labels] of the edition file."
            )


def _belonging(document: Document, read: Mapping[Path, Annotated]) -> dict[Path, Annotated]:
    """Find the files of a tool with a document's text; only those with its name, if there are any.

    Files without a whole text must have its name.
    """
    fitting = {path: one for path, one in read.items() if one.fits(document.text)}
    named = {path: one for path, one in fitting.items() if _is_named(path, one, document.id)}
    return named or {path: one for path, one in fitting.items() if one.text is not None}


def _is_named(path: Path, one: Annotated, id: str) -> bool:
    """Tell whether a file of a tool has the name of a document, maybe with its folders."""
    return id in {one.name, path.name} or f"/{path.with_suffix('')}".endswith(f"/{id}")


def _same_mentions(document: Document, own: Mapping[Path, Annotated]) -> Sequence[Mention]:
    """Return the mentions of the files of a document; ``CorpusError`` where they differ."""
    (first, found), *others = own.items()
    for path, one in others:
        if {mention.key for mention in one.mentions} != {mention.key for mention in found.mentions}:
            raise CorpusError(
                f"{document.id}: {first} and {path} have its text, but different names in it (two "
                "annotators?). Give --from only the one that holds."
            )
    return found.mentions


def undo_all(options: "Options") -> Summary:
    """Remove from copies of the files what models added."""
    work = TeiWork(options)
    for name, path in work.files.items():
        with work.rejecting(name):
            data = path.read_bytes()
            undone = take_out(data, name=name, reviewer=options.reviewer)
            counters = Counter(f"stay: {one.reason}" for one in undone.kept)
            counters["names taken out"] = undone.n_taken
            counters["files with nothing to take out"] = undone.data == data
            work.write(name, undone.data, counters, kept=undone.kept)
    return work.finish(made=str(options.output))


def text_with_names(
    document: Document, tagger: "Tagger", edition: Edition, *, threshold: float
) -> WrittenFile:
    """Make a TEI file of a text; names that the tagger finds become elements of an edition.

    Raises ``UsageError`` for a label that the edition cannot write, ``CorpusError`` for a character
    that XML cannot hold.
    """
    check_tagger_labels(tagger, edition)
    file = TeiFile.read(_to_tei(document), edition, name="text")
    found = list(tagger.annotate_all(file.documents))
    options = WriteOptions(threshold=threshold)
    return file.write(mentions_of(found), model=model_of(tagger), options=options)


def _to_tei(document: Document) -> bytes:
    """Make a TEI P5 file in UTF-8 with the paragraphs of a text, and no names."""
    if match := NO_XML.search(document.text):
        raise CorpusError(
            f"--format tei: character {match.start()} of the text (U+{ord(match[0]):04X}) cannot "
            "stand in XML. Take it out, or choose another --format."
        )
    lang = f" xml:lang={quoteattr(document.lang)}" if document.lang else ""
    texts = [escape(document.text[p.start : p.end]) for p in document.paragraphs]
    paragraphs = [f'      <p xml:space="preserve">{text}</p>\n' for text in texts]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>\n',
        f'<TEI xmlns="http://www.tei-c.org/ns/1.0"{lang}>\n',
        _HEADER.format(title=escape(document.title or "Untitled")),
        "  <text>\n    <body>\n",
        *(paragraphs or ["      <p/>\n"]),
        "    </body>\n  </text>\n</TEI>\n",
    ]
    return "".join(lines).encode()
