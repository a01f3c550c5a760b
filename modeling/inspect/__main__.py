"""Look inside an encoder, or the encoder of a tagger: how spans lie, and where heads look.

Examples:
  python -m modeling.inspect runs/sturm --ner build/sturm/ner --plot pca tsne --output build/inside
  python -m modeling.inspect runs/daluke --ner build/ddt --plot pca --spans all --sample 20000
      --output build/inside
  python -m modeling.inspect runs/first --attention "Peter lebt in Frankfurt am Main."
      --layers 1,4 --heads 1,2 --output build/inside

Writes a page, inspection.html, each picture as PNG, and points.tsv with what they show.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import Summary, option
from modeling.command import as_json, counts, show, start

_SPANS, _ATTENTION = "vectors of spans", "attention"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    run: Path = option(positional=True, metavar="RUN", help="whatever modeling.Encoder.load opens")
    output: Path = option(metavar="DIR", help="where the pictures go")
    plot: tuple[Literal["pca", "tsne", "umap"], ...] = option(
        (),
        nargs="+",
        group=_SPANS,
        help="principal components, t-SNE (needs scikit-learn), UMAP (needs umap-learn)",
    )
    ner: Path | None = option(
        None, metavar="DIR", group=_SPANS, help="a dataset of tagged sentences"
    )
    split: str = option(
        "dev", choices=("train", "dev", "test"), group=_SPANS, help="(default: dev)"
    )
    spans: Literal["names", "all"] = option(
        "names",
        group=_SPANS,
        help="those that are tagged, or all runs of words (default: names)",
    )
    max_words: int = option(8, group=_SPANS, help="of a span of all (default: 8)")
    sample: int = option(2000, group=_SPANS, help="drawn at random; 0: all")
    seed: int = option(1, group=_SPANS, help="of that, and of maps (default: 1)")
    parts: Literal["both", "words", "entities", "mean"] | None = option(
        None,
        group=_SPANS,
        help="[first; last; entity], the first two, the last, or the mean of all subwords "
        "(default: both where the encoder reads entities, else words)",
    )
    neighbours: float = option(
        30.0,
        metavar="N",
        group=_SPANS,
        help="perplexity of t-SNE, neighbours of UMAP (default: 30)",
    )
    attention: str | None = option(
        None, metavar="TEXT", group=_ATTENTION, help="a sentence: where the heads look"
    )
    layers: tuple[int, ...] = option(
        (), type=counts, metavar="N,N", group=_ATTENTION, help="(default: all)"
    )
    heads: tuple[int, ...] = option(
        (), type=counts, metavar="N,N", group=_ATTENTION, help="(default: all)"
    )
    entities: str = option(
        "",
        metavar="START:END,…",
        group=_ATTENTION,
        help="characters that are masked entities",
    )
    lang: str | None = option(
        None, metavar="TAG", group=_ATTENTION, help="whose rules for words apply"
    )
    json: bool = as_json()

    def __post_init__(self) -> None:
        """Raise ``UsageError`` if nothing is asked for, or if ``--plot`` comes without ``--ner``.

        Raises ``CorpusError`` if the folder of ``--ner`` does not exist.
        """
        if not self.plot and self.attention is None:
            raise UsageError("nothing is asked for: --plot pca, or --attention TEXT")
        if self.plot and self.ner is None:
            raise UsageError("--plot needs --ner, the dataset whose spans are drawn")
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
