"""The settings of refreshes and their commands: a TOML file that is read whenever a task runs.

``samples/settings.toml`` is an example; docs/airflow.md describes the keys. Relative paths are
relative to the folder of the file, which is also the working directory of all commands; ``~`` is
the home of the user that runs Airflow.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails

ENVIRONMENT = "ONOMA_SETTINGS"
"""The environment variable with the path of the settings; a run may name others beside them."""
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""The pattern of names that become names of files or folders."""
T = TypeVar("T")


class SettingsError(ValueError):
    """Settings, or a store that they name, are wrong or missing; the message says what to do."""


def _here(text: str) -> str:
    if "://" in text:
        raise ValueError(
            "is in a bucket, and these DAGs work in folders. Mount the bucket and name its folder, "
            "or run the commands (onoma wikipedia --output s3://…) in DAGs of your own"
        )
    return text


def _folder(text: object, info: ValidationInfo) -> Path:
    if not isinstance(text, str) or not text:
        raise ValueError("must be a path")
    context: Mapping[str, Path] = info.context or {}
    path = context["folder"] / os.path.expanduser(_here(text))  # noqa: PTH111 - Path's raises RuntimeError
    return Path(os.path.normpath(path))  # not resolved: a store may be a symlink


def _by_name(tables: object) -> dict[str, object]:
    """Map the names of ``[[…]]`` tables to the tables."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("write it in two brackets, as often as there are some")
    names = [str(table.get("name", "")) for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is there twice")
    return dict(zip(names, tables, strict=True))


class _Entries(dict[str, T]):
    """Entries by name; to ask for one that is not there raises ``SettingsError``."""

    def __missing__(self, name: str) -> T:
        raise SettingsError(
            f"{name} is in the settings no more, and this run began with it. Put it back and clear "
            "the task, or mark the run as failed."
        )


Filled = Annotated[str, StringConstraints(min_length=1)]
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME}$")]
Pattern = Annotated[Filled, AfterValidator(_here)]
Folder = Annotated[Path, BeforeValidator(_folder)]
"""The path of a file or a folder: a string in the file, then a ``Path``."""
Options = tuple[str, ...]
"""More arguments for a command line, one string each."""
Variables = dict[
    Annotated[str, StringConstraints(pattern=r"^[^=]+$")],
    Annotated[str, Field(coerce_numbers_to_str=True)],
]
Tables = (BeforeValidator(_by_name), AfterValidator(_Entries))


class _Table(BaseModel):
    """A table whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WikiEntry(_Table):
    """A wiki whose dumps become documents, an entity vocabulary and examples."""

    name: Name
    """The name of the wiki in its dumps: dawiki."""
    contact: Filled
    """An address at which the operators of the mirror can reach you."""
    mirror: str = ""
    """The server of the dumps; empty: Wikimedia's."""
    tokenizer: Folder | None = None
    """The tokenizer for examples; None: one is learned from the first version, and kept."""
    limits: Options = ()
    """Limits of drift (``documents=-5%``), which add to or replace those of ``corpora.diff``."""
    download: Options = ()
    documents: Options = ()
    learn_tokenizer: Options = ()
    vocabulary: Options = ()
    examples: Options = ()


class News(_Table):
    """News that are read each day, usually from the sites of one file."""

    name: Name
    sites: Folder | None = None
    """The file of sites to crawl; None: the options in ``documents`` say what is read."""
    archive: Folder | None = None
    """The folder for fetched pages; None: a folder in ``work``."""
    wiki: str = ""
    """The wiki whose vocabulary is matched; empty: no mentions are added."""
    documents: Options = ()
    annotate: Options = ("--policy", "gated")


class EditionEntry(_Table):
    """A TEI edition that a tagger learns from."""

    name: Name
    input: Annotated[tuple[Pattern, ...], Field(min_length=1)]
    """Patterns that match the files of the edition."""
    edition: str = "tei"
    """The name of an edition that ships with Onoma, or an edition file."""
    checkout: Folder | None = None
    """A git checkout that is pulled first; None: nothing is pulled."""
    model: str = ""
    """The [[model]] whose encoder is fine-tuned, or a folder; empty: no tagger, only NER data."""
    recipe: str = "crf"
    ner: Options = ()
    finetune: Options = ()
    evaluate: Options = ()


class ModelEntry(_Table):
    """An encoder that is trained further when its corpus is new."""

    name: Name
    wiki: Filled
    recipe: Filled
    init_from: Folder | None = None
    """The encoder that the first version begins with; later ones begin with the current version."""
    edition: str = ""
    """The edition whose tagger judges the encoder; empty: it is published unjudged."""
    pretrain: Options = ()


