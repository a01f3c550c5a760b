r"""Find names in text with a tagger, or predict the words of [MASK] with a pre-trained encoder.

Examples:
  onoma predict runs/sturm --text letter.txt --lang de
  echo "Peter lebt in Frankfurt am Main." | onoma predict runs/sturm --text -
  onoma predict runs/sturm --conll build/sturm/test.conll --format conll
  onoma predict runs/sturm --documents build/news --output build/news-names
  onoma predict runs/sturm --tei 'letters/*.xml' --edition sturm --output enriched
  onoma predict runs/sturm --tei 'letters/*.xml' --edition sturm --candidates c.tsv
  onoma predict --tei 'letters/*.xml' --edition sturm --apply c.tsv --reviewer kb \
      --output enriched
  onoma predict --dictionary --register 'register/*.xml' --tei 'letters/*.xml' \
      --edition sturm --output enriched
  onoma predict runs/sturm --tei 'letters/*.xml' --edition sturm --link linker \
      --output enriched
  onoma predict --link linker --tei 'letters/*.xml' --edition sturm --output linked
  onoma predict --tei 'letters/*.xml' --edition sturm --from cas --output corrected
  onoma predict --tei 'enriched/*.xml' --undo --output original
  onoma predict runs/daluke --masked "Danmarks vigtigste lov er [MASK]."

In a TEI file nothing is changed but the new names; this is checked before each file is written
(docs/enriching.md).
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Literal

from corpora.errors import UsageError
from corpora.system.arguments import SUMMARY, Summary, option, option_table, refuse
from modeling.command import start

_TEI, _INPUT = "TEI", "input"
_tei_option = partial(option, group=_TEI)
_INPUTS = ("text", "conll", "documents", "tei", "masked")
_TAGGED = _INPUTS[:4]
_TOOLS = ("xmi", "cas-json", "webanno", "brat", "w3c", "spacy")
_FORMATS = ("conll", "json", "jsonl", "tei", "tsv", *_TOOLS)
_FOR = {
    "entities": ("masked",),
    **dict.fromkeys(("labels", "threshold"), _TAGGED),
    "edition": ("tei", "text"),
    "lang": ("text",),
    "format": ("text", "conll"),
}
"""Options, and the inputs that they say something of; the others of their group, or of all."""


@option_table
class Options:
    """Options of the command."""

    model: Path | None = option(
        "run of onoma finetune, a tagger of one, or an archive; with --masked, a run of onoma "
        "pretrain",
        positional=True,
        nargs="?",
        metavar="RUN",
    )
    text: str = option(
        "text file to find names in, or - for standard input", None, one_of=_INPUT, metavar="FILE"
    )
    conll: Path = option(
        "file with a word on each line and a blank line after each sentence; tags in it are "
        "ignored",
        None,
        one_of=_INPUT,
        metavar="FILE",
    )
    documents: Path = option("dataset of documents to find names in", None, one_of=_INPUT)
    tei: tuple[str, ...] = option(
        "TEI files, or glob patterns in quotes, to write names into",
        None,
        one_of=_INPUT,
        metavar="FILE",
    )
    masked: str = option(
        "text with [MASK], for which the most probable subwords are printed",
        None,
        one_of=_INPUT,
        metavar="TEXT",
    )
    output: Path = option(
        "file to write, dataset with --documents, or folder with --tei (default: standard output, "
        "except for these two)",
        None,
        metavar="PATH",
    )
    format: str = option(
        "output format for --text (default: tsv), or for --conll: conll, json or jsonl (default: "
        "conll)",
        "tsv",
        choices=_FORMATS,
    )
    labels: str | None = option(
        "map that renames or drops labels of the tagger: a built-in name or a TOML file, as in "
        "onoma benchmark --labels",
        metavar="NAME|FILE",
    )
    threshold: float | None = option(
        "lowest probability of a name, from 0 to 1 (default: 0; for a tagger with --tei and "
        "--output, the value chosen on dev, or 0.9)",
        at_least=0,
        at_most=1,
        metavar="P",
    )
    lang: str | None = option(
        "language of --text, such as de, whose rules find sentences and words (default: general "
        "rules)",
        metavar="TAG",
    )
    json: bool = option(SUMMARY)
    edition: str | None = _tei_option(
        "edition that says how to read and write TEI: a built-in name or a TOML file (default: "
        "tei)",
        metavar="NAME",
    )
    existing: Literal["keep", "only-new", "replace-predicted"] = _tei_option(
        "names already in the files: keep them, add only names that touch none (only-new), or "
        "replace earlier predictions (default: keep)",
        "keep",
    )
    crossing: Literal["split", "standOff"] = _tei_option(
        "write a name that crosses elements as fragments (split) or outside of the text "
        "(standOff) (default: split)",
        "split",
    )
    schema: Path | None = _tei_option(
        "RelaxNG schema; names that would make a file invalid are skipped (default: the schema "
        "that onoma schema fetched, if any)",
        metavar="FILE",
    )
    candidates: Path | None = _tei_option(
        "write the names that are found into a list for review, and write no TEI files",
        metavar="TSV",
    )
    apply: Path | None = _tei_option(
        "write the accepted names of a reviewed list into the files", metavar="TSV"
    )
    keep_cert: bool = _tei_option(
        "with --apply: leave the model's probability (cert) at names that were accepted"
    )
    from_: tuple[Path, ...] = _tei_option(
        "files or folders of an annotation tool (.xmi, .cas.json, .tsv, .ann, .json, .spacy), "
        "whose corrections are written into the files",
        metavar="FILE",
    )
    undo: bool = _tei_option("remove the names that Onoma added, and restore the original bytes")
    reviewer: str = _tei_option(
        "person who answers for the names of --apply and --from (xml:id or pointer); with --undo, "
        "also remove this person's names",
        "",
        metavar="ID",
    )
    decisions: Path | None = _tei_option(
        "file of decisions by people (default: EDITION.decisions.jsonl beside the edition file, "
        "or, for a shipped edition, beside the TEI files)",
        metavar="FILE",
    )
    register: tuple[str, ...] = _tei_option(
        "TEI files of a register, or glob patterns in quotes; names that match its forms are "
        "written with its ids",
        metavar="PATTERN",
    )
    dictionary: bool = _tei_option(
        "find the names that are tagged elsewhere in the files, and the forms of --register"
    )
    min_precision: float | None = _tei_option(
        "ratio of the names of --dictionary and --register that must be right, by the names of "
        "the files, held back (default: 0.95; with --candidates, whatever is rather a name)",
        at_least=0,
        at_most=1,
        metavar="P",
    )
    link: Path | None = _tei_option(
        "linker of onoma link train, which adds ids to the names that are found and to those of "
        "the edition without one",
        metavar="LINKER",
    )
    reference: str = _tei_option(
        "attribute and value that hold an id, with {} for the id: ref=#{} (default: as in the "
        "files)",
        "",
        metavar="ATTRIBUTE=VALUE",
    )
    entities: str = option(
        "with --masked: spans of characters, from 0, end excluded; the most probable entities for "
        "each are printed",
        "",
        metavar="START:END,…",
    )

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
                "name a run: onoma predict RUN … (or --dictionary, or --link LINKER, without one)"
            )
        for field in fields(self):
            group = ("tei",) if field.metadata.get("group") == _TEI else _INPUTS
            kinds = _FOR.get(field.name, group)
            if self.input not in kinds and getattr(self, field.name) != field.default:
                name = field.name.rstrip("_")
                yield f"--{name} is for {' and '.join(f'--{kind}' for kind in kinds)}"
        yield from self._problems_of_tei()
        yield from self._problems_of_finding()
        yield from self._problems_of_output()

    def _problems_of_tei(self) -> Iterator[str]:
        has_decided = self.undo or self.apply or self.from_
        if self.undo + bool(self.apply) + bool(self.candidates) + bool(self.from_) > 1:
            yield "one of --candidates, --apply, --from and --undo at a time"
        if self.candidates and self.output:
            yield "--candidates writes a list and no file: leave --output out"
        if self.keep_cert and not self.apply:
            yield "--keep-cert is for --apply, where suggestions are accepted"
        if self.apply and self.labels:
            yield "--labels is for --candidates: the labels of a list are written as they are"
        if self.reviewer and not has_decided:
            yield "--reviewer is for --apply, --from and --undo, where people have decided"
        has_names = self.dictionary or self.register
        if self.reference and not (has_names or self.link or self.apply):
            yield "--reference needs --dictionary, --register, --link, or --apply"
        if self.min_precision is not None and not has_names:
            yield "--min-precision is for --dictionary and --register"
        if self.threshold is not None and has_names and not self.model:
            yield "--threshold is for a tagger; --min-precision is for --dictionary"
        if has_names and has_decided:
            name = "register" if self.register else "dictionary"
            yield f"--{name} finds names: leave it out with --apply, --from and --undo"
        if self.link and has_decided:
            yield "--link finds entities: leave it out with --apply, --from and --undo"
        if self.register and not (self.model or self.dictionary):
            yield "--register without a run is for --dictionary"

    def _problems_of_finding(self) -> Iterator[str]:
        if self.undo or self.apply or self.from_:
            if self.model:
                yield "a run finds names: leave it out with --apply, --from and --undo"
            found = "is for names that are found: leave it out with --apply, --from and --undo"
            refuse(self, "threshold", because=found)
        if self.undo:
            unused = ("existing", "crossing", "schema", "decisions")
            refuse(self, *unused, because="is for names that are written: leave it out with --undo")
        if not self.model:
            refuse(self, "labels", because="is for a tagger: name a run, or leave it out")

    def _problems_of_output(self) -> Iterator[str]:
        if self.format == "tei" and not self.text:
            yield "--format tei is for --text; TEI files are read by --tei"
        if self.format in _TOOLS and not (self.text and self.output):
            yield f"--format {self.format} is for --text, and needs --output, a file"
        if self.edition and self.text and self.format != "tei":
            yield "--edition is for --tei, or --text with --format tei"
        if self.tei and not (self.output or self.candidates):
            yield "--tei needs --output, a folder for the files (or --candidates)"
        if self.documents and not self.output:
            yield "--documents needs --output, the dataset to write"
        if self.json and not (self.output or self.candidates):
            yield "--json needs --output, a file for what is found (or take --format jsonl)"


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
