"""Names into TEI files, a list of them for review, and out again (``corpora/tei/writer.py``)."""

import argparse
import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from corpora.datasets.shards import sha256_of, write_json, write_text
from corpora.document import Document, Mention, Rejected
from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import find_inputs
from corpora.runs.record_errors import read_record
from corpora.system.parsing import parse_json
from corpora.tei.edition import Edition, edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import TeiText, read_tei
from corpora.tei.review import (
    Candidate,
    apply_candidates,
    by_file,
    read_candidates,
    write_candidates,
)
from corpora.tei.schema import new_errors
from corpora.tei.style import template
from corpora.tei.undo import undo
from corpora.tei.writer import Skipped, WriteOptions, Written, write_predictions
from modeling.taggers.folders import read_manifest
from modeling.taggers.tagger import Tagger
from modeling.training.run_folder import versions

T = TypeVar("T")
_MAX_REJECTED = 10
_MAX_REJECT_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was read."""

    name: str
    data: bytes
    texts: list[TeiText]

    @property
    def documents(self) -> list[Document]:
        return [text.document for text in self.texts if text.document]


@dataclass
class _Work:
    """Files in, files out, and what became of each."""

    files: dict[str, Path]
    output: Path | None
    schema: Path | None = None
    counters: Counter[str] = field(default_factory=Counter)
    skipped: list[tuple[str, Skipped]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    n_written: int = 0

    def attempt(self, name: str, do: Callable[[], T]) -> T | None:
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

    def write(self, name: str, before: bytes, after: bytes) -> None:
        """Write a file, which appears when it is whole, unless the schema finds it worse."""
        assert self.output is not None  # noqa: S101 - the command line asks for it
        if self.schema is not None and (wrong := new_errors(before, after, self.schema)):
            raise CorpusError(
                f"{name}: is not valid any more: {wrong[0]} ({len(wrong)} such errors). Write "
                "these names otherwise ([write] of the edition), or leave --schema out."
            )
        path = self.output / name
        if path.exists() and path.samefile(self.files[name]):
            raise UsageError(
                f"--output {self.output}: would overwrite {path}. Name another folder."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.partial")
        temporary.unlink(missing_ok=True)  # of a process that was killed
        with temporary.open("xb") as file:
            file.write(after)
        temporary.rename(path)
        self.n_written += 1

    def add(self, name: str, written: Written) -> None:
        self.counters.update(written.counters)
        self.skipped += [(name, skipped) for skipped in written.skipped]

    def finish(self, *, made: str) -> str:
        """Write what was skipped and rejected, and say it; ``CorpusError`` if it is too much."""
        if self.output is not None:
            rows = [asdict(rejected) for rejected in self.rejected]
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            self.output.mkdir(parents=True, exist_ok=True)
            write_text(self.output / "rejected.jsonl", lines)
            write_text(self.output / "skipped.tsv", _skipped_lines(self.skipped))
        said = [f"read {len(self.files):,} files = written {self.n_written:,}"]
        said[0] += f" + rejected {len(self.rejected):,}\n"
        said += [f"  {name}: {n:,}\n" for name, n in sorted(self.counters.items()) if n]
        said += [f"  rejected: {one.message}\n" for one in self.rejected[:_MAX_REJECTED]]
        limit = max(_MAX_REJECTED, _MAX_REJECT_SHARE * len(self.files))
        if len(self.rejected) > limit or (self.rejected and not self.n_written):
            raise CorpusError("".join(said) + "Too many files were rejected.")
        return "".join([*said, f"made  {made}\n"])


def _skipped_lines(skipped: Sequence[tuple[str, Skipped]]) -> Iterator[str]:
    yield "file\tdocument\tstart\tend\tlabel\tprobability\treason\n"
    for name, one in skipped:
        mention = one.mention
        score = "" if mention.score is None else f"{mention.score:.4f}"
        cells = (name, one.document, mention.start, mention.end, mention.label, score, one.reason)
        yield "\t".join(map(str, cells)) + "\n"


def _work(arguments: argparse.Namespace) -> _Work:
    files = find_inputs(arguments.tei, suffix=".xml")
    return _Work(files, arguments.output, arguments.schema)


def model_of(tagger: Tagger) -> Model:
    """What the header of an enriched file says of the tagger."""
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


def enrich(arguments: argparse.Namespace, tagger: Tagger) -> str:
    """Write what the tagger finds into copies of the files."""
    work, edition = _work(arguments), _edition(arguments)
    model, options = model_of(tagger), _options(arguments)
    check_tagger_labels(tagger, edition)

    def write(file: _File, found: Sequence[Document]) -> None:
        mentions = {d.id: d.mentions for d in found}
        written = write_predictions(
            file.data, edition, mentions, name=file.name, model=model, options=options
        )
        work.write(file.name, file.data, written.data)
        work.add(file.name, written)

    for file, found in _tagged(work, edition, tagger):
        work.attempt(file.name, partial(write, file, found))
    return work.finish(made=f"{arguments.output} (skipped.tsv says what was not written, and why)")


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


def list_candidates(arguments: argparse.Namespace, tagger: Tagger) -> str:
    """Write what the tagger finds into a list."""
    work, edition = _work(arguments), _edition(arguments)
    threshold = arguments.threshold
    rows: list[tuple[str, Document, Sequence[Mention]]] = []
    for file, found in _tagged(work, edition, tagger):
        work.n_written += 1
        for document in found:
            kept = [m for m in document.mentions if (m.score or 0.0) >= threshold]
            rows.append((file.name, document, kept))
    path = arguments.candidates
    n = write_candidates(path, rows)
    write_json(_model_file(path), asdict(model_of(tagger)))
    work.output = None
    return work.finish(made=f"{path} ({n:,} names); next: edit it, and --apply {path}")


def apply_list(arguments: argparse.Namespace) -> str:
    """Write the names of a reviewed list into copies of the files."""
    work, edition = _work(arguments), _edition(arguments)
    options, model = _options(arguments), _model_of_list(arguments.apply)
    listed = by_file(read_candidates(arguments.apply))
    if unknown := [name for name in listed if name not in work.files]:
        raise UsageError(
            f"--apply {arguments.apply}: names {unknown[0]}, which is none of the files of --tei "
            f"(as {min(work.files)}). Name the same files as for --candidates."
        )

    def change(name: str, data: bytes) -> bytes:
        own: list[Candidate] = listed.get(name, [])
        written = apply_candidates(data, edition, own, name=name, model=model, options=options)
        work.add(name, written)
        return written.data

    return _each(work, change).finish(made=str(arguments.output))


def undo_all(arguments: argparse.Namespace) -> str:
    """Take out of the files what models added."""
    work = _work(arguments)

    def change(name: str, data: bytes) -> bytes:
        bare = undo(data, name=name)
        work.counters["files with nothing to take out"] += bare == data
        return bare

    return _each(work, change).finish(made=str(arguments.output))


def _each(work: _Work, change: Callable[[str, bytes], bytes]) -> _Work:
    for name, path in work.files.items():
        work.attempt(name, partial(_change, work, change, name=name, path=path))
    return work


def _change(work: _Work, change: Callable[[str, bytes], bytes], *, name: str, path: Path) -> None:
    data = path.read_bytes()
    work.write(name, data, change(name, data))


def _tagged(
    work: _Work, edition: Edition, tagger: Tagger
) -> Iterator[tuple[_File, list[Document]]]:
    """Each file, and its documents with what the tagger finds, in order."""
    waiting: deque[_File] = deque()

    def documents() -> Iterator[Document]:
        for name, path in work.files.items():
            data = path.read_bytes()
            texts = work.attempt(name, partial(read_tei, data, edition, name=name))
            if texts is not None:
                waiting.append(_File(name, data, texts))
                yield from waiting[-1].documents

    found: list[Document] = []
    for document in tagger.annotate_all(documents()):
        while len(waiting[0].documents) == 0:
            yield waiting.popleft(), []
        found.append(document)
        if len(found) == len(waiting[0].documents):
            yield waiting.popleft(), found
            found = []
    while waiting:
        yield waiting.popleft(), []


def _edition(arguments: argparse.Namespace) -> Edition:
    return load_edition(edition_path(arguments.edition))


def _options(arguments: argparse.Namespace) -> WriteOptions:
    return WriteOptions(
        existing=arguments.existing, crossing=arguments.crossing, threshold=arguments.threshold
    )


def _model_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.model.json")


def _model_of_list(path: Path) -> Model:
    """Which model found what is in a list: it stands beside it."""
    try:
        values: dict[str, Any] = parse_json(_model_file(path).read_text(encoding="utf-8"))
        return Model(**values)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"{_model_file(path)}: which model made the list cannot be read ({error}). It was "
            "written beside the list: keep the two together."
        ) from error
