"""One run of ``onoma workbench``: what it works on, its server, its reading thread."""

import getpass
import logging
import re
import sys
import threading
import webbrowser
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UsageError
from corpora.registers.references import parse_style
from corpora.registers.register import open_registers
from corpora.reports import counted
from corpora.runs.plan import find_inputs
from corpora.tei.decisions import decisions_path
from corpora.tei.edition import SUFFIXES, Edition, edition_path, load_edition, shipped_editions
from corpora.tei.provenance import is_reviewer
from corpora.tei.review import ReviewedLine, model_of_list, read_candidates
from corpora.tei.schema import expect, fetched_schema
from modeling.workbench.candidates import DatasetVocabulary, Reconciled
from modeling.workbench.datasets import open_documents, open_evaluation
from modeling.workbench.desk import Desk
from modeling.workbench.entries import EditionEntries
from modeling.workbench.facsimiles import Facsimiles
from modeling.workbench.journal import Journal
from modeling.workbench.letters import Letters, Suggester
from modeling.workbench.suggestions import ListedSuggestions, tagged_suggestions, taken_run

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from modeling.workbench.__main__ import Options
    from modeling.workbench.learning import Learner

log = logging.getLogger(__name__)
_NO_ID = re.compile(r"[^\w.-]+")


def make_desk(options: "Options") -> Desk:
    """Make the desk: find the letters, the edition and the suggester; read no letter yet."""
    files = find_inputs(options.tei or (), suffix=SUFFIXES, option="tei")
    edition = load_edition(edition_path(options.edition))
    output = options.output or Path()
    if output.exists() and not output.is_dir():
        raise UsageError(f"--output {output}: is no folder.")
    is_shipped = options.edition in shipped_editions()
    path = options.decisions or decisions_path(
        edition_path(options.edition), list(files.values()), is_shipped=is_shipped
    )
    if options.schema:
        expect(options.schema, ())  # it is known now, not at the first saving, if it is none
    letters = Letters(files, edition, _suggester(options, edition, files))
    entries = None
    if options.register:
        entries = EditionEntries(open_registers(options.register), space=edition.name)
    return Desk(
        letters,
        Journal(path),
        reviewer=_reviewer(options.reviewer),
        output=output,
        schema=options.schema or fetched_schema(),
        register=entries,
        facsimiles=Facsimiles(options.facsimiles),
        registers=find_inputs(options.register, suffix=SUFFIXES, option="register")
        if options.register
        else {},
        style=parse_style(options.reference, edition) if options.reference else None,
        sources=(
            *map(DatasetVocabulary, options.entities),
            *(Reconciled(address, edition) for address in options.reconcile),
        ),
    )


def _reviewer(given: str) -> str:
    """Return who decides; raises ``UsageError`` if names could not be saved under this id."""
    reviewer = given or _login_name()
    if not is_reviewer(reviewer):
        whose = "" if given else " (the login name)"
        raise UsageError(
            f"--reviewer {reviewer!r}{whose}: expected an id that begins with a letter, without "
            "spaces (kb), or a pointer (people.xml#kb), and nothing that begins with onoma-."
        )
    return reviewer


def _login_name() -> str:
    """Return the login name as an id; raises ``UsageError`` where the system knows none."""
    try:
        return _NO_ID.sub("-", getpass.getuser())
    except (KeyError, OSError) as error:  # an id without a name, as in a container
        raise UsageError("--reviewer: your login name is not known. Name yourself.") from error


def _suggester(options: "Options", edition: Edition, files: Collection[str]) -> Suggester:
    if options.candidates:
        model = model_of_list(options.candidates, read_candidates(options.candidates))
        return ListedSuggestions(_listed(options.candidates, files), model)
    folder = (options.output or (options.page or Path()).parent) / ".workbench"
    run, labels = taken_run(folder / "training"), ""
    if run is None:
        run, labels = options.tagger, options.labels
    if run is None:
        return ListedSuggestions()
    return tagged_suggestions(
        run, edition, cache=folder, threshold=options.threshold, labels=labels
    )


