r"""Draw what an encoder computes: maps of the vectors of spans, and the attention of its heads.

Examples:
  onoma inspect runs/sturm --ner build/sturm/ner --plot pca tsne --output build/inside
  onoma inspect runs/daluke --ner build/ddt --plot pca --spans all --sample 20000 \
      --output build/inside
  onoma inspect runs/first --attention "Peter lebt in Frankfurt am Main." \
      --layers 1,4 --heads 1,2 --output build/inside

Writes a page, inspection.html, each picture as PNG, and points.tsv with the points of the maps.
"""

import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Literal

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import SUMMARY, Summary, option, option_table, refuse
from modeling.command import counts, show, start

_SPANS = "vectors of spans"
_spans_option = partial(option, group=_SPANS)
_attention_option = partial(option, group="attention")


@option_table
class Options:
    """Options of the command."""

    run: Path = option(
        "run of onoma pretrain or onoma finetune, one of its models, a folder of transformers, or "
        "an archive",
        positional=True,
        metavar="RUN",
    )
    output: Path = option("folder of the page and its pictures")
    plot: tuple[Literal["pca", "tsne", "umap"], ...] = _spans_option(
        "kinds of maps: principal components, t-SNE (needs scikit-learn), UMAP (needs umap-learn)"
    )
    ner: Path | None = _spans_option("dataset of tagged sentences whose spans are drawn")
    split: str = _spans_option(
        "part of --ner to use (default: dev)", "dev", choices=("train", "dev", "test")
    )
    spans: Literal["names", "all"] = _spans_option(
        "draw the tagged names, or all sequences of up to eight words (default: names)", "names"
    )
    sample: int = _spans_option(
        "number of spans, chosen at random; 0: all (default: 2000)", 2000, at_least=0
    )
    attention: str | None = _attention_option(
        "sentence whose attention weights are drawn, by layer and head", metavar="TEXT"
    )
    layers: tuple[int, ...] = _attention_option(
        "layers to draw, counted from 1 (default: all)", type=counts, metavar="N,N"
    )
    heads: tuple[int, ...] = _attention_option(
        "heads to draw, counted from 1 (default: all)", type=counts, metavar="N,N"
    )
    entities: str = _attention_option(
        "spans of characters, from 0, end excluded, that are read as masked entities",
        "",
        metavar="START:END,…",
    )
    lang: str | None = _attention_option(
        "language of the sentence, such as de, whose rules find its words (default: general rules)",
        metavar="TAG",
    )
    json: bool = option(SUMMARY)

    def __post_init__(self) -> None:
        """Raise ``UsageError`` if nothing is asked for, or options do not go together.

        Raises ``CorpusError`` if the folder of ``--ner`` does not exist.
        """
        if not self.plot and self.attention is None:
            raise UsageError("nothing is asked for: --plot pca, or --attention TEXT")
        if self.plot and self.ner is None:
            raise UsageError("--plot needs --ner, the dataset whose spans are drawn")
        if not self.plot:
            spans = (field.name for field in fields(self) if field.metadata.get("group") == _SPANS)
            refuse(self, *spans, because="is for --plot, a map of vectors")
        if self.attention is None:
            refuse(self, "layers", "heads", "entities", "lang", because="is for --attention TEXT")
        if self.ner is not None and not self.ner.is_dir():
            raise CorpusError(f"--ner {self.ner}: no such folder.")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and draw; exit status 0, 1 for an error, 2 for a wrong command."""
    return start(Options, argv, _inspect, name="inspect", about=__doc__, errors=(ValueError,))


def _inspect(options: Options) -> Summary | None:
    # torch takes seconds to load, so the options are checked first
    from modeling.inspect.page import run  # noqa: PLC0415

    return show(run(options))


if __name__ == "__main__":
    sys.exit(main())
