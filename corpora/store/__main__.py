"""The commands of ``python -m corpora.store``."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from corpora.store import on_bucket
from corpora.store import versions as store
from corpora.system.arguments import ArgumentParser, execute
from corpora.system.buckets import is_url


def _publish(arguments: argparse.Namespace) -> Iterator[str]:
    shelf = arguments.shelf
    if isinstance(shelf, str):
        target = str(on_bucket.publish(arguments.source, shelf, version=arguments.version))
    else:
        target = str(store.publish(arguments.source, shelf, version=arguments.version))
    yield f"{target} is current"
    yield f"next  python -m corpora.store current {arguments.shelf}"


def _current(arguments: argparse.Namespace) -> Iterator[str]:
    shelf = arguments.shelf
    yield on_bucket.current(shelf) if isinstance(shelf, str) else str(store.current(shelf))


def _list(arguments: argparse.Namespace) -> Iterator[str]:
    from corpora.store.retention import size_of

    shelf = arguments.shelf
    if isinstance(shelf, str):
        in_use, sizes = on_bucket.current(shelf).rpartition("/")[2], on_bucket.sizes(shelf)
    else:
        in_use = store.current(shelf).name
        sizes = {name: size_of(shelf / name) for name in store.version_names(shelf)}
    if arguments.json:
        rows = [{"version": n, "bytes": size, "current": n == in_use} for n, size in sizes.items()]
        yield json.dumps(rows)
        return
    for name, size in sizes.items():
        yield f"{name}  {size / 1e6:,.1f} MB{'  current' if name == in_use else ''}"


def _switch(arguments: argparse.Namespace) -> Iterator[str]:
    shelf, version = arguments.shelf, arguments.version
    if isinstance(shelf, str):
        yield f"{on_bucket.switch(shelf, version)} is current"
    else:
        yield f"{store.switch(shelf, version)} is current"


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

    shelf = arguments.shelf
    settings = {name: getattr(arguments, name) for name in ("documents", "entities", "why")}
    settings["today"] = datetime.now(UTC).date().isoformat()
    if isinstance(shelf, str):
        yield from removal_on_bucket.forget(shelf, **settings)
    else:
        yield from forgetting.forget(shelf, **settings)


def _place(text: str) -> Path | str:
    return text.rstrip("/") if is_url(text) else Path(text)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    description, _, epilog = (store.__doc__ or "").partition("\n\n")
    parser = ArgumentParser(
        prog="python -m corpora.store",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    shelf = ArgumentParser(add_help=False)
    shelf.add_argument("shelf", type=_place, help="STORE/NAME")
    publisher = commands.add_parser("publish", help="verify a run, and make it current")
    publisher.add_argument("source", type=Path, help="a dataset, or a folder with run.json")
    publisher.add_argument("shelf", type=_place, help="STORE/NAME")
    publisher.add_argument("--version", help="as 20261101 (default: from the fingerprint)")
    publisher.set_defaults(do=_publish)
    for name, do, help in (
        ("current", _current, "print the folder of the current version"),
        ("list", _list, "name the versions, the last one last"),
    ):
        command = commands.add_parser(name, parents=[shelf], help=help)
        command.set_defaults(do=do)
        if name == "list":
            command.add_argument("--json", action="store_true", help="print JSON, for programs")
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
    """Run a command; returns the exit status."""
    arguments = _arguments(argv)
    return execute(
        lambda: arguments.do(arguments),
        path=arguments.shelf,
        interrupted="interrupted. What was current still is.",
    )


if __name__ == "__main__":
    sys.exit(main())
