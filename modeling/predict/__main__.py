"""Find names in text with a tagger; or ask a pre-trained encoder what stands behind [MASK].

Examples:
  python -m modeling.predict runs/sturm --text letter.txt --lang de
  echo "Peter lebt in Frankfurt am Main." | python -m modeling.predict runs/sturm --text -
  python -m modeling.predict runs/sturm --conll build/sturm/test.conll --format conll
  python -m modeling.predict runs/sturm --documents build/news --output build/news-names
  python -m modeling.predict runs/sturm --tei 'letters/*.xml' --edition sturm --output enriched
  python -m modeling.predict runs/sturm --tei 'letters/*.xml' --edition sturm --candidates c.tsv
  python -m modeling.predict --tei 'letters/*.xml' --edition sturm --apply c.tsv --output enriched
  python -m modeling.predict --tei 'enriched/*.xml' --undo --output original
  python -m modeling.predict runs/daluke --masked "Danmarks vigtigste lov er [MASK]."

A TEI file comes back with nothing changed but the new names: this is proved for each file before
it is written (docs/enriching.md).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from corpora.errors import UsageError
from modeling.command import count, option, positive, start

_TEI, _INPUT = "TEI", "input"
_INPUTS = ("text", "conll", "documents", "tei", "masked")
_TAGGED = _INPUTS[:4]
_FOR = {
    **dict.fromkeys(("existing", "crossing", "schema", "candidates", "apply", "undo"), ("tei",)),
    **dict.fromkeys(("entities", "top"), ("masked",)),
    **dict.fromkeys(("labels", "threshold", "decoder"), _TAGGED),
    "edition": ("tei", "text"),
    "lang": ("text",),
    "format": ("text", "conll"),
}
"""Options, and the inputs that they say something of."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    model: Path | None = option(
        None,
        positional=True,
        nargs="?",
        metavar="RUN",
        help="a run of modeling.finetune, or a tagger of one",
    )
    text: str = option(None, one_of=_INPUT, metavar="FILE", help="plain text, - for standard input")
    conll: Path = option(
        None,
        one_of=_INPUT,
        metavar="FILE",
        help="a word a line, a blank line after each sentence",
    )
    documents: Path = option(None, one_of=_INPUT, metavar="DIR", help="a dataset of documents")
    tei: tuple[str, ...] = option(
        None, one_of=_INPUT, nargs="+", metavar="FILE", help="TEI files, or patterns in quotes"
    )
    masked: str = option(
        None,
        one_of=_INPUT,
        metavar="TEXT",
        help="text with [MASK], for a run of modeling.pretrain",
    )
    output: Path = option(
        None, metavar="PATH", help="where to; text and CoNLL: standard output if left out"
    )
    format: Literal["conll", "json", "jsonl", "tei", "tsv"] = option(
        "tsv",
        choices=("conll", "json", "jsonl", "tei", "tsv"),
        help="of what is found in text and CoNLL; tei (a new file, in the elements of --edition) "
        "of text alone",
    )
    labels: str | None = option(
        None,
        metavar="NAME|FILE",
        help="a map of labels, as benchmark_to_ner has it: what the tagger finds under other names",
    )
    threshold: float = option(0.0, type=float, metavar="P", help="least probability of a name")
    decoder: str | None = option(
        None, metavar="NAME", help="another than the tagger's own, as viterbi"
    )
    lang: str | None = option(
        None, metavar="TAG", help="whose rules for sentences and words apply to --text"
    )
    batch_size: int = option(32, type=positive, metavar="N", help="sentences at once")
    threads: int = option(0, type=count, metavar="N", help="of torch, on a CPU")
    edition: str | None = option(
        None,
        metavar="NAME",
        group=_TEI,
        help="how the edition is read and written: a shipped one, or a TOML file",
    )
    existing: Literal["keep", "only-new", "replace-predicted"] = option(
        "keep",
        choices=("keep", "only-new", "replace-predicted"),
        group=_TEI,
        help="names that are there already",
    )
    crossing: Literal["split", "standOff"] = option(
        "split",
        choices=("split", "standOff"),
        group=_TEI,
        help="names that cross an element's boundary",
    )
    schema: Path | None = option(
        None, metavar="FILE", group=_TEI, help="a RelaxNG schema that the result must fit"
    )
    candidates: Path | None = option(
        None,
        metavar="TSV",
        group=_TEI,
        help="write what is found into a list to be reviewed, and no file",
    )
    apply: Path | None = option(
        None, metavar="TSV", group=_TEI, help="write the names of a reviewed list"
    )
    undo: bool = option(
        default=False,
        group=_TEI,
        help="take out what was added, and give the original bytes back",
    )
    entities: str = option(
        "",
        metavar="START:END,…",
        help="with --masked: spans of masked entities, in characters",
    )
    top: int = option(5, type=positive, metavar="K", help="with --masked: how many are shown")

    @property
    def input(self) -> str:
        """The name of what is read."""
        return next(name for name in _INPUTS if getattr(self, name) is not None)

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for options that do not go together."""
        if problem := self._problem():
            raise UsageError(problem)

    def _problem(self) -> str:
        if self.model is None and not (self.undo or self.apply):
            return "name a run: python -m modeling.predict RUN …"
        for field in fields(self):
            kinds = _FOR.get(field.name, _INPUTS)
            if self.input not in kinds and getattr(self, field.name) != field.default:
                return f"--{field.name} is for {' and '.join(f'--{kind}' for kind in kinds)}"
        if self.undo + bool(self.apply) + bool(self.candidates) > 1:
            return "one of --candidates, --apply and --undo at a time"
        if self.candidates and self.output:
            return "--candidates writes a list and no file: leave --output out"
        if self.apply and self.labels:
            return "--labels is for --candidates: the labels of a list are written as they are"
        if self.format == "tei" and not self.text:
            return "--format tei is for --text; TEI files are read by --tei"
        if self.edition and self.text and self.format != "tei":
            return "--edition is for --tei, or --text with --format tei"
        if self.tei and not (self.edition or self.undo):
            return "--tei needs --edition: a shipped one (--edition tei), or a TOML file"
        if self.tei and not (self.output or self.candidates):
            return "--tei needs --output, a folder for the files (or --candidates)"
        if self.documents and not self.output:
            return "--documents needs --output, the dataset to write"
        if not 0 <= self.threshold <= 1:
            return f"--threshold {self.threshold}: a probability, from 0 to 1"
        return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and predict; 0, or 1 for an error, or 2 for a wrong command."""

    def predict(options: Options) -> None:
        from modeling.predict import commands  # noqa: PLC0415 - for --help

        getattr(commands, f"predict_{options.input}")(options)

    return start(
        Options,
        argv,
        predict,
        name="predict",
        about=__doc__,
        resumes=" with what is not written yet",
        errors=(ValueError,),
    )


if __name__ == "__main__":
    sys.exit(main())
