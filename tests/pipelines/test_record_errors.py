"""An error of ours in one record: the record is rejected, all others are as without it."""

import errno
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from corpora.document import Document, Mention, Span
from corpora.entities import counts as entity_counts
from corpora.errors import InputChangedError
from corpora.examples import maker as examples
from corpora.lexicon import stages as lexicon_stages
from corpora.matching.form_table import FormTable
from corpora.ner import readers, sentence_rows
from corpora.news import near_duplicates, pages, reading, rows
from corpora.tei import reader as tei_reader
from corpora.text import documents as text_documents
from corpora.text import json_lines, wikiextractor_output
from corpora.tokenization import word_counts
from corpora.tokenization.tokenizers import SPECIALS
from corpora.wikipedia import articles, resolution
from corpora.wikipedia import pages as wiki_pages
from pipelines import (
    augment_mentions,
    benchmark_to_ner,
    documents_to_entity_vocab,
    documents_to_examples,
    documents_to_lexicon,
    documents_to_tokenizer,
    news_to_documents,
    tei_to_ner,
    text_to_documents,
    wikipedia_to_documents,
)
from pipelines.transforms import tei as transforms
from pipelines.transforms import text as text_transforms
from tests.corpora.news.archive_samples import PAGE, plain, warc_record
from tests.datasets import write_dataset

pytestmark = pytest.mark.usefixtures("without_runner")

