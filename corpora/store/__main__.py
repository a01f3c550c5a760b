"""Published versions of a dataset, and which of them is current: ``STORE/NAME/VERSION/``.

    python -m corpora.store publish build/dawiki-20261101 store/dawiki --version 20261101
    python -m corpora.store current store/dawiki     prints store/dawiki/20261101
    python -m corpora.store switch store/dawiki 20261001
    python -m corpora.store prune store/dawiki --keep 3 --keep-for runs/daluke runs/tagger
    python -m corpora.store forget store --documents dawiki:4711 --entities "dawiki:Ada Lem"

A version never changes once it is there, unless somebody's data must go (forget).
``STORE/NAME/current``, a file with one name in it, is replaced in one step after everything was
verified: whoever reads it at any moment, and after a kill at any moment, finds the old version or
the new one. Readers ask once, and keep the path.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from corpora.system.arguments import ArgumentParser, execute, make_parser
from corpora.system.buckets import is_url


def _store_of(arguments: argparse.Namespace) -> ModuleType:
    """Return the module that does the work: for a disk, or for a bucket (address as a string)."""
    from corpora.store import on_bucket, versions

    return on_bucket if isinstance(arguments.shelf, str) else versions


def _publish(arguments: argparse.Namespace) -> Iterator[str]:
    shelf, store = arguments.shelf, _store_of(arguments)
    yield f"{store.publish(arguments.source, shelf, version=arguments.version)} is current"
    yield f"next  python -m corpora.store current {shelf}"


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
    return text.rstrip("/") if is_url(text) else Path(text)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser("corpora.store", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    shelf = ArgumentParser(add_help=False)
    shelf.add_argument("shelf", type=_place, help="STORE/NAME")
    publisher = commands.add_parser("publish", help="verify a run, and make it current")
    publisher.add_argument("source", type=Path, help="a dataset, or a folder with run.json")
    publisher.add_argument("shelf", type=_place, help="STORE/NAME")
    publisher.add_argument("--version", help="as 20261101 (default: from the fingerprint)")
    publisher.set_defaults(do=_publish)
    about = "print the folder of the current version"
    commands.add_parser("current", parents=[shelf], help=about).set_defaults(do=_current)
    lister = commands.add_parser(
        "list", parents=[shelf], help="name the versions, the last one last"
    )
    lister.add_argument("--json", action="store_true", help="print JSON, for programs")
    lister.set_defaults(do=_list)
    switcher = commands.add_parser("switch", parents=[shelf], help="make another one current")
    switcher.add_argument("version")
    switcher.set_defaults(do=_switch)
    pruner = commands.add_parser("prune", parents=[shelf], help="remove what nobody needs")
    pruner.add_argument("--keep", type=int, default=3, metavar="N", help="the last (default: 3)")
    pruner.add_argument(
        "--keep-for",
        type=_place,
        nargs="+",
        action="extend",
        default=[],
        metavar="RUN",
        help="models or datasets whose data must stay",
    )
    pruner.add_argument("--dry-run", action="store_true", help="only say what would be done")
    pruner.set_defaults(do=_prune)
    forgetter = commands.add_parser("forget", help="take a person's data out of all versions")
    forgetter.add_argument("shelf", type=_place, metavar="STORE", help="with all its names")
    for name, metavar, what in (
        ("documents", "ID", "whole documents"),
        ("entities", "ENTITY", "all mentions of these, as dawiki:Title; the text stays"),
    ):
        forgetter.add_argument(
            f"--{name}", nargs="+", action="extend", default=[], metavar=metavar, help=what
        )
    forgetter.add_argument("--why", default="", metavar="TEXT", help="for the record, as a number")
    forgetter.set_defaults(do=_forget)
    return parser.parse_args(argv)


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
