"""Names into TEI files, a list of them for review, and out again (``corpora/tei/writer.py``)."""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from xml.sax.saxutils import escape, quoteattr

from corpora.datasets.shards import sha256_of, write_json, write_text
from corpora.document import Document, Mention, Rejected
from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import find_inputs
from corpora.runs.record_errors import read_record
from corpora.system.parsing import parse_json
from corpora.tei.edition import Edition, edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.review import apply_candidates, by_file, read_candidates, write_candidates
from corpora.tei.schema import new_errors
from corpora.tei.style import template
from corpora.tei.undo import undo
from corpora.tei.writer import Skipped, TeiFile, WriteOptions, Written
from modeling.taggers.folders import read_manifest
from modeling.taggers.tagger import Tagger
from modeling.training.run_folder import versions

if TYPE_CHECKING:
    from modeling.predict.__main__ import Options

T = TypeVar("T")
_MAX_REJECTED = 10
_MAX_REJECT_SHARE = 0.01
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold (section 2.2)."""
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
    """Files in, files out, and what became of each."""

    options: "Options"
    files: dict[str, Path]
    counters: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[str, Skipped]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    n_written: int = 0

    @classmethod
    def of(cls, options: "Options") -> "_Work":
        return cls(options, find_inputs(options.tei, suffix=".xml"))

    @cached_property
    def edition(self) -> Edition:
        return load_edition(edition_path(self.options.edition or ""))

    @property
    def write_options(self) -> WriteOptions:
        given = self.options
        return WriteOptions(
            existing=given.existing, crossing=given.crossing, threshold=given.threshold
        )

    def read(self) -> Iterator[TeiFile]:
        """Read the files; those that cannot be read are rejected."""
        for name, path in self.files.items():
            read = partial(TeiFile.read, path.read_bytes(), self.edition, name=name)
            if file := self._attempt(name, read):
                yield file

    def tagged(self, tagger: Tagger) -> Iterator[tuple[TeiFile, list[Document]]]:
        """Read the files, and find names in the documents of each, many at once."""
        files, tagged = tee(self.read())
        found = tagger.annotate_all(document for file in tagged for document in file.documents)
        for file in files:
            yield file, list(islice(found, len(file.documents)))

    def change(
        self, name: str, change: Callable[[bytes], Written], data: bytes | None = None
    ) -> None:
        """Write a changed file; where that fails, it is rejected."""
        self._attempt(name, partial(self._change, name, change, data))

    def _attempt(self, name: str, do: Callable[[], T]) -> T | None:
        """Do something with a file; None, and the file is rejected, where anything is raised."""

        def attempt() -> T | Rejected:
            try:
                return do()
            except UsageError:
                raise
            except CorpusError as error:
                reason = getattr(error, "reason", type(error).__name__)
                return Rejected(source=name, position="", reason=reason, message=str(error))

        made = read_record(attempt, source=name)
        if isinstance(made, Rejected):
            self.rejected.append(made)
            return None
        return made

    def _change(self, name: str, change: Callable[[bytes], Written], data: bytes | None) -> None:
        before = self.files[name].read_bytes() if data is None else data
        written = change(before)
        output, schema = self.options.output, self.options.schema
        if schema is not None and (wrong := new_errors(before, written.data, schema)):
            raise CorpusError(
                f"{name}: is not valid any more: {wrong[0]} ({len(wrong)} such errors). Write "
                "these names otherwise ([write] of the edition), or leave --schema out."
            )
        path = output / name
        if path.exists() and path.samefile(self.files[name]):
            raise UsageError(f"--output {output}: would overwrite {path}. Name another folder.")
        _write_new(path, written.data)
        self.n_written += 1
        self.counters.update(written.counters)
        self.skipped += [(name, skipped) for skipped in written.skipped]

    def finish(self, *, made: str) -> str:
        """Write what was skipped and rejected, and say it; ``CorpusError`` if it is too much."""
        if (output := self.options.output) is not None:
            rows = [asdict(rejected) for rejected in self.rejected]
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            output.mkdir(parents=True, exist_ok=True)
            write_text(output / "rejected.jsonl", lines)
            write_text(output / "skipped.tsv", _skipped_lines(self.skipped))
        said = [f"read {len(self.files):,} files = written {self.n_written:,}"]
        said[0] += f" + rejected {len(self.rejected):,}\n"
        said += [f"  {name}: {n:,}\n" for name, n in sorted(self.counters.items()) if n]
        said += [f"  rejected: {one.message}\n" for one in self.rejected[:_MAX_REJECTED]]
        limit = max(_MAX_REJECTED, _MAX_REJECT_SHARE * len(self.files))
        if len(self.rejected) > limit or (self.rejected and not self.n_written):
            raise CorpusError("".join(said) + "Too many files were rejected.")
        return "".join([*said, f"made  {made}\n"])


def _write_new(path: Path, data: bytes) -> None:
    """Write a file; raises ``UsageError`` where there is one with other bytes."""
    if path.exists() and path.read_bytes() != data:
        raise UsageError(
            f"{path}: is there already, and is not what this command writes: somebody may have "
            "worked on it. Name another place, or take it away."
        )
    write_whole(path, data)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, which appears when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    temporary.unlink(missing_ok=True)  # of a process that was killed
    with temporary.open("xb") as file:
        file.write(data)
    temporary.rename(path)


def _skipped_lines(skipped: Sequence[tuple[str, Skipped]]) -> Iterator[str]:
    yield "file\tdocument\tstart\tend\tlabel\tprobability\treason\n"
    for name, one in skipped:
        mention = one.mention
        score = "" if mention.score is None else f"{mention.score:.4f}"
        cells = (name, one.document, mention.start, mention.end, mention.label, score, one.reason)
        yield "\t".join(map(str, cells)) + "\n"


def model_of(tagger: Tagger) -> Model:
    """Say which tagger it is, for the header of an enriched file."""
    if tagger.folder is None:
        raise ValueError("Only a tagger that was loaded from a folder can be named.")
    sha256 = sha256_of(tagger.folder / "model.safetensors")
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


def enrich(options: "Options", tagger: Tagger) -> str:
    """Write what the tagger finds into copies of the files."""
    work, model = _Work.of(options), model_of(tagger)
    check_tagger_labels(tagger, work.edition)

    def write(file: TeiFile, found: Sequence[Document], _: bytes) -> Written:
        return file.write(mentions_of(found), model=model, options=work.write_options)

    for file, found in work.tagged(tagger):
        work.change(file.source.name, partial(write, file, found), file.source.data)
    return work.finish(made=f"{options.output} (skipped.tsv says what was not written, and why)")


def mentions_of(documents: Sequence[Document]) -> Mapping[str, Sequence[Mention]]:
    """Mentions by the id of their document."""
    return {document.id: document.mentions for document in documents}


def check_tagger_labels(tagger: Tagger, edition: Edition) -> None:
    """Raise ``UsageError`` for a label that the edition cannot write, before any file is."""
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


def list_candidates(options: "Options", tagger: Tagger) -> str:
    """Write what the tagger finds into a list."""
    work, path = _Work.of(options), options.candidates
    assert path is not None  # noqa: S101 - or nobody asks
    rows: list[tuple[str, Document, Sequence[Mention]]] = []
    for file, found in work.tagged(tagger):
        work.n_written += 1
        for document in found:
            kept = [m for m in document.mentions if (m.score or 0.0) >= options.threshold]
            rows.append((file.source.name, document, kept))
    with tempfile.TemporaryDirectory() as folder:
        n = write_candidates(Path(folder) / "list", rows)
        _write_new(path, (Path(folder) / "list").read_bytes())
    write_json(_model_file(path), asdict(model_of(tagger)))
    return work.finish(made=f"{path} ({n:,} names); next: edit it, and --apply {path}")


def apply_list(options: "Options") -> str:
    """Write the names of a reviewed list into copies of the files."""
    work, path = _Work.of(options), options.apply
    assert path is not None  # noqa: S101 - or nobody asks
    model, listed = _model_of_list(path), by_file(read_candidates(path))
    if unknown := [name for name in listed if name not in work.files]:
        raise UsageError(
            f"--apply {path}: names {unknown[0]}, which is none of the files of --tei "
            f"(as {min(work.files)}). Name the same files as for --candidates."
        )

    def apply(name: str, data: bytes) -> Written:
        own, given = listed.get(name, []), work.write_options
        return apply_candidates(data, work.edition, own, name=name, model=model, options=given)

    for name in work.files:
        work.change(name, partial(apply, name))
    return work.finish(made=str(options.output))


def undo_all(options: "Options") -> str:
    """Take out of the files what models added."""
    work = _Work.of(options)

    def take_out(name: str, data: bytes) -> Written:
        bare = undo(data, name=name)
        return Written(bare, 0, Counter({"files with nothing to take out": bare == data}), [])

    for name in work.files:
        work.change(name, partial(take_out, name))
    return work.finish(made=str(options.output))


def _model_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.model.json")


def _model_of_list(path: Path) -> Model:
    """Read which model found what is in a list: it stands beside it."""
    try:
        return Model(**parse_json(_model_file(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"{_model_file(path)}: which model made the list cannot be read ({error}). It was "
            "written beside the list: keep the two together."
        ) from error


def text_with_names(
    document: Document, tagger: Tagger, edition: Edition, *, threshold: float
) -> str:
    """Make a TEI file of a text, with what the tagger finds in the elements of an edition.

    Raises ``UsageError`` for a label that the edition cannot write, ``CorpusError`` for a character
    that XML cannot hold.
    """
    check_tagger_labels(tagger, edition)
    file = TeiFile.read(_to_tei(document), edition, name="text")
    found = list(tagger.annotate_all(file.documents))
    options = WriteOptions(threshold=threshold)
    return file.write(mentions_of(found), model=model_of(tagger), options=options).data.decode()


def _to_tei(document: Document) -> bytes:
    """Make a file of TEI P5 in UTF-8 with the paragraphs of a text, and no names."""
    if found := _NOT_XML.search(document.text):
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
