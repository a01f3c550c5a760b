"""The TEI files of one command: read, tagged, written into a folder, and reported."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import islice, tee
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.document import Document, Mention, Rejected
from corpora.errors import CorpusError, UsageError
from corpora.registers.dictionary import MIN_PRECISION, labels_of
from corpora.registers.references import Habits, parse_style, usages_of, usual
from corpora.reports import counted
from corpora.runs.plan import find_inputs
from corpora.runs.record_errors import reject
from corpora.system.arguments import Summary
from corpora.system.cells import one_line
from corpora.system.files import check_new
from corpora.system.writing import remove_leftovers, write_text, write_whole
from corpora.tei.decisions import (
    Decision,
    Decisions,
    append_decisions,
    decisions_path,
    read_decisions,
)
from corpora.tei.edition import SUFFIXES, Edition, edition_path, load_edition, shipped_editions
from corpora.tei.include import masters_of, which_are_included
from corpora.tei.prefixes import union
from corpora.tei.reader import TeiText
from corpora.tei.schema import expect, fetched_schema, new_errors_together
from corpora.tei.undo import CHANGED, Kept
from corpora.tei.writer import Skipped, Standing, TeiFile, WriteOptions, WrittenFile
from modeling.predict.dictionary import OpenDictionary, names_in_headers, open_dictionary, texts_of
from modeling.predict.linking import OpenLinker, open_linker
from modeling.taggers.counts import PRECISION

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


@dataclass
class TeiWork:
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
        if self.options.output is not None:
            remove_leftovers(self.options.output)

    @cached_property
    def edition(self) -> Edition:
        """The edition of ``--edition``."""
        return load_edition(edition_path(self.options.edition or "tei"))

    @cached_property
    def _decisions_path(self) -> Path:
        given, edition = self.options.decisions, self.options.edition or "tei"
        return given or decisions_path(
            edition_path(edition),
            list(self.files.values()),
            is_shipped=edition in shipped_editions(),
        )

    @cached_property
    def decisions(self) -> Decisions:
        """The decisions that people have made on names of the edition so far."""
        found = read_decisions(self._decisions_path)
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

    def write_options(self, name: str, *, threshold: float = 0.0) -> WriteOptions:
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
            keep_cert=given.keep_cert,
            date=date,
            is_part=name in self._included,
            schema=self.schema,
        )

    @cached_property
    def _included(self) -> set[str]:
        """The files that other files include, in which ids are written that stay unique."""
        return which_are_included(self.files)

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
            else "not validated: onoma schema fetches the TEI's own schema (and pip install "
            "'onoma[tei]')"
        )
        if schema:
            expect(schema, self.files.values())
        return schema

    def remember(self, made: Sequence[Decision]) -> None:
        """Append decisions to the file of decisions, except those that it has already."""
        known = {replace(one, time="") for one in self.decisions.entries}
        new = [one for one in made if replace(one, time="") not in known]
        append_decisions(self._decisions_path, new)
        if new:
            self.notes.append(f"{counted(len(new), 'decision')} added to {self._decisions_path}")

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
    def dictionary(self) -> OpenDictionary | None:
        """The known names of ``--dictionary`` or ``--register``; None without them."""
        given = self.options
        if not (given.dictionary or given.register):
            return None
        default = None if given.candidates else MIN_PRECISION
        return open_dictionary(
            given.register,
            self.documents,
            self.habits,
            edition=self.referring,
            reference=given.reference,
            offers=given.candidates is not None,
            elsewhere=self.header_names if given.register else (),
            min_precision=default if given.min_precision is None else given.min_precision,
        )

    def report_dictionary(self) -> None:
        """Note what the dictionary added and held back, and how right it is expected to be."""
        if self.dictionary is not None:
            self.counters.update(self.dictionary.dictionary.held_back)
            self.notes += self.dictionary.dictionary.report()

    @cached_property
    def habits(self) -> Habits:
        """The way in which the files, or ``--reference``, refer to entities."""
        given = self.options.reference
        style = parse_style(given, self.edition) if given else None
        elsewhere = usual(Counter(usages_of(self.header_names)))
        habits = Habits(self.referring, given=style, elsewhere=elsewhere)
        habits.learn(self.documents)
        return habits

    @cached_property
    def header_names(self) -> list[Mention]:
        """The names in the headers, unless texts show how ids of persons and places are written."""
        labels = labels_of(self.edition)
        wanted = {labels[kind] for kind in ("person", "place") if kind in labels}
        shown = {each.label for one in self.documents for each in one.mentions if each.entity}
        return [] if wanted <= shown else list(names_in_headers(self.files, self.referring))

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

    def save(self, name: str, written: WrittenFile) -> None:
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
        write_new(path, data)
        self.n_written += 1
        self.counters.update(counters)
        self.kept += [(name, one) for one in kept]

    def finish(self, *, made: str) -> Summary:
        """Write lists of skipped mentions, rejected files and kept mentions; report the outcome.

        Raises ``CorpusError`` if too many files were rejected.
        """
        if (output := self.options.output) is not None:
            self.notes += self._errors_together(output)
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

    def _errors_together(self, output: Path) -> Iterator[str]:
        """Yield the new errors of files with those that they include, each valid by itself."""
        if self.options.undo or not self.n_written or (schema := self.schema) is None:
            return
        written = {name: output / name for name in self.files if (output / name).is_file()}
        for name in masters_of(self.files):
            with self.rejecting(name):
                after = self.files | written
                for error in new_errors_together(name, self.files, after, schema=schema):
                    self.counters["errors of files with what they include"] += 1
                    yield f"{name}, with the files that it includes: {error}"

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


def write_new(path: Path, data: bytes) -> None:
    """Write a file; raise ``UsageError`` if it exists with other bytes."""
    check_new(path, data)
    write_whole(path, data)


def _skipped_lines(skipped: Sequence[tuple[str, Skipped]]) -> Iterator[str]:
    yield "file\tdocument\tstart\tend\tlabel\tprobability\treason\ttext\n"
    for name, one in skipped:
        mention = one.mention
        score = "" if mention.score is None else f"{mention.score:.4f}"
        place = (name, one.document, mention.start, mention.end, mention.label, score)
        yield "\t".join(map(one_line, (*place, one.reason, one.text))) + "\n"


def _kept_lines(kept: Sequence[tuple[str, Kept]]) -> Iterator[str]:
    yield "file\tline\tmarkup\ttext\treason\n"
    for name, one in kept:
        yield "\t".join(map(one_line, (name, one.line, one.markup, one.text, one.reason))) + "\n"