BAD = "Kaputt"
"""What stands in the record that cannot be read."""
WORDS = ("Jena", "Weimar", "Gotha", BAD)  # the last: places of the others stay
TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><text><body><p>Der Ort
<placeName>{0}</placeName> ist eine Stadt.</p></body></text></TEI>"""
WIKI = """<mediawiki><siteinfo><dbname>kleinwiki</dbname></siteinfo>
{0}</mediawiki>"""
WIKI_PAGE = """<page><title>{0}</title><ns>0</ns><id>{1}</id><revision><id>{1}</id>
<text>{0} ist eine Stadt. [[{0}|Hier]] wohnt man, in {0} also.</text></revision></page>
"""
HTML = """<html><head><title>{0} baut</title></head><body><article><h1>{0} baut</h1>
<p>{1}</p><p>{2}</p></article></body></html>"""


class OursError(Exception):
    """What nobody has thought of."""


@pytest.fixture
def breaks(monkeypatch):
    """Let a function of ours raise where the bad record is in its arguments, as ``shown``."""

    def patch(owner, name, *, shown=repr, error=OursError):
        function = getattr(owner, name)

        def broken(*args, **kwargs):
            if BAD in shown(args):
                raise error("at 0x7f33: what nobody has\nthought of")
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, broken)

    return patch


def document(word):
    text = f"Der Ort {word} ist schön. Der Ort {word} ist alt."
    return Document(
        id=f"x:{word}",
        group="x",
        source="s.txt",
        lang="de",
        title=word,
        text=text,
        sentences=(Span(0, text.index(".") + 1), Span(text.index(".") + 2, len(text))),
        mentions=(Mention(8, 8 + len(word), entity=f"x:{word}", origin="link"),),
    )


def article(word):
    first = (
        f"In {word} wurde am Montag der Grundstein für eine neue Brücke gelegt, sagte die Stadt. "
    )
    second = f"Wie {word} mitteilte, soll der Bau zwei Jahre dauern und elf Millionen Euro kosten. "
    return HTML.format(word, first * 2, second * 2)


def write_files(folder, suffix, text_of, words):
    folder.mkdir(parents=True)
    for word in words:
        (folder / f"{word}.{suffix}").write_text(text_of(word), "utf-8")
    return folder


def write_lines(folder, name, lines, words):
    folder.mkdir(parents=True)
    text = "".join(lines(word) for word in words)
    (folder / name).write_text(text, "utf-8", newline="\n")
    return folder / name


def wiki_of(folder, words):
    folder.mkdir(parents=True)
    made = "".join(WIKI_PAGE.format(word, WORDS.index(word) + 1) for word in words)
    (folder / "dump.xml").write_text(WIKI.format(made), "utf-8")
    return folder / "dump.xml"


def archive_of(folder, words):
    folder.mkdir(parents=True)
    made = [
        warc_record("response", PAGE + article(w).encode(), url=f"http://{w}.example/a")
        for w in words
    ]
    (folder / "a.warc").write_bytes(plain(made))
    return folder / "a.warc"


def documents_of(folder, words):
    return write_dataset(folder, [document(word) for word in words])


def run_tei(folder, output, words):
    files = write_files(folder, "xml", TEI.format, words)
    command = ["--input", f"{files}/*.xml", "--split", "sentence", "--output", str(output)]
    return tei_to_ner.main(command)


def run_wiki(folder, output, words):
    command = ["--input", str(wiki_of(folder, words)), "--lang", "de", "--output", str(output)]
    return wikipedia_to_documents.main(command)


def run_pages(folder, output, words):
    files = write_files(folder, "html", article, words)
    return news_to_documents.main(["--html", f"{files}/*.html", "--output", str(output)])


def run_archive(folder, output, words):
    archive = archive_of(folder, words)
    return news_to_documents.main(["--warc", str(archive), "--output", str(output)])


def run_text(folder, output, words):
    files = write_files(folder, "txt", "{} ist eine Stadt.\n".format, words)
    return text_to_documents.main(["--input", f"{files}/*.txt", "--output", str(output)])


def run_json(folder, output, words):
    def line(word):
        return json.dumps({"id": word, "text": f"{word} ist eine Stadt."}) + "\n"

    made = write_lines(folder, "a.jsonl", line, words)
    return text_to_documents.main(["--input", str(made), "--output", str(output)])


def run_docs(folder, output, words):
    form = '<doc id="{0}" url="u" title="{0}">\n{0}\n\nist eine Stadt.\n</doc>\n'
    made = write_lines(folder, "wiki_00", form.format, words)
    return text_to_documents.main(["--input", str(made), "--output", str(output)])


def run_ner(folder, output, words, *options):
    files = write_files(folder, "conll", "In O\n{} B-LOC\n. O\n\n".format, words)
    command = ["--input", f"{files}/*.conll", *options]
    return benchmark_to_ner.main([*command, "--output", str(output)])


def run_augment(folder, output, words, *options):
    made = documents_of(folder, words)
    (folder / "forms.tsv").write_text("Ort\tx:Ort\nalt\tx:alt\n", "utf-8")
    command = ["--input", str(made), "--forms", str(folder / "forms.tsv")]
    return augment_mentions.main([*command, "--output", str(output), *options])


def run_on_documents(pipeline, *options, folder, output, words):
    made = documents_of(folder, words)
    return pipeline.main(["--input", str(made), "--output", str(output), *options])


def run_examples(folder, output, words):
    vocab = folder.parent.parent / "vocab.txt"
    vocab.write_text("\n".join((*SPECIALS, "Der", "Ort", "##er")), "utf-8")
    options = ["--tokenizer", str(vocab), "--validation", "0"]
    return on_documents(documents_to_examples, *options)(folder, output, words)


def on_documents(pipeline, *options):
    return lambda folder, output, words: run_on_documents(
        pipeline, *options, folder=folder, output=output, words=words
    )


def run_tokenizer(folder, output, words):
    return run_on_documents(documents_to_tokenizer, folder=folder, output=output, words=words)


def run_lexicon(folder, output, words):
    options = ("--min-count", "2")
    return on_documents(documents_to_lexicon, *options)(folder, output, words)


def run_vocabulary(folder, output, words):
    return run_on_documents(documents_to_entity_vocab, folder=folder, output=output, words=words)


def beyond_head(args):
    """Show what is read of a file, but nothing where only its layout is sought."""
    data, _, origin = args
    return "" if origin.source == "head" else repr(data)


CASES = {
    "tei, the XML": (run_tei, tei_reader, "parse_xml", repr),
    "tei, the sentences": (run_tei, transforms, "to_sentences", repr),
    "wiki, the XML": (run_wiki, wiki_pages, "_PageReader", repr),
    "wiki, the wikitext": (run_wiki, articles, "find_redirect", repr),
    "wiki, the titles": (run_wiki, resolution, "_count_words", repr),
    "saved page": (run_pages, reading, "decode", repr),
    "saved page, cleaned": (run_pages, rows.RowCleaner, "_kept", repr),
    "saved page, the sentences": (run_pages, rows, "_sentences", repr),
    "saved page, compared": (run_pages, near_duplicates, "signature_row", repr),
    "archive, the answer": (run_archive, pages, "parse_answer", repr),
    "archive, the page": (run_archive, rows, "decide", repr),
    "text": (run_text, text_documents, "find_sentences", repr),
    "JSON Lines": (run_json, json_lines, "_parse", repr),
    "WikiExtractor's output": (run_docs, wikiextractor_output, "unescape", repr),
    "ner, the file": (run_ner, readers, "read_columns", beyond_head),
    "ner, the rows": (run_ner, sentence_rows, "cut_long", lambda a: repr(a[0].tokens)),
    "augmented": (run_augment, FormTable, "find", repr),
    "augmented, forms that begin words": (
        lambda *args: run_augment(*args, "--right", "prefix"),
        FormTable,
        "find",
        repr,
    ),
    "examples": (run_examples, examples, "encode", lambda a: repr(a[0].texts)),
    "vocabulary, mentions": (
        on_documents(documents_to_entity_vocab, "--link-probability", "off"),
        entity_counts,
        "_surfaces",
        repr,
    ),
    "vocabulary, mentions, forms sought": (run_vocabulary, entity_counts, "_surfaces", repr),
    "tokenizer": (run_tokenizer, word_counts.WordCounter, "add", repr),
    "lexicon": (run_lexicon, lexicon_stages, "word_stream", repr),
}


def datasets_of(output):
    """Return the rows of each dataset that a run has published."""
    folders = sorted(path.parent for path in output.rglob("dataset.json"))
    return {folder.relative_to(output): list(open_dataset(folder).rows()) for folder in folders}


def describe(output):
    return json.loads(next(iter(sorted(output.rglob("dataset.json")))).read_text("utf-8"))


def rejected_of(output):
    lines = next(iter(sorted(output.rglob("rejected.jsonl")))).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("case", CASES)
def test_an_error_in_one_record_rejects_it_and_changes_no_other(breaks, tmp_path, case):
    run, owner, name, shown = CASES[case]
    good = [word for word in WORDS if word != BAD]
    assert run(tmp_path / "without" / "in", tmp_path / "expected", good) == 0
    breaks(owner, name, shown=shown)

    assert run(tmp_path / "with" / "in", tmp_path / "out", WORDS) == 0

    account = describe(tmp_path / "out")["accounting"]
    assert datasets_of(tmp_path / "out") == datasets_of(tmp_path / "expected")
    assert account["rejected"] == {"internal_error": 1}
    assert account["read"] == account["written"] + 1 == len(WORDS)


def test_an_earlier_document_that_cannot_be_read_is_rejected_alone(breaks, tmp_path):
    words = (BAD, *WORDS[:2])  # the first: places of the others stay
    assert run_pages(tmp_path / "old", tmp_path / "earlier", words) == 0
    files = write_files(tmp_path / "in", "html", article, WORDS[:3])
    breaks(near_duplicates, "signature_row")
    command = ["--html", f"{files}/*.html", "--previous", str(tmp_path / "earlier")]

    assert news_to_documents.main([*command, "--output", str(tmp_path / "out")]) == 0

    account = describe(tmp_path / "out")["accounting"]
    assert [row["id"] for row in datasets_of(tmp_path / "out")[Path()]] == [f"{WORDS[2]}.html"]
    assert account["filtered"] == {"exact_duplicate": 2}
    assert (account["read"], account["rejected"]) == (4, {"internal_error": 1})
    assert rejected_of(tmp_path / "out")[0]["source"] == f"{BAD}.html"


@pytest.mark.parametrize("fails_before", [False, True])
def test_a_document_whose_forms_cannot_be_sought_is_rejected_once(breaks, tmp_path, fails_before):
    breaks(FormTable, "find")
    if fails_before:  # in the phase before, too
        breaks(entity_counts, "_surfaces")

    assert run_vocabulary(tmp_path / "in", tmp_path / "out", WORDS) == 0

    account = describe(tmp_path / "out")["accounting"]
    assert account["rejected"] == {"internal_error": 1}
    assert account["read"] == account["written"] + 1 == len(WORDS)


def test_the_rejection_says_where_and_what(breaks, tmp_path):
    breaks(text_documents, "find_sentences")

    assert run_text(tmp_path / "in", tmp_path / "out", WORDS) == 0

    [row] = rejected_of(tmp_path / "out")
    assert row["source"] == f"{BAD}.txt"
    assert row["excerpt"] == f"{BAD} ist eine Stadt.\n"
    assert row["message"] == (
        f"{BAD}.txt: document {BAD}.txt: an error of Onoma in broken(): OursError: at 0x…: what "
        "nobody has thought of. Please report it, with the traceback in the log and this record."
    )


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_log_with_the_traceback_is_kept(tmp_path, workers):
    files = write_files(tmp_path / "in", "txt", "{} ist eine Stadt.\n".format, WORDS)
    arguments = ["--input", f"{files}/*.txt", "--output", str(tmp_path / "out")]
    code = f"""
