"""Manage published versions of datasets (``STORE/NAME/VERSION/``), one of which is current.

    python -m corpora.store publish build/dawiki-20261101 store/dawiki --version 20261101
    python -m corpora.store current store/dawiki     prints store/dawiki/20261101
    python -m corpora.store switch store/dawiki 20261001
    python -m corpora.store prune store/dawiki --keep 3 --keep-for runs/daluke runs/tagger
    python -m corpora.store forget store --documents dawiki:4711 --entities "dawiki:Ada Lem"

A published version never changes, except when a person's data is removed (forget). The file
``STORE/NAME/current`` holds the name of the current version. It is replaced in one step after the
new version is verified, so that readers always find a complete version, the old or the new one.
A reader should ask once for the current version, and keep its path.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from corpora.system.arguments import ArgumentParser, execute, make_parser, not_empty
from corpora.system.buckets import is_url


def _store_of(arguments: argparse.Namespace) -> ModuleType:
    """Return the module that does the work: for a disk, or for a bucket (address as a string)."""
    from corpora.store import on_bucket, versions

    return on_bucket if isinstance(arguments.shelf, str) else versions


def _publish(arguments: argparse.Namespace) -> Iterator[str]:
    shelf, store = arguments.shelf, _store_of(arguments)
    yield f"{store.publish(arguments.source, shelf, version=arguments.version)} is current"
    yield f"next  python -m corpora.store current {shlex.quote(str(shelf))}"


def _current(arguments: argparse.Namespace) -> Iterator[str]:
    yield str(_store_of(arguments).current(arguments.shelf))


def _list(arguments: argparse.Namespace) -> Iterator[str]:
    shelf, store = arguments.shelf, _store_of(arguments)
    in_use, sizes = str(store.current(shelf)).rpartition("/")[2], store.sizes(shelf)
    if arguments.json:
        rows = [{"version": n, "bytes": size, "current": n == in_use} for n, size in sizes.items()]
        yield json.dumps(rows)
        return
    for name, size in sizes.items():
        yield f"{name}  {size / 1e6:,.1f} MB{'  current' if name == in_use else ''}"


def _switch(arguments: argparse.Namespace) -> Iterator[str]:
    yield f"{_store_of(arguments).switch(arguments.shelf, arguments.version)} is current"


def _prune(arguments: argparse.Namespace) -> Iterator[str]:
    from corpora.store import removal_on_bucket, retention
    from corpora.system.staging import stage

    shelf, runs = arguments.shelf, arguments.keep_for
    settings = {"keep": arguments.keep, "is_dry_run": arguments.dry_run}
    if isinstance(shelf, str):
        fates = removal_on_bucket.prune(shelf, keep_for=runs, **settings)
    else:
        runs = [stage(run) if isinstance(run, str) else run for run in runs]
        fates = retention.prune(shelf, keep_for=runs, **settings)
    verb = "would be removed" if arguments.dry_run else "removed"
    for fate in fates:
        what = f"kept: {fate.reason}" if fate.reason else f"{verb}: {fate.n_bytes / 1e6:,.1f} MB"
        yield f"{fate.version}  {what}"


def _forget(arguments: argparse.Namespace) -> Iterator[str]:
    from corpora.store import forgetting, removal_on_bucket

    forget = removal_on_bucket.forget if isinstance(arguments.shelf, str) else forgetting.forget
    settings = {name: getattr(arguments, name) for name in ("documents", "entities", "why")}
    yield from forget(arguments.shelf, today=datetime.now(UTC).date().isoformat(), **settings)


def _place(text: str) -> Path | str:
    return text.rstrip("/") if is_url(text) else Path(not_empty(text))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser("corpora.store", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    shelf = ArgumentParser(add_help=False)
    shelf.add_argument("shelf", type=_place, help="folder of the dataset in the store: STORE/NAME")

    def add(
        name: str, do: Callable[..., object], *, help: str, description: str
    ) -> argparse.ArgumentParser:
        parents = [] if name in {"publish", "forget"} else [shelf]
        command = commands.add_parser(name, parents=parents, help=help, description=description)
        command.set_defaults(do=do)
        return command

    _add_publish(
        add(
            "publish",
            _publish,
            help="put a dataset or a run into a store, and make it the current version",
            description="Verify a dataset or a run, put it into a store, and make it current.",
        )
    )
    add(
        "current",
        _current,
        help="print the folder of the current version",
        description="Print the folder of the current version.",
    )
    add(
        "list",
        _list,
        help="list the versions and their sizes",
        description="List the versions and their sizes, in the order of publishing.",
    ).add_argument("--json", action="store_true", help="print the list as JSON, for programs")
    add(
        "switch",
        _switch,
        help="make another version current",
        description="Verify another version, and make it current.",
    ).add_argument("version", help="name of the version")
    _add_prune(
        add(
            "prune",
            _prune,
            help="remove versions that are not needed",
            description="Remove all published versions except the current one, the last ones "
            "(--keep), and those that models or datasets were made from (--keep-for).",
        )
    )
    _add_forget(
        add(
            "forget",
            _forget,
            help="remove a person's data from all versions",
            description="Remove a person's data from all versions of all datasets of a store.",
        )
    )
    return parser.parse_args(argv)


def _add_publish(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "source", type=Path, help="folder of the dataset, or of the run (with run.json)"
    )
    command.add_argument(
        "shelf", type=_place, help="folder of the dataset in the store: STORE/NAME"
    )
    command.add_argument(
        "--version",
        help="name of the version, such as 20261101 (default: the beginning of the fingerprint)",
    )


def _add_prune(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--keep",
        type=int,
        default=3,
        metavar="N",
        help="keep the N versions that were published last (default: 3)",
    )
    command.add_argument(
        "--keep-for",
        type=_place,
        nargs="+",
        default=[],
        metavar="RUN",
        help="folders of models or datasets; keep the versions that these were made from",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="print what would be removed, and remove nothing"
    )


def _add_forget(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "shelf", type=_place, metavar="STORE", help="folder of the store, with all its datasets"
    )
    ids = "ids of documents to remove as a whole"
    entities = "entities, such as dawiki:Title, whose mentions are removed; the text stays"
    for name, metavar, what in (("documents", "ID", ids), ("entities", "ENTITY", entities)):
        command.add_argument(f"--{name}", nargs="+", default=[], metavar=metavar, help=what)
    command.add_argument(
        "--why",
        default="",
        metavar="TEXT",
        help="reason to note in STORE/forgotten.json, such as the number of a request",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    arguments = _arguments(argv)
    return execute(
        lambda: arguments.do(arguments),
        path=arguments.shelf,
        interrupted="interrupted. What was current still is.",
    )


if __name__ == "__main__":
    sys.exit(main())
