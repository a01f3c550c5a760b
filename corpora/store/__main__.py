"""Manage published versions of datasets (``STORE/NAME/VERSION/``), one of which is current.

    onoma store publish build/dawiki-20261101 store/dawiki --version 20261101
    onoma store current store/dawiki     prints store/dawiki/20261101
    onoma store switch store/dawiki 20261001
    onoma store prune store/dawiki --keep 3 --keep-for runs/daluke runs/tagger
    onoma store forget store --documents dawiki:4711 --entities "dawiki:Ada Lem"

A published version never changes, except when a person's data is removed (forget). The file
``STORE/NAME/current`` holds the name of the current version. It is replaced in one step after the
new version is verified, so that readers always find a complete version, the old or the new one.
A reader should ask once for the current version, and keep its path.
"""

import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from corpora.system.arguments import (
    Subcommand,
    execute,
    not_empty,
    option,
    option_table,
    parse_subcommand,
)
from corpora.system.buckets import is_url


@option_table
class PublishOptions:
    """A dataset or a run, and the shelf that it is put on."""

    source: Path = option("folder of the dataset, or of the run (with run.json)", positional=True)
    shelf: str = option(
        "folder of the dataset in the store: STORE/NAME", positional=True, type=not_empty
    )
    version: str | None = option(
        "name of the version, such as 20261101 (default: the beginning of the fingerprint)"
    )


@option_table
class ShelfOptions:
    """A shelf, which holds the versions of a dataset."""

    shelf: str = option(
        "folder of the dataset in the store: STORE/NAME", positional=True, type=not_empty
    )


@option_table
class ListOptions(ShelfOptions):
    """A shelf, and the form of the list."""

    json: bool = option("print the list as JSON, for programs")


@option_table
class SwitchOptions(ShelfOptions):
    """A shelf, and the version to make current."""

    version: str = option("name of the version", positional=True)


@option_table
class PruneOptions(ShelfOptions):
    """A shelf, and the versions to keep."""

    keep: int = option("keep the N versions that were published last (default: 3)", 3, at_least=1)
    keep_for: tuple[str, ...] = option(
        "folders of models or datasets; keep the versions that these were made from",
        type=not_empty,
        nargs="+",
        metavar="RUN",
    )
    dry_run: bool = option("print what would be removed, and remove nothing")


@option_table
class ForgetOptions:
    """A store, and the documents and entities to remove from it."""

    shelf: str = option(
        "folder of the store, with all its datasets",
        positional=True,
        type=not_empty,
        metavar="STORE",
    )
    documents: tuple[str, ...] = option("ids of documents to remove as a whole", metavar="ID")
    entities: tuple[str, ...] = option(
        "entities, such as dawiki:Title, whose mentions are removed; the text stays",
        metavar="ENTITY",
    )
    why: str = option(
        "reason to note in STORE/forgotten.json, such as the number of a request",
        "",
        metavar="TEXT",
    )


def _place(text: str) -> Path | str:
    """Return a folder of this machine, or an address in a bucket as a string."""
    return text.rstrip("/") if is_url(text) else Path(text)


def _store_of(shelf: str) -> tuple[ModuleType, Path | str]:
    """Return the module that works on a shelf, on a disk or in a bucket, and the shelf for it."""
    from corpora.store import on_bucket, versions

    place = _place(shelf)
    return on_bucket if isinstance(place, str) else versions, place


def _publish(options: PublishOptions) -> Iterator[str]:
    store, shelf = _store_of(options.shelf)
    yield f"{store.publish(options.source, shelf, version=options.version)} is current"
    yield f"next  onoma store current {shlex.quote(str(shelf))}"


def _current(options: ShelfOptions) -> Iterator[str]:
    store, shelf = _store_of(options.shelf)
    yield str(store.current(shelf))


def _list(options: ListOptions) -> Iterator[str]:
    store, shelf = _store_of(options.shelf)
    in_use, sizes = str(store.current(shelf)).rpartition("/")[2], store.sizes(shelf)
    if options.json:
        rows = [{"version": n, "bytes": size, "current": n == in_use} for n, size in sizes.items()]
        yield json.dumps(rows)
        return
    for name, size in sizes.items():
        yield f"{name}  {size / 1e6:,.1f} MB{'  current' if name == in_use else ''}"


def _switch(options: SwitchOptions) -> Iterator[str]:
    store, shelf = _store_of(options.shelf)
    yield f"{store.switch(shelf, options.version)} is current"


def _prune(options: PruneOptions) -> Iterator[str]:
    from corpora.store import removal_on_bucket, retention
    from corpora.system.staging import stage

    shelf, runs = _place(options.shelf), [_place(run) for run in options.keep_for]
    if isinstance(shelf, str):
        fates = removal_on_bucket.prune(
            shelf, keep=options.keep, keep_for=runs, is_dry_run=options.dry_run
        )
    else:
        here = [stage(run) if isinstance(run, str) else run for run in runs]
        fates = retention.prune(shelf, keep=options.keep, keep_for=here, is_dry_run=options.dry_run)
    verb = "would be removed" if options.dry_run else "removed"
    for fate in fates:
        what = f"kept: {fate.reason}" if fate.reason else f"{verb}: {fate.n_bytes / 1e6:,.1f} MB"
        yield f"{fate.version}  {what}"


def _forget(options: ForgetOptions) -> Iterator[str]:
    from corpora.store import forgetting, removal_on_bucket

    store, today = _place(options.shelf), datetime.now(UTC).date().isoformat()
    ids = {"documents": options.documents, "entities": options.entities}
    if isinstance(store, str):
        yield from removal_on_bucket.forget(store, today=today, why=options.why, **ids)
    else:
        yield from forgetting.forget(store, today=today, why=options.why, **ids)


_COMMANDS = {
    "publish": Subcommand(
        PublishOptions,
        _publish,
        "put a dataset or a run into a store, and make it the current version",
        "Verify a dataset or a run, put it into a store, and make it current.",
    ),
    "current": Subcommand(
        ShelfOptions,
        _current,
        "print the folder of the current version",
        "Print the folder of the current version.",
    ),
    "list": Subcommand(
        ListOptions,
        _list,
        "list the versions and their sizes",
        "List the versions and their sizes, in the order of publishing.",
    ),
    "switch": Subcommand(
        SwitchOptions,
        _switch,
        "make another version current",
        "Verify another version, and make it current.",
    ),
    "prune": Subcommand(
        PruneOptions,
        _prune,
        "remove versions that are not needed",
        "Remove all published versions except the current one, the last ones (--keep), and those "
        "that models or datasets were made from (--keep-for).",
    ),
    "forget": Subcommand(
        ForgetOptions,
        _forget,
        "remove a person's data from all versions",
        "Remove a person's data from all versions of all datasets of a store.",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    options, work = parse_subcommand(_COMMANDS, argv, name="store", about=__doc__)
    return execute(work, path=options.shelf, resumes="What was current still is.")


if __name__ == "__main__":
    sys.exit(main())
