"""Encodings: recognized by the bytes, decoded without silent loss."""

import bz2
import io
import json
import lzma
import random
import re
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from corpora.errors import UsageError
from corpora.text.detection import detect
from corpora.text.encodings import check_encoding, decode
from corpora.text.opening import TextError

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "text"
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030", "big5", "cp1252", "latin-1")
MARKED = ("utf-8-sig", "utf-16", "utf-32")
UMLAUTS = "Grüße aus Köln. " * 20


def chunked(data, size=7):
    return [data[start : start + size] for start in range(0, len(data), size)]


def read(data, *, named=None, size=7):
    """Decode bytes; returns the text, the encoding, and what was counted."""
    encoding = detect(lambda: chunked(data, size), name="f", named=named)
    counters = Counter()
    return "".join(decode(chunked(data, size), encoding, counters)), encoding, counters


def encodable(encoding):
    """Return a strategy for texts that an encoding can write, without a byte order mark first.

    Hypothesis tries each character in an encoding, but knows those of UTF-8.
    """
    codec = "utf-8" if encoding.startswith(("utf-", "gb18030")) else encoding
    return st.text(st.characters(codec=codec)).filter(lambda text: text[:1] != "\ufeff")


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(st.data())
def test_any_text_comes_back_from_an_encoding_that_is_named(encoding, data):
    text = data.draw(encodable(encoding))

    found, _, counters = read(text.encode(encoding), named=encoding)

    assert found == text
    assert counters["bytes.invalid"] == counters["byte_order_marks"] == 0


@pytest.mark.parametrize("encoding", MARKED)
@given(st.data())
def test_any_text_comes_back_where_a_mark_gives_its_encoding(encoding, data):
    text = data.draw(encodable("utf-8"))
    assume(text[:1] != "\0")  # the mark of UTF-16 and a NUL are the mark of UTF-32

    found, _, counters = read(text.encode(encoding))

    assert found == text
    assert counters["byte_order_marks"] == 1


@given(encodable("utf-8").filter(lambda text: len(re.findall("[\0-\x1f]", text)) * 10 <= len(text)))
def test_any_text_with_few_control_characters_is_recognized_as_utf8(text):
    found, encoding, _ = read(text.encode())

    assert (found, encoding.name) == (text, "utf-8")


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b""])
@pytest.mark.parametrize("named", ["utf-16", "UTF16"])
def test_utf16_without_an_order_is_as_its_mark_says_or_little_endian(mark, named):
    order = "utf-16-be" if mark == b"\xfe\xff" else "utf-16-le"

    found, encoding, _ = read(mark + UMLAUTS.encode(order), named=check_encoding(named))

    assert (found, encoding.name) == (UMLAUTS, order)


@pytest.mark.parametrize(
    ("name", "encoding", "begin"),
    [
        ("brief.txt", "utf-8", "Lübeck, am 3. März\n"),
        ("brief-windows-1252.txt", "cp1252", "Lübeck, am 3. März\r\n"),
        ("brief-utf-16.txt", "utf-16-le", "Lübeck, am 3. März\n"),
        ("xiaozhen-gb18030.txt", "gb18030", "第一章　河边的小镇\n"),
        ("xiaozhen-big5.txt", "cp950", "第一章　河邊的小鎮\n"),
    ],
)
def test_samples_are_read_in_their_encoding(name, encoding, begin):
    found, detected, _ = read((SAMPLES / name).read_bytes())

    assert detected.name == encoding
    assert found.startswith(begin)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "euc-kr"])
def test_korean_is_utf_16_with_its_spaces_and_no_other_encoding(encoding):
    data = ("나는 오늘 아침에 학교에 갔다. 그는 오지 않았다.\n" * 3).encode(encoding)

    if encoding == "euc-kr":
        with pytest.raises(TextError, match="Name it with --encoding"):
            detect(lambda: [data], name="f")
    else:
        assert detect(lambda: [data], name="f").name == encoding


@pytest.mark.parametrize("text", ["No umlaut here, and no mark.", "Жили были дед да баба."])
@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_utf16_that_is_valid_utf8_is_not_taken_for_it(order, text):
    data = text.encode(order)
    assert data.decode()

    found, encoding, _ = read(data)

    assert (found, encoding.name) == (text, order)


def test_characters_of_hong_kong_are_read_as_big5():
    text = "呢個係邊個嘅書嚟㗎？佢哋喺度做乜嘢呀？唔知道。" * 3

    found, encoding, _ = read(text.encode("big5hkscs"))

    assert (found, encoding.name) == (text, "big5hkscs")


