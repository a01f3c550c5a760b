"""One function for each input of ``python -m modeling.predict``."""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch

from corpora.errors import CorpusError
from corpora.ner.labels import label_map_path, load_label_map
from corpora.system.expat_version import warn_of_old_expat
from corpora.tei.edition import edition_path, load_edition
from corpora.text.detection import detect
from corpora.text.encodings import decode
from corpora.text.opening import TextError, read_chunks
from modeling.decoding import check_decoder
from modeling.predict.formats import format_mentions, format_tagged
from modeling.predict.plain_tei import text_with_names
from modeling.predict.words import read_sentences
from modeling.taggers.tagger import Tagger, document_of

log = logging.getLogger(__name__)
_MAX_TEXT = 100_000_000  # bytes of a text that is tagged at once
_ENCODING = {"not_text", "invalid_bytes", "unknown_encoding"}  # reasons of ``TextError``


def _load(arguments: argparse.Namespace) -> Tagger:
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tagger = Tagger.load(arguments.model, device=device)
    if arguments.decoder:
        check_decoder(tagger.model.config.head.kind, arguments.decoder)
    tagger.decoder, tagger.batch_size = arguments.decoder, arguments.batch_size
    if arguments.labels:
        tagger.label_map = load_label_map(label_map_path(arguments.labels))
    return tagger


def predict_text(arguments: argparse.Namespace) -> None:
    """Tag a text, or standard input."""
    text = _read_text(arguments.text)
    document = document_of(text, lang=arguments.lang)
    tagger = _load(arguments)
    if arguments.format == "tei":
        edition = load_edition(edition_path(arguments.edition or "tei"))
        threshold = arguments.threshold
        _write([text_with_names(document, tagger, edition, threshold=threshold)], arguments.output)
        return
    if arguments.format in {"conll", "json"}:
        tagged = tagger.tag_document(document, threshold=arguments.threshold)
        _write(format_tagged(tagged, arguments.format), arguments.output)
        return
    found = tagger.annotate(document, threshold=arguments.threshold)
    _write(format_mentions(found, arguments.format), arguments.output)


def _read_text(name: str) -> str:
    """A file, packed or not, or standard input, in any of the usual encodings."""
    counters = Counter[str]()
    given = [sys.stdin.buffer.read()] if name == "-" else []

    def read() -> Iterable[bytes]:
        return given or read_chunks(Path(name), name=name, max_bytes=_MAX_TEXT)

    try:
        text = "".join(decode(read(), detect(read, name=name), counters))
    except TextError as error:
        if error.reason not in _ENCODING:
            raise
        said = str(error).rpartition(". ")[0]  # the last sentence names options of a pipeline
        raise CorpusError(f"{said}. Save it as UTF-8.") from error
    if counters["bytes.invalid"]:
        log.warning(
            "%s: %d bytes are no text; U+FFFD stands for them", name, counters["bytes.invalid"]
        )
    return text


def predict_conll(arguments: argparse.Namespace) -> None:
    """Tag the words of a file; its own tags are not looked at."""
    sentences = read_sentences(arguments.conll)
    tagged = _load(arguments).tag(sentences, threshold=arguments.threshold)
    form = "conll" if arguments.format == "tsv" else arguments.format
    _write(format_tagged(tagged, form), arguments.output)


def predict_documents(arguments: argparse.Namespace) -> None:
    """Tag a dataset of documents, and write another."""
    from modeling.predict.documents import annotate_dataset  # noqa: PLC0415

    n, counters = annotate_dataset(
        arguments.documents,
        arguments.output,
        tagger=_load(arguments),
        threshold=arguments.threshold,
    )
    for name, count in counters.items():
        sys.stderr.write(f"  {name}: {count:,}\n")
    sys.stderr.write(f"made  {arguments.output} ({n:,} documents)\n")
    sys.stderr.write(f"next  python -m corpora.shards show {arguments.output} --limit 1\n")


def predict_tei(arguments: argparse.Namespace) -> None:
    """Write names into TEI files, take them out again, or list them for review."""
    warn_of_old_expat()
    from modeling.predict.tei import apply_list, enrich, list_candidates, undo_all  # noqa: PLC0415

    if arguments.undo:
        report = undo_all(arguments)
    elif arguments.apply:
        report = apply_list(arguments)
    elif arguments.candidates:
        report = list_candidates(arguments, _load(arguments))
    else:
        report = enrich(arguments, _load(arguments))
    sys.stderr.write(report)


def predict_masked(arguments: argparse.Namespace) -> None:
    """Say what most likely stands behind each [MASK]."""
    from modeling.predict.masked import Guesser, parse_spans  # noqa: PLC0415

    guesser = Guesser.load(arguments.model)
    spans = parse_spans(arguments.entities)
    _write(guesser.tell(arguments.masked, spans, top=arguments.top), arguments.output)


def _write(lines: Iterable[str], output: Path | None) -> None:
    """To a file, which appears when it is whole, or to standard output; all, or nothing."""
    made = list(lines)
    if output is None:
        sys.stdout.writelines(made)
        return
    if output.is_dir():
        raise CorpusError(f"--output {output}: is a folder; name a file.")
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{output.name}.partial")
    temporary.unlink(missing_ok=True)  # of a process that was killed
    with temporary.open("x", encoding="utf-8", newline="\n") as stream:
        stream.writelines(made)
    temporary.rename(output)
