r"""Add mentions to documents: find the forms of a dictionary in their text.

Examples:
  python -m pipelines.augment_mentions --input build/dawiki/documents --forms build/vocab \
      --policy gated --match-case --output build/augmented --workers 2
  python -m pipelines.augment_mentions --input build/letters/documents --forms names.tsv \
      --output build/augmented
  python -m pipelines.augment_mentions --input build/novels --forms build/lexicon --words tagger \
      --output build/augmented
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import UsageError
from corpora.lexicon import MARKS
from corpora.runs.plan import InputFile, Plan, Stage, Unit, describe_file, unit_for_each
from corpora.segmentation.language_tags import check_tag
from pipelines import run
from pipelines.graph import PCollection, Phase, Run
from pipelines.options import CommonOptions, option, refuse, said, values_in

if TYPE_CHECKING:
    from corpora.lexicon.words import WordFilter
    from corpora.matching.form_dictionary import Matching

DATASETS = {"": "documents"}
TABLE = "table of forms"
VOCAB = "vocabulary "
LEXICON = "lexicon "


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``augment_mentions``."""

    forms: Path = option(
        metavar="DIR|FILE",
        help="forms to find: an entity vocabulary, a lexicon, or lines 'form TAB entity', "
        "optionally with 'TAB prior TAB link probability'",
    )
    policy: Literal["all", "gated"] = option(
        "all",
        help="match all forms, or those that reach --min-link-prob and --min-prior; gated also "
        "removes matched common words (default: all)",
    )
    min_link_prob: float = option(
        0.05,
        at_least=0,
        at_most=1,
        metavar="RATIO",
        help="with --policy gated: least fraction of the places of a form that are mentions "
        "(default: 0.05)",
    )
    min_prior: float = option(
        0.5,
        at_least=0,
        at_most=1,
        metavar="RATIO",
        help="with --policy gated: least fraction of a form's mentions that mean its entity "
        "(default: 0.5)",
    )
    right: Literal["word", "prefix"] = option(
        "word",
        help="where a form may end: only at the end of a word, or also inside one (windmill|s) "
        "(default: word)",
    )
    match_case: bool = option(
        default=False, help="distinguish upper and lower case (default: ignore case)"
    )
    overlap: Literal["leftmost_longest", "longest_cover"] = option(
        "leftmost_longest",
        help="which overlapping forms to keep: the leftmost and longest, or those with the largest "
        "sum of squared lengths (default: leftmost_longest)",
    )
    entities: Literal["group", "global"] = option(
        "group",
        help="for a lexicon: match the words of a document's own lexicon (GROUP:WORD), or all "
        "words (lexicon:WORD) (default: group)",
    )
    words: Literal["all", "tagger"] = option(
        "all",
        help="for a lexicon: match all words, or likely names: --without-flags compound function "
        "--max-rank 2000 (default: all)",
    )
    without_flags: tuple[str, ...] | None = option(
        None,
        nargs="*",
        choices=MARKS,
        metavar="FLAG",
        help=f"for a lexicon: leave out words with these flags: {', '.join(MARKS)} (default: as "
        "--words says)",
    )
    max_rank: int | None = option(
        None,
        at_least=1,
        help="for a lexicon: match only the N best words of each lexicon (default: as --words "
        "says)",
    )
    min_score: float | None = option(
        None,
        metavar="SCORE",
        help="for a lexicon: leave out words with a lower score (default: none)",
    )
    origin: Literal["lexicon", "title_match"] = option(
        "lexicon", help="origin that the added mentions get (default: lexicon)"
    )
    lang: str | None = option(
        None,
        metavar="TAG",
        help="language whose rules for words and letter case apply (default: that of the first "
        "document)",
    )


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """The options, with the language of the documents, and what the forms are."""

    chosen: "WordFilter | None"
    """The words of a lexicon that are chosen; None where the forms are no lexicon."""
    group_column: str | None
    """The column that names the lexicon of a document; None where all share all forms."""


def plan(options: Options) -> Plan:
    """Plan a unit for each shard; a stage of one unit chooses among the forms before."""
    from corpora.runs.dataset_inputs import find_documents

    check_tag(options.lang)
    is_gated = options.policy == "gated"
    if not is_gated:
        refuse(options, "min_link_prob", "min_prior", because="is for --policy gated")
    gate = values_in(options, "min_link_prob", "min_prior")
    files = find_documents(options.input, exclude=options.exclude, limit=options.limit)
    forms = _forms_files(options.forms)
    words, column = _lexicon_of(options, is_gated=is_gated)
    lang = options.lang or _language_of(files)
    settings = Settings(**vars(options) | {"lang": lang}, chosen=words, group_column=column)
    chosen = {"chosen": "chosen_forms", "groups": "chosen_groups", "common": "common_forms"}
    return Plan(
        pipeline="augment_mentions",
        datasets=DATASETS,
        parameters={
            "gate": gate if is_gated else None,
            "lexicon": words and {"of": column, "words": asdict(words)},
            **values_in(options, "overlap", "right"),
            "ignore_case": not options.match_case,
            **values_in(settings, "origin", "lang", "limit", "exclude"),
        },
        units=unit_for_each(files),
        auxiliary=forms,
        stages=(Stage("choose", (Unit(0),), chosen),),
        settings=settings,
    )


