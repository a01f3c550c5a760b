"""Names written into TEI files, listed for review, and taken out (``corpora/tei/writer.py``)."""

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from corpora.datasets.shards import sha256_of, write_json, write_text
from corpora.document import Document, Mention, Rejected
from corpora.errors import CorpusError, UsageError
from corpora.ner.exchange import Annotated, files_of, read_annotated
from corpora.registers.references import Habits, parse_style
from corpora.reports import counted
from corpora.runs.plan import find_inputs
from corpora.runs.record_errors import reject
from corpora.system.arguments import Summary
from corpora.system.command_names import as_typed
from corpora.system.files import check_new, write_whole
from corpora.tei.corrected import write_corrected
from corpora.tei.decisions import (
    Decision,
    Decisions,
    append_decisions,
    decisions_path,
    read_decisions,
)
from corpora.tei.edition import SUFFIXES, Edition, edition_path, load_edition, shipped_editions
from corpora.tei.prefixes import union
from corpora.tei.provenance import Model
from corpora.tei.reader import TeiText
from corpora.tei.review import (
    REVIEW,
    Refer,
    apply_candidates,
    by_file,
    model_file,
    model_of_list,
    read_candidates,
    write_candidates,
)
from corpora.tei.schema import expect, fetched_schema
from corpora.tei.style import NO_XML, template
from corpora.tei.undo import CHANGED, Kept, take_out
from corpora.tei.writer import Skipped, Standing, TeiFile, WriteOptions, Written
from modeling.predict.dictionary import OpenRegister, open_register, texts_of
from modeling.predict.linking import OpenLinker, open_linker
from modeling.taggers.counts import PRECISION
from modeling.taggers.folders import read_manifest, weights_of
from modeling.training.run_folder import versions

if TYPE_CHECKING:  # applying lists and --undo need no tagger, and no torch
    from modeling.predict.__main__ import Options
    from modeling.taggers.tagger import Tagger

_MAX_REJECTED = 10
_MAX_NAMED = 10
_DATE = re.compile(
    rb'<(?:[^\s<>:]+:)?(?:change when="(\d{4}-\d\d-\d\d)" resp="#onoma-'
    rb'|item resp="#onoma-[^<]+, (\d{4}-\d\d-\d\d)\.<)'
)
"""The date of a run, in the entry on it in a header."""
_MAX_REJECT_RATIO = 0.01
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