def _listed(path: Path, files: Collection[str]) -> list[ReviewedLine]:
    """Read the list of these files; writes a line on what it has of others.

    Raises ``UsageError`` if all of it is of others.
    """
    listed = read_candidates(path)
    candidates = [candidate for candidate in listed if candidate.file in files]
    others = {candidate.file for candidate in listed} - set(files)
    if others and not candidates:
        raise UsageError(
            f"--candidates {path}: names {min(others)}, which is none of the files of --tei "
            f"(as {min(files)}). Name the same files as for the list."
        )
    if others:
        n = counted(len(listed) - len(candidates), "name")
        sys.stderr.write(f"{path}: {n} of other files left out, as {min(others)}\n")
    return candidates


class Reading(threading.Thread):
    """A thread that reads all letters, one by one, and finds the suggestions that they lack."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(name="reading", daemon=True)
        self.desk = desk
        self._is_over, self._again = threading.Event(), threading.Event()

    def run(self) -> None:
        """Read all letters; start over each time that ``again`` is called."""
        while not self._is_over.is_set():
            for letter in self.desk.letters.all:
                if self._is_over.is_set():
                    return
                try:
                    self.desk.suggest(letter)
                except Exception:  # of a tagger, for which the other letters do not wait
                    log.exception("%s: its names could not be looked for", letter.name)
            self._again.wait()
            self._again.clear()

    def again(self) -> None:
        """Make the thread find the suggestions of all letters that wait for them."""
        self._again.set()

    def stop(self) -> None:
        """Stop the thread after the letter that is being read."""
        self._is_over.set()
        self._again.set()
        self.join()


def write(options: "Options") -> None:
    """Write the page that needs no server."""
    from modeling.workbench.still import write_page  # noqa: PLC0415 - for --help

    assert options.page is not None  # noqa: S101 - or nobody asks
    sys.stderr.write(write_page(make_desk(options), options.page))


def serve(options: "Options") -> None:
    """Serve the page until Ctrl-C or SIGTERM."""
    from modeling.workbench.routes import application, reading_application  # noqa: PLC0415

    if path := options.documents or options.evaluation:
        reader = open_documents(path) if options.documents else open_evaluation(path)
        sys.stderr.write(f"{counted(reader.n_rows, 'row')} of {path}\n")
        _answer(reading_application(reader), options)
        return
    desk = make_desk(options)
    desk.models.keep()
    if desk.schema:
        sys.stderr.write(f"schema: {desk.schema}\n")
        expect(desk.schema, [letter.path for letter in desk.letters.all])
    reading = Reading(desk)
    sys.stderr.write(
        f"{counted(len(desk.letters.all), 'letter')}; decisions: {desk.journal.path}\n"
    )
    learner = _learner(options, desk, on_use=reading.again)
    _answer(application(desk, learner), options, on_ready=reading.start)
    if learner:
        learner.stop()
    if reading.is_alive():
        reading.stop()
    sys.stderr.write(f"made  {desk.journal.path}; the same command resumes\n")


def _learner(options: "Options", desk: Desk, *, on_use: Callable[[], object]) -> "Learner | None":
    """Make the learner; None where neither ``--tagger`` nor ``--encoder`` is given."""
    if options.encoder is None and options.tagger is None:
        return None
    from modeling.finetune.process import TrainSettings  # noqa: PLC0415 - for --help
    from modeling.workbench.learning import Learner  # noqa: PLC0415

    assert options.output is not None  # noqa: S101 - or nobody asks
    folder = options.output / ".workbench" / "training"
    settings = TrainSettings(folder=folder, encoder=options.encoder, recipe=options.recipe)
    return Learner(
        desk,
        settings,
        on_use=on_use,
        tagger=options.tagger,
        labels=options.labels,
        threshold=options.threshold,
        ner=options.ner,
    )


def _answer(
    app: "Starlette", options: "Options", *, on_ready: Callable[[], object] = lambda: None
) -> None:
    """Answer on loopback until Ctrl-C or SIGTERM, and print the address with its token."""
    from modeling.http.guard import Guard, RequestLimits, new_token  # noqa: PLC0415 - for --help
    from modeling.http.server import Server, listen  # noqa: PLC0415

    token = new_token()

    def ready(address: str) -> None:
        url = f"{address}/?token={token}"
        sys.stdout.write(f"open  {url}\n")
        sys.stdout.flush()
        if not options.no_open:
            webbrowser.open(url)
        on_ready()

    guard = Guard(app, RequestLimits(token=token))
    Server(guard, listen("127.0.0.1", options.port), on_ready=ready).answer()
