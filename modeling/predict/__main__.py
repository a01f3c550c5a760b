"""Find names in text with a tagger; or ask a pre-trained encoder what stands behind [MASK].

Examples:
  python -m modeling.predict runs/sturm --text letter.txt --lang de
  echo "Peter lebt in Frankfurt am Main." | python -m modeling.predict runs/sturm --text -
  python -m modeling.predict runs/sturm --conll build/sturm/test.conll --format conll
  python -m modeling.predict runs/sturm --documents build/news --output build/news-names
  python -m modeling.predict runs/sturm --tei 'letters/*.xml' --edition sturm --output enriched
  python -m modeling.predict runs/sturm --tei 'letters/*.xml' --edition sturm --candidates c.tsv
  python -m modeling.predict --tei 'letters/*.xml' --edition sturm --apply c.tsv --reviewer kb \
      --output enriched
  python -m modeling.predict --dictionary --register 'register/*.xml' --tei 'letters/*.xml' \
      --edition sturm --output enriched
  python -m modeling.predict runs/sturm --tei 'letters/*.xml' --edition sturm --link linker \
      --output enriched
  python -m modeling.predict --link linker --tei 'letters/*.xml' --edition sturm --output linked
  python -m modeling.predict --tei 'letters/*.xml' --edition sturm --from cas --output corrected
  python -m modeling.predict --tei 'enriched/*.xml' --undo --output original
  python -m modeling.predict runs/daluke --masked "Danmarks vigtigste lov er [MASK]."

A TEI file comes back with nothing changed but the new names: this is proved for each file before
it is written (docs/enriching.md).
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from corpora.errors import UsageError
from corpora.system.arguments import Summary, option
from modeling.command import as_json, count, positive, start

_TEI, _INPUT = "TEI", "input"
_INPUTS = ("text", "conll", "documents", "tei", "masked")
_TAGGED = _INPUTS[:4]
_TOOLS = ("xmi", "cas-json", "webanno", "brat", "w3c", "spacy")
_FORMATS = ("conll", "json", "jsonl", "tei", "tsv", *_TOOLS)
_FOR = {
    **dict.fromkeys(("entities", "top"), ("masked",)),
    **dict.fromkeys(("labels", "threshold", "decoder"), _TAGGED),
    "edition": ("tei", "text"),
    "lang": ("text",),
    "format": ("text", "conll"),
}
"""Options, and the inputs that they say something of; the others of their group, or of all."""


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
    format: str = option(
        "tsv",
        choices=_FORMATS,
        help="of what is found in text and CoNLL; tei (a new file, in the elements of --edition) "
        "and the forms of annotation tools: of text alone",
    )
    labels: str | None = option(
        None,
        metavar="NAME|FILE",
        help="a map of labels, as benchmark_to_ner has it: what the tagger finds under other names",
    )
    threshold: float | None = option(
        None,
        type=float,
        metavar="P",
        help="least probability of a name (default: 0; names written into TEI: that at which the "
        "tagger's precision on dev is 0.9)",
    )
    decoder: str | None = option(
        None, metavar="NAME", help="another than the tagger's own, as viterbi"
    )
    lang: str | None = option(
        None, metavar="TAG", help="whose rules for sentences and words apply to --text"
    )
    batch_size: int = option(32, type=positive, metavar="N", help="sentences at once")
    threads: int = option(0, type=count, metavar="N", help="of torch, on a CPU")
    json: bool = as_json()
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
        None,
        metavar="FILE",
        group=_TEI,
        help="a RelaxNG schema that the result must fit (default: what corpora.tei.schema fetched)",
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
    from_: tuple[Path, ...] = option(
        (),
        nargs="+",
        type=Path,
        metavar="FILE",
        group=_TEI,
        help="files or folders of an annotation tool (.xmi, .cas.json, .tsv, .ann, .json, .spacy): "
        "write what people corrected there",
    )
    undo: bool = option(
        default=False,
        group=_TEI,
        help="take out what was added, and give the original bytes back",
    )
    reviewer: str = option(
        "",
        metavar="ID",
        group=_TEI,
        help="with --apply and --from: who answers for the names, an xml:id or a pointer; with "
        "--undo: take out what this person answers for, too",
    )
    decisions: Path | None = option(
        None,
        metavar="FILE",
        group=_TEI,
        help="what people decided (default: EDITION.decisions.jsonl beside the edition file, or in "
        "the folder of the TEI files)",
    )
    register: tuple[str, ...] = option(
        (),
        nargs="+",
        metavar="PATTERN",
        group=_TEI,
        help="files of a register: names that are its forms are written with its ids",
    )
    dictionary: bool = option(
        default=False, group=_TEI, help="find the forms of --register, without any model"
    )
    link: Path | None = option(
        None,
        metavar="LINKER",
        group=_TEI,
        help="what modeling.link train wrote: names of whose entity it is sure are written with "
        "it, those that the edition marks without one, too; without a RUN, those alone",
    )
    reference: str = option(
        "",
        metavar="ATTRIBUTE=VALUE",
        group=_TEI,
        help="how ids of --register, --link and --apply are written, {} for the id: ref=#{} "
        "(default: as the files have it for that label; else, of --register, not at all)",
    )
    entities: str = option(
        "",
        metavar="START:END,…",
        help="with --masked: spans of masked entities, in characters",
    )
    top: int = option(5, type=positive, metavar="K", help="with --masked: how many are shown")

    @property
    def input(self) -> str:
        """The name of the option that says what is read."""
        return next(name for name in _INPUTS if getattr(self, name) is not None)

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for options that do not go together."""
        for problem in self._problems():
            raise UsageError(problem)

    def _problems(self) -> Iterator[str]:
        without = (self.undo, self.apply, self.dictionary, self.from_, self.link)
        if self.model is None and not any(without):
            yield (
                "name a run: python -m modeling.predict RUN … (or --dictionary --register FILE, or "
                "--link LINKER, without one)"
            )
        for field in fields(self):
            group = ("tei",) if field.metadata.get("group") == _TEI else _INPUTS
            kinds = _FOR.get(field.name, group)
            if self.input not in kinds and getattr(self, field.name) != field.default:
                name = field.name.rstrip("_")
                yield f"--{name} is for {' and '.join(f'--{kind}' for kind in kinds)}"
        yield from self._problems_of_tei()
        yield from self._problems_of_output()

    def _problems_of_tei(self) -> Iterator[str]:
        has_decided = self.undo or self.apply or self.from_
        if self.undo + bool(self.apply) + bool(self.candidates) + bool(self.from_) > 1:
            yield "one of --candidates, --apply, --from and --undo at a time"
        if self.candidates and self.output:
            yield "--candidates writes a list and no file: leave --output out"
        if self.apply and self.labels:
            yield "--labels is for --candidates: the labels of a list are written as they are"
        if self.reviewer and not has_decided:
            yield "--reviewer is for --apply, --from and --undo, where people have decided"
        if self.dictionary and not self.register:
            yield "--dictionary needs --register, files with a register"
        if self.reference and not (self.register or self.link or self.apply):
            yield "--reference needs --register, files with a register, --link, or --apply"
        if self.dictionary and self.model:
            yield "--dictionary is for a register without a model: leave it, or the run, out"
        if self.register and has_decided:
            yield "--register finds names: leave it out with --apply, --from and --undo"
        if self.link and has_decided:
            yield "--link finds entities: leave it out with --apply, --from and --undo"
        if self.register and not (self.model or self.dictionary):
            yield "--register without a run is for --dictionary"

    def _problems_of_output(self) -> Iterator[str]:
        if self.format == "tei" and not self.text:
            yield "--format tei is for --text; TEI files are read by --tei"
        if self.format in _TOOLS and not (self.text and self.output):
            yield f"--format {self.format} is for --text, and needs --output, a file"
        if self.edition and self.text and self.format != "tei":
            yield "--edition is for --tei, or --text with --format tei"
        if self.tei and not (self.edition or self.undo):
            yield "--tei needs --edition: a shipped one (--edition tei), or a TOML file"
        if self.tei and not (self.output or self.candidates):
            yield "--tei needs --output, a folder for the files (or --candidates)"
        if self.documents and not self.output:
            yield "--documents needs --output, the dataset to write"
        if self.json and not (self.output or self.candidates):
            yield "--json needs --output, a file for what is found (or take --format jsonl)"
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            yield f"--threshold {self.threshold}: a probability, from 0 to 1"


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and predict; exit status 0, 1 for an error, 2 for a wrong command."""

    def predict(options: Options) -> Summary:
        from modeling.predict import commands  # noqa: PLC0415 - for --help

        done: Summary = getattr(commands, f"predict_{options.input}")(options)
        return done

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
