"""Strict options: a frozen dataclass is the command line; what nobody knows is an error.

Options that Beam knows (``--runner``, ``--flink_master`` …) are passed on; Beam is loaded to look
for them only when there is an option that the pipeline itself does not know.
"""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from corpora.document import ORIGINS
from corpora.errors import UsageError
from corpora.system.arguments import (
    add_options,
    check,
    make_parser,
    not_empty,
    option,
    option_table,
    refuse,
    values_of,
)
from corpora.system.buckets import is_url
from corpora.system.imports import hidden

__all__ = [
    "CommonOptions", "FileOptions", "option", "option_table", "origins_of", "parse_options",
    "refuse", "said", "values_in",
]  # fmt: skip

T = TypeVar("T", bound="CommonOptions")


@option_table
class CommonOptions:
    """The options of every pipeline."""

    input: tuple[str, ...] = option(
        "files, folders of files, or datasets to read, as paths, bucket addresses (s3://…) or "
        "glob patterns in quotes",
        required=True,
        metavar="PATTERN",
    )
    output: Path = option(
        "folder to write the results into: a path, or an address in a bucket (s3://…, gs://…, "
        "az://…)",
        type=not_empty,
    )
    forgotten: Path | None = option(
        "leave out the documents and entities that this file lists: STORE/forgotten.json, written "
        "by store forget",
        metavar="FILE",
    )
    limit: int | None = option(
        "read only the first N files, records (wikipedia, news, text) or shards of datasets "
        "(default: all)",
        at_least=1,
    )
    workers: int = option("number of worker processes (default: 1)", 1, at_least=1)
    json: bool = option("print the summary as one JSON object on standard output, for programs")
    beam: tuple[str, ...] = ()
    """Options that are passed on to Beam."""
    max_reject_rate: float = 0.01
    """The fraction of rejected records above which a run fails."""
    bucket: str = ""
    """The address of an output in a bucket; ``output`` is then its local copy. Empty: on disk."""

    @property
    def has_runner(self) -> bool:
        """Whether ``--runner`` was given: Beam distributes the run, instead of this machine."""
        return any(option.startswith("--runner") for option in self.beam)

    def settings(self, kind: type[T], **facts: object) -> T:
        """Make the settings of a plan: the options, and facts of the input.

        Of files and folders of this machine, only the names are left: workers may be elsewhere.
        """
        paths = (field.name for field in fields(self) if _is_path(field))
        names = {name: _without_folder(getattr(self, name)) for name in paths}
        return kind(**vars(self) | names | facts)

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for a value that makes no sense."""
        for pattern in self.input:
            is_url(pattern)  # raises for an unknown kind of address
        check(self)


@option_table
class FileOptions(CommonOptions):
    """The options of pipelines that read files, not datasets."""

    exclude: tuple[str, ...] = option(
        "glob patterns of inputs to leave out; names are relative to the folder that all inputs "
        "share",
        metavar="PATTERN",
    )
    max_reject_rate: float = option(
        "fail and publish nothing if more records than this fraction, and more than ten or half "
        "of them, are rejected (default: 0.01)",
        0.01,
        at_least=0,
        at_most=1,
        metavar="RATIO",
    )


def parse_options(kind: type[T], argv: Sequence[str] | None, *, name: str, about: str | None) -> T:
    """Parse the command line into ``kind``.

    Ends the process with status 2 where an option does not exist, or has no such value; raises
    ``UsageError`` where options make no sense together.
    """
    parser = make_parser(name, about, is_passed_on=_is_of_beam)
    add_options(parser, kind)
    values, unknown = parser.parse_known_args(sys.argv[1:] if argv is None else argv)
    settings = values_of(values)
    output = str(settings["output"])
    settings["output"] = Path(output)
    if is_url(output):
        settings["bucket"] = output.rstrip("/")
    if not find_spec("apache_beam"):
        raise UsageError("Apache Beam is not installed: pip install 'onoma[pipelines]'.")
    options = kind(**settings, beam=_beam_options(unknown))
    _check_runner(options)
    return options


def values_in(options: CommonOptions, *names: str) -> dict[str, object]:
    """Return some options by name, in the form of plan parameters: lists, no tuples."""
    values = ((name, getattr(options, name)) for name in names)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values}


def first_names(names: Sequence[str]) -> str:
    """List the first three names, and count the others."""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"


def said(lines: str) -> Callable[[CommonOptions], list[str]]:
    """Make the ``next_steps`` of a pipeline: lines in which ``{output}`` is its output.

    It is quoted as a shell needs it; ``{path}`` is not.
    """

    def filled(options: CommonOptions) -> list[str]:
        path = str(options.output)
        return lines.format(output=shlex.quote(path), path=path).splitlines()

    return filled


def origins_of(words: Sequence[str]) -> list[str]:
    """Collect the named origins, sorted; one word may hold several, separated by commas.

    Raises ``UsageError`` for an unknown origin.
    """
    origins = {origin for word in words for origin in word.split(",")}
    if unknown := sorted(origins - ORIGINS):
        raise UsageError(f"--origins {', '.join(unknown)}: there are {', '.join(sorted(ORIGINS))}.")
    return sorted(origins)


def _is_path(field: "Field[object]") -> bool:
    metavar = str(field.metadata.get("settings", {}).get("metavar", ""))
    return "Path" in str(field.type) or bool({"DIR", "FILE", "PATTERN"} & {*metavar.split("|")})


def _without_folder(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_without_folder, value))
    return type(value)(Path(value).name) if isinstance(value, str | Path) else value


def _check_runner(options: CommonOptions) -> None:
    """Raise ``UsageError`` for options that belong to another way of running."""
    if options.has_runner and options.workers > 1:
        raise UsageError("--workers is for this machine alone; with --runner leave it out")
    if options.beam and not options.has_runner:
        raise UsageError(
            f"{' '.join(options.beam)}: of Beam, which runs nothing without a --runner "
            "(PortableRunner, FlinkRunner …)"
        )


def _beam_options(left_over: Sequence[str]) -> tuple[str, ...]:
    """Check that the remaining options are Beam's; raises ``UsageError`` otherwise."""
    if not left_over:
        return ()
    _, wrong = _beam_parser().parse_known_args(list(left_over))
    if wrong:
        raise UsageError(f"{' '.join(wrong)}: belongs to no option. See --help for all.")
    return tuple(left_over)


def _is_of_beam(option: str) -> bool:
    """Tell whether Beam knows an option; without Beam, True, because that is reported later."""
    if not find_spec("apache_beam"):
        return True
    return option in _beam_parser()._option_string_actions  # noqa: SLF001 - there is no public way


@cache
def _beam_parser() -> argparse.ArgumentParser:
    with hidden():  # no library; Beam warns of missing ones that it does not need
        from apache_beam.options.pipeline_options import PipelineOptions

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for kind in PipelineOptions.__subclasses__():
        kind._add_argparse_args(parser)  # noqa: SLF001 - Beam has no public way to ask
    return parser