@dataclass
class _Work:
    """The files that are read and written, and the outcome for each."""

    options: "Options"
    counters: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[str, Skipped]] = field(default_factory=list)
    kept: list[tuple[str, Kept]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    n_written: int = 0
    notes: list[str] = field(default_factory=list)
    """Messages for the user at the end."""

    def __post_init__(self) -> None:
        self.files = find_inputs(self.options.tei, suffix=SUFFIXES, option="tei")

    @cached_property
    def edition(self) -> Edition:
        return load_edition(edition_path(self.options.edition or ""))

    @cached_property
    def decisions_path(self) -> Path:
        given, edition = self.options.decisions, self.options.edition or ""
        return given or decisions_path(
            edition_path(edition),
            list(self.files.values()),
            is_shipped=edition in shipped_editions(),
        )

    @cached_property
    def decisions(self) -> Decisions:
        """The decisions that people have made on names of the edition so far."""
        found = read_decisions(self.decisions_path)
        self.notes += found.unreadable
        return found

    def standing(self, file: TeiFile) -> Standing:
        """Find the decisions on each document of a file, and their places in its current text."""
        standing = {}
        for document in file.documents:
            own = self.decisions.of_document(file.source.name, document.id, document.text)
            standing[document.id], n_lost = own
            self.counters["decisions whose place is not found any more"] += n_lost
        return standing

    def write_options(self, name: str, *, threshold: float) -> WriteOptions:
        """Return the options for writing into a file.

        The date is today's, or, if the output file exists, the last date in that file.
        """
        given, date = self.options, datetime.now().astimezone().date().isoformat()
        if given.output is not None and (path := given.output / name).is_file():
            entries = _DATE.findall(path.read_bytes().replace(b"\0", b""))  # UTF-16, too
            date = b"".join(entries[-1]).decode() if entries else date
        return WriteOptions(
            existing=given.existing,
            crossing=given.crossing,
            threshold=threshold,
            reviewer=given.reviewer,
            date=date,
            schema=self.schema,
        )

    @cached_property
    def schema(self) -> Path | None:
        """The schema that files are validated with: ``--schema``, or the TEI's if it was fetched.

        If it is None, files are not validated. Without ``--schema`` a note says which one is used.
        """
        if given := self.options.schema:
            expect(given, self.files.values())
            return given
        schema = fetched_schema()
        self.notes.append(
            f"validated against {schema}"
            if schema
            else as_typed(
                "not validated: python -m corpora.tei.schema fetches the TEI's own schema (and "
                "pip install 'onoma[tei]')"
            )
        )
        if schema:
            expect(schema, self.files.values())
        return schema

    def remember(self, made: Sequence[Decision]) -> None:
        """Append decisions to the file of decisions, except those that it has already."""
        known = {replace(one, time="") for one in self.decisions.entries}
        new = [one for one in made if replace(one, time="") not in known]
        append_decisions(self.decisions_path, new)
        if new:
            self.notes.append(f"{counted(len(new), 'decision')} added to {self.decisions_path}")

    def threshold(self, tagger: "Tagger | None") -> float:
        """Return the lowest probability of a mention to write; add a note if it is the tagger's."""
        if tagger is None:
            return self.options.threshold or 0.0
        if self.options.threshold is not None:
            return self.options.threshold
        about = f"at which {PRECISION:.0%} of the names on dev were right"
        if tagger.threshold_of_dev is None:
            about = "for this tagger has none that was chosen on dev"
        threshold = tagger.threshold_of_editions
        self.notes.append(
            f"threshold: {threshold:.3f}, {about}; --threshold P for another, --candidates to "
            "review all"
        )
        return threshold

    def read(self) -> Iterator[TeiFile]:
        """Read the files; yield those that can be read, and reject the others."""
        edition = self.edition
        for name, path in self.files.items():
            data, file = path.read_bytes(), None
            with self.rejecting(name):
                file = TeiFile.read(data, edition, name=name)
            if file is not None:
                yield file

    @cached_property
    def register(self) -> OpenRegister | None:
        """The register of ``--register``; None without it."""
        given = self.options
        if not given.register:
            return None
        opened = open_register(
            given.register,
            self.documents,
            self.referring,
            reference=given.reference,
            offers=given.candidates is not None,
        )
        self.counters.update(opened.dictionary.counters)
        return opened

    @cached_property
    def habits(self) -> Habits:
        """The way in which the files, or ``--reference``, refer to entities."""
        given = self.options.reference
        style = parse_style(given, self.edition) if given else None
        habits = Habits(self.referring, given=style)
        habits.learn(self.documents)
        return habits

    @cached_property
    def documents(self) -> list[Document]:
        """The documents of all files, to learn from before any file is written."""
        return [text.document for text in self.texts if text.document is not None]

    @cached_property
    def texts(self) -> list[TeiText]:
        """The texts of all files that can be read."""
        return list(texts_of(self.files, self.edition))

    @cached_property
    def referring(self) -> Edition:
        """The edition with the prefixes of all files, for references in any of them."""
        return self.edition.with_prefixes(union(text.prefixes for text in self.texts))

    def refer(self, mention: Mention) -> Mention:
        """Give a mention the reference to its entity in the way of the files."""
        return self.habits.refer_to_same(mention) if mention.entity else mention

    def tagged(self, tagger: "Tagger | None") -> Iterator[tuple[TeiFile, list[Document]]]:
        """Read the files, and find and link names in their documents, many documents at once.

        Without a tagger the documents have no mentions.
        """
        if tagger is None:
            for file in self.read():
                yield file, [replace(document, mentions=()) for document in file.documents]
            return
        files, tagged = tee(self.read())
        found = tagger.annotate_all(document for file in tagged for document in file.documents)
        for file in files:
            documents = list(islice(found, len(file.documents)))
            if self.linker is not None:
                documents = [self.linker.link(one, self.counters) for one in documents]
            yield file, documents

    @cached_property
    def linker(self) -> OpenLinker | None:
        """The linker of ``--link``; None without it."""
        given = self.options
        if given.link is None:
            return None
        return open_linker(
            given.link,
            self.documents,
            self.referring,
            threshold=None if given.model or given.register else given.threshold,
            reference=given.reference,
        )

    @contextmanager
    def rejecting(self, name: str) -> Iterator[None]:
        """Reject a file if the work on it raises; ``UsageError`` is raised again."""
        try:
            yield
        except UsageError:
            raise
        except CorpusError as error:
            reason = getattr(error, "reason", type(error).__name__)
            found = Rejected(source=name, position="", reason=reason, message=str(error))
            self.rejected.append(found)
        except BaseException as error:  # noqa: BLE001 - ``reject`` raises those of the run
            self.rejected.append(reject(error, source=name))

    def save(self, name: str, written: Written) -> None:
        """Write a file with names, and note what was skipped in it."""
        self.write(name, written.data, written.counters, kept=written.kept)
        self.skipped += [(name, skipped) for skipped in written.skipped]

    def write(
        self, name: str, data: bytes, counters: Counter[str], *, kept: Sequence[Kept]
    ) -> None:
        """Write a changed file, and note the names that somebody had changed."""
        path = (output := self.options.output) / name
        if path.exists() and path.samefile(self.files[name]):
            raise UsageError(f"--output {output}: would overwrite {path}. Name another folder.")
        _write_new(path, data)
        self.n_written += 1
        self.counters.update(counters)
        self.kept += [(name, one) for one in kept]

    def finish(self, *, made: str) -> Summary:
        """Write lists of skipped mentions, rejected files and kept mentions; report the outcome.

        Raises ``CorpusError`` if too many files were rejected.
        """
        if (output := self.options.output) is not None:
            rows = [asdict(rejected) for rejected in self.rejected]
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            output.mkdir(parents=True, exist_ok=True)
            write_text(output / "rejected.jsonl", lines)
            write_text(output / "skipped.tsv", _skipped_lines(self.skipped))
            if self.kept:
                write_text(output / "kept.tsv", _kept_lines(self.kept))
        said = [f"read {counted(len(self.files), 'file')} = written {self.n_written:,}"]
        said[0] += f" + rejected {len(self.rejected):,}\n"
        said += [f"  {name}: {n:,}\n" for name, n in sorted(self.counters.items()) if n]
        said += self._about_rejected()
        said += self._about_kept()
        said += [f"  {note}\n" for note in self.notes]
        limit = max(_MAX_REJECTED, _MAX_REJECT_RATIO * len(self.files))
        if len(self.rejected) > limit or (self.rejected and not self.n_written):
            raise CorpusError("".join(said) + "Too many files were rejected.")
        values = {
            "output": str(output or self.options.candidates),
            "read": len(self.files),
            "written": self.n_written,
            "rejected": dict(Counter(one.reason for one in self.rejected)),
            "counters": {name: n for name, n in sorted(self.counters.items()) if n},
            "notes": self.notes,
        }
        sys.stderr.writelines([*said, f"made  {made}\n"])
        return Summary(values)

    def _about_rejected(self) -> Iterator[str]:
        """Yield lines on the rejected files: on all, or on the first if a file has the others."""
        output = self.options.output
        shown = self.rejected if output is None else self.rejected[:_MAX_REJECTED]
        yield from (f"  rejected: {one.message}\n" for one in shown)
        if n := len(self.rejected) - len(shown):
            yield f"  … and {n:,} more, in {output}/rejected.jsonl\n"

    def _about_kept(self) -> Iterator[str]:
        """Yield lines on the first predicted mentions that stay because somebody changed them."""
        changed = [(name, one) for name, one in self.kept if one.reason == CHANGED]
        for name, one in changed[:_MAX_NAMED]:
            yield f"  stays: {name}:{one.line}: {one.markup}{one.text}: {one.reason}\n"
        if len(changed) > _MAX_NAMED:
            yield f"  … and {len(changed) - _MAX_NAMED:,} more, in kept.tsv\n"


def _write_new(path: Path, data: bytes) -> None:
    """Write a file; raise ``UsageError`` if it exists with other bytes."""
    check_new(path, data)
    write_whole(path, data)


def _skipped_lines(skipped: Sequence[tuple[str, Skipped]]) -> Iterator[str]:
    yield "file\tdocument\tstart\tend\tlabel\tprobability\treason\ttext\n"
    for name, one in skipped:
        mention = one.mention
        score = "" if mention.score is None else f"{mention.score:.4f}"
        place = (name, one.document, mention.start, mention.end, mention.label, score)
        text = " ".join(one.text.split())  # without tabs and line ends
        yield "\t".join(map(str, (*place, one.reason, text))) + "\n"


def _kept_lines(kept: Sequence[tuple[str, Kept]]) -> Iterator[str]:
    yield "file\tline\tmarkup\ttext\treason\n"
    for name, one in kept:
        markup = " ".join(one.markup.split())
        yield f"{name}\t{one.line}\t{markup}\t{one.text}\t{one.reason}\n"


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
    """Write what the tagger, the register and the linker find into copies of the files."""
    work, model = _Work(options), model_of(tagger) if tagger else None
    if tagger:
        check_tagger_labels(tagger, work.edition)
    threshold, register, linker = work.threshold(tagger), work.register, work.linker
    for file, found in work.tagged(tagger):
        with work.rejecting(name := file.source.name):
            given, standing = work.write_options(name, threshold=threshold), work.standing(file)
            ready, n_decided = with_decided(file, standing, given, refer=work.refer)
            made = Written(ready)
            if model is not None:
                if register is not None:
                    found = [register.dictionary.identify(one) for one in found]  # noqa: PLW2901
                made = ready.write(mentions_of(found), model=model, options=given, decided=standing)
            if register is not None:
                made = register.add_to(made, options=given, decided=standing)
            if linker is not None:
                made = linker.add_to(made, options=given, decided=standing)
            made.counters["written: a person had decided so"] += n_decided
            work.save(name, made)
    return work.finish(made=f"{options.output} (skipped.tsv says what was not written, and why)")


def with_decided(
    file: TeiFile, standing: Standing, options: WriteOptions, *, refer: Refer
) -> tuple[TeiFile, int]:
    """Write earlier decisions of people that the file lacks; return the file and their number.

    They are written as a list of candidates is: each in the name of the person who decided.
    """
    wanted: dict[str, dict[str, list[Mention]]] = {}
    for document in file.documents:
        there = {(mention.start, mention.end) for mention in document.mentions if mention.label}
        for one in standing.get(document.id, ()):
            span, name = one.span, one.decision.name
            if one.is_name and name.label and (span.start, span.end) not in there:
                mention = Mention(span.start, span.end, label=name.label, entity=name.entity)
                by_document = wanted.setdefault(one.decision.reviewer, {})
                by_document.setdefault(document.id, []).append(refer(mention))
    made = Written(file)
    for reviewer, mentions in sorted(wanted.items()):
        made = made.add(mentions, model=REVIEW, options=replace(options, reviewer=reviewer))
    return made.file, made.written


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
    """Write what the tagger, the register, or the linker alone finds into a list for review."""
    work, path = _Work(options), options.candidates
    assert path is not None  # noqa: S101 - or nobody asks
    rows: list[tuple[str, Document, Sequence[Mention]]] = []
    threshold, register, linker = options.threshold or 0.0, work.register, work.linker
    if tagger:
        check_tagger_labels(tagger, work.edition)
        model = model_of(tagger)
    elif register:
        model = register.model
    else:
        assert linker is not None  # noqa: S101 - the command line asks for one of them
        model = linker.model
    is_linking = not tagger and not register
    for file, found in work.tagged(tagger):
        work.n_written += 1
        if register is not None:
            found = [register.merged(document, file) for document in found]  # noqa: PLW2901
        if linker is not None and is_linking:
            found = [  # noqa: PLW2901
                replace(document, mentions=tuple(linker.missing(document, work.counters)))
                for document in file.documents
            ]
        given = work.write_options(file.source.name, threshold=threshold)
        given = replace(given, references=is_linking)
        tried = file.write(
            mentions_of(found), model=model, options=given, decided=work.standing(file)
        )
        work.counters.update(Counter(f"not listed: {one.reason}" for one in tried.skipped))
        out = Counter((one.document, one.mention) for one in tried.skipped)
        for document in found:
            kept = [m for m in document.mentions if (document.id, m) not in out]
            rows.append((file.source.name, document, kept))
    if register is not None and (n_offered := register.referrer.n_offered):
        work.notes.append(
            f"{counted(n_offered, 'id')}: no name of the files shows how they are written. --apply "
            "writes them as ids of the edition's own; --reference ATTRIBUTE=VALUE says another way."
        )
    with tempfile.TemporaryDirectory() as folder:
        n = write_candidates(Path(folder) / "list", rows)
        _write_new(path, (Path(folder) / "list").read_bytes())
    write_json(model_file(path), asdict(model))
    return work.finish(made=f"{path} ({counted(n, 'name')}); next: edit it, and --apply {path}")


def apply_list(options: "Options") -> Summary:
    """Write the names of a reviewed list into copies of the files."""
    work, path = _Work(options), options.apply
    assert path is not None  # noqa: S101 - or nobody asks
    model, listed = model_of_list(path), by_file(read_candidates(path))
    if unknown := [name for name in listed if name not in work.files]:
        raise UsageError(
            f"--apply {path}: names {unknown[0]}, which is none of the files of --tei "
            f"(as {min(work.files)}). Name the same files as for --candidates."
        )
    made: list[Decision] = []
    for name, file in work.files.items():
        with work.rejecting(name):
            given = replace(work.write_options(name, threshold=0.0), references=True)
            applied = apply_candidates(
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

    A file of the tool belongs to the document with the same text or, if it holds no whole text, to
    the document that it names, if the words it has are there. A file is rejected if several files
    of the tool, with different names in them, belong to one of its documents.
    """
    work = _Work(options)
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
            given = work.write_options(name, threshold=0.0)
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
    work = _Work(options)
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
) -> Written:
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
    if found := NO_XML.search(document.text):
        raise CorpusError(
            f"--format tei: character {found.start()} of the text (U+{ord(found[0]):04X}) cannot "
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
