"""Convert published sets of linked names to documents: HIPE-2022, AIDA-CoNLL, or TAC-KBP.

    onoma linked HIPE-2022-v2.1-ajmc-train-de.tsv --output build/ajmc
    onoma linked AIDA-YAGO2-dataset.tsv --ids '[0-9]+testb ' --output build/testb
    onoma linked mentions.tab --texts source --output build/tac

The names of a document have their entity (``wikidata:Q64``, ``enwiki:Berlin``, ``tac:E0001``), or
none where the set says NIL. Names that nobody was asked to link (``_`` in HIPE) are left out and
counted. ``onoma link`` trains on these documents, and is evaluated on them.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import unquote

from corpora.document import Document, Mention, Span, without_crossing
from corpora.errors import CorpusError, UsageError
from corpora.reports import counted
from corpora.runs.build import hold
from corpora.runs.plan import InputFile, Plan, Unit, describe_file, find_inputs
from corpora.system.arguments import SUMMARY, Summary, execute, option, option_table, parse
from corpora.system.files import is_plain
from corpora.tagging import IOB2_TAG, from_iob2

_HIPE, _AIDA = "TOKEN\t", "-DOCSTART-"
_SENSES: Final = {"literal": "LIT", "metonymic": "METO"}
_FACT: Final = re.compile(r"#\s*(\w+):(\w+)\s*=\s*(.*?)\s*")
_PLACE: Final = re.compile(r"(.+):(\d+)-(\d+)")
_UNKNOWN: Final = {"NIL", "--NME--"}
_NO_CLASS: Final = "name"  # a label in tags only: AIDA has no classes


@option_table
class Options:
    """Options of the command."""

    input: tuple[str, ...] = option(
        "files of a published set, folders of them, or glob patterns in quotes",
        positional=True,
        metavar="FILE",
        nargs="+",
    )
    output: Path = option("folder to write the dataset of documents into")
    sense: Literal["literal", "metonymic"] = option(
        "for HIPE: which names and links to read, columns LIT or METO (default: literal)", "literal"
    )
    ids: str | None = option(
        "keep only documents whose id matches this regular expression from its beginning "
        "(default: all)",
        metavar="REGEX",
    )
    texts: Path | None = option(
        "for TAC-KBP: folder of the texts, in files named after the documents"
    )
    json: bool = option(SUMMARY)


class Token(NamedTuple):
    """A line of a table: a token, its tag, and what it is linked to."""

    text: str
    tag: str = "O"
    """The tag in IOB2."""
    link: str = "_"
    """The link in the set: an id, NIL, or ``_`` for none."""
    has_blank: bool = True
    """Whether a blank comes after it."""
    ends_sentence: bool = False


@dataclass
class TableDocument:
    """A document, while the lines of its table are read."""

    id: str = ""
    tokens: list[Token] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)

    def document(self, source: str, counters: Counter[str]) -> Document:
        """Join the tokens to a document; no sentence ends inside a name."""
        starts, parts = [0], []
        for token in self.tokens:
            parts.append(token.text + " " * token.has_blank)
            starts.append(starts[-1] + len(parts[-1]))
        ends = [start + len(t.text) for start, t in zip(starts, self.tokens, strict=False)]
        mentions = []
        for span in from_iob2([token.tag for token in self.tokens], strict=False):
            link = self.tokens[span.start].link
            label = None if span.label == _NO_CLASS else span.label
            start, end = starts[span.start], ends[span.end - 1]
            if mention := _named(start, end, label=label, link=link, counters=counters):
                mentions.append(mention)
        return Document(
            id=self.id,
            group=self.facts.get("dataset", Path(source).stem),
            source=source,
            text="".join(parts),
            lang=self.facts.get("language"),
            license=self.facts.get("license") or self.facts.get("original_license"),
            sentences=tuple(self._sentences(starts, ends)),
            mentions=tuple(mentions),
            metadata=self.facts,
        )

    def _sentences(self, starts: Sequence[int], ends: Sequence[int]) -> Iterator[Span]:
        begin = 0
        for number, token in enumerate(self.tokens):
            rest = self.tokens[number + 1 :][:1]
            if not rest or (token.ends_sentence and rest[0].tag[0] != "I"):
                yield Span(starts[begin], ends[number])
                begin = number + 1


def _named(
    start: int, end: int, *, label: str | None, link: str, counters: Counter[str]
) -> Mention | None:
    """Build the mention of a name; None if it was not to be linked. Also counts the case."""
    if link == "_":
        counters["names.nobody was asked to link"] += 1
        return None
    counters["names.NIL" if link in _UNKNOWN else "names.with an entity"] += 1
    return Mention(start, end, entity=None if link in _UNKNOWN else link, label=label)


def read_hipe(lines: Iterable[str], source: str, *, sense: str) -> Iterator[TableDocument]:
    """Read a table of HIPE-2022; ``#`` lines describe the document after them."""
    columns: list[str] = []
    table = TableDocument()
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        if cells[0] == "TOKEN":
            columns = cells
            missing = {f"NE-COARSE-{_SENSES[sense]}", f"NEL-{_SENSES[sense]}", "MISC"} - {*cells}
            if missing:
                raise CorpusError(f"{source}:{number}: there is no column {', '.join(missing)}.")
        elif len(cells) == 1 and (not line or line[0] == "#"):
            if table.tokens:
                yield table
                table = TableDocument()
            if fact := _FACT.fullmatch(line):
                table.facts[fact[2]] = fact[3]
            table.id = table.facts.get("document_id", f"{source}:{number}")
        elif len(cells) != len(columns):
            raise CorpusError(
                f"{source}:{number}: {counted(len(cells), 'column')}, not {len(columns)}. Write "
                "one tab between two columns."
            )
        else:
            row = dict(zip(columns, cells, strict=True))
            table.tokens.append(_token_of_hipe(row, sense, where=f"{source}:{number}"))
    yield table