class RefreshSettings(_Table):
    """The content of a settings file."""

    folder: Path
    """The folder of the settings file."""
    work: Folder
    """The folder in which runs work; it can be removed when nothing runs."""
    store: Folder
    """The folder in which versions are published."""
    python: str = ""
    """The interpreter of the commands; empty: that of Airflow."""
    keep: Annotated[int, Field(strict=True, gt=0)] = 3
    """The number of versions that are kept of each dataset and model, and of dumps."""
    on_failure: Options = ()
    """A command that gets reports of failures on standard input; empty: they are only logged."""
    environment: Variables = {}
    """Environment variables of the commands, added to those of the worker."""
    wikis: Annotated[Mapping[str, WikiEntry], *Tables] = Field(_Entries(), alias="wiki")
    news: Annotated[Mapping[str, News], *Tables] = _Entries()
    editions: Annotated[Mapping[str, EditionEntry], *Tables] = Field(_Entries(), alias="edition")
    models: Annotated[Mapping[str, ModelEntry], *Tables] = Field(_Entries(), alias="model")

    @model_validator(mode="after")
    def _check(self) -> "RefreshSettings":
        """Check that references name something, and that no two entries share a shelf or folder."""
        if self.work == self.store or self.work in self.store.parents:
            raise ValueError(
                "work and store must be two folders, and store not in work: what lies in work is "
                "removed"
            )
        for model in self.models.values():
            _check_named(model.wiki, self.wikis, f"[[model]] {model.name}: wiki")
            _check_named(model.edition, self.editions, f"[[model]] {model.name}: edition")
        for news in self.news.values():
            _check_named(news.wiki, self.wikis, f"[[news]] {news.name}: wiki")
        shelves = [shelf for name in self.wikis for shelf in shelves_of_wiki(name).values()]
        shelves += [f"{name}-{part}" for name in self.news for part in ("news", "annotated")]
        shelves += [f"{name}-{part}" for name in self.editions for part in ("ner", "tagger")]
        shelves += [f"{name}-encoder" for name in self.models]
        if duplicates := [shelf for shelf in shelves if shelves.count(shelf) > 1]:
            raise ValueError(f"two would publish {duplicates[0]}. Choose other names")
        return self

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


def settings_file(name: str | None) -> Path:
    """Return the file that the environment names, or another file in its folder.

    Raises ``SettingsError`` for any other name: settings name commands that are run, so whoever
    starts a run may only choose among existing files.
    """
    if not (owners := os.environ.get(ENVIRONMENT)):
        raise SettingsError(
            f"no settings: name a TOML file in {ENVIRONMENT}, in the environment of the workers. "
            "dags/samples/settings.toml is one; docs/airflow.md says more."
        )
    if name and not (re.fullmatch(NAME, name) and name.endswith(".toml")):
        raise SettingsError(
            f"settings = {name!r}: must be the name of a file beside {owners}, as weekly.toml."
        )
    return Path(owners).with_name(name) if name else Path(owners)


def read(path: Path) -> RefreshSettings:
    """Read and check a settings file; raises ``SettingsError``."""
    folder = path.absolute().parent
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        values.pop("step", None)  # a table of `onoma project`, which may share the file
        return RefreshSettings.model_validate(
            values | {"folder": folder}, context={"folder": folder}
        )
    except ValidationError as error:
        lines = "\n".join(_describe(each) for each in error.errors())
        raise SettingsError(f"{path}: {lines}") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read ({error}).") from error


_KINDS: Mapping[str | int, type[BaseModel]] = {
    "wiki": WikiEntry,
    "news": News,
    "edition": EditionEntry,
    "model": ModelEntry,
}


def _describe(error: ErrorDetails) -> str:
    """Describe what is wrong, with its place: ``[[wiki]] dawiki: contact: …``."""
    table, *path = error["loc"] or [""]
    where = ": ".join([f"[[{table}]] {path[0]}", *map(str, path[1:])] if path else [str(table)])
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        fields = _KINDS.get(table, RefreshSettings).model_fields
        message = (
            f"no setting here. There are: {', '.join(f.alias or n for n, f in fields.items())}"
        )
        message += ". Settings of the whole file stand above the first [[...]]"
    elif where and error["type"] != "missing":
        where += f" = {error['input']!r}"
    return f"{where}: {message}.".removeprefix(": ")


def check_store(settings: RefreshSettings) -> None:
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


def _check_named(name: str, known: Iterable[str], where: str) -> None:
    if name and name not in known:
        there = ", ".join(known) or "none"
        raise ValueError(f"{where} = {name!r}: there is none. There are: {there}")


def shelves_of_wiki(name: str) -> dict[str, str]:
    """Map the parts that a wiki publishes to the names of their shelves."""
    return {
        "documents": name,
        "tokenizer": f"{name}-tokenizer",
        "vocabulary": f"{name}-vocab",
        "examples": f"{name}-examples",
    }
