"""Convert published NER sets (CoNLL, GermEval, LER, UNER, HIPE, CLUENER …) to a NER dataset.

Examples:
  onoma benchmark --input 'ler_*.conll' --output build/ler --labels ler-coarse
  onoma benchmark --input eng.train eng.testa eng.testb --output build/conll
  onoma benchmark --input 'nerel/*/*.ann' --lang ru --output build/nerel
  onoma benchmark --input mine.txt --split-of mine.txt=test --output build/mine
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import CorpusError, UsageError
from corpora.hashing.splits import SPLITS, parse_ratios
from corpora.ner.formats import FORMATS, SCHEMES
from corpora.ner.layout import FileLayout
from corpora.runs.plan import (
    InputFile,
    Plan,
    Unit,
    describe_file,
    describe_files,
    find_inputs,
    make_units,
    named,
)
from corpora.segmentation.language_tags import check_tag
from corpora.system.parsing import JsonObject
from pipelines import run
from pipelines.graph import PCollection, Phase, Run
from pipelines.options import (
    FileOptions,
    first_names,
    option,
    option_table,
    refuse,
    said,
    values_in,
)

if TYPE_CHECKING:
    from corpora.ner.health import ColumnSource
    from corpora.runs.build import Build

DATASETS = {"": "ner"}
LABELS, DICTIONARY = "labels", "dictionary"
_TEXT = "text of "  # and the name of a file with standoff
CUT = "by hash"  # in place of a split, for files whose sentences are divided


@option_table
class Options(FileOptions):
    """Options of ``onoma benchmark``."""

    format: str | None = option(
        "format of all files (default: detected in each file)", choices=tuple(FORMATS)
    )
    scheme: str | None = option(
        "scheme of the tags; iobes is also BMES and BILOU (default: detected from the tags)",
        choices=SCHEMES,
    )
    encoding: str | None = option(
        "character encoding of all files, such as gb18030 (default: UTF-8, or detected in each "
        "file)",
        metavar="NAME",
    )
    lang: str | None = option(
        "language of texts that are cut into sentences and words (brat, spans …), such as de or "
        "zh-TW (default: unknown)",
        metavar="TAG",
    )
    tag_column: str | None = option(
        "column of the tags, by number from 1 or by name in the header (default: detected)",
        metavar="N|NAME",
    )
    inner_column: str | None = option(
        "column of the tags of inner (nested) names, likewise, or none (default: detected)",
        metavar="N|NAME|none",
    )
    split_of: tuple[str, ...] = option(
        "split (train, dev, test) of a file or glob pattern (default: as file names say, else "
        "train)",
        metavar="FILE=SPLIT",
    )
    split: Literal["file", "document", "sentence"] = option(
        "assign whole files, by name or --split-of; or documents or sentences, by hash, except "
        "files of --split-of (default: file)",
        "file",
    )
    ratios: str = option(
        "relative sizes of train, dev and test, with --split document or sentence (default: "
        "80/10/10)",
        "80/10/10",
        metavar="A/B/C",
    )
    illegal: Literal["repair", "reject"] = option(
        "repair tags that their scheme does not allow, or reject their sentences (default: repair)",
        "repair",
    )
    labels: str | None = option(
        "map that renames labels: a built-in name (ler-coarse, per-loc-org …) or a TOML file",
        metavar="NAME|FILE",
    )
    max_tokens: int = option(
        "cut sentences of more than N tokens, never inside an entity (default: 0, cut none)",
        0,
        at_least=0,
    )
    dictionary: tuple[str, ...] = option(
        "entity dictionaries in blocks of 14 or 3 lines (docs/ner.md) to write as forms.tsv",
        metavar="FILE",
    )
    allow_empty: bool = option("make a set in which no name is marked (default: an error)")


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings(Options):
    """The options, and what was found of the files, by their names."""

    splits: Mapping[str, str]
    layouts: Mapping[str, FileLayout]
    copies: tuple[tuple[str, str], ...] = ()
    """The files with the bytes of an earlier file, after the name of that."""

    def is_cut(self, name: str) -> bool:
        """Tell whether the sentences of a file are divided by hash."""
        return self.splits[name] == CUT


def plan(options: Options) -> Plan:
    """Find the files and their layouts, choose their splits, and cut large files into parts."""
    from corpora.ner.brat import SUFFIXES, text_name

    found = find_inputs(options.input, exclude=options.exclude)
    read_with = {text_name(name) for name in found if name.endswith(SUFFIXES)}
    own = {name: path for name, path in found.items() if name not in read_with}
    files = describe_files(dict(islice(own.items(), options.limit)))
    splits, cut = _splits([file.name for file in files], options)
    layouts = {file.name: _layout(file, options) for file in files}
    if options.lang and not any(layout.lang for layout in layouts.values()):
        refuse(options, "lang", because="is for texts that are cut into words; no file has such")
    units = [
        unit
        for split in (*SPLITS, CUT)
        for unit in _units([file for file in files if splits[file.name] == split], layouts)
    ]
    return Plan(
        pipeline="benchmark_to_ner",
        datasets=DATASETS,
        parameters=values_in(options, "illegal", "max_tokens")
        | {"cut": cut, "splits": splits}
        | {"layouts": {name: asdict(layout) for name, layout in layouts.items()}}
        | values_in(options, "limit", "exclude"),
        units=tuple(replace(unit, number=number) for number, unit in enumerate(units)),
        auxiliary=_auxiliary(options) | _texts(files, layouts, found),
        settings=options.settings(
            BenchmarkSettings, splits=splits, layouts=layouts, copies=tuple(_copies(files, layouts))
        ),
    )


def _copies(
    files: Sequence[InputFile], layouts: Mapping[str, FileLayout]
) -> Iterator[tuple[str, str]]:
    """Yield each file with the bytes of an earlier one, after that; standoff may well be alike."""
    first: dict[str, str] = {}
    for file in files:
        earlier = first.setdefault(file.sha256, file.name)
        if earlier != file.name and file.size and layouts[file.name].format != "brat":
            yield earlier, file.name


def _splits(names: Sequence[str], options: Options) -> tuple[dict[str, str], JsonObject | None]:
    """Choose the split of each file; or describe how sentences are divided where files are not."""
    from corpora.ner.splits_by_name import choose_splits, named_splits

    if options.split == "file":
        refuse(options, "ratios", because="is for --split document or sentence")
        return choose_splits(names, options.split_of), None
    cut = {"by": options.split, "ratios": parse_ratios(options.ratios)}
    return dict.fromkeys(names, CUT) | named_splits(names, options.split_of), cut


def _layout(file: InputFile, options: Options) -> FileLayout:
    from corpora.ner.detection import Overrides
    from corpora.ner.files import describe
    from corpora.text.encodings import check_encoding

    check_tag(options.lang)
    said = Overrides(options.format, options.scheme, options.tag_column, options.inner_column)
    encoding = options.encoding and check_encoding(options.encoding)
    layout = describe(Path(file.path), name=file.name, overrides=said, encoding=encoding)
    return replace(layout, lang=options.lang) if "--lang" in layout.kind.options else layout


def _texts(
    files: Sequence[InputFile], layouts: Mapping[str, FileLayout], found: Mapping[str, Path]
) -> dict[str, InputFile]:
    """Describe the texts of files with standoff; raises ``UsageError`` if one is not there.

    Also raises it for a text beside a file that only its name takes for standoff.
    """
    from corpora.ner.brat import SUFFIXES, text_name

    for name, layout in layouts.items():
        own = text_name(name)
        if name.endswith(SUFFIXES) and layout.format != "brat" and own in found:
            raise UsageError(
                f"{own}: is it the text of {name}, which is {layout.format}, not brat's standoff? "
                "Leave one of them out with --exclude."
            )
    names = [file.name for file in files if layouts[file.name].format == "brat"]
    beside = {text_name(name): found[name].with_name(text_name(found[name].name)) for name in names}
    paths = {name: found.get(name, path) for name, path in beside.items()}
    for name in names:
        if (own := text_name(name)) not in found and not paths[own].is_file():
            raise UsageError(
                f"{name}: its text, {own}, is not beside it. Put it there, or leave the file out "
                "with --exclude."
            )
    texts = {file.name: file for file in describe_files(paths)}
    return {f"{_TEXT}{name}": texts[text_name(name)] for name in names}


def _auxiliary(options: Options) -> dict[str, InputFile]:
    """Describe the label map and the dictionaries; read each, so that errors appear at once."""
    from corpora.ner.entity_dictionary import read_dictionary
    from corpora.ner.labels import label_map_path, load_label_map

    auxiliary = {}
    if options.labels:
        path = label_map_path(options.labels)
        load_label_map(path)
        auxiliary[LABELS] = describe_file(path.stem, path)
    for number, name in enumerate(options.dictionary, 1):
        read_dictionary(Path(name))
        auxiliary[f"{DICTIONARY} {number}"] = describe_file(Path(name).name, Path(name))
    return auxiliary


def _units(files: Sequence[InputFile], layouts: Mapping[str, FileLayout]) -> Iterator[Unit]:
    """Yield the units of a split: small files together, large files in parts."""
    from corpora.ner.files import parts

    for unit in make_units(files):
        if len(unit.inputs) > 1:
            yield unit
            continue
        [file] = unit.inputs
        for part in parts(file.check(), layouts[file.name], name=file.name):
            yield replace(unit, part=part)


def graph(units: PCollection, settings: BenchmarkSettings, run: Run) -> PCollection:
    """Read files, make rows of their sentences, divide them into splits, and write them."""
    from pipelines.transforms import elements, ner

    names = [name for name in run.auxiliary if name.startswith(_TEXT)]
    texts = {name.removeprefix(_TEXT): run.auxiliary[name] for name in names}
    read = elements.read_units(ner.read_ner_files, layouts=settings.layouts, texts=texts)
    labels = run.auxiliary.get(LABELS)
    plain = replace(settings, layouts={}, copies=())
    make = elements.per_record(ner.make_ner_rows, settings=plain, labels=labels)
    return units | read | make | run.write_shards()


def phases() -> tuple[Phase, ...]:
    """Give the only graph."""
    return (Phase(graph),)


def write_side_files(build: "Build", settings: BenchmarkSettings) -> None:
    """Write the table of files, the card, and the forms of the dictionaries."""
    from corpora.ner.card import to_json, to_markdown
    from corpora.ner.entity_dictionary import forms, read_dictionary
    from corpora.ner.health import examine_columns
    from corpora.ner.sources import list_sources, to_tsv, with_sources
    from corpora.system.writing import write_json

    sources = list_sources(build.counters, settings.layouts, settings.splits)
    build.write("sources.tsv", to_tsv(sources))
    dictionaries = named(DICTIONARY, build.plan.auxiliary)
    if dictionaries:
        works = [work for file in dictionaries for work in read_dictionary(Path(file.path))]
        build.write("forms.tsv", forms(works))
    health = examine_columns(_columns_by_split(build, settings.splits))
    notes = _notes(build, illegal=settings.illegal)
    warned = list(warnings(settings, build.counters))
    write_json(build.side / "card.json", {**to_json(health), "run": notes, "warnings": warned})
    title = f"NER data from {first_names([file.name for file in build.plan.inputs])}"
    card = to_markdown(health, title=title, notes=notes, warnings=warned)
    build.write("card.md", [with_sources(card, sources)])


def check(settings: BenchmarkSettings, counters: Mapping[str, int]) -> None:
    """Raise ``CorpusError`` for a set without a name, unless the user wants it."""
    if not (settings.allow_empty or _has_names(counters)):
        raise CorpusError(
            f"no name is marked in {counters.get('sentences', 0):,} sentences of "
            f"{first_names(list(settings.layouts))}; nothing was published. Is --format right? "
            "A set without names is made with --allow-empty."
        )


def _has_names(counters: Mapping[str, int], prefix: str = "") -> bool:
    kinds = ("entities", "entities by repair", "inner entities", "inner entities by repair")
    return any(counters.get(f"{prefix}{kind}") for kind in kinds)


def warnings(settings: BenchmarkSettings, counters: Mapping[str, int]) -> Iterator[str]:
    """Warn of copies, of files without names or ends of names, and of tags in place of labels."""
    if settings.copies:
        (first, other), n = settings.copies[0], len(settings.copies)
        more = f" (and {n - 1:,} more)" if n > 1 else ""
        yield (
            f"{first} and {other}{more} have the same bytes: their sentences count twice. Leave "
            "one out with --exclude."
        )
    from corpora.ner.sources import PREFIX

    empty = [
        name
        for name, layout in settings.layouts.items()
        if counters.get(f"{PREFIX}{name}/sentences") and layout.format != "brat"
        if not _has_names(counters, f"{PREFIX}{name}/")
    ]
    if empty:
        yield f"{first_names(empty)}: no name is marked."
    names = [name for name, layout in settings.layouts.items() if layout.format == "labels"]
    if names:
        yield (
            f"{first_names(names)}: labels without B- and I-. Adjacent names of one "
            "label cannot be distinguished, and are one name."
        )
    if labels := _tags_as_labels(counters):
        yield (
            f"{first_names(labels)}: labels that begin as tags do. If each is on a single word, "
            "make one span of each name; --labels renames them."
        )


def _tags_as_labels(counters: Mapping[str, int]) -> list[str]:
    """List the labels like ``B-PER`` that stay as they are."""
    counted = (name.partition("/")[::2] for name in counters)
    labels = {label for level, label in counted if level in ("entities", "inner entities")}
    renamed = [name.removeprefix("labels/") for name in counters if name.startswith("labels/")]
    return [
        label
        for label in sorted(labels)
        if label.startswith(("B-", "I-"))
        and not any(name.startswith(f"{label} to ") for name in renamed)
    ]


def _columns_by_split(build: "Build", splits: Mapping[str, str]) -> dict[str, "ColumnSource"]:
    """Map each split that has a file to a function that opens its sentences."""
    from corpora.ner.columns import columns_of_split

    shards: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for unit, path in zip(build.plan.units, build.shard_paths(""), strict=True):
        own = splits[unit.inputs[0].name]
        for split in SPLITS if own == CUT else (own,):
            shards[split].append(path)
    return {split: partial(columns_of_split, own, split) for split, own in shards.items() if own}


def _notes(build: "Build", *, illegal: str) -> dict[str, str]:
    """Collect what a reader of the card must know about the run."""
    account = build.accounting
    notes = {
        "illegal tags": f"are {illegal}ed",
        "records": f"read {account.read:,}, written {account.written:,}, "
        f"rejected {account.n_rejected:,}",
    }
    if LABELS in build.plan.auxiliary:
        notes["labels"] = f"by the map {build.plan.auxiliary[LABELS].name}"
    shown = {name: count for name, count in build.counters.items() if "/" not in name}
    return notes | {name: f"{count:,}" for name, count in shown.items()}


next_steps = said("""\
made  {output} (dataset); {output}/sources.tsv says what each file holds
read  {output}/card.md before you trust a score
next  onoma verify {output}
      onoma convert {output} --to conll
      onoma finetune crf --ner {output} --model … --output …
""")


main = partial(run.main, "pipelines.benchmark_to_ner", "benchmark")


if __name__ == "__main__":
    sys.exit(main())
