"""Draw the logs of pre-training runs on one HTML page, or put scores of taggers into a table.

Examples:
  onoma report runs/neiss runs/neiss_abs --output report.html
  onoma report runs/* --table heads
  onoma report runs/* --table encoders --output table.tex
  onoma report runs/* --rows head.kind optimizer.lr --columns dataset --value token_f1

A table has the scores of all evaluations (evaluation.json) below the folders. --table:
  heads      a row for each head and what it looks up (--augment-lexicon), a column for each data
             set and decoder (NEISS, Table 8)
  encoders   a row for each encoder, a column for each data set (NEISS, Tables 6, 7, 9 and 11;
             DaLUKE, Table 5.3)
  sets       a row for each training set, a column for each test set (DaLUKE, Table 6.17)
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.arguments import SUMMARY, Summary, option, option_table, refuse, say
from corpora.system.staging import beside
from modeling.command import start

_TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "heads": (("head.kind", "gazetteer.source"), ("dataset", "decoder")),
    "encoders": (("encoder",), ("dataset",)),
    "sets": (("trained_on",), ("dataset",)),
}
"""The settings that make up the rows, and the columns, of each named table."""
_SUFFIXES = frozenset({"", ".md", ".tex", ".tsv"})
_table_option = partial(option, group="tables")
_VALUE = "strict_f1"


@option_table
class Options:
    """Options of the command."""

    runs: tuple[Path, ...] = option(
        "folders of runs of onoma pretrain, or, for a table, of evaluated runs",
        positional=True,
        metavar="RUN",
    )
    output: Path | None = option(
        "file to write; a table is .md, .tex (LaTeX) or .tsv (all digits) (default: report.html "
        "in the first folder; for a table, standard output)",
        metavar="FILE",
    )
    table: str | None = _table_option(
        "write a table of this form, described below, in place of a page", choices=tuple(_TABLES)
    )
    rows: tuple[str, ...] = _table_option(
        "settings whose values make the rows of a table of your own, such as head.kind",
        metavar="SETTING",
    )
    columns: tuple[str, ...] = _table_option(
        "with --rows: settings whose values make the columns (default: dataset)", metavar="SETTING"
    )
    value: str | None = _table_option(
        f"score in the cells, by its name or its path in evaluation.json (default: {_VALUE})",
        metavar="SCORE",
    )
    json: bool = option(SUMMARY)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page or the table; return 1 if a run cannot be read, 2 for a wrong command."""

    def report(options: Options) -> Summary:
        _check(options)
        if options.table or options.rows:
            return _write_table(options)
        from modeling.report.page import make_page, read_runs  # noqa: PLC0415 - for --help

        page = make_page(read_runs(options.runs))
        output = options.output or beside(options.runs[0] / "report.html")
        _write(page, output)
        return Summary({"output": str(output), "runs": [str(run) for run in options.runs]})

    return start(Options, argv, report, name="report", about=__doc__)


def _check(options: Options) -> None:
    """Raise ``UsageError`` for an option that would have no effect beside the others."""
    if options.table and options.rows:
        raise UsageError("--table and --rows: one of them; each chooses the rows of the table.")
    is_table = options.table or options.rows
    if is_table and options.output and options.output.suffix not in _SUFFIXES:
        raise UsageError(f"--output {options.output}: a table is .md, .tex or .tsv.")
    if not options.rows:
        refuse(options, "columns", because="is for --rows, which chooses the rows of the table")
    if not is_table:
        refuse(options, "value", because="is for a table. Add --table or --rows")


def _write(text: str, output: Path) -> None:
    from corpora.runs.named_files import write_named  # noqa: PLC0415 - for --help

    write_named(output, [text])
    sys.stderr.write(f"made  {output}\n")


def _write_table(options: Options) -> Summary:
    """Write a table as Markdown to standard output, or to a file: its name says in what form.

    Standard error names the folders without evaluations, such as runs of pre-training.
    """
    from modeling.report.tables import find_evaluations, table  # noqa: PLC0415 - for --help

    rows, columns = _TABLES[options.table or "heads"]
    if options.rows:
        rows, columns = options.rows, options.columns or ("dataset",)
    found, empty = find_evaluations(options.runs)
    if empty:
        sys.stderr.write(f"without evaluations: {', '.join(map(str, empty))}\n")
    made = table(found, rows=rows, columns=columns, value=options.value or _VALUE)
    if options.output is None:
        say(made.to_markdown())
    else:
        form = {".tsv": made.to_tsv, ".tex": made.to_latex}
        _write(form.get(options.output.suffix, made.to_markdown)(), options.output)
    without = [str(folder) for folder in empty]
    return Summary({**made.to_json(), "without_evaluations": without})


if __name__ == "__main__":
    sys.exit(main())
