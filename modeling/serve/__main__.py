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
from dataclasses import fields
from functools import partial
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.arguments import end, option, option_table, refuse
from modeling.command import start

_PREFIX = "ONOMA_SERVE_"
_access_option = partial(option, group="who may ask")
_training_option = partial(option, group="training by clients")


@option_table
class Options:
    """Options of the command."""

    model: Path = option(
        "run of onoma finetune, one of its taggers, or an archive", positional=True, metavar="RUN"
    )
    name: str = option(
        "name of the model, by which clients ask for it (default: name of the folder or archive)",
        "",
    )
    edition: str | None = option(
        "edition that says how to read and write TEI: a built-in name or a TOML file (default: "
        "tei)",
        metavar="NAME",
    )
    register: tuple[str, ...] = option(
        "registers in TEI, or glob patterns in quotes, or one entity vocabulary, whose ids are "
        "offered for names",
        metavar="FILE",
    )
    identifier_space: str = option(
        "URI of the space of the ids of --register (default: urn:onoma: and the name of the "
        "register)",
        "",
        metavar="URI",
    )
    labels: str | None = option(
        "map that renames or drops labels of the tagger: a built-in name or a TOML file, as in "
        "onoma benchmark --labels",
        metavar="NAME|FILE",
    )
    lang: str | None = option(
        "language of texts for which a request names none, such as de (default: general rules)",
        metavar="TAG",
    )
    threshold: float | None = option(
        "lowest probability of a name if a request gives none (default: 0; for TEI files, the "
        "value chosen on dev, or 0.9)",
        at_least=0,
        at_most=1,
        metavar="P",
    )
    host: str = _access_option(
        "address to listen on (default: 127.0.0.1)", "127.0.0.1", metavar="ADDRESS"
    )
    port: int = _access_option(
        "port to listen on; 0: any free port (default: 8001)", 8001, at_least=0, at_most=65535
    )
    allow_host: tuple[str, ...] = _access_option(
        "more host names by which requests may address this server; *: any (default: only those "
        "of this machine)",
        metavar="NAME",
    )
    allow_origin: tuple[str, ...] = _access_option(
        "origins of web pages that may send requests, such as https://example.org; *: any "
        "(default: only pages of this machine)",
        metavar="URL",
    )
    token: str | None = _access_option(
        "file with a token that requests must send as Authorization: Bearer (default: no token)",
        metavar="FILE",
    )
    access_log: bool = _access_option(
        "write a line of JSON for each request to standard output: id, client, path, status"
    )

    allow_training: Path | None = _training_option(
        "let clients train taggers, one at a time, and keep these in this folder (default: not "
        "allowed)"
    )
    encoder: Path | None = _training_option(
        "with --allow-training: encoder that training starts from, as for onoma finetune --model",
        metavar="MODEL",
    )
    recipe: str = _training_option(
        "recipe for training, from onoma finetune --list (default: crf)", "crf", metavar="NAME"
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
