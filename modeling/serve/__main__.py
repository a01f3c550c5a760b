"""Serve a tagger over HTTP, by its own protocol and those of other tools.

Examples:
  python -m modeling.serve runs/sturm
  python -m modeling.serve runs/sturm --edition sturm --port 8001
  python -m modeling.serve runs/sturm --register 'register/*.xml'
  python -m modeling.serve runs/sturm --register build/vocab

It answers on 127.0.0.1 alone by default, and ends on SIGTERM or Ctrl-C when the requests
that are there are answered. docs/serving.md says which tool asks for what.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.arguments import option
from modeling.command import count, positive, start

_WHO, _MUCH, _TRAIN = "who may ask", "how much", "training by clients"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    model: Path = option(
        positional=True,
        metavar="RUN",
        help="a run of modeling.finetune, a tagger of one, or an archive of one",
    )
    name: str = option("", help="of the model, for clients (default: that of the folder)")
    edition: str | None = option(
        None,
        metavar="NAME",
        help="how TEI is read and written: a shipped one, or a TOML file (default: tei)",
    )
    register: tuple[str, ...] = option(
        (),
        nargs="+",
        metavar="FILE",
        help="registers in TEI (patterns in quotes), or an entity vocabulary, to take ids from",
    )
    identifier_space: str = option(
        "", metavar="URI", help="that the ids of --register are of (default: urn:onoma:NAME)"
    )
    labels: str | None = option(
        None, metavar="NAME|FILE", help="a map of labels: what the tagger finds under other names"
    )
    lang: str | None = option(None, metavar="TAG", help="of texts that do not say, as de")
    threshold: float | None = option(
        None,
        type=float,
        metavar="P",
        help="least probability of a name, where a request says none (default: into TEI, what the "
        "tagger chose on dev, or 0.9; else 0)",
    )
    decoder: str | None = option(None, metavar="NAME", help="another than the tagger's own")
    threads: int = option(0, type=count, metavar="N", help="of torch, on a CPU")
    host: str = option("127.0.0.1", metavar="ADDRESS", group=_WHO, help="where it listens")
    port: int = option(8001, type=count, metavar="N", group=_WHO, help="0: any that is free")
    allow_host: tuple[str, ...] = option(
        (), nargs="+", metavar="NAME", group=_WHO, help="names that clients call this server by"
    )
    allow_origin: tuple[str, ...] = option(
        (), nargs="+", metavar="URL", group=_WHO, help="pages that may ask, as https://example.org"
    )
    token: str | None = option(
        None, metavar="FILE", group=_WHO, help="a file with what clients must send as Bearer"
    )
    max_body: int = option(
        8_000_000, type=positive, metavar="BYTES", group=_MUCH, help="of a request"
    )
    max_waiting: int = option(
        20_000, type=positive, metavar="N", group=_MUCH, help="sentences that wait, of all requests"
    )
    max_requests: int = option(
        256, type=positive, metavar="N", group=_MUCH, help="that are answered at once"
    )

    allow_training: Path | None = option(
        None,
        metavar="DIR",
        group=_TRAIN,
        help="let clients train taggers, one at a time, which are kept here (else they may not)",
    )
    encoder: Path | None = option(
        None,
        metavar="MODEL",
        group=_TRAIN,
        help="that they begin with, as modeling.finetune --model",
    )
    recipe: str = option("crf", metavar="NAME", group=_TRAIN, help="of modeling.finetune")

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for values out of range, or one of two options without the other."""
        if bool(self.allow_training) != bool(self.encoder):
            raise UsageError("--allow-training DIR and --encoder MODEL are given together")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise UsageError(f"--threshold {self.threshold}: must be from 0 to 1")
        if self.port > 65535:
            raise UsageError(f"--port {self.port}: must be at most 65535")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and serve; return 0, 1 for an error, or 2 for a wrong command."""
    return start(Options, argv, _serve, name="serve", about=__doc__)


def _serve(options: Options) -> None:
    from modeling.serve.serving import serve  # noqa: PLC0415 - loads torch

    serve(options, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
