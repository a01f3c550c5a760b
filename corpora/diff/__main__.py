"""Compare two versions of a dataset, or of all datasets of a run: rows, counts and rates.

    python -m corpora.diff build/dawiki-20261001 build/dawiki-20261101
    python -m corpora.diff OLD NEW --html diff.html --json diff.json --fail-if documents=-5%

Exit status 3: a measure moved further than it may. What may be is documents (or whatever the rows
are) -10 %, links_per_page -20 %, rejected x3, unless --fail-if says otherwise.
"""

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import ArgumentParser

if TYPE_CHECKING:
    from corpora.diff.comparison import Comparison
    from corpora.diff.limits import Limit

N_EXAMPLES = 20
TOO_FAR = 3
"""Exit status."""
LEFT_OUT = "reuse"
"""A dataset of hashes of pages, from which the next run sees what changed; nothing for people."""


def compare_all(
    old: Path, new: Path, *, given: Sequence["Limit"] = (), n_examples: int = N_EXAMPLES
) -> list["Comparison"]:
    """Compare a dataset with another, or each dataset of a run with that of the same name.

    Raises ``CorpusError`` where there is none or one is missing in ``new``, ``UsageError`` for a
    limit on what no dataset has.
    """
    from corpora.diff.comparison import compare

    found = [
        compare(
            old / name,
            new / name,
            name=name or new.resolve().name,
            given=given,
            n_examples=n_examples,
        )
        for name in _datasets(old)
    ]
    measures = {drift.name for of in found for drift in of.drift}
    for limit in given:
        if limit.measure not in measures:
            known = ", ".join(sorted(m for m in measures if not m.startswith("counters.")))
            raise UsageError(f"--fail-if {limit.measure}: no such measure. There are: {known}.")
    return found


def _datasets(folder: Path) -> list[str]:
    """The datasets of a folder, relative to it: itself, or those inside."""
    if (folder / "dataset.json").exists():
        return [""]
    inside = sorted({file.parent.name for file in folder.glob("*/dataset.json")} - {LEFT_OUT})
    if not inside:
        raise CorpusError(f"{folder}: no dataset, nor a folder with datasets. Check the path.")
    return inside


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    description, _, epilog = (__doc__ or "").partition("\n\n")
    parser = ArgumentParser(
        prog="python -m corpora.diff",
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("old", type=Path, help="a dataset, or a folder with datasets")
    add("new", type=Path, help="another version of it")
    add("--html", type=Path, metavar="FILE", help="write a page")
    add("--json", type=Path, metavar="FILE", help="write all values")
    add(
        "--fail-if",
        nargs="+",
        action="extend",
        default=[],
        metavar="MEASURE=LIMIT",
        help="as documents=-10%% labels.PER=+50%% rejected=x3 links_per_page=off",
    )
    add(
        "--examples",
        type=int,
        default=N_EXAMPLES,
        metavar="N",
        help=f"rows that are listed of each sort (default: {N_EXAMPLES})",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Compare; returns the exit status."""
    arguments = _arguments(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        found = _run(arguments)
    except UsageError as error:
        return _fail(str(error), status=2)
    except CorpusError as error:
        return _fail(str(error), status=1)
    except OSError as error:
        return _fail(f"{error.filename or arguments.new}: {error.strerror or error}.", status=1)
    except KeyboardInterrupt:
        return _fail("interrupted.", status=130)
    exceeded = [f"{of.name}: {why}" for of in found for why in of.exceeded]
    if exceeded:
        return _fail(
            f"{arguments.new}: moved too far. {'. '.join(exceeded)}. Look at the comparison; allow "
            "more with --fail-if MEASURE=LIMIT, or MEASURE=off.",
            status=TOO_FAR,
        )
    return 0


def _run(arguments: argparse.Namespace) -> list["Comparison"]:
    """Compare, and write what is asked for."""
    from corpora.datasets.shards import write_text
    from corpora.diff.limits import Limit
    from corpora.diff.page import to_html
    from corpora.diff.report import to_json, to_words

    if arguments.examples < 0:
        raise UsageError("--examples: must not be negative.")
    given = [Limit.parse(text) for text in arguments.fail_if]
    found = compare_all(arguments.old, arguments.new, given=given, n_examples=arguments.examples)
    if arguments.html:
        page = to_html(found, old=arguments.old.resolve().name, new=arguments.new.resolve().name)
        write_text(arguments.html, [page])
    if arguments.json:
        write_text(arguments.json, [to_json(found)])
    _write(to_words(found))
    _write(f"{name}: only in {arguments.new}" for name in _added(arguments.old, arguments.new))
    return found


def _added(old: Path, new: Path) -> list[str]:
    """The datasets of a run that the old one has not: nothing to compare them with."""
    known = _datasets(old)
    return [] if "" in known else [name for name in _datasets(new) if name not in known]


def _write(lines: Iterable[str]) -> None:
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, *, status: int) -> int:
    sys.stderr.write(f"error: {message}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
