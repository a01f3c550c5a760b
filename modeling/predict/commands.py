"""One function for each input of ``onoma predict``."""

import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corpora.datasets.rows import sentence_from_row
from corpora.document import Document, Mention, Rejected, Sentence, TokenSpan
from corpora.errors import CorpusError, UsageError
from corpora.ner.detection import Overrides
from corpora.ner.exchange import FORMS, write_new
from corpora.ner.exports import lines_of
from corpora.ner.files import MAX_BYTES, FilePart, describe, read_file
from corpora.ner.sentence_rows import RowMaker
from corpora.reports import counted
from corpora.runs.named_files import write_named
from corpora.system.arguments import Summary, say
from corpora.system.cells import cell_of
from corpora.system.expat_version import warn_of_old_expat
from corpora.tagging import to_iob2
from corpora.tei.edition import edition_path, load_edition
from corpora.text.detection import detect
from corpora.text.encodings import decode
from corpora.text.opening import TextError, read_chunks
from modeling.data.predictions import Tagged, outermost
from modeling.predict import tei

if TYPE_CHECKING:  # torch is only loaded with a tagger
    from modeling.predict.__main__ import Options
    from modeling.taggers.tagger import Tagger

log = logging.getLogger(__name__)
_MAX_TEXT: Final = 100_000_000  # bytes; a text is tagged as a whole
_ENCODING: Final = {"not_text", "invalid_bytes", "unknown_encoding"}  # reasons of ``TextError``
_BLANKS: Final = " \t"
_WORDS_ALONE: Final = "Give words alone: one a line, and an empty line between sentences."


def _load(options: "Options") -> "Tagger":
    from modeling.predict.loading import load_tagger  # noqa: PLC0415

    assert options.model is not None  # noqa: S101 - the command line asks for it
    return load_tagger(options.model, labels=options.labels)


def predict_text(options: "Options") -> Summary:
    """Tag a text file or standard input."""
    from modeling.taggers.tagger import document_of  # noqa: PLC0415

    _check_output(options.text, options.output)
    document = document_of(_read_text(options.text), lang=options.lang)
    tagger, form, threshold = _load(options), options.format, options.threshold or 0.0
    lines: Iterable[str]
    if form == "tei":
        edition = load_edition(edition_path(options.edition or "tei"))
        written = tei.text_with_names(document, tagger, edition, threshold=threshold)
        n, lines = written.written, [written.data.decode()]
    elif form in {"conll", "json"}:
        tagged = tagger.tag_document(document, threshold=threshold)
        n, lines = _count(tagged), format_tagged(tagged, form)
    else:
        found = tagger.annotate(document, threshold=threshold)
        n = len(found.mentions)
        if form in FORMS:
            assert options.output is not None  # noqa: S101 - the command line asks for it
            write_new(found, form, options.output)
            return Summary({"output": str(options.output), "names": n})
        lines = format_mentions(found, form)
    _write(lines, options.output)
    return Summary({"output": str(options.output), "names": n})


def _count(tagged: Iterable[Tagged]) -> int:
    return sum(len(one.spans) for one in tagged)


def _read_text(name: str) -> str:
    """Read a file, packed or not, or standard input, in any of the usual encodings.

    Bytes that are invalid become U+FFFD, with a warning. Raises ``CorpusError`` for no such file.
    """
    if name != "-" and not os.path.exists(name):  # noqa: PTH110 - a sentence is too long a name
        raise CorpusError(
            f"--text {name[:60]}: no such file. Text itself is given by --text - (standard input)."
        )
    counters = Counter[str]()
    given = [sys.stdin.buffer.read()] if name == "-" else []

    def read() -> Iterable[bytes]:
        return given or read_chunks(Path(name), name=name, max_bytes=_MAX_TEXT)

    text = _decoded(read, name, counters)
    if n := counters["bytes.invalid"]:
        log.warning("%s: %d bytes are no text; U+FFFD stands for them", name, n)
    return text


def _decoded(read: Callable[[], Iterable[bytes]], name: str, counters: Counter[str]) -> str:
    try:
        return "".join(decode(read(), detect(read, name=name), counters))
    except TextError as error:
        if error.reason not in _ENCODING:
            raise
        raise CorpusError(f"{_without_remedy(error)} Save it as UTF-8.") from error


def _without_remedy(error: CorpusError) -> str:
    """Return the message of an error without its last sentence, which names pipeline options."""
    return f"{str(error).rpartition('. ')[0]}."


def predict_conll(options: "Options") -> Summary:
    """Tag the words of a file; tags in the file are ignored."""
    _check_output(options.conll, options.output)
    sentences = list(_read_sentences(options.conll))
    tagged = _load(options).tag(sentences, threshold=options.threshold or 0.0)
    form = "conll" if options.format == "tsv" else options.format
    _write(format_tagged(tagged, form), options.output)
    about = {"output": str(options.output), "sentences": len(tagged), "names": _count(tagged)}
    return Summary(about)


def predict_documents(options: "Options") -> Summary:
    """Tag a dataset of documents, and write another dataset."""
    from modeling.predict.documents import annotate_dataset  # noqa: PLC0415

    n, counters = annotate_dataset(
        options.documents, options.output, tagger=_load(options), threshold=options.threshold or 0.0
    )
    sys.stderr.writelines(f"  {name}: {count:,}\n" for name, count in counters.items())
    sys.stderr.write(f"made  {options.output} ({counted(n, 'document')})\n")
    sys.stderr.write(f"next  onoma show {options.output} --limit 1\n")
    return Summary({"output": str(options.output), "written": n, "counters": dict(counters)})