def _language_of(files: Sequence[InputFile]) -> str | None:
    """Return the language of the first document."""
    from corpora.datasets.shards import read_batches

    for file in files:
        for batch in read_batches(file.check(), "documents", columns=("lang",)):
            return batch.column("lang")[0].as_py()  # type: ignore[no-any-return]
    return None


def _forms_files(path: Path) -> dict[str, InputFile]:
    from corpora.datasets.shards import open_dataset
    from corpora.runs.dataset_inputs import describe_shards

    if path.is_file():
        return {TABLE: describe_file(TABLE, path)}
    if not path.exists():
        raise UsageError(f"--forms {path}: there is nothing.")
    schema = open_dataset(path).schema.name
    kinds = {"entities": VOCAB, "lexicon": LEXICON}
    if schema not in kinds:
        raise UsageError(f"--forms {path}: holds {schema}. Name an entity vocabulary or a lexicon.")
    return describe_shards(path, schema, prefix=kinds[schema])


def _lexicon_of(options: Options, *, is_gated: bool) -> "tuple[WordFilter | None, str | None]":
    """Return ``chosen`` and ``group_column`` of the settings."""
    from corpora.datasets.shards import open_dataset

    dataset = None if options.forms.is_file() else open_dataset(options.forms)
    if dataset is None or dataset.schema.name != "lexicon":
        _refuse_filters(options)
        return None, None
    if is_gated:
        raise UsageError(
            "--policy gated: the words of a lexicon have no link probabilities. Choose --policy "
            "all; the lexicon's own --top decides how many words there are."
        )
    per = dataset.description["plan"]["parameters"]["per"]
    columns = {"group": "group", "document": "id", "all": None}
    return _word_filter(options), columns[per] if options.entities == "group" else None


def _refuse_filters(options: Options) -> None:
    """Raise ``UsageError`` for options that choose words of a lexicon, if there is no lexicon."""
    given = {
        "--entities": options.entities != "group",
        "--words": options.words != "all",
        "--without-flags": options.without_flags is not None,
        "--max-rank": options.max_rank is not None,
        "--min-score": options.min_score is not None,
    }
    if used := [name for name, is_given in given.items() if is_given]:
        raise UsageError(
            f"{used[0]}: --forms {options.forms} is no lexicon. Name what documents_to_lexicon "
            f"made, or leave out {', '.join(used)}."
        )


def _word_filter(options: Options) -> "WordFilter":
    """Make the filter of words from ``--words``; more specific options override it."""
    from corpora.lexicon.words import ALL, TAGGER

    if options.min_score is not None and not isfinite(options.min_score):
        raise UsageError(f"--min-score {options.min_score}: must be a number.")
    chosen = TAGGER if options.words == "tagger" else ALL
    if options.without_flags is not None:
        chosen = replace(chosen, without=options.without_flags)
    if options.max_rank is not None:
        chosen = replace(chosen, max_rank=options.max_rank)
    if options.min_score is not None:
        chosen = replace(chosen, min_score=options.min_score)
    return chosen


def choose(units: PCollection, settings: Settings, run: Run) -> PCollection:
    """Choose the meaning of each form, and the forms that pass the gate."""
    from corpora.matching.form_dictionary import Gate
    from pipelines.transforms.forms import (
        ChooseForms,
        ChooseWords,
        ReadFormLines,
        ReadVocabForms,
        ReadWords,
    )

    files = run.auxiliary
    if settings.chosen:
        return (
            units
            | ReadWords(shards=[*files.values()], words=settings.chosen)
            | ChooseWords(is_grouped=settings.group_column is not None)
            | run.write_shards("choose")
        )
    gate = Gate(min_link_probability=settings.min_link_prob, min_prior=settings.min_prior)
    table = files.get(TABLE)
    return (
        units
        | (ReadFormLines(file=table) if table else ReadVocabForms(shards=[*files.values()]))
        | ChooseForms(
            gate=gate if settings.policy == "gated" else None,
            ignore_case=not settings.match_case,
            lang=settings.lang,
        )
        | run.write_shards("choose")
    )


def index(units: PCollection, settings: Settings, run: Run) -> PCollection:
    """Write the chosen forms as a table on disk that all workers share."""
    from pipelines.transforms.forms import IndexChosen

    step = IndexChosen(folder=run.folder, matching=_matching(settings))
    return run.merge(units, step, stage="choose")


def augment(units: PCollection, settings: Settings, run: Run) -> PCollection:
    """Match the chosen forms in documents, and write the documents with more mentions."""
    from pipelines.transforms.documents import ReadDocuments
    from pipelines.transforms.forms import AddMentions

    return (
        units
        | ReadDocuments()
        | AddMentions(
            folder=run.folder,
            matching=_matching(settings),
            group_column=settings.group_column,
            origin=settings.origin,
        )
        | run.write_shards()
    )


def _matching(settings: Settings) -> "Matching":
    from corpora.matching.form_dictionary import Matching

    return Matching(
        lang=settings.lang,
        right=settings.right,
        ignore_case=not settings.match_case,
        overlap=settings.overlap,
    )


PHASES = (Phase(choose, "choose", index), Phase(augment))


next_steps = said("""\
made  {output} (dataset)
next  python -m corpora.shards verify {output}
      python -m corpora.shards show {output} --limit 1
""")


main = partial(run.main, "pipelines.augment_mentions")


if __name__ == "__main__":
    sys.exit(main())
