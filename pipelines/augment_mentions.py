r"""Add mentions to documents: find the forms of a dictionary in their text.

Examples:
  onoma augment --input build/dawiki/documents --forms build/vocab \
      --policy gated --output build/augmented --workers 2
  onoma augment --input build/letters/documents --forms names.tsv \
      --output build/augmented
  onoma augment --input build/novels --forms build/lexicon --words tagger \
      --output build/augmented
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import UsageError
from corpora.runs.plan import InputFile, Plan, Stage, Unit, describe_each, unit_for_each
from corpora.segmentation.language_tags import check_tag
from pipelines import run
from pipelines.graph import Phase
from pipelines.options import CommonOptions, option, option_table, refuse, said, values_in

if TYPE_CHECKING:
    from corpora.lexicon.words import WordFilter
    from corpora.matching.form_dictionary import Matching
    from corpora.runs.build import Build

DATASETS = {"": "documents"}


@option_table
class Options(CommonOptions):
    """Options of ``onoma augment``."""

    forms: Path = option(
        "forms to find: an entity vocabulary, a lexicon, or lines 'form TAB entity', optionally "
        "with 'TAB prior TAB link probability'",
        metavar="DIR|FILE",
    )
    policy: Literal["all", "gated"] = option(
        "add all forms, or (gated) those that are probably mentions where they stand, as spelled, "
        "and remove title matches that are not (default: all)",
        "all",
    )
    min_precision: float = option(
        "with --policy gated: fraction of the added mentions that shall be right, as links that "
        "are hidden show it (default: 0.95)",
        0.95,
        at_least=0,
        at_most=1,
        metavar="RATIO",
    )
    only_remove: bool = option(
        "with --policy gated: only remove doubtful title matches, and add nothing"
    )
    right: Literal["word", "prefix"] = option(
        "where a form may end: only at the end of a word, or also inside one (windmill|s) "
        "(default: word)",
        "word",
    )
    entities: Literal["group", "global"] = option(
        "for a lexicon: match the words of a document's own lexicon (GROUP:WORD), or all words "
        "(lexicon:WORD) (default: group)",
        "group",
    )
    words: Literal["all", "tagger"] = option(
        "for a lexicon: match all words, or likely names: the 1,000 best of each lexicon that "
        "have no flag compound, function or phrase, --variants same (default: all)",
        "all",
    )
    variants: Literal["auto", "same", "distinct"] = option(
        "take both Chinese scripts, full and half width, and the dots of names for the same, or "
        "not (default: same with --words tagger)",
        "auto",
    )
    lang: str | None = option(
        "language whose rules for words and letter case apply (default: that of the first "
        "document)",
        metavar="TAG",
    )


@dataclass(frozen=True, kw_only=True)
class AugmentSettings(Options):
    """The options, with what the first document tells of all, and what the forms are."""

    space: str
    """The group of the documents: a wiki, whose names entities get that have several."""

    chosen: "WordFilter | None"
    """The words of a lexicon that are chosen; None where the forms are no lexicon."""
    group_column: str | None
    """The column that names the lexicon of a document; None where all share all forms."""

    @property
    def matching(self) -> "Matching":
        """How forms are matched."""
        from corpora.matching.form_dictionary import Matching

        return Matching(
            lang=self.lang,
            right=self.right,
            ignore_case=self.policy == "all",
            are_variants_same=self.variants == "same",
        )


def plan(options: Options) -> Plan:
    """Plan a unit for each shard; a stage of one unit chooses among the forms before."""
    from corpora.matching.variants import check_variants
    from corpora.runs.dataset_inputs import find_documents

    check_tag(options.lang)
    is_gated = options.policy == "gated"
    if is_gated:
        refuse(options, "right", "variants", because="is for --policy all")
    else:
        refuse(options, "min_precision", "only_remove", because="is for --policy gated")
    files = find_documents(options.input, limit=options.limit)
    forms, words, column = _forms_of(options, is_gated=is_gated)
    first = _first_of(files)
    lang = options.lang or first.get("lang")
    variants = options.variants
    if variants == "auto":
        variants = "same" if options.words == "tagger" else "distinct"
    if variants == "same":
        check_variants(lang)
    found = {"lang": lang, "variants": variants, "space": first.get("group") or ""}
    settings = options.settings(AugmentSettings, **found, chosen=words, group_column=column)
    return Plan(
        pipeline="augment_mentions",
        datasets=DATASETS,
        parameters={
            "gate": values_in(options, "min_precision", "only_remove") if is_gated else None,
            "lexicon": words and {"of": column, "words": asdict(words)},
            **values_in(settings, "right", "variants", "lang", "space"),
            **values_in(settings, "limit"),
        },
        units=unit_for_each(files),
        auxiliary=forms,
        stages=tuple(_stages(files, is_gated=is_gated)),
        settings=settings,
    )


def _stages(files: Sequence[InputFile], *, is_gated: bool) -> Iterator[Stage]:
    chosen = {"chosen": "chosen_forms", "groups": "chosen_groups", "counts": "form_counts"}
    yield Stage("choose", (Unit(0),), chosen)
    if is_gated:
        yield Stage("survey", unit_for_each(files), {"survey": "form_survey"})
        yield Stage("sample", unit_for_each(files), {"form_places": "form_places"})


def _first_of(files: Sequence[InputFile]) -> Mapping[str, str | None]:
    """Return language and group of the first document; empty if there is none."""
    from corpora.datasets.shards import read_batches

    for file in files:
        for batch in read_batches(file.check(), "documents", columns=("lang", "group")):
            return dict(batch.slice(0, 1).to_pylist()[0])
    return {}


def _forms_of(
    options: Options, *, is_gated: bool
) -> "tuple[dict[str, InputFile], WordFilter | None, str | None]":
    """Describe the files of forms; return ``chosen`` and ``group_column`` of the settings, too."""
    from corpora.datasets.shards import open_dataset
    from corpora.lexicon.words import ALL, TAGGER
    from corpora.runs.dataset_inputs import describe_shards

    path = options.forms
    if not path.exists():
        raise UsageError(f"--forms {path}: there is nothing.")
    if path.is_file():
        dataset, kind, files = None, "", describe_each({"table of forms": path})
    else:
        dataset = open_dataset(path)
        kind, prefixes = dataset.schema.name, {"entities": "vocabulary ", "lexicon": "lexicon "}
        if kind not in prefixes:
            raise UsageError(
                f"--forms {path}: holds {kind}. Name an entity vocabulary or a lexicon."
            )
        files = describe_shards(path, kind, prefix=prefixes[kind])
    if dataset is None or kind != "lexicon":
        refuse(options, "entities", "words", because="is for a lexicon, of onoma lexicon")
        return files, None, None
    if is_gated:
        raise UsageError(
            "--policy gated: is for entities, not for the words of a lexicon. Choose --policy all; "
            "--words tagger, or the lexicon's own --top, decides how many words there are."
        )
    per = dataset.description["plan"]["parameters"]["per"]
    columns = {"group": "group", "document": "id", "all": None}
    words = TAGGER if options.words == "tagger" else ALL
    return files, words, columns[per] if options.entities == "group" else None


def phases() -> tuple[Phase, ...]:
    """List the functions of the units of each stage, and those that merge what units wrote."""
    from pipelines.transforms import forms, gate

    return (
        Phase.of_units(forms.choose, "choose", forms.index_chosen),
        Phase.of_units(gate.survey_forms, "survey", gate.add_surveys),
        Phase.of_units(gate.sample_places, "sample", gate.learn_gate),
        Phase.of_units(gate.augment),
    )


def write_side_files(build: "Build", settings: AugmentSettings) -> None:
    """Write the report and the model of a gate."""
    from corpora.evidence.evidence import Evidence
    from corpora.matching.gate_report import report
    from pipelines.transforms.gate import EVIDENCE

    if settings.policy == "all":
        return
    path, evidence = build.work.tables / EVIDENCE, None
    if path.exists():
        evidence = Evidence.from_json(path.read_text("utf-8"))
        build.write(EVIDENCE, [evidence.to_json()])
    shards = build.shard_paths("")
    text = report(evidence, build.counters, shards)
    build.write("report.md", [text])


_MADE = said("made  {output} (dataset)")
_REPORT = said("read  {output}/report.md: how many are right, and the most frequent additions")
_NEXT = said("""\
next  onoma verify {output}
      onoma show {output} --limit 1
      onoma tokenizer --input {output} …
""")


def next_steps(options: Options) -> list[str]:
    """Say what was made; after a gate, also where its precision stands."""
    report = _REPORT(options) if options.policy == "gated" else []
    return [*_MADE(options), *report, *_NEXT(options)]


main = partial(run.main, "pipelines.augment_mentions", "augment")


if __name__ == "__main__":
    sys.exit(main())