def _token_of_hipe(row: Mapping[str, str], sense: str, *, where: str) -> Token:
    kind, misc = _SENSES[sense], row["MISC"].split("|")
    # the first candidate is the best
    tag, link = row[f"NE-COARSE-{kind}"], row[f"NEL-{kind}"].split("|")[0]
    tag = "O" if tag in {"_", ""} else tag
    if not IOB2_TAG.fullmatch(tag):
        raise CorpusError(f"{where}: {tag!r} is no IOB2 tag. Use O, B-label or I-label.")
    return Token(
        text=row["TOKEN"],
        tag=tag,
        link=link if link in {"_", *_UNKNOWN} else f"wikidata:{link}",
        has_blank="NoSpaceAfter" not in misc or "EndOfLine" in misc,
        ends_sentence="EndOfSentence" in misc,
    )


def read_aida(lines: Iterable[str], source: str) -> Iterator[TableDocument]:
    """Read AIDA-CoNLL: ``-DOCSTART- (ID)``, and columns token, B or I, name, entity, URL, ….

    A name without a page has ``--NME--``; entities are titles of the English Wikipedia.
    """
    table = TableDocument()
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        if line.startswith(_AIDA):
            yield table
            name = line.removeprefix(_AIDA).strip().removeprefix("(").removesuffix(")")
            table = TableDocument(id=name or f"{source}:{number}")
        elif not line:
            table.tokens[-1:] = [token._replace(ends_sentence=True) for token in table.tokens[-1:]]
        elif len(cells) == 1:
            table.tokens.append(Token(line))
        elif len(cells) < 4 or cells[1] not in {"B", "I"}:
            raise CorpusError(f"{source}:{number}: expected token, B or I, name, and entity.")
        else:
            title = cells[4] if len(cells) > 4 else cells[3]
            title = unquote(title.rpartition("/wiki/")[2]).replace("_", " ")
            link = cells[3] if cells[3] in _UNKNOWN else f"enwiki:{title}"
            table.tokens.append(Token(cells[0], f"{cells[1]}-{_NO_CLASS}", link))
    yield table


def read_tac(
    lines: Iterable[str], source: str, counters: Counter[str], *, texts: Path | None
) -> Iterator[Document]:
    """Read names of TAC-KBP: run, id, name, ``DOCUMENT:FIRST-LAST``, E… or NIL…, class, ….

    Offsets count characters of the document's file, which is taken as it is, with its markup.
    """
    if texts is None:
        raise UsageError(f"{source}: its texts are in other files: name their folder with --texts.")
    rows: dict[str, list[tuple[int, list[str], int, int]]] = {}
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        place = _PLACE.fullmatch(cells[3]) if len(cells) > 5 else None
        if place:
            one = (number, cells, int(place[2]), int(place[3]) + 1)
            rows.setdefault(place[1], []).append(one)
        elif line:
            raise CorpusError(f"{source}:{number}: no DOCUMENT:FIRST-LAST in the fourth column.")
    for id, own in rows.items():
        text, mentions = _text_of(id, texts), []
        for number, cells, start, end in own:
            if text[start:end].split() != cells[2].split():
                raise CorpusError(
                    f"{source}:{number}: {cells[2]!r}, but {id} has {text[start:end]!r} there."
                )
            link = "NIL" if cells[4].startswith("NIL") else f"tac:{cells[4]}"
            mention = _named(start, end, label=cells[5], link=link, counters=counters)
            mentions += [mention] if mention else []
        nested, crossing = without_crossing(mentions)
        counters["names.crossing another"] += len(crossing)
        group = Path(source).stem
        yield Document(id=id, group=group, source=source, text=text, mentions=tuple(nested))


