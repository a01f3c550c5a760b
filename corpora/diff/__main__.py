"""Compare two versions of a dataset, or of all datasets of a run: rows, counts and ratios.

    onoma diff build/dawiki-20261001 build/dawiki-20261101
    onoma diff OLD NEW --html diff.html --json diff.json --fail-if documents=-5%

The exit status is 3 if a measure changed more than its limit allows. The default limits are
documents=-10% (of other datasets: the rows), links_per_page=-20% and rejected=x3.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import check, execute, option, option_table, parse

if TYPE_CHECKING:
    from corpora.diff.comparison import DatasetComparison
    from corpora.diff.limits import Limit

LEFT_OUT = "reuse"
"""The dataset that is not compared: page hashes, by which the next run finds changed pages."""


def compare_all(
    old: Path, new: Path, *, given: Sequence["Limit"] = ()
) -> list["DatasetComparison"]:
    """Compare a dataset with another, or each dataset of a run with the dataset of the same name.

    Raises ``CorpusError`` where there is no dataset or one is missing in ``new``, ``UsageError``
    for a limit on a measure that no dataset can have.
    """
    from corpora.datasets.shards import refuse_versions
    from corpora.diff.comparison import compare
    from corpora.diff.kinds import FAMILIES

    for folder in (old, new):
        refuse_versions(folder)
    found = [
        compare(old / name, new / name, name=name or new.resolve().name, given=given)
        for name in _datasets(old)
    ]
    measures = _measures(found)
    for limit in given:
        family, _, value = limit.measure.partition(".")
        if limit.measure not in measures and not (value and family in FAMILIES):
            known = ", ".join(sorted(m for m in measures if not m.startswith("counters.")))
            raise UsageError(f"--fail-if {limit.measure}: no such measure. There are: {known}.")
    return found


def _measures(found: Sequence["DatasetComparison"]) -> set[str]:
    return {drift.name for of in found for drift in of.drift}


def _datasets(folder: Path) -> list[str]:
    """List the datasets of a folder, relative to it: itself (``""``), or those inside."""
    from corpora.datasets.shards import datasets_in

    datasets = datasets_in(folder)
    if datasets == [folder]:
        return [""]
    inside = [path.name for path in datasets if path.name != LEFT_OUT]
    if not inside:
        raise CorpusError(f"{folder}: no dataset, nor a folder with datasets. Check the path.")
    return inside


@option_table
class Options:
    """Options of the command: the datasets to compare, and the files to write."""

    old: Path = option(
        "folder of the old version: a dataset, or a run with datasets", positional=True
    )
    new: Path = option("folder of the new version", positional=True)
    html: Path | None = option("file to write the comparison to, as a page", metavar="FILE")
    json: Path | None = option(
        "file to write all values of the comparison to, as JSON", metavar="FILE"
    )
    fail_if: tuple[str, ...] = option(
        "how far measures may change, such as documents=-10%% labels.PER=+50%% rejected=x3 "
        "links_per_page=off",
        metavar="MEASURE=LIMIT",
    )


class TooFarError(CorpusError):
    """A measure that moved further than its limit allows."""

    exit_status = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Compare two versions; return the exit status."""
    options = parse(Options, argv, name="diff", about=__doc__)
    return execute(lambda: _run(options), path=options.new)


def _run(options: Options) -> Iterator[str]:
    """Compare, write the requested files, and yield the lines of the comparison."""
    from corpora.diff.limits import Limit
    from corpora.diff.report import to_html, to_json, to_words
    from corpora.runs.named_files import refuse_published, write_named

    for path in filter(None, (options.html, options.json)):
        refuse_published(path)
    check(options)
    old, new = options.old, options.new
    given = [Limit.parse(text) for text in options.fail_if]
    found = compare_all(old, new, given=given)
    if options.html:
        page = to_html(found, old=old.resolve().name, new=new.resolve().name)
        write_named(options.html, [page])
    if options.json:
        write_named(options.json, [to_json(found)])
    yield from to_words(found)
    for measure in sorted({limit.measure for limit in given} - _measures(found)):
        yield f"--fail-if {measure}: neither version has any."
    yield from (f"{name}: only in {new}" for name in _added(old, new))
    if exceeded := [f"{of.name}: {why}" for of in found for why in of.exceeded]:
        raise TooFarError(
            f"{new}: moved too far. {'. '.join(exceeded)}. Look at the comparison; allow more with "
            "--fail-if MEASURE=LIMIT, or MEASURE=off."
        )


def _added(old: Path, new: Path) -> list[str]:
    """List the datasets of the new run that the old run lacks: nothing to compare them with."""
    known = _datasets(old)
    return [] if "" in known else [name for name in _datasets(new) if name not in known]


if __name__ == "__main__":
    sys.exit(main())