import sys
from corpora.text.documents import DocumentMaker
from pipelines.text_to_documents import main
def fail(maker, text, *_, **__):
    if {BAD!r} in text: raise LookupError("what nobody has thought of")
    return []
DocumentMaker._blocks = fail
sys.exit(main({[*arguments, "--workers", workers]!r}))
"""

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    [log] = (tmp_path / "out" / ".build").glob("*/workers.log")
    assert done.returncode == 0
    assert str(log) in done.stdout
    assert "Traceback (most recent call last)" in log.read_text("utf-8")
    assert "LookupError: what nobody has thought of" in log.read_text("utf-8")


def test_the_log_is_not_kept_where_there_was_no_error(tmp_path):
    assert run_text(tmp_path / "in", tmp_path / "out", WORDS) == 0

    assert not list((tmp_path / "out" / ".build").glob("*/workers.log"))


def test_too_many_errors_end_the_run(monkeypatch, tmp_path, capsys):
    words = [f"Ort{n}" for n in range(30)]
    monkeypatch.setattr(text_documents, "find_sentences", partial(_raise_for, exception=OursError))

    assert run_text(tmp_path / "in", tmp_path / "out", words) == 1

    assert "internal_error 30" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        InputChangedError("a.txt: other bytes than when the plan was made."),
        ModuleNotFoundError("No module named 'icu4py'"),
        MemoryError(),
    ],
    ids=repr,
)
def test_what_is_no_error_of_a_record_ends_the_run(breaks, tmp_path, error):
    breaks(text_documents, "find_sentences", error=lambda _: error)

    assert run_text(tmp_path / "in", tmp_path / "out", WORDS) == 1

    assert not (tmp_path / "out" / "dataset.json").exists()


def test_an_error_outside_a_record_ends_the_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(text_transforms, "DocumentMaker", partial(_raise_for, exception=OursError))

    assert run_text(tmp_path / "in", tmp_path / "out", WORDS) == 1

    assert "OursError" in capsys.readouterr().err


def _raise_for(*_, exception, **__):
    raise exception("what nobody has thought of")