def _text_of(id: str, folder: Path) -> str:
    candidates = [folder / id, *sorted(folder.glob(f"{escape(id)}.*"))] if is_plain(id) else []
    for path in filter(Path.is_file, candidates):
        try:
            with path.open(encoding="utf-8", newline="") as file:
                return file.read()
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}: not UTF-8 ({error.reason}). Convert it.") from error
    raise CorpusError(f"{folder}: has no file {id}, nor {id}.*, which a name stands in.")


def read_linked(
    path: Path, source: str, counters: Counter[str], *, sense: str, texts: Path | None
) -> Iterator[Document]:
    """Read a file in the format that its beginning shows; raises ``CorpusError``."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 ({error.reason}). Convert it.") from error
    first = next(filter(None, lines), "")
    if len(cells := first.split("\t")) > 5 and _PLACE.fullmatch(cells[3]):
        return read_tac(lines, source, counters, texts=texts)
    if first.startswith(_HIPE):
        tables = read_hipe(lines, source, sense=sense)
    elif first.startswith(_AIDA):
        tables = read_aida(lines, source)
    else:
        raise UsageError(
            f"{path}: no table of HIPE-2022 (TOKEN …), no AIDA-CoNLL (-DOCSTART- …), and no names "
            "of TAC-KBP (DOCUMENT:FIRST-LAST in the fourth column)."
        )
    return (table.document(source, counters) for table in tables if table.tokens)


# --- the command


def main(argv: Sequence[str] | None = None) -> int:
    """Write the dataset; 0, or 1 for an error, 2 for a wrong command."""
    options = parse(Options, argv, name="linked", about=__doc__)
    return execute(lambda: _run(options), path=options.output, as_json=options.json)


def _run(options: Options) -> Iterator[str | Summary]:
    try:
        re.compile(options.ids or "")
    except re.error as error:
        raise UsageError(f"--ids {options.ids}: {error}.") from error
    files = find_inputs(options.input)
    texts = sorted(p for p in options.texts.rglob("*") if p.is_file()) if options.texts else []
    settings: dict[str, object] = {"sense": options.sense, "ids": options.ids}
    plan = Plan(
        pipeline="linked",
        datasets={"": "documents"},
        parameters=settings,
        units=tuple(
            Unit(number, (describe_file(name, path),), {}, settings)
            for number, (name, path) in enumerate(files.items())
        ),
        auxiliary={path.name: describe_file(path.name, path) for path in texts},
    )
    with hold(options.output, plan) as build:
        if not build.is_published():
            for unit in build.pending():
                counters, filtered = Counter[str](), Counter[str]()
                documents = _asked(unit.inputs[0], options, counters=counters, filtered=filtered)
                build.write_documents(unit, documents, counters=counters, filtered=filtered)
            build.check_ids()
            build.publish()
        account, totals = build.published_account()
    left = f", {account.n_filtered:,} left out by --ids" if options.ids else ""
    yield f"read  {counted(account.read, 'document')}, {account.written:,} written{left}"
    yield from (f"  {name}: {n:,}" for name, n in sorted(totals.items()))
    yield f"made  {options.output}"
    yield f"next  onoma link evaluate {options.output} --output …"
    summary = {"output": str(options.output), "read": account.read, "written": account.written}
    yield Summary(summary | {"filtered": dict(account.filtered), "counters": dict(totals)})


def _asked(
    file: InputFile, options: Options, *, counters: Counter[str], filtered: Counter[str]
) -> Iterator[Document]:
    """Read the documents of a file that are asked for; count what they have, and the others."""
    is_asked = re.compile(options.ids or "").match
    counted_here: Counter[str] = Counter()  # of one document
    for document in read_linked(
        file.check(), file.name, counted_here, sense=options.sense, texts=options.texts
    ):
        if is_asked(document.id):
            counters.update(counted_here)
            yield document
        else:
            filtered["other_id"] += 1
        counted_here.clear()


if __name__ == "__main__":
    sys.exit(main())