def test_invalid_bytes_become_replacement_characters_and_are_counted():
    data = UMLAUTS.encode()
    damaged = data[:9] + b"\xff\xfe" + data[9:]

    found, encoding, counters = read(damaged)

    assert found == UMLAUTS[:7] + "\ufffd\ufffd" + UMLAUTS[7:]
    assert encoding.n_invalid == counters["bytes.invalid"] == 2
    assert counters["characters.replacement"] == 0


@pytest.mark.parametrize("n_missing", [1, 2, 3])
@pytest.mark.parametrize("named", [None, "utf-8"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_utf8_that_is_cut_in_its_last_character_is_utf8(n_missing, named, size):
    data = "ä 😀".encode()[:-n_missing]

    found, encoding, counters = read(data, named=named, size=size)

    assert found == "ä \ufffd"
    assert (encoding.name, encoding.n_invalid) == ("utf-8", 4 - n_missing)
    assert counters["bytes.invalid"] == 4 - n_missing


def test_a_letter_of_latin1_at_the_end_is_no_utf8_that_is_cut():
    found, encoding, _ = read("Ein Café".encode("latin-1"))

    assert (found, encoding.name) == ("Ein Café", "cp1252")


def test_a_mark_that_contradicts_the_encoding_that_is_named_is_an_error():
    with pytest.raises(TextError, match="mark of utf-16-le, but --encoding is utf-8") as caught:
        read(b"\xff\xfe" + "viel Text".encode("utf-16-le") * 99, named="utf-8")

    assert (caught.value.reason, caught.value.position) == ("wrong_encoding", "byte 0")


def test_replacement_characters_that_were_there_are_counted_apart():
    _, _, counters = read("Gr\ufffd\ufffde".encode())

    assert counters == {"characters.replacement": 2}


@pytest.mark.parametrize(("named", "text"), [("utf-8", "Größe"), ("gb18030", "書")])
@given(n_before=st.integers(0, 40), size=st.sampled_from([3, 7, 1000]))
def test_the_first_of_too_many_invalid_bytes_is_named(named, text, n_before, size):
    before = text.encode(named) * n_before

    with pytest.raises(TextError) as caught:
        read(before + (b"\xe4" * (named == "utf-8") + b"\xff\xff\xff") * 20, named=named, size=size)

    assert caught.value.reason == "invalid_bytes"
    assert caught.value.position == f"byte {len(before)}"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bytes(range(256)) * 8, "not_text"),
        (UMLAUTS.encode() + UMLAUTS.encode("cp1252"), "unknown_encoding"),
        ("Привет, как дела? ".encode("koi8-r") * 9, "unknown_encoding"),
        (b"key=value\n" * 90 + "Привет, как дела? ".encode("cp1251") * 9, "unknown_encoding"),
        ("吾輩は猫である。名前はまだ無い。".encode("shift-jis") * 9, "unknown_encoding"),
    ],
    ids=["binary", "two encodings", "koi8-r", "cp1251 in ASCII", "shift-jis"],
)
def test_what_fits_no_encoding_is_rejected(data, reason):
    with pytest.raises(TextError, match="--encoding") as caught:
        read(data)

    assert caught.value.reason == reason


@pytest.mark.parametrize("name", ["klingon", "rot13", "base64", "idna", "unicode_escape", ""])
def test_an_encoding_that_is_none_of_text_is_refused(name):
    with pytest.raises(UsageError, match="--encoding"):
        check_encoding(name)


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, UMLAUTS)
    return file.getvalue()


def tarred():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        data = UMLAUTS.encode() * 100
        info = tarfile.TarInfo("a.txt")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize("named", [None, "cp1252"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped("01.txt", "02.txt"), "a zip archive, no text. Unpack it"),
        (zipped(), "an empty zip archive, no text. Leave it out"),
        (zipped("[Content_Types].xml", "word/document.xml"), r"docx.* Save its text"),
        (tarred(), "a tar archive, no text. Unpack it"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(99), "a 7z archive, no text. Unpack it"),
        (b"%PDF-1.4\n1 0 obj\n", "a PDF, no text. Save its text"),
        (b"PAR1\x15\x04" + bytes(99), "a Parquet table, no text. Write its texts"),
    ],
    ids=["zip", "empty zip", "docx", "tar", "7z", "pdf", "parquet"],
)
def test_files_that_are_no_text_are_named(data, said, named):
    with pytest.raises(TextError, match=f"^f: is .*{said}") as caught:
        read(data, named=named)

    assert caught.value.reason == "other_format"
    assert "--encoding" not in str(caught.value)


