"""Count what the markup of TEI files holds, before the first run, and draft an edition file.

    onoma tei --inspect 'letters/*.xml' --output census

Prints elements and attributes, what the chosen edition makes of each, names inside what is left
out, languages, words before sentence ends, and schemes of ids. ``--output`` also gets these counts
as ``census.html``, and a draft ``edition.toml`` to start from.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.errors import UsageError
from corpora.runs.plan import find_inputs
from corpora.system.arguments import execute, option, parse
from corpora.tei.census import take_census
from corpora.tei.census_tables import to_html, to_words
from corpora.tei.draft import draft_edition
from corpora.tei.edition import SUFFIXES, edition_path, load_edition


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of ``--inspect``."""

    inspect: tuple[str, ...] = option(
        metavar="PATTERN", help="TEI files, folders of them, or glob patterns in quotes, to count"
    )
    exclude: tuple[str, ...] = option(
        (),
        metavar="PATTERN",
        help="glob patterns of files to leave out; names are relative to the folder that all files "
        "share",
    )
    edition: str = option(
        "tei",
        metavar="NAME|FILE",
        help="edition to apply: a built-in name or a TOML file (default: tei)",
    )
    output: Path | None = option(
        None,
        metavar="DIR",
        help="folder to write census.html and a draft edition.toml into (default: only print the "
        "counts)",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Inspect an edition; returns the exit status."""
    options = parse(Options, argv, name="tei", about=__doc__)
    return execute(lambda: _run(options), path=Path(options.inspect[0]))


def _run(options: Options) -> Iterator[str]:
    inputs = find_inputs(
        options.inspect, suffix=SUFFIXES, exclude=options.exclude, option="inspect"
    )
    census = take_census(inputs.items(), load_edition(edition_path(options.edition)))
    yield from to_words(census)
    if not census.kinds:
        content = ", ".join(census.edition.content)
        raise UsageError(
            f"{options.inspect[0]}: no TEI file has the parts that the edition reads ({content}). "
            "content of an edition file names others (docs/editions.md)."
        )
    if options.output is None:
        yield "\nnext  --output DIR writes this as a page, and an edition file to start from"
        return
    options.output.mkdir(parents=True, exist_ok=True)
    first = Path(options.inspect[0]).resolve()
    name = re.sub(r"\W+", "-", (first if first.is_dir() else first.parent).name).strip("-")
    made = {
        "census.html": to_html(census),
        "edition.toml": draft_edition(census, name=name or "edition"),
    }
    for file, text in made.items():
        if (path := options.output / file).exists():
            raise UsageError(f"{path}: is there already. Move it away, or choose another --output.")
        path.write_text(text, "utf-8")
    yield f"\nmade  {options.output}/census.html; {options.output}/edition.toml, to start from"
