"""Lines that are broken end in a rejection with file and line; the other sentences are kept."""

import pytest

from corpora.ner.detection import Overrides
from corpora.ner.files import FilePart, describe, read_file
from corpora.ner.found import Origin
from corpora.ner.readers import read_text
from corpora.ner.sentence_rows import RowMaker

FOUR = "EU NNP I-NP I-ORG\nrejects VBZ I-VP O\n. . O O\n\n"
TWO = "Jena B-LOC\nblüht O\n\n"
GERMEVAL = "#\thttp://x.de\t[2011-01-01]\n1\tJena\tB-LOC\tO\n2\tblüht\tO\tO\n\n"
UNER = "# sent_id = 1\n1\tJena\tB-LOC\t-\t-\n2\tblüht\tO\t-\t-\n\n"
WEIBO = "北0\tB-GPE.NAM\n京1\tI-GPE.NAM\n\n"
LABELS = "Jena\tLOC\nblüht\tO\n.\tO\n\n"
CONLLU = "1\tJena\t_\tX\t_\t_\t0\t_\t_\tname=B-LOC\n\n"
WIKIANN = "de:Jena\tB-LOC\nde:blüht\tO\n\n"


def read(tmp_path, good, bad, *, n=20, illegal="repair", **said):
    """Read ``n`` good sentences with a bad one in the middle; returns rows, and what made them."""
    path = tmp_path / "file"
    bad = bad.encode() if isinstance(bad, str) else bad
    path.write_bytes(n // 2 * good.encode() + bad + n // 2 * good.encode())
    layout = describe(path, name="file", overrides=Overrides(**said))
    [(found, origin)] = read_file(path, layout, name="file", part=FilePart())
    made = RowMaker(split="train", illegal=illegal).make(found, layout, origin)
    return [row for batch in made.batches for row in batch.to_pylist()], made


@pytest.mark.parametrize(
    ("good", "bad", "reason", "line"),
    [
        (FOUR, "EU NNP I-NP I-ORG\nrejects I-VP O\n\n", "columns", 42),
        (FOUR, "EU NNP I-NP NNP\n\n", "bad_tag", 41),
        (TWO, "Jena\tB-LOC\nliegt O\n\n", "columns", 31),
        (TWO, "liegt O\nJena  B-LOC\n\n", "columns", 32),
        (TWO, " O\n\n", "empty_token", 31),
        (TWO, "liegt O\nJena \n\n", "bad_tag", 32),
        (TWO, "liegt O\nJ\0na B-LOC\n\n", "nul", 32),
        (TWO, "liegt O\nbl\xc3".encode("latin-1") + b"ht O\n\n", "not_utf8", 32),
        (TWO, b"liegt O\nbl\xc3\xbcht\xe2\x80 O\n\n", "not_utf8", 32),
        (TWO, "Jena B-LOC\r\r\n\n", "bad_tag", 31),
        (GERMEVAL, "1\tJena\tB-LOC\n\n", "columns", 41),
        (GERMEVAL, "Jena\t1\tB-LOC\tO\n\n", "columns", 41),
        (GERMEVAL, "1\tJena\tB-LOC\tLOC\n\n", "bad_tag", 41),
        (UNER, "1\tJena\tB-LOC\t-\n\n", "columns", 41),
        (WEIBO, "北0\tB-GPE.NAM\n京\tI-GPE.NAM\n\n", "digit", 32),
        (WEIBO, "0\tO\n\n", "empty_token", 31),
        (LABELS, "Jena\tO\nUlm\tB-LOC\n\n", "bad_tag", 42),
        (LABELS, "Jena\t\n\n", "bad_tag", 41),
        (LABELS, "Jena\n\n", "columns", 41),
        (CONLLU, CONLLU.replace("B-LOC", "-"), "bad_tag", 21),
        (WIKIANN, "Jena\tB-LOC\n\n", "prefix", 31),
        (WIKIANN, "de:\tO\n\n", "empty_token", 31),
    ],
)
def test_bad_line_rejects_its_sentence(tmp_path, good, bad, reason, line):
    rows, made = read(tmp_path, good, bad)

    [rejected] = made.rejected
    assert (rejected.reason, rejected.position) == (reason, f"line {line}")
    assert rejected.message.startswith(f"file:{line}: ")
    assert len(rows) == made.n_records == 20


@pytest.mark.parametrize("good", [FOUR, TWO, GERMEVAL, UNER, WEIBO, LABELS, WIKIANN])
def test_line_ends_of_windows_and_a_mark_change_nothing_but_counters(tmp_path, good):
    rows, _ = read(tmp_path, good, "")
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbf" + (20 * good).replace("\n", "\r\n").encode())

    layout = describe(tmp_path / "file", name="file", overrides=Overrides())
    [(found, origin)] = read_file(tmp_path / "file", layout, name="file", part=FilePart())
    made = RowMaker(split="train").make(found, layout, origin)

    assert [row for batch in made.batches for row in batch.to_pylist()] == rows
    assert made.counters["line_ends.crlf"] == 20 * good.count("\n")
    assert made.counters["byte_order_marks"] == 1


def test_stray_tag_is_repaired_and_counted(tmp_path):
    rows, made = read(tmp_path, TWO, "in O\nJena I-LOC\nWest I-LOC\n\n")

    assert rows[10]["tags"] == ["O", "B-LOC", "I-LOC"]
    assert made.counters["tags.orphan"] == made.counters["entities by repair/LOC"] == 1
    assert made.counters["entities/LOC"] == 20


def test_stray_tag_rejects_its_sentence_if_asked(tmp_path):
    rows, made = read(tmp_path, TWO, "in O\nJena I-LOC\n\n", illegal="reject")

    [rejected] = made.rejected
    assert (rejected.reason, rejected.position) == ("illegal_tags", "line 32")
    assert len(rows) == 20
    assert all(row["tags"] == ["B-LOC", "O"] for row in rows)


def test_illegal_inner_tag_rejects_its_sentence_if_asked(tmp_path):
    bad = "1\tJena\tB-LOC\tO\n2\tOst\tI-LOC\tI-LOC\n\n"

    _, made = read(tmp_path, GERMEVAL, bad, illegal="reject")

    assert [rejected.position for rejected in made.rejected] == ["line 42"]


RUNNING = "Nachricht O\naus O\nWien B-LOC\n"


def test_in_running_text_a_bad_line_is_rejected_alone(tmp_path):
    rows, made = read(tmp_path, RUNNING, "Donau\nJ\0na O\nDie Elbe  B-LOC\nÜber v\n", n=400)

    [row] = rows
    assert [rejected.reason for rejected in made.rejected] == ["columns", "nul"]
    assert row["tokens"][600:602] == ["Die Elbe", "Über"]
    assert row["tags"][600:602] == ["B-LOC", "O"]
    assert made.n_records == len(row["tokens"]) == 1202
    assert made.counters["tags.unreadable"] == 1


def test_in_running_text_illegal_lines_are_rejected_alone_if_asked(tmp_path):
    bad = "an O\nDonau I-LOC\nStrand I-LOC\nB B.PER\n"

    [row], made = read(tmp_path, RUNNING, bad, n=400, illegal="reject")

    assert sorted(int(r.position.split()[1]) for r in made.rejected) == [602, 603, 604]
    assert made.n_records == len(row["tokens"]) == 1201


def test_running_text_breaks_at_empty_lines(tmp_path):
    rows, _ = read(tmp_path, RUNNING, "\n", n=800)

    assert [len(row["tokens"]) for row in rows] == [1200, 1200]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "没有"}', "no_label"),
        ('{"text": "没有", "label": {}', "malformed_json"),
        ('{"text": "", "label": {}}', "empty_token"),
        ('{"text": "小红", "label": {"name": {"小红": [[0, 2]]}}}', "bad_span"),
        ('{"text": "小红来", "label": {"name": {"小红": [[1, 2]]}}}', "bad_span"),
        ('{"text": "小红", "label": {"a name": {"小红": [[0, 1]]}}}', "bad_label"),
        ('{"text": "小\\ud800", "label": {}}', "not_utf8"),
        (b'{"text": "\xe5\xb0", "label": {}}', "not_utf8"),
        (
            '{"text": "红", "label": {"a": {"红": [[0, 0], [0, 0]]}, "b": {"红": [[0, 0]]}}}',
            "third_level",
        ),
    ],
)
def test_bad_line_of_cluener_is_rejected(tmp_path, line, reason):
    good = '{"text": "小红", "label": {"name": {"小红": [[0, 1]]}}}\n'
    line = line.encode() if isinstance(line, str) else line

    rows, made = read(tmp_path, good, line + b"\n")

    assert [(r.reason, r.position) for r in made.rejected] == [(reason, "line 11")]
    assert len(rows) == 20


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ('[["Jena"]]', "columns"),
        ('[["", "O"]]', "empty_token"),
        ('[["Jena", "LOC"]]', "bad_tag"),
        ("[]", "empty_token"),
        ('"Jena"', "empty_token"),
    ],
)
def test_bad_sentence_of_an_array_is_rejected(sample, reason):
    from corpora.ner.layout import FileLayout

    data = f'[[["Jena", "B-LOC"]], {sample}, [["Ulm", "B-LOC"]]]'.encode()

    found = read_text(data, FileLayout(format="json"), Origin("file", "sentence"))

    assert [(r.reason, r.position) for r in found.rejected] == [(reason, "sentence 2")]
    assert found.tokens.to_pylist() == ["Jena", "Ulm"]
    assert found.places.tolist() == [1, 3]


def test_array_that_is_cut_keeps_what_is_whole():
    from corpora.ner.layout import FileLayout

    data = b'[[["Jena", "B-LOC"]], [["Ulm", '

    found = read_text(data, FileLayout(format="json"), Origin("file", "sentence"))

    assert [r.reason for r in found.rejected] == ["malformed_json"]
    assert found.tokens.to_pylist() == ["Jena"]
