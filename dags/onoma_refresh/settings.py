"""The settings of refreshes and their commands: a TOML file that is read whenever a task runs.

``samples/settings.toml`` is an example; docs/airflow.md describes the keys. Relative paths are
relative to the folder of the file, which is also the working directory of all commands; ``~`` is
the home of the user that runs Airflow.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import TypeVar, get_type_hints

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""The pattern of names that become names of files or folders."""
_NAME = re.compile(NAME)
T = TypeVar("T")
Named = TypeVar("Named", "Wiki", "News", "Edition", "Model")
Options = tuple[str, ...]
"""More arguments for a command line, one string each."""
_EXPECTED: Mapping[object, str] = {
    int: "a whole number above 0",
    Options: "a list of strings",
    Mapping[str, str]: 'a table of strings, as { OMP_NUM_THREADS = "4" }',
    Path: "the path of a file or folder, as a string",
    Path | None: "the path of a file or folder, as a string",
}
"""What a value must be, by the type of its setting; a string where none is named."""


TABLES = ("wiki", "news", "edition", "model")
"""The tables of a settings file that may be there several times."""


class SettingsError(ValueError):
    """Settings, or a store that they name, are wrong or missing; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Wiki:
    """A wiki whose dumps become documents, an entity vocabulary and examples."""

    name: str
    """The name of the wiki in its dumps: dawiki."""
    contact: str
    """An address at which the operators of the mirror can reach you."""
    mirror: str = ""
    """The server of the dumps; empty: Wikimedia's."""
    tokenizer: Path | None = None
    """The tokenizer for examples; None: one is learned from the first version, and kept."""
    limits: Options = ()
    """Limits of drift (``documents=-5%``), which add to or replace those of ``corpora.diff``."""
    download: Options = ()
    documents: Options = ()
    learn_tokenizer: Options = ()
    vocabulary: Options = ()
    examples: Options = ()


@dataclass(frozen=True, kw_only=True)
class News:
    """News that are read each day, usually from the sites of one file."""

    name: str
    sites: Path | None = None
    """The file of sites to crawl; None: the options in ``documents`` say what is read."""
    archive: Path | None = None
    """The folder for fetched pages; None: a folder in ``work``."""
    wiki: str = ""
    """The wiki whose vocabulary is matched; empty: no mentions are added."""
    documents: Options = ()
    annotate: Options = ("--policy", "gated")


@dataclass(frozen=True, kw_only=True)
class Edition:
    """A TEI edition that a tagger learns from."""

    name: str
    input: Options
    """Patterns that match the files of the edition."""
    edition: str = "tei"
    """The name of an edition that ships with Onoma, or an edition file."""
    checkout: Path | None = None
    """A git checkout that is pulled first; None: nothing is pulled."""
    model: str = ""
    """The [[model]] whose encoder is fine-tuned, or a folder; empty: no tagger, only NER data."""
    recipe: str = "crf"
    ner: Options = ()
    finetune: Options = ()
    evaluate: Options = ()


@dataclass(frozen=True, kw_only=True)
class Model:
    """An encoder that is trained further when its corpus is new."""

    name: str
    wiki: str
    recipe: str
    init_from: Path | None = None
    """The encoder that the first version begins with; later ones begin with the current version."""
    edition: str = ""
    """The edition whose tagger judges the encoder; empty: it is published unjudged."""
    pretrain: Options = ()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The content of a settings file."""

    folder: Path
    """The folder of the settings file."""
    work: Path
    """The folder in which runs work; it can be removed when nothing runs."""
    store: Path
    """The folder in which versions are published."""
    python: str = ""
    """The interpreter of the commands; empty: that of Airflow."""
    keep: int = 3
    """The number of versions that are kept of each dataset and model, and of dumps."""
    on_failure: Options = ()
    """A command that gets reports of failures on standard input; empty: they are only logged."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the commands, added to those of the worker."""
    wikis: Mapping[str, Wiki] = field(default_factory=dict)
    news: Mapping[str, News] = field(default_factory=dict)
    editions: Mapping[str, Edition] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)

    def shelf(self, name: str) -> Path:
        """Return the folder in which a dataset or a model is published."""
        return self.store / name

    def current(self, name: str) -> Path | None:
        """Return the folder of the current version; None if nothing was published.

        Raises ``SettingsError`` where the current version has gone, or is not known any more:
        without it, a run would make a first version, with other ids of entities.
        """
        shelf = self.shelf(name)
        there = sorted(file.parent.name for file in shelf.glob("[!.]*/run.json"))
        try:
            version = (shelf / "current").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            version = ""
            if not there:
                return None
        if version and (shelf / version).is_dir():
            return shelf / version
        raise SettingsError(
            f"{shelf / 'current'}: names no version that is there ({version or 'none'}). Restore "
            f"it, or go back to another: onoma store switch {shelf} VERSION. There "
            f"are: {', '.join(there) or 'none'}."
        )

    def is_past(self, name: str, version: str) -> bool:
        """Tell whether a version is published, but another is current."""
        there, current = self.shelf(name) / version, self.current(name)
        return there.is_dir() and current is not None and current != there


