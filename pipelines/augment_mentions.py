"""Documents and a dictionary of surface forms to documents with more mentions.

Examples:
  python -m pipelines.augment_mentions --input build/dawiki/documents --forms build/vocab
      --policy gated --match-case --output build/augmented --workers 2
  python -m pipelines.augment_mentions --input build/letters/documents --forms names.tsv
      --output build/augmented
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any

from corpora.build import Scratch
from corpora.errors import CorpusError, UsageError
from corpora.plan import InputFile, Plan, Stage, Unit, describe_file
from pipelines.options import CommonOptions, option
from pipelines.run import run
from pipelines.work import Counts, Rows, Written, Yield

ABOUT = __doc__
DATASETS = {"": "documents"}
TABLE = "table of forms"
VOCAB = "vocabulary "


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``augment_mentions`` asks for."""

    forms: Path = option(
        type=Path,
        metavar="DIR|FILE",
        help="what to look for: an entity vocabulary, or lines of form, entity and, if they are "
        "known, prior and link probability, with tabs between",
    )
    policy: str = option(
        "all",
        choices=("all", "gated"),
        help="all forms, or those that pass --min-link-prob and --min-prior (default: all)",
    )
    min_link_prob: float = option(
        0.05,
        type=float,
        metavar="SHARE",
        help="of the places where a form stands, those that must be mentions (default: 0.05)",
    )
    min_prior: float = option(
        0.5,
        type=float,
        metavar="SHARE",
        help="of a form's mentions, those that must mean the same entity (default: 0.5)",
    )
    right: str = option(
        "word",
        choices=("word", "prefix"),
        help="a form ends where a word ends, or may be its beginning (windmill|s; only the form "
        "becomes a mention)",
    )
    match_case: bool = option(
        False,  # noqa: FBT003 - the default of a flag
        action="store_true",
        help="upper and lower case count",
    )
    origin: str = option(
        "lexicon",
        choices=("lexicon", "title_match"),
        help="of the mentions that are added (default: lexicon)",
    )
    lang: str | None = option(
        None, metavar="TAG", help="whose rules for words and case apply, if not as the input says"
    )


def plan(options: Options) -> Plan:
    """Find the shards: a unit each; first of all, one unit chooses among the forms."""
    from corpora.dataset_inputs import find_shards

    is_gated = options.policy == "gated"
    gate = {"min_link_prob": options.min_link_prob, "min_prior": options.min_prior}
    for name, value in gate.items():
        if not 0 <= value <= 1:
            raise UsageError(f"--{name.replace('_', '-')} {value}: must be between 0 and 1.")
    files = find_shards(options.input, "documents", exclude=options.exclude)[: options.limit]
    settings = {
        "gate": gate if is_gated else None,
        "right": options.right,
        "ignore_case": not options.match_case,
        "origin": options.origin,
        "lang": options.lang or _language_of(files),
    }
    forms = _forms_files(options.forms)
    return Plan(
        pipeline="augment_mentions",
        datasets=DATASETS,
        parameters=settings | {"limit": options.limit, "exclude": list(options.exclude)},
        units=tuple(Unit(number, (file,), {}, settings) for number, file in enumerate(files)),
        auxiliary=forms,
        stages=(Stage("choose", (Unit(0, (), forms, settings),), {"chosen": "chosen_forms"}),),
    )


def _language_of(files: Sequence[InputFile]) -> str | None:
    """The language of the first document."""
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    for file in files:
        for batch in read_batches(file.check(), SCHEMAS["documents"], columns=("lang",)):
            return batch.column("lang")[0].as_py()  # type: ignore[no-any-return]
    return None


def _forms_files(path: Path) -> dict[str, InputFile]:
    from corpora.shards import open_dataset

    if path.is_file():
        return {TABLE: describe_file(TABLE, path)}
    if not path.exists():
        raise UsageError(f"--forms {path}: there is nothing.")
    names = [shard.name for shard in open_dataset(path, "entities").shards]
    return {f"{VOCAB}{name}": describe_file(f"{VOCAB}{name}", path / name) for name in names}


def choose(unit: Unit, _: Scratch) -> Iterator[Yield]:
    """Choose what each form means, and the forms that pass."""
    from corpora.form_dictionary import Gate, choose_forms

    meanings = _meanings(unit.auxiliary)
    limits = unit.settings["gate"]
    if limits and not len(meanings.column("link_probability").drop_null()):
        raise CorpusError(
            "--policy gated: no form has a link probability. Choose --policy all, or make the "
            "vocabulary with link probabilities."
        )
    gate = limits and Gate(
        min_link_probability=limits["min_link_prob"], min_prior=limits["min_prior"]
    )
    chosen, counters = choose_forms(
        meanings, gate=gate, ignore_case=unit.settings["ignore_case"], lang=unit.settings["lang"]
    )
    for batch in chosen.to_batches(max_chunksize=1 << 16):
        yield Rows("chosen", batch)
    yield Counts(counters)


def _meanings(files: Mapping[str, InputFile]) -> Any:
    from corpora.form_dictionary import read_meanings, read_meanings_file

    if TABLE in files:
        return read_meanings_file(files[TABLE].check())
    return read_meanings(file.check() for file in files.values())


def write(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Add mentions to the documents of a shard."""
    from corpora.columns import Mentions
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    settings = unit.settings
    dictionary = _dictionary(
        scratch.shard("chosen", 0), settings["lang"], settings["right"], settings["ignore_case"]
    )
    n_before = n_added = 0
    for batch in read_batches(unit.inputs[0].check(), SCHEMAS["documents"]):
        n_before += len(Mentions.of(batch).structs)
        augmented, n = dictionary.add_to(batch, origin=settings["origin"])
        n_added += n
        yield from repeat(Written(()), batch.num_rows)
        yield Rows("", augmented)
    yield Counts({"mentions.before": n_before, "mentions.added": n_added})


@lru_cache(maxsize=1)  # made once by each worker
def _dictionary(path: Path, lang: str | None, right: Any, ignore_case: bool) -> Any:  # noqa: FBT001, PLR0917
    import pyarrow as pa

    from corpora.form_dictionary import CHOSEN, FormDictionary
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    batches = read_batches(path, SCHEMAS["chosen_forms"])
    chosen = pa.Table.from_batches(batches, schema=CHOSEN)
    return FormDictionary(chosen, lang=lang, right=right, ignore_case=ignore_case)


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    output = options.output
    return [
        f"made  {output} (dataset)",
        f"next  python -m corpora.shards verify {output}",
        f"      python -m corpora.shards show {output} --limit 1",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline."""
    return run("pipelines.augment_mentions", argv)


if __name__ == "__main__":
    sys.exit(main())