def predict_tei(options: "Options") -> Summary:
    """Write names into TEI files, take them out again, or list them for review."""
    warn_of_old_expat()
    if options.undo:
        return tei.undo_all(options)
    if options.apply:
        return tei.apply_list(options)
    if options.from_:
        return tei.take_corrected(options)
    tagger = _load(options) if options.model else None
    return (tei.list_candidates if options.candidates else tei.enrich)(options, tagger)


def predict_masked(options: "Options") -> Summary:
    """Predict the likeliest subwords for each [MASK], and the likeliest entities for spans."""
    from modeling.predict.masked import Guesser, parse_spans  # noqa: PLC0415

    assert options.model is not None  # noqa: S101 - the command line asks for it
    guesser, spans = Guesser.load(options.model), parse_spans(options.entities)
    _write(guesser.describe(options.masked, spans), options.output)
    return Summary({"output": str(options.output)})


def _write(lines: Iterable[str], output: Path | None) -> None:
    """Write all lines to a file, which appears when it is complete, or to standard output.

    Nothing is written if making the lines fails.
    """
    made = "".join(lines)
    if output is None:
        say(made)
    elif output.is_dir():
        raise CorpusError(f"--output {output}: is a folder; name a file.")
    else:
        write_named(output, [made])


def _check_output(read: str | Path, output: Path | None) -> None:
    """Raise ``UsageError`` if the output is the file that is read."""
    is_there = os.path.exists(read)  # noqa: PTH110 - as in ``_read_text``
    if is_there and output is not None and output.exists() and output.samefile(read):
        raise UsageError(f"--output {output}: is the file that is read. Name another.")


def format_mentions(document: Document, form: str) -> Iterator[str]:
    """Format the mentions of a text as lines: TSV with a header, or JSONL, an object each."""
    if form == "tsv":
        yield "start\tend\tlabel\tprobability\ttext\n"
    for mention in document.mentions:
        surface = document.text[mention.start : mention.end]
        if form == "tsv":
            label, score = cell_of(mention.label or ""), f"{mention.score:.4f}"
            yield f"{mention.start}\t{mention.end}\t{label}\t{score}\t{cell_of(surface)}\n"
        else:
            yield json.dumps(_values(mention, mention.score, surface), ensure_ascii=False) + "\n"


def format_tagged(tagged: Iterable[Tagged], form: str) -> Iterator[str]:
    """Format sentences with the tags that were found, as lines.

    ``conll``: ``word tag``; ``json``: lists of pairs, as ``onoma tei`` writes them; ``jsonl``: an
    object each, with the probabilities of the spans.
    """
    lines: list[str] = []
    for one in tagged:
        words = one.sentence.tokens
        tags = to_iob2(outermost(one.spans), len(words))
        if form == "conll":
            yield lines_of((words, tags), one.sentence.id, is_first=not lines)
        spans = [_values(s, s.probability, " ".join(words[s.start : s.end])) for s in one.spans]
        values = {"id": one.sentence.id, "tokens": words, "spans": spans}
        line = list(zip(words, tags, strict=True)) if form == "json" else values
        lines.append(json.dumps(line, ensure_ascii=False))
    if form == "json":
        yield "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"
    elif form == "jsonl":
        yield from (f"{line}\n" for line in lines)


def _values(span: Mention | TokenSpan, probability: float | None, text: str) -> dict[str, object]:
    place = {"start": span.start, "end": span.end, "label": span.label}
    return {**place, "probability": probability, "text": text}


def _read_sentences(path: Path) -> Iterator[Sentence]:
    """Read a file in any form that ``onoma benchmark`` knows, or a file of words alone.

    Raises ``CorpusError`` for anything that cannot be read; no sentence is left out.
    """
    if _has_words_alone(path):
        yield from _read_words(path)
        return
    try:
        layout = describe(path, name=path.name, overrides=Overrides(None, None, None, None))
    except UsageError as error:
        if "--" not in str(error):
            raise
        raise UsageError(f"{_without_remedy(error)} {_WORDS_ALONE}") from error
    maker = RowMaker(split="test")
    for found, origin in read_file(path, layout, name=path.name, part=FilePart()):
        if isinstance(found, Rejected):
            raise CorpusError(found.message)
        made = maker.make(found, layout, origin)
        if made.rejected:
            raise CorpusError(made.rejected[0].message)
        for batch in made.batches:
            yield from map(sentence_from_row, batch.to_pylist())


def _lines(path: Path) -> Iterator[str]:
    def read() -> Iterator[bytes]:
        return read_chunks(path, name=path.name, max_bytes=MAX_BYTES)

    text = _decoded(read, path.name, Counter())
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (line.strip(_BLANKS) for line in lines)


def _has_words_alone(path: Path) -> bool:
    """Tell whether no line has columns; other white space, as in ``10 000``, is part of a word."""
    if path.read_bytes()[:4] == b"PAR1":
        return False
    return not any(blank in line for line in _lines(path) for blank in _BLANKS)


def _read_words(path: Path) -> Iterator[Sentence]:
    blocks = groupby(_lines(path), key=bool)
    words = (tuple(block) for is_sentence, block in blocks if is_sentence)
    for number, tokens in enumerate(words, 1):
        id, tags = f"{path.name}#{number}", ("O",) * len(tokens)
        yield Sentence(id=id, document_id=path.name, split="test", tokens=tokens, tags=tags)