def beside(owners: Path, name: str | None) -> Path:
    """Return the file of the server's owner, or another file in its folder.

    Raises ``SettingsError`` for any other name: settings name commands that are run, so whoever
    starts a run may only choose among existing files.
    """
    if not name:
        return owners
    if not (_NAME.fullmatch(name) and name.endswith(".toml")):
        raise SettingsError(
            f"settings = {name!r}: must be the name of a file in {owners.parent}, as weekly.toml."
        )
    return owners.with_name(name)


def read(path: Path) -> Settings:
    """Read and check a settings file; raises ``SettingsError``."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read ({error}).") from error
    values.pop("step", None)  # a table of `onoma project`, which may share the file
    folder = path.absolute().parent
    tables = {key: values.pop(key, []) for key in TABLES}
    settings = _make(
        Settings,
        values,
        where=str(path),
        base=folder,
        folder=folder,
        wikis=_read_tables(tables, "wiki", Wiki, path=path),
        news=_read_tables(tables, "news", News, path=path),
        editions=_read_tables(tables, "edition", Edition, path=path),
        models=_read_tables(tables, "model", Model, path=path),
    )
    _check(settings, path)
    return settings


def check_store(settings: Settings) -> None:
    """Raise ``SettingsError`` where a store existed earlier but is missing now.

    Otherwise, with a disk that is not mounted, a run would make a first version: nothing to compare
    with, and entities with other ids.
    """
    known = settings.work / "store-was-there"
    if any(settings.store.glob("*/current")):
        if not known.exists():
            known.parent.mkdir(parents=True, exist_ok=True)
            known.touch()
    elif known.exists():
        raise SettingsError(
            f"{settings.store}: nothing is published there, and something was. Is the disk "
            f"mounted? To start again, remove {known}."
        )


def _make(
    kind: type[T], table: Mapping[str, object], *, where: str, base: Path, **more: object
) -> T:
    """Build an object from a table, each value checked against its type."""
    hints = get_type_hints(kind)
    known = [f for f in fields(kind) if f.name not in more]  # type: ignore[arg-type]
    if unknown := sorted(set(table) - {f.name for f in known}):
        raise SettingsError(f"{where}: {unknown[0]} is no setting. {_there_are(kind, known)}")
    values = {
        name: _value(hints[name], value, where=f"{where}: {name}", base=base)
        for name, value in table.items()
    }
    needed = [f for f in known if f.default is MISSING and f.default_factory is MISSING]
    for one in needed:
        if not values.get(one.name):
            what = "empty" if one.name in table else "missing"
            raise SettingsError(f"{where}: {one.name} is {what}.")
    return kind(**values, **more)


def _there_are(kind: type[object], known: Sequence[Field[object]]) -> str:
    """List the settings of a table; say where those of the whole file stand."""
    names = ", ".join(one.name for one in known)
    if kind is Settings:
        return f"There are: {names}, and the tables {', '.join(f'[[{key}]]' for key in TABLES)}."
    return f"There are: {names}. Settings of the whole file stand above the first [[...]]."


def _value(kind: object, value: object, *, where: str, base: Path) -> object:
    inside = value if isinstance(value, list) else [value]
    if any(isinstance(one, str) and "\0" in one for one in inside):
        raise SettingsError(f"{where} = {value!r}: holds the character NUL.")
    if kind is int and type(value) is int and value > 0:
        return value
    if kind is str and isinstance(value, str):
        return value
    if kind in {Path, Path | None} and isinstance(value, str) and value:
        _check_here(value, where)
        path = base / os.path.expanduser(value)  # noqa: PTH111 - Path's raises RuntimeError
        return Path(os.path.normpath(path))  # not resolved: a store may be a symlink
    if kind == Options and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if kind == Mapping[str, str] and isinstance(value, dict):
        return {name: _variable(name, one, where=where) for name, one in value.items()}
    raise SettingsError(f"{where} = {value!r}: must be {_EXPECTED.get(kind, 'a string')}.")


def _check_here(path: str, where: str) -> None:
    if "://" in path:
        raise SettingsError(
            f"{where} = {path!r}: is in a bucket, and these DAGs work in folders. Mount the bucket "
            "and name its folder, or run the commands (onoma wikipedia --output s3://…) in DAGs of "
            "your own."
        )


def _variable(name: str, value: object, *, where: str) -> str:
    """Check a variable of the environment of commands; return its value."""
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not name or "=" in name or not is_text or "\0" in f"{name}{value}":
        raise SettingsError(
            f"{where}: {name} = {value!r}: must be a name without = and a string, without NUL."
        )
    return str(value)


class _Entries(dict[str, T]):
    """Entries by name; to ask for one that is not there raises ``SettingsError``."""

    def __init__(self, entries: Mapping[str, T], *, where: str) -> None:
        super().__init__(entries)
        self._where = where

    def __missing__(self, name: str) -> T:
        raise SettingsError(
            f"{self._where}: {name} is there no more, and this run began with it. Put it back and "
            "clear the task, or mark the run as failed."
        )


def _read_tables(
    values: Mapping[str, object], key: str, kind: type[Named], *, path: Path
) -> "_Entries[Named]":
    """Build the objects of all ``[[key]]`` tables of a file, by name."""
    tables, base = values[key], path.absolute().parent
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SettingsError(f"{path}: {key}: write [[{key}]], as often as there are some.")
    made = [
        _make(kind, table, where=f"{path}: [[{key}]] {table.get('name', '')}".rstrip(), base=base)
        for table in tables
    ]
    names = [one.name for one in made]
    for name in names:
        if not _NAME.fullmatch(name):
            raise SettingsError(f"{path}: name = {name!r}: letters, digits, dots and hyphens.")
        if names.count(name) > 1:
            raise SettingsError(f"{path}: {name} is there twice.")
    return _Entries({one.name: one for one in made}, where=f"{path}: [[{key}]]")


def _check(settings: Settings, path: Path) -> None:
    """Check that references name something, and that no two entries share a shelf or folder."""
    if settings.work == settings.store or settings.work in settings.store.parents:
        raise SettingsError(
            f"{path}: work and store must be two folders, and store not in work: what lies in work "
            "is removed."
        )
    for model in settings.models.values():
        _check_named(model.wiki, settings.wikis, f"{path}: [[model]] {model.name}: wiki")
        if model.edition:
            _check_named(
                model.edition, settings.editions, f"{path}: [[model]] {model.name}: edition"
            )
    for edition in settings.editions.values():
        for pattern in edition.input:
            _check_here(pattern, f"{path}: [[edition]] {edition.name}: input")
    for news in settings.news.values():
        if news.wiki:
            _check_named(news.wiki, settings.wikis, f"{path}: [[news]] {news.name}: wiki")
    shelves = [shelf for name in settings.wikis for shelf in shelves_of_wiki(name).values()]
    shelves += [f"{name}-{part}" for name in settings.news for part in ("news", "annotated")]
    shelves += [f"{name}-{part}" for name in settings.editions for part in ("ner", "tagger")]
    shelves += [f"{name}-encoder" for name in settings.models]
    if duplicates := [shelf for shelf in shelves if shelves.count(shelf) > 1]:
        raise SettingsError(f"{path}: two would publish {duplicates[0]}. Choose other names.")


def _check_named(name: str, known: Mapping[str, object], where: str) -> None:
    if name not in known:
        there = ", ".join(known) or "none"
        raise SettingsError(f"{where} = {name!r}: there is none. There are: {there}.")


def shelves_of_wiki(name: str) -> dict[str, str]:
    """Map the parts that a wiki publishes to the names of their shelves."""
    return {
        "documents": name,
        "tokenizer": f"{name}-tokenizer",
        "vocabulary": f"{name}-vocab",
        "examples": f"{name}-examples",
    }