@given(st.binary(max_size=60), st.sampled_from([1, 2, 7, 64]))
@example(b"\xff\xfe", 1)
@example(b"\xef\xbb\xbf", 2)
def test_any_bytes_are_text_or_a_reason(data, size):
    try:
        found, encoding, counters = read(data, size=size)
    except TextError as error:
        assert error.reason in {  # noqa: PT017
            *("not_text", "unknown_encoding", "invalid_bytes", "other_format")
        }
    else:
        assert counters["bytes.invalid"] == encoding.n_invalid
        assert not re.search("[\ud800-\udfff]", found)


def windows(text, encoding, *, n, size, seed):
    """Yield ``n`` parts of a text, each of ``size`` characters.

    What the encoding cannot write is left out, and so are parts in ASCII, in which all agree.
    """
    kept = text.encode(encoding, "ignore").decode(encoding)
    rng = random.Random(seed)
    while n:
        start = rng.randrange(len(kept) - size)
        part = kept[start : start + size].lstrip("\ufeff")
        if not part.isascii():
            n -= 1
            yield part


def chinese(realdata):
    """Yield three Chinese texts."""
    yield (realdata("zh-novels") / "红楼梦.txt").read_text(encoding="utf-8")
    lines = (realdata("wiki-text-zh") / "wiki_00.jsonl").read_text(encoding="utf-8").splitlines()
    yield "\n".join(json.loads(line)["text"] for line in lines)
    yield (realdata("zh-news") / "clue-corpus-small-sampled.txt").read_text(encoding="utf-8")


def traditional(realdata):
    """Return lines of Chinese articles that Big5 can write as they are."""
    dump = realdata("wiki-dumps") / "zh" / "zhwiki-test-pages.xml"
    lines = []
    for line in dump.read_text(encoding="utf-8").splitlines():
        text = re.sub(r"<[^>]*>|&[a-z]+;|[\[\]{}|='*#:;A-Za-z/_]", "", line)
        n_han = len(re.findall("[\u4e00-\u9fff]", text))
        if (
            n_han > 40
            and n_han > len(text) / 2
            and text == (text.encode("big5", "ignore").decode("big5"))
        ):
            lines.append(text)
    return "\n".join(lines)


def european(realdata):
    """Return a German, a Danish and a Ukrainian text."""
    german = (realdata("wiki-text-de") / "wiki_07").read_text(encoding="utf-8")
    dumps = realdata("wiki-dumps")
    with bz2.open(dumps / "dbpedia-minidumps" / "dawiki.xml.bz2", "rt", encoding="utf-8") as file:
        danish = file.read()
    with lzma.open(dumps / "ukwiki-20230501-first-100k-lines.xml.xz", "rt", encoding="utf-8") as f:
        ukrainian = f.read(2_000_000)[1_000_000:]
    return german, danish, ukrainian


def accuracy(texts, encoding, *, names, n=40, size=200):
    """Count the parts that are recognized as one of these encodings and come back equal.

    Returns this count, and that of all parts.
    """
    right = total = 0
    for seed, text in enumerate(texts):
        for part in windows(text, encoding, n=n, size=size, seed=seed):
            total += 1
            try:
                found, detected, _ = read(part.encode(encoding), size=64)
            except TextError:
                continue
            right += detected.name in names and found == part
    return right, total


@pytest.mark.realdata
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16-le", "utf-16-be"])
def test_encodings_of_real_chinese_are_recognized_from_200_characters(realdata, encoding):
    right, total = accuracy(chinese(realdata), encoding, names={encoding})

    assert right == total == 120


@pytest.mark.realdata
def test_big5_is_recognized_from_200_characters(realdata):
    text = traditional(realdata)

    right, total = accuracy([text], "cp950", names={"cp950"}, n=60)

    assert right == total == 60


@pytest.mark.realdata
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1"])
def test_encodings_of_real_european_texts_are_recognized_from_200_characters(realdata, encoding):
    german, danish, ukrainian = european(realdata)
    texts = [german, danish] if encoding in {"cp1252", "latin-1"} else [german, danish, ukrainian]
    name = "cp1252" if encoding == "latin-1" else encoding

    right, total = accuracy(texts, encoding, names={name})

    assert right == total == 40 * len(texts)
