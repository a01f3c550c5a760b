r"""Convert plain text, JSON Lines or the output of WikiExtractor to documents.

Examples:
  onoma text --input 'novels/*.txt' --lang zh --output build/novels \
      --split-pattern '^第.{1,9}回'
  onoma text --input 'extracted/*/wiki_*' --lang de --group dewiki \
      --license CC-BY-SA-4.0 --output build/dewiki --workers 2
  onoma text --input 'news/*.jsonl.gz' --lang da --output build/news \
      --field text=body id=key timestamp=published --metadata section
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.runs.plan import (
    InputFile,
    Plan,
    Stage,
    Unit,
    find_inputs,
    limited,
    list_files,
    make_units,
    units_without_input,
)
from corpora.segmentation.language_tags import check_tag
from corpora.system.arguments import not_empty
from corpora.system.parsing import JsonObject
from corpora.text import reader
from corpora.text.characters import Normalization
from corpora.text.records import NOT_SPLIT
from pipelines import run
from pipelines.graph import Phase
from pipelines.options import (
    FileOptions,
    first_names,
    option,
    option_table,
    refuse,
    said,
    values_in,
)

DATASETS = {"": "documents"}
RANGE_BYTES = 8 << 20
"""The bytes of a unit, about: a larger file is cut, if its parts can be read by themselves."""


@option_table
class Options(FileOptions):
    """Options of ``onoma text``."""

    lang: str | None = option(
        "language of texts that name none, such as de or zh-TW; decides how sentences are split",
        metavar="TAG",
    )
    format: Literal["auto", "plain", "doc", "jsonl"] = option(
        "format of all files: plain text, WikiExtractor's <doc …>, or JSON Lines (default: auto, "
        "from other options or the content)",
        "auto",
    )
    encoding: str | None = option(
        "character encoding of all files, such as utf-8 or gb18030 (default: detected in each "
        "file)",
        metavar="NAME",
    )
    split_pattern: str | None = option(
        "begin a document at each line in which this regular expression is found; implies "
        "--format plain",
        metavar="REGEX",
        type=not_empty,
    )
    split_blank: int | None = option(
        "begin a document after N or more blank lines, or with 0 at each line; implies --format "
        "plain",
        at_least=0,
    )
    paragraphs: Literal["auto", "line", "blank", "indent"] = option(
        "take as a paragraph each line, the lines between blank ones, or those from one that is "
        "set in (default: auto, by line unless hard-wrapped)",
        "auto",
    )
    normalize: Normalization = option(
        "replace full-width letters and digits, or all characters with one other in NFKC; offsets "
        "stay (default: none)",
        "none",
    )
    field: tuple[str, ...] = option(
        "read columns (text id title lang url timestamp license …) from these fields; implies "
        "--format jsonl (default: same names)",
        metavar="COLUMN=FIELD",
    )
    metadata: tuple[str, ...] = option(
        "fields of JSON Lines, or attributes of <doc …>, to keep as metadata; '*' keeps all others",
        metavar="FIELD",
    )
    group: str | None = option(
        "group of documents that name none (default: the name of the file's folder)", metavar="NAME"
    )
    license: str | None = option(
        "SPDX identifier of the licence of texts that name none", metavar="SPDX"
    )


@dataclass(frozen=True, kw_only=True)
class TextRunSettings(Options):
    """The options, checked, and what decides how files are read."""

    read: reader.TextSettings
    folder: str | None
    """The name of the folder that all files share, where it becomes the group."""


def plan(options: Options) -> Plan:
    """Find the files, pack small ones into units, and cut large ones into ranges."""
    _check(options)
    files = list_files(find_inputs(options.input, exclude=options.exclude))
    settings = _settings(options, files)
    units = tuple(_cut(make_units(files), settings.read))
    if options.limit is not None:
        read = partial(reader.read_unit, settings=settings.read, counters=Counter())
        units = tuple(limited(units, options.limit, read))
    return Plan(
        pipeline="text_to_documents",
        datasets=DATASETS,
        parameters={
            "read": asdict(settings.read),
            **values_in(settings, "lang", "license", "paragraphs", "normalize"),
            **values_in(settings, "group", "folder", "limit", "exclude"),
        },
        units=units_without_input(len(units)),
        stages=(Stage("read", units, {"pages": "pages"}),),
        settings=settings,
    )


def _check(options: Options) -> None:
    """Raise ``UsageError`` for options that are wrong, or that contradict each other."""
    if options.split_pattern is not None and options.split_blank is not None:
        raise UsageError("--split-pattern and --split-blank: choose one.")
    if _format(options) == "plain":
        refuse(options, "metadata", because="is for JSON Lines and <doc …>; plain text has none")
    try:
        re.compile(options.split_pattern or "")
    except re.error as error:
        raise UsageError(f"--split-pattern {options.split_pattern}: {error}.") from error
    if options.group is not None and not options.group.strip():
        raise UsageError("--group: is empty.")
    check_tag(options.lang)


def _format(options: Options) -> str:
    """Return the format of all files: the given one, or the only one that an option fits."""
    is_split = options.split_pattern is not None or options.split_blank is not None
    if is_split and options.field:
        raise UsageError(
            "--field is for JSON Lines, --split-pattern and --split-blank are for plain text: "
            "choose one."
        )
    if is_split and options.format not in ("auto", "plain"):
        raise UsageError(f"--format {options.format}: only plain text can be split.")
    if options.field and options.format not in ("auto", "jsonl"):
        raise UsageError(f"--format {options.format}: --field is for JSON Lines.")
    return "plain" if is_split else "jsonl" if options.field else options.format


def _settings(options: Options, files: Sequence[InputFile]) -> TextRunSettings:
    """Collect the settings of all units."""
    from corpora.text.encodings import check_encoding
    from corpora.text.json_lines import parse_fields

    folder = Path(files[0].address.removesuffix(files[0].name)).name
    group = options.group and " ".join(options.group.split())
    return options.settings(
        TextRunSettings,
        group=group,
        folder=None if group else folder,
        read=reader.TextSettings(
            format=_format(options),
            encoding=options.encoding and check_encoding(options.encoding),
            split_pattern=options.split_pattern,
            split_blank=options.split_blank,
            fields=parse_fields(options.field),
            metadata=sorted(set(options.metadata)),
        ),
    )


def _cut(units: Iterable[Unit], settings: reader.TextSettings) -> Iterator[Unit]:
    """Cut large files into several units, and number all units."""
    number = 0
    for unit in units:
        for part in _parts(unit, settings):
            yield replace(unit, number=number, part=part)
            number += 1


def _parts(unit: Unit, settings: reader.TextSettings) -> Iterator[JsonObject]:
    """Yield the parts of a unit's file; a single empty one where the file cannot be cut."""
    from corpora.runs.record_errors import read_record
    from corpora.text.encodings import CUTTABLE
    from corpora.text.opening import TextError, archive_kind

    [file, *others] = unit.inputs
    if others or file.size <= RANGE_BYTES or archive_kind(file.check()):
        yield {}
        return
    try:
        found = read_record(
            partial(reader.examine, file.check(), settings, name=file.name), source=file.name
        )
    except TextError:
        found = None
    if (
        found is None
        or isinstance(found, Rejected)  # the unit that reads the file will reject it
        or found.encoding not in CUTTABLE
        or found.format not in reader.BORDERS
        or found.n_invalid
    ):
        yield {}
        return
    for start, end, line in reader.cut(file.check(), found.format, range_bytes=RANGE_BYTES):
        known = {"format": found.format, "encoding": found.encoding}
        yield known | {"start": start, "end": end, "line": line}


def phases() -> tuple[Phase, ...]:
    """List the functions of the units of each stage, and the one that finds duplicates."""
    from pipelines.transforms import stages, text

    return (
        Phase.of_units(text.make_documents, "read", stages.reject_duplicates),
        Phase.of_units(stages.publish_first),
    )


def warnings(settings: TextRunSettings, counters: Mapping[str, int]) -> Iterator[str]:
    """Warn of files in which no line fits the pattern."""
    names = [name.removeprefix(NOT_SPLIT) for name in counters if name.startswith(NOT_SPLIT)]
    if names:
        yield (
            f"{first_names(names)}: no line fits --split-pattern {settings.split_pattern}. The "
            "whole file is one document."
        )


next_steps = said("""\
made  {output} (dataset)
next  onoma verify {output}
      onoma show {output} --limit 1
      onoma tokenizer --input {output} …
      onoma lexicon --input {output} …
""")


main = partial(run.main, "pipelines.text_to_documents", "text")


if __name__ == "__main__":
    sys.exit(main())
