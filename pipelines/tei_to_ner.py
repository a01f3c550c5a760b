"""TEI editions to documents and NER data: datasets, CoNLL, JSON, and a card.

Examples:
  python -m pipelines.tei_to_ner --inspect 'letters/*.xml'
  python -m pipelines.tei_to_ner --input 'letters/*.xml' --edition sturm --output build/sturm
  python -m pipelines.tei_to_ner --input letters --edition my.toml --output build/mine --workers 2
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from corpora.errors import UsageError
from corpora.hashing.sampling import choose_all
from corpora.hashing.splits import SPLITS, parse_ratios, read_split_file
from corpora.ner.alignment import NESTED, Nested
from corpora.runs.build import Build
from corpora.runs.plan import Plan, describe_file, describe_files, find_inputs, make_units
from corpora.system.expat_version import warn_of_old_expat
from corpora.tei.edition import edition_path, load_edition
from pipelines.graph import PCollection, Phase, Run
from pipelines.options import CommonOptions, option
from pipelines.run import run

ABOUT = __doc__
DATASETS = {"documents": "documents", "ner": "ner"}
MAX_FILE_MB = 500
"""The most that ``--max-file-size`` may allow: a batch of texts holds less than 2 GiB."""


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``tei_to_ner`` asks for."""

    edition: str = option(
        "tei", metavar="NAME|FILE", help="which element means what: a name or a TOML file"
    )
    split: str = option(
        "document", choices=("document", "sentence"), help="what goes whole to one side"
    )
    ratios: str = option(
        "80/10/10", metavar="A/B/C", help="train/dev/test by hash (default: 80/10/10)"
    )
    split_file: Path | None = option(
        None, metavar="FILE", help="lines 'document TAB split' instead of --ratios"
    )
    seed: int = option(1, help="of the split (default: 1)")
    nested: Nested = option("outer", choices=NESTED, help="which of nested names are tagged")
    max_file_size: float = option(
        50.0, metavar="MB", help="a larger file is rejected (default: 50)"
    )

    @property
    def max_bytes(self) -> int:
        """Bytes of the largest file that is read."""
        return int(self.max_file_size * 1e6)


def plan(options: Options) -> Plan:
    """Find the files, choose the split of each, and pack them into units."""
    warn_of_old_expat()
    if not 0 < options.max_file_size < float("inf"):
        raise UsageError(f"--max-file-size {options.max_file_size:g}: must be above 0.")
    if options.max_file_size > MAX_FILE_MB:
        raise UsageError(f"--max-file-size: at most {MAX_FILE_MB}.")
    if options.split_file and options.split == "sentence":
        raise UsageError("--split-file names documents; leave --split sentence out.")
    edition_file = describe_file("edition", edition_path(options.edition))
    edition = load_edition(Path(edition_file.path))
    found = find_inputs(options.input, suffix=".xml", exclude=options.exclude)
    files = describe_files(dict(islice(found.items(), options.limit)))
    settings = {
        "edition_name": edition.name,
        "nested": options.nested,
        "max_bytes": options.max_bytes,
    }
    splits, how = _splits([file.name for file in files], options)
    auxiliary = {"edition": edition_file}
    if options.split_file:
        auxiliary["splits"] = describe_file("splits", options.split_file)
    return Plan(
        pipeline="tei_to_ner",
        datasets=DATASETS,
        parameters=settings | how | {"limit": options.limit, "exclude": list(options.exclude)},
        units=make_units(
            files,
            settings=lambda inputs: {f.name: splits[f.name] for f in inputs if splits},
            auxiliary={},
        ),
        auxiliary=auxiliary,
    )


def _splits(names: Sequence[str], options: Options) -> tuple[Mapping[str, str], dict[str, Any]]:
    """Choose the split of each document (none are chosen by sentence), and say how."""
    if options.split_file:
        return read_split_file(options.split_file, names), {"split": "file"}
    ratios = parse_ratios(options.ratios)
    how = {"split": options.split, "ratios": ratios, "seed": options.seed}
    if options.split == "sentence":
        return {}, how
    return choose_all(names, ratios, seed=options.seed), how


def graph(units: PCollection, options: Options, run: Run) -> PCollection:
    """Read files, parse them, cut them into sentences, and write both."""
    from pipelines.transforms.files import ReadFiles
    from pipelines.transforms.tei import ParseTei, ToSentences

    return (
        units
        | ReadFiles(max_bytes=options.max_bytes)
        | ParseTei(edition=run.auxiliary["edition"])
        | ToSentences(nested=options.nested, ratios=parse_ratios(options.ratios), seed=options.seed)
        | run.write_shards()
    )


PHASES = (Phase(graph),)


def write_side_files(build: Build) -> None:
    """Write CoNLL, JSON, the splits and the card from the finished shards."""
    from corpora.datasets.shards import read_tagged, write_json, write_text
    from corpora.ner.card import to_json, to_markdown
    from corpora.ner.columns import columns_of_split
    from corpora.ner.conll import write_conll
    from corpora.ner.health import examine_columns
    from corpora.ner.json import write_json as write_ner_json

    shards = build.shard_paths("ner")
    for split in SPLITS:
        for suffix, write in ((".conll", write_conll), (".json", write_ner_json)):
            sentences = (s for path in shards for s in read_tagged(path, split=split) if s.tokens)
            write(sentences, build.side / f"{split}{suffix}")
    if build.plan.parameters["split"] != "sentence":
        chosen = {name: s for unit in build.plan.units for name, s in unit.settings.items()}
        write_text(build.side / "splits.tsv", (f"{name}\t{chosen[name]}\n" for name in chosen))
    health = examine_columns({split: partial(columns_of_split, shards, split) for split in SPLITS})
    title = f"NER data from the edition {build.plan.parameters['edition_name']}"
    write_json(build.side / "card.json", {**to_json(health), "run": _notes(build)})
    write_text(build.side / "card.md", [to_markdown(health, title=title, notes=_notes(build))])


def _notes(build: Build) -> dict[str, str]:
    """What a reader of the card must know of the run: how it was split, what was left out."""
    account = build.accounting
    parameters = build.plan.parameters
    notes = {
        "edition": parameters["edition_name"],
        "split by": parameters["split"],
        "nested names": parameters["nested"],
        "files": f"read {account.read:,}, written {account.written:,}, "
        f"filtered {account.n_filtered:,}, rejected {account.n_rejected:,}",
    }
    if "ratios" in parameters:
        ratios = "/".join(f"{ratio:g}" for ratio in parameters["ratios"].values())
        notes["ratios"] = f"{ratios} (seed {parameters['seed']})"
    return notes | {name: f"{count:,}" for name, count in build.counters.items()}


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    output = options.output
    return [
        f"made  {output}/documents, {output}/ner (datasets); {output}/train.conll … test.json",
        f"read  {output}/card.md before you trust a score",
        f"next  python -m corpora.shards verify {output}",
        f"      python -m corpora.shards show {output}/documents --limit 1",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline; or, with ``--inspect``, only count what the markup holds."""
    if "--inspect" in (sys.argv[1:] if argv is None else argv):
        from corpora.tei.census import main as inspect

        return inspect(argv)
    return run("pipelines.tei_to_ner", argv)


if __name__ == "__main__":
    sys.exit(main())
