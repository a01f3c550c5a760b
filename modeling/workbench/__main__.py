r"""Review suggested names of an edition in the browser, and write accepted ones into TEI files.

Examples:
  onoma workbench --tei 'letters/*.xml' --edition sturm --tagger runs/sturm \
      --output reviewed
  onoma workbench --documents build/wiki/documents
  onoma workbench --evaluation runs/sturm/evaluation/sturm-test

The second shows a dataset, the third the errors of a tagger; with these, only --port and --no-open
are possible. Only this machine can open the page, and its address contains a token. Each decision
is saved at once, and the same command resumes. See docs/workbench.md.
"""

import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.arguments import option, option_table, refuse
from modeling.command import start

_INPUT = "What is looked at: one of"


@option_table
class Options:
    """The command's options."""

    tei: tuple[str, ...] | None = option(
        "TEI files, or glob patterns in quotes, in which names are decided",
        one_of=_INPUT,
        metavar="FILE",
    )
    documents: Path | None = option(
        "dataset of documents or NER sentences, for reading only", one_of=_INPUT
    )
    evaluation: Path | None = option(
        "folder made by onoma evaluate, whose errors are shown in context", one_of=_INPUT
    )
    edition: str = option(
        "edition that says how to read and write TEI: a built-in name or a TOML file (default: "
        "tei)",
        "tei",
        metavar="NAME",
    )
    output: Path | None = option("folder in which changed TEI files are saved")
    page: Path | None = option(
        "write the page as one HTML file that needs no server, in place of --output", metavar="FILE"
    )
    tagger: Path | None = option(
        "tagger that suggests names: a run of onoma finetune, or an archive", metavar="RUN"
    )
    schema: Path | None = option(
        "RelaxNG schema; names that would make a saved file invalid are not written, and said "
        "(default: the schema that onoma schema fetched, if any)",
        metavar="FILE",
    )
    candidates: Path | None = option(
        "list of suggested names, made by onoma predict --candidates", metavar="TSV"
    )
    threshold: float = option(
        "lowest probability of a suggestion by --tagger, from 0 to 1 (default: 0)",
        0.0,
        at_least=0,
        at_most=1,
        metavar="P",
    )
    labels: str = option(
        "map that renames or drops labels of --tagger and --ner: a built-in name or a TOML file, "
        "as in onoma benchmark --labels",
        "",
        metavar="NAME|FILE",
    )
    register: tuple[str, ...] = option(
        "registers of the edition, or glob patterns in quotes, whose entries names can be linked "
        "to",
        metavar="FILE",
    )
    reference: str = option(
        "how a name refers to its entity, as ref=#{}, with {} for the id (default: as most names "
        "of the letters do)",
        "",
        metavar="STYLE",
    )
    entities: tuple[Path, ...] = option(
        "entity vocabularies, whose entities names can be linked to"
    )
    reconcile: tuple[str, ...] = option(
        "addresses of reconciliation services, which are asked whom a name may mean", metavar="URL"
    )
    facsimiles: tuple[str, ...] = option(
        "folders of images of pages, and beginnings of addresses that the page may load images "
        "from",
        metavar="DIR|URL",
    )
    decisions: Path | None = option(
        "file of all decisions (default: EDITION.decisions.jsonl beside the edition file, or, for "
        "a shipped edition, beside the TEI files)",
        metavar="FILE",
    )
    encoder: Path | None = option(
        "encoder to train a new tagger from, as for onoma finetune --model (default: train "
        "--tagger further)",
        metavar="MODEL",
    )
    recipe: str = option(
        "recipe for training on the decisions, from onoma finetune --list (default: that of "
        "--tagger, or crf)",
        "",
        metavar="NAME",
    )
    ner: Path | None = option(
        "dataset of tagged sentences to train on besides the decisions: the one that --tagger was "
        "trained on"
    )
    reviewer: str = option(
        "id of the person who decides (default: the login name)", "", metavar="ID"
    )
    port: int = option("port of the page (default: any free port)", 0, at_least=0)
    no_open: bool = option("print the address of the page, but do not open a browser")

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for options that do not go together."""
        if self.documents or self.evaluation:
            own = {"documents", "evaluation", "port", "no_open"}
            for each in fields(self):
                if each.name not in own and getattr(self, each.name) != each.default:
                    raise UsageError(f"--{each.name} is for --tei")
            return
        if (self.output is None) == (self.page is None):
            raise UsageError("--output DIR, or --page FILE for a file without a server: name one.")
        if self.tagger and self.candidates:
            raise UsageError("--tagger and --candidates: name one of them.")
        if (self.labels or self.threshold) and not self.tagger:
            raise UsageError("--labels and --threshold are for --tagger.")
        if self.page and (self.encoder or self.entities or self.reconcile or self.facsimiles):
            raise UsageError(
                "--encoder, --entities, --reconcile, --facsimiles need the program, with --output."
            )
        if self.page:
            unused = ("recipe", "ner", "port", "no_open", "schema")
            refuse(self, *unused, because="needs the program, with --output in place of --page")
        if self.ner and not (self.encoder or self.tagger):
            raise UsageError("--ner is for --tagger and --encoder.")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and serve the page; return 0, 1 (error) or 2 (wrong command)."""

    def work(options: Options) -> None:
        from modeling.workbench import running  # noqa: PLC0415 - for --help

        if options.page:
            running.write(options)
        else:
            running.serve(options)

    return start(Options, argv, work, name="workbench", about=__doc__, resumes=" where it stopped")


if __name__ == "__main__":
    sys.exit(main())
