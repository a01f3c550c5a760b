"""Serve a tagger over HTTP, for programs and for TEI Publisher, OpenRefine, INCEpTION, Recogito.

Examples:
  onoma serve runs/sturm
  onoma serve runs/sturm --edition sturm --port 8001
  onoma serve runs/sturm --register 'register/*.xml'
  onoma serve runs/sturm --register build/vocab

By default, only programs on this machine can send requests. After SIGTERM or Ctrl-C, the service
answers the pending requests and ends. docs/serving.md says which tool uses which address.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.arguments import end, option, refuse
from modeling.command import start

_PREFIX = "ONOMA_SERVE_"
_WHO, _TRAIN = "who may ask", "training by clients"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    model: Path = option(
        positional=True,
        metavar="RUN",
        help="run of onoma finetune, one of its taggers, or an archive",
    )
    name: str = option(
        "",
        help="name of the model, by which clients ask for it (default: name of the folder or "
        "archive)",
    )
    edition: str | None = option(
        None,
        metavar="NAME",
        help="edition that says how to read and write TEI: a built-in name or a TOML file "
        "(default: tei)",
    )
    register: tuple[str, ...] = option(
        (),
        metavar="FILE",
        help="registers in TEI, or glob patterns in quotes, or one entity vocabulary, whose ids "
        "are offered for names",
    )
    identifier_space: str = option(
        "",
        metavar="URI",
        help="URI of the space of the ids of --register (default: urn:onoma: and the name of the "
        "register)",
    )
    labels: str | None = option(
        None,
        metavar="NAME|FILE",
        help="map that renames or drops labels of the tagger: a built-in name or a TOML file, as "
        "in onoma benchmark --labels",
    )
    lang: str | None = option(
        None,
        metavar="TAG",
        help="language of texts for which a request names none, such as de (default: general "
        "rules)",
    )
    threshold: float | None = option(
        None,
        at_least=0,
        at_most=1,
        metavar="P",
        help="lowest probability of a name if a request gives none (default: 0; for TEI files, "
        "the value chosen on dev, or 0.9)",
    )
    host: str = option(
        "127.0.0.1", metavar="ADDRESS", group=_WHO, help="address to listen on (default: 127.0.0.1)"
    )
    port: int = option(
        8001,
        at_least=0,
        at_most=65535,
        group=_WHO,
        help="port to listen on; 0: any free port (default: 8001)",
    )
    allow_host: tuple[str, ...] = option(
        (),
        metavar="NAME",
        group=_WHO,
        help="more host names by which requests may address this server; *: any (default: only "
        "those of this machine)",
    )
    allow_origin: tuple[str, ...] = option(
        (),
        metavar="URL",
        group=_WHO,
        help="origins of web pages that may send requests, such as https://example.org; *: any "
        "(default: only pages of this machine)",
    )
    token: str | None = option(
        None,
        metavar="FILE",
        group=_WHO,
        help="file with a token that requests must send as Authorization: Bearer (default: no "
        "token)",
    )
    access_log: bool = option(
        False,  # noqa: FBT003
        group=_WHO,
        help="write a line of JSON for each request to standard output: id, client, path, status",
    )

    allow_training: Path | None = option(
        None,
        metavar="DIR",
        group=_TRAIN,
        help="let clients train taggers, one at a time, and keep these in this folder (default: "
        "not allowed)",
    )
    encoder: Path | None = option(
        None,
        metavar="MODEL",
        group=_TRAIN,
        help="with --allow-training: encoder that training starts from, as for onoma finetune "
        "--model",
    )
    recipe: str = option(
        "crf",
        metavar="NAME",
        group=_TRAIN,
        help="recipe for training, from onoma finetune --list (default: crf)",
    )

    def __post_init__(self) -> None:
        """Raise ``UsageError`` for one of two options without the other."""
        if bool(self.allow_training) != bool(self.encoder):
            raise UsageError("--allow-training DIR and --encoder MODEL are given together")
        if not self.register:
            refuse(self, "identifier_space", because="is for --register, whose ids it names")
        if not self.allow_training:
            refuse(self, "recipe", because="is for --allow-training")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and serve; return 0, 1 for an error, or 2 for a wrong command."""
    given = sys.argv[1:] if argv is None else argv
    try:
        more = from_environment(os.environ, given)
    except UsageError as error:
        return end(error)
    return start(Options, [*given, *more], _serve, name="serve", about=__doc__)


def from_environment(environment: Mapping[str, str], given: Sequence[str]) -> list[str]:
    """Return options from variables as ``ONOMA_SERVE_PORT``, unless the command line has them.

    Values of an option with several stand with spaces between. Raises ``UsageError`` for a variable
    of no option.
    """
    options = {f.name: f for f in fields(Options) if not f.metadata.get("positional")}
    added = []
    for variable in sorted(name for name in environment if name.startswith(_PREFIX)):
        name, value = variable.removeprefix(_PREFIX).lower(), environment[variable]
        if name not in options:
            known = ", ".join(_PREFIX + each.upper() for each in options)
            raise UsageError(f"{variable}: is of no option. There are: {known}.")
        flag = f"--{name.replace('_', '-')}"
        if any(each.partition("=")[0] == flag for each in given):
            continue
        if isinstance(options[name].default, bool):
            if value not in {"0", "1"}:
                raise UsageError(f"{variable}={value}: must be 0 or 1.")
            added += [flag] * int(value)
        elif isinstance(options[name].default, tuple):
            added += [flag, *value.split()]
        else:
            added.append(f"{flag}={value}")
    return added


def _serve(options: Options) -> None:
    from modeling.serve.starting import serve  # noqa: PLC0415 - loads torch

    serve(options, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
