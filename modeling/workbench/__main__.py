"""Decide in the browser which names of an edition are right, and write them into its files.

Example: python -m modeling.workbench --tei 'letters/*.xml' --edition sturm --tagger runs/sturm
--output reviewed

A dataset to read: python -m modeling.workbench --documents build/wiki/documents
Errors of a tagger: python -m modeling.workbench --evaluation runs/sturm/evaluation/sturm-test

The page is served to this machine alone, and its address holds a token. Every decision is on the
disk before the page shows it; the same command resumes. See docs/workbench.md.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.arguments import option
from modeling.command import count, start

_INPUT = "What is looked at: one of"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The command's options."""

    tei: tuple[str, ...] | None = option(
        None, one_of=_INPUT, nargs="+", metavar="FILE", help="TEI files, or patterns in quotes"
    )
    documents: Path | None = option(
        None, one_of=_INPUT, metavar="DIR", help="a dataset of documents or NER sentences, to read"
    )
    evaluation: Path | None = option(
        None, one_of=_INPUT, metavar="DIR", help="a folder of modeling.evaluate: errors in context"
    )
    edition: str = option(
        "",
        metavar="NAME",
        help="how the edition is read and written: a shipped one, or a TOML file",
    )
    output: Path | None = option(None, metavar="DIR", help="folder that the files are saved in")
    page: Path | None = option(
        None, metavar="FILE", help="write one file of HTML that needs no server, and start none"
    )
    tagger: Path | None = option(None, metavar="RUN", help="a tagger, whose names are suggested")
    candidates: Path | None = option(
        None, metavar="TSV", help="a list of modeling.predict --candidates that is suggested"
    )
    threshold: float = option(0.0, type=float, metavar="P", help="least probability (--tagger)")
    labels: str = option(
        "", metavar="NAME|FILE", help="a map of labels: what the tagger finds under other names"
    )
    register: tuple[str, ...] = option(
        (), nargs="+", metavar="FILE", help="registers of the edition, whose entries names mean"
    )
    entities: tuple[Path, ...] = option(
        (),
        nargs="+",
        type=Path,
        metavar="DIR",
        help="entity vocabularies, whose entities names mean",
    )
    reconcile: tuple[str, ...] = option(
        (), nargs="+", metavar="URL", help="reconciliation services that are asked for candidates"
    )
    decisions: Path | None = option(
        None, metavar="FILE", help="the journal of decisions (default: beside the edition file)"
    )
    encoder: Path | None = option(
        None,
        metavar="MODEL",
        help="train on what was decided from this encoder, not on from --tagger",
    )
    recipe: str = option(
        "",
        metavar="NAME",
        help="how it is trained (modeling.finetune --list; default: as --tagger, or crf)",
    )
    ner: Path | None = option(
        None, metavar="DIR", help="tagged sentences to train on, too: those that --tagger learned"
    )
    reviewer: str = option("", metavar="ID", help="who decides (default: the name of the login)")
    port: int = option(0, type=count, metavar="N", help="of the page (default: any that is free)")
    no_open: bool = option(default=False, help="print the address, and open no browser")

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for options that do not go together."""
        if self.documents or self.evaluation:
            own = {"documents", "evaluation", "port", "no_open"}
            for each in fields(self):
                if each.name not in own and getattr(self, each.name) != each.default:
                    raise UsageError(f"--{each.name} is for --tei")
            return
        if not self.edition:
            raise UsageError("--tei needs --edition: a shipped one (--edition tei), or a TOML file")
        if (self.output is None) == (self.page is None):
            raise UsageError("--output DIR, or --page FILE for a file without a server: name one.")
        if self.tagger and self.candidates:
            raise UsageError("--tagger and --candidates: name one of them.")
        if (self.labels or self.threshold) and not self.tagger:
            raise UsageError("--labels and --threshold are for --tagger.")
        if self.page and (self.encoder or self.entities or self.reconcile):
            raise UsageError("--encoder, --entities, --reconcile need the program, with --output.")
        if self.ner and not (self.encoder or self.tagger):
            raise UsageError("--ner is for --tagger and --encoder.")
        if not 0 <= self.threshold <= 1:
            raise UsageError(f"--threshold {self.threshold}: a probability, from 0 to 1")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and serve the page; return 0, 1 (error) or 2 (wrong command)."""

    def work(options: Options) -> None:
        from modeling.workbench import session  # noqa: PLC0415 - for --help

        if options.page:
            session.write(options)
        else:
            session.serve(options)

    return start(Options, argv, work, name="workbench", about=__doc__, resumes=" where it stopped")


if __name__ == "__main__":
    sys.exit(main())
