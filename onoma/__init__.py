"""Onoma for notebooks, ``import onoma``, and the command ``onoma``.

    import onoma

    documents = onoma.open_dataset("build/letters/documents")
    len(documents), documents["01.xml"].text
    for document in documents:
        for mention in document.mentions:
            print(document.text[mention.start : mention.end], mention.label, mention.entity)

    tagger = onoma.load_tagger("build/tagger")
    tagger("Peter lebt in Frankfurt am Main.", lang="de")

Importing this loads nothing else; each function loads what it needs. docs/library.md says more.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from corpora.datasets.shards import Dataset
    from corpora.document import Document, Mention, Paragraph, Sentence, Span
    from corpora.errors import CorpusError, UsageError
    from modeling.link.linker import Linker
    from modeling.taggers.encoder import Encoder
    from modeling.taggers.tagger import Tagger

__all__ = [
    "CorpusError",
    "Dataset",
    "Document",
    "Encoder",
    "Linker",
    "Mention",
    "Paragraph",
    "Sentence",
    "Span",
    "Tagger",
    "UsageError",
    "link",
    "load_linker",
    "load_tagger",
    "mark",
    "open_dataset",
    "parse_wikitext",
    "read_tei",
    "run",
    "run_lines",
    "write_dataset",
]

PACKAGES = ("corpora", "pipelines", "modeling")
_FOLDER = Path(__file__).resolve().parents[1]
_LAZY = {
    "Dataset": "corpora.datasets.shards",
    **dict.fromkeys(("Document", "Mention", "Paragraph", "Sentence", "Span"), "corpora.document"),
    **dict.fromkeys(("CorpusError", "UsageError"), "corpora.errors"),
    "Encoder": "modeling.taggers.encoder",
    "Linker": "modeling.link.linker",
    "Tagger": "modeling.taggers.tagger",
    "make_component": "modeling.spacy_component",  # the entry point of spaCy
}


class _OurPackages:
    """Finds ``corpora``, ``pipelines`` and ``modeling`` beside this package, before other places.

    The current folder of a user may hold packages of these names, too.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find one of the three packages; None for all other names."""
        del path, target
        return PathFinder.find_spec(name, [str(_FOLDER)]) if name in PACKAGES else None


def _check_packages() -> None:
    """Raise ``ImportError`` where another package is loaded under one of our names."""
    for name in PACKAGES:
        file = getattr(sys.modules.get(name), "__file__", None)
        if name in sys.modules and (file is None or Path(file).resolve().parents[1] != _FOLDER):
            raise ImportError(
                f"{name} is loaded already, from {file or 'a folder'}: Onoma has a package of that "
                "name. Import onoma first, or rename yours; a process has room for one."
            )


_check_packages()
sys.meta_path.insert(0, _OurPackages)


# --- the library


if TYPE_CHECKING:  # with the function below, a name that is misspelt would have a type
    __version__: str
else:

    def __getattr__(name: str) -> object:
        """Import a class when it is first used (PEP 562)."""
        if name == "__version__":
            return import_module("corpora").__version__
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return list(__all__)


def open_dataset(path: str | Path) -> "Dataset":
    """Open a dataset: a folder with ``dataset.json``, here or in a bucket.

    It has a length, can be iterated (documents and sentences as objects, all else as rows), and
    finds a row by its id: ``dataset["01.xml"]``. Raises ``CorpusError`` where there is none, or one
    of another version.
    """
    from corpora.datasets.shards import open_dataset as open_
    from corpora.system.buckets import is_url

    return open_(path if is_url(path) else Path(path).absolute())


def write_dataset(records: "Iterable[Document | Sentence]", folder: str | Path) -> "Dataset":
    """Write documents, or tagged sentences, as a dataset, which all commands read; open it.

    ``folder`` is new, on this machine, and appears when all is written. Raises ``UsageError`` where
    it exists, and for records of other types; ``CorpusError`` where two have the same id, or one
    holds what cannot be written.
    """
    from corpora.runs.plain import write_dataset as write

    write(records, folder)
    return open_dataset(folder)


def read_tei(
    xml: str | bytes | Path, *, edition: str | Path = "tei", name: str = "text.xml"
) -> "Document":
    """Read a TEI text: a string, bytes, or the ``Path`` of a file.

    ``edition`` is a shipped edition or a TOML file (docs/editions.md). ``name`` becomes the id; a
    file has its own. Raises ``CorpusError`` for what is no TEI, has no text, or holds several texts
    (``teiCorpus``: run ``onoma tei``).
    """
    from corpora.errors import CorpusError
    from corpora.tei.edition import edition_path, load_edition
    from corpora.tei.reader import read_tei as read
    from corpora.tei.xml import encoded

    if isinstance(xml, Path):
        name, data = xml.name, xml.read_bytes()
    elif isinstance(xml, str):
        if xml and "<" not in xml:
            raise CorpusError(f"{xml[:300]!r} is no XML. To read a file, give its Path: Path(…).")
        data = encoded(xml, name=name)
    else:
        data = xml
    found = [
        text.document for text in read(data, load_edition(edition_path(str(edition))), name=name)
    ]
    documents = [document for document in found if document is not None]
    if len(documents) != 1:
        raise CorpusError(f"{name}: has {len(documents)} texts, not one. For all: onoma tei.")
    return documents[0]


def parse_wikitext(source: str, *, wiki: str = "enwiki", title: str = "") -> "Document":
    """Parse the wikitext of a page: its text, and each link as a mention (``enwiki:Berlin``).

    Redirects are not resolved, and namespaces are the canonical ones and those of the language: for
    a whole wiki, run ``onoma wikipedia``. Raises ``UsageError`` for what is no name of a wiki
    (``de`` for ``dewiki``).
    """
    from corpora.wikipedia.single_page import read_page

    return read_page(source, wiki=wiki, title=title)


def mark(document: "Document") -> str:
    """Write a text with its mentions in brackets: ``[Walden|pers|sturm:P.0000001]``."""
    from corpora.store.inspection import mark as written

    return written(document)


def load_tagger(path: str | Path, *, device: str = "cpu") -> "Tagger":
    """Open a tagger: a run of ``onoma finetune``, or an archive of one.

    ``tagger(text, lang="de")`` returns mentions. Raises ``CorpusError`` where there is none.
    """
    from modeling.taggers.tagger import Tagger

    return Tagger.load(path, device=device)


def load_linker(path: str | Path) -> "Linker":
    """Open a linker: the folder that ``onoma link train`` wrote.

    Raises ``CorpusError`` where there is none.
    """
    from modeling.link.linker import Linker

    return Linker.load(Path(path))


def link(document: "Document", linker: "Linker") -> "Document":
    """Link mentions to entities, where the linker is sure enough.

    Mentions that have an entity keep it, unless a linker gave it.
    """
    from collections import Counter

    from modeling.link.datasets import link_document

    return link_document(document, linker, Counter())


def run(*command: str | Path) -> dict[str, Any]:  # Any: JSON
    """Run a command of ``onoma`` in this process: ``run("vocab", "--input", …, "--output", …)``.

    Returns the object that ``--json`` prints, the last of several; {} if it prints none. All else
    that a command prints goes to standard error. Raises ``UsageError`` for a wrong command, and
    ``CorpusError`` where it ends with an error.
    """
    return (run_lines(*command) or [{}])[-1]


def run_lines(*command: str | Path) -> list[dict[str, Any]]:  # Any: JSON
    """Run a command like ``run``; return the objects of all its lines, as of ``show``."""
    import io
    import json
    import logging
    import random
    from contextlib import redirect_stdout

    from corpora.system.arguments import errors_raised

    handlers, state = logging.root.handlers[:], random.getstate()  # Beam draws from ``random``
    try:
        with errors_raised(), redirect_stdout(io.StringIO()) as printed:
            status = main([*map(str, command), "--json"])
    except SystemExit:  # of --help; its errors are raised
        sys.stderr.write(printed.getvalue())
        return []
    finally:
        logging.root.handlers[:] = handlers
        random.setstate(state)
    if status >= 128:  # by a signal
        raise KeyboardInterrupt
    return [json.loads(line) for line in printed.getvalue().splitlines()]


# --- the command


class Command(NamedTuple):
    """A command of ``onoma``."""

    name: str
    module: str
    about: str
    first: tuple[str, ...] = ()
    """Arguments that it stands for: ``show`` is ``corpora.shards show``."""
    mode: str = ""
    """An option that makes another command of it, with options of its own."""

    def main(self, argv: Sequence[str]) -> int:
        """Run the command; return the exit status."""
        module = import_module(self.module)
        if hasattr(module, "__path__"):
            module = import_module(f"{self.module}.__main__")
        return int(module.main([*self.first, *argv]))

    def parsers(self) -> "list[ArgumentParser]":
        """Return the parsers of its options; the parser of ``mode`` comes last."""
        from corpora.system.arguments import parser_of

        found: list[Any] = [parser_of(lambda _: self.main(()))]
        for word in self.first:
            found = [found[0]._subparsers._group_actions[0].choices[word]]  # noqa: SLF001
        return found + ([parser_of(lambda _: self.main([self.mode]))] if self.mode else [])


COMMANDS: Mapping[str, tuple[Command, ...]] = {
    "Sources to documents": (
        Command(
            "tei",
            "pipelines.tei_to_ner",
            "convert TEI editions to documents and NER data",
            mode="--inspect",
        ),
        Command(
            "wikipedia", "pipelines.wikipedia_to_documents", "convert a Wikipedia dump to documents"
        ),
        Command(
            "news",
            "pipelines.news_to_documents",
            "convert news sites, web archives and saved pages",
        ),
        Command("text", "pipelines.text_to_documents", "convert plain text and JSON Lines"),
        Command("benchmark", "pipelines.benchmark_to_ner", "convert published NER sets"),
        Command("linked", "corpora.ner.linked", "convert published sets of linked names"),
        Command("download", "corpora.wikipedia.download", "download a Wikipedia dump"),
        Command("crawl", "corpora.crawl", "crawl news sites politely into web archives"),
        Command("schema", "corpora.tei.schema", "download the TEI's schema, for validation"),
    ),
    "Documents to names and words": (
        Command("vocab", "pipelines.documents_to_entity_vocab", "build an entity vocabulary"),
        Command("augment", "pipelines.augment_mentions", "add mentions of known names"),
        Command("lexicon", "pipelines.documents_to_lexicon", "find words that no dictionary has"),
    ),
    "Models": (
        Command("tokenizer", "pipelines.documents_to_tokenizer", "learn a subword vocabulary"),
        Command("examples", "pipelines.documents_to_examples", "make pre-training examples"),
        Command("pretrain", "modeling.pretrain", "train an encoder"),
        Command("finetune", "modeling.finetune", "train a name tagger"),
        Command("evaluate", "modeling.evaluate", "score taggers, with confidence intervals"),
        Command("predict", "modeling.predict", "find names in text, documents and TEI"),
        Command("link", "modeling.link", "link names to entities"),
        Command("workbench", "modeling.workbench", "review names in the browser"),
        Command("report", "modeling.report", "write a page or a table of runs"),
        Command("inspect", "modeling.inspect", "show what a model attends to"),
        Command("export", "modeling.export", "write a model for other tools"),
        Command("publish", "modeling.publish", "publish a model as a version in a store"),
        Command("serve", "modeling.serve", "serve a model to other tools over HTTP"),
    ),
    "Datasets": (
        Command("verify", "corpora.shards", "check that a dataset is undamaged", ("verify",)),
        Command("show", "corpora.shards", "print the rows of a dataset", ("show",)),
        Command(
            "concordance", "corpora.concordance", "write pages with all mentions of each entity"
        ),
        Command("diff", "corpora.diff", "compare two versions of a dataset"),
        Command("store", "corpora.store", "publish, switch and prune versions of datasets"),
        Command("card", "corpora.store.catalogue", "describe a dataset for hubs (card, Croissant)"),
        Command("convert", "corpora.ner.convert", "write NER data in formats of other tools"),
    ),
    "Onoma": (
        Command("project", "onoma.project", "run a chain of commands that one file lists"),
        Command("sample", "corpora.samples", "write files to try the commands on"),
        Command("completion", "onoma.completion", "print completion for bash, zsh or fish"),
        Command("licenses", "corpora.system.licenses", "list the licences of installed libraries"),
    ),
}


def commands() -> Iterator[Command]:
    """Iterate over all commands, in the order of the help."""
    for some in COMMANDS.values():
        yield from some


def _help() -> str:
    from corpora.system.arguments import paint

    lines = [
        "usage: onoma COMMAND …",
        "",
        "Make annotated corpora of raw sources, and train models on them.",
    ]
    for title, some in COMMANDS.items():
        lines += ["", paint(title, "1", sys.stdout)]
        lines += [f"  {command.name:<12}{command.about}" for command in some]
    return "\n".join(
        [*lines, "", "Options of a command: onoma COMMAND --help. Version: onoma --version."]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status (docs/commands.md has the table)."""
    from corpora.system.arguments import end, execute, fail, prepare_streams
    from corpora.system.typed_tables import did_you_mean

    prepare_streams()
    given = list(sys.argv[1:] if argv is None else argv)
    name, *rest = given or ["--help"]
    if name in {"-h", "--help", "help"}:
        return execute(lambda: [_help()], path=_FOLDER)
    if name in {"-V", "--version"}:
        version = import_module("corpora").__version__
        return execute(lambda: [f"onoma {version}"], path=_FOLDER)
    found = {command.name: command for command in commands()}
    if name not in found:
        near = did_you_mean(name, found)
        return fail(f"{name}: no such command{near}. onoma --help lists them.", status=2)
    try:
        return found[name].main(rest)
    except (ImportError, MemoryError) as error:
        return end(error)


def _without_here(folders: Sequence[str]) -> list[str]:
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it was removed, as the command will say
        here = None
    return [folder for folder in folders if folder and Path(folder) != here]


def run_command() -> int:
    """Run the command of this process; no package is imported from the current folder.

    The same holds for processes that it starts, which search the places that Python searches here.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.path[:] = _without_here(sys.path)
    if str(_FOLDER) not in sys.path:
        sys.path.insert(0, str(_FOLDER))
    from corpora.system import imports
    from corpora.system.interrupts import end_quietly_while_loading

    imports.own_process = True
    end_quietly_while_loading(is_command=True)
    return main()
