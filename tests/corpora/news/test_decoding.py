"""Bytes of pages to text: whatever header and page say, the text is right."""

import codecs
import encodings
import pkgutil
from encodings.aliases import aliases

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.news.decoding import decode
from corpora.text.opening import TextError

GERMAN = (
    "<html><head>{}</head><body><p>Die Brücke über die Lehde – größer als früher.</p></body></html>"
)
CHINESE = (
    "<html><head>{}</head><body><p>"
    + "我们的城市在河边，人们都很喜欢这里。" * 20
    + "</p></body></html>"
)
RUSSIAN = "<html><head>{}</head><body><p>Мост через реку снова открыт.</p></body></html>"


def meta(name):
    return f'<meta charset="{name}">'


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (GERMAN, "utf-8", "utf-8"),
        (GERMAN, "cp1252", "iso-8859-1"),
        (GERMAN, "cp1252", "windows-1252"),
        (CHINESE, "gb18030", "gb2312"),
        (CHINESE.replace("们", "門"), "big5hkscs", "big5"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-r"),
        ("<html><body>日本語のページです。{}</body></html>", "iso2022_jp", "iso-2022-jp"),
    ],
)
def test_the_encoding_is_read_from_the_page_and_from_the_header(text, encoding, named):
    text = (
        text.replace("城市", "城市")
        if encoding != "big5hkscs"
        else "<html>{}<p>這裡的城市</p></html>"
    )
    in_page = text.format(meta(named))
    in_header = text.format("")

    by_page = decode(in_page.encode(encoding), content_type="text/html", name="a")
    by_header = decode(
        in_header.encode(encoding), content_type=f"text/html; charset={named}", name="a"
    )

    assert (by_page.text, by_header.text) == (in_page, in_header)
    assert not by_page.is_lie
    assert not by_header.is_lie


@pytest.mark.parametrize("text", [RUSSIAN, "<html><body><p>All of it is ASCII.</p></body></html>"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("content_type", ["text/html", "text/html; charset={}"])
def test_utf_16_without_a_mark_is_read_also_if_its_bytes_are_ascii(text, encoding, content_type):
    data = text.encode(encoding)
    assert data.isascii()

    found = decode(data, content_type=content_type.format(encoding), name="a")

    assert (found.text, found.encoding) == (text, encoding)
    assert found.decided_by == ("header" if "{" in content_type else "content")


@pytest.mark.parametrize("order", ["le", "be"])
@pytest.mark.parametrize(("n_nuls", "is_wide"), [(5, True), (4, False)])
def test_bytes_are_utf_16_from_a_twentieth_of_nuls_on(order, n_nuls, is_wide):
    data = bytearray(b"a" * 100)
    data[order == "le" : 2 * n_nuls : 2] = bytes(n_nuls)

    found = decode(bytes(data), content_type=None, name="a")

    assert data.count(0) == n_nuls
    assert (found.encoding == f"utf-16-{order}") is is_wide


@pytest.mark.parametrize(
    "data", [b"<p>NULs behind a page</p>" + b"\0" * 500, b"<html><body>a\0b</body></html>"]
)
def test_other_nuls_become_spaces(data):
    found = decode(data, content_type="text/html; charset=utf-8", name="a")

    assert found.text == data.replace(b"\0", b" ").decode()


@pytest.mark.parametrize(
    ("text", "encoding", "lie"),
    [
        (GERMAN, "utf-8", "iso-8859-1"),
        (GERMAN, "cp1252", "utf-8"),
        (CHINESE, "utf-8", "gb2312"),
        (CHINESE, "gb18030", "utf-8"),
        (GERMAN, "utf-8", "utf-16"),
    ],
)
def test_a_lie_is_not_believed(text, encoding, lie):
    page = text.format("")

    found = decode(page.encode(encoding), content_type=f"text/html; charset={lie}", name="a")

    assert found.text == page
    assert found.is_lie


OTHER_SCRIPTS = [
    (
        "cp1251",
        "Мост через реку снова открыт. Рабочие два года чинили его, и теперь по нему ездят.",
    ),
    ("gb18030", "我们的城市在河边，人们都很喜欢这里。今年春天，河上的桥又开放了，大家都说很好。"),
    ("big5hkscs", "我們的城市在河邊，人們都很喜歡這裡。今年春天，河上的橋又開放了，大家都說很好。"),
    (
        "cp932",
        "私たちの町は川のそばにあります。今年の春、橋がまた開通しました。みんな喜んでいます。",
    ),
    (
        "cp949",
        "우리 도시는 강가에 있다. 올해 봄에 다리가 다시 열렸다. 사람들은 모두 기뻐하고 있다.",
    ),
    ("cp1253", "Η γέφυρα πάνω από το ποτάμι άνοιξε ξανά μετά από δύο χρόνια εργασιών."),
    ("cp1256", "أعيد فتح الجسر فوق النهر بعد عامين من أعمال الترميم، وعبره الناس في المساء."),
]


@pytest.mark.parametrize(("encoding", "text"), OTHER_SCRIPTS)
@pytest.mark.parametrize("page", ["{}", "iso-8859-1", ""])
@pytest.mark.parametrize("header", ["; charset=ISO-8859-1", ""])
def test_bytes_of_another_script_are_not_read_as_windows_1252(encoding, text, page, header):
    names = meta(page.format(encoding.removesuffix("hkscs"))) if page else ""
    html = f"<html><head>{names}</head><body><p>{text * 3}</p>".encode(encoding)

    decoded = decode(html, content_type=f"text/html{header}", name="a")

    assert decoded.encoding == encoding
    assert text in decoded.text


def test_rows_of_umlauts_in_a_script_are_no_other_script():
    html = GERMAN.format("<script>/[äöüÄÖÜß]/.test('ÀÁÂÃÄÅÆÇ')</script>")

    assert decode(html.encode("cp1252"), content_type=None, name="a").encoding == "cp1252"


@pytest.mark.parametrize(
    ("named", "text", "encoding"),
    [
        ("windows-1250", "Most přes řeku je po dvou letech opět otevřený.", "cp1250"),
        ("windows-1254", "Köprü iki yıl sonra yeniden açıldı, şehir ışıl ışıl.", "cp1254"),
        ("windows-1251", "Die Brücke über die Lehde ist größer als früher.", "cp1252"),
        ("gb2312", "Die Brücke über die Lehde ist größer als früher.", "cp1252"),
    ],
)
def test_a_page_is_believed_before_a_header_of_windows_1252_if_its_letters_are_latin(
    named, text, encoding
):
    html = f"<html><head>{meta(named)}</head><body><p>{text}</p>".encode(encoding)

    decoded = decode(html, content_type="text/html; charset=ISO-8859-1", name="a")

    assert text in decoded.text


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_a_mark_counts_more_than_a_name(mark):
    encoding = {3: "utf-8", 2: "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"}[
        len(mark)
    ]

    found = decode(mark + GERMAN.encode(encoding), content_type="text/html; charset=gbk", name="a")

    assert found.text == GERMAN
    assert found.decided_by == "mark"


def test_a_few_wrong_bytes_are_marked_and_counted():
    page = (GERMAN * 30).encode("utf-8")
    page = page[:100] + b"\xff" + page[100:]

    found = decode(page, content_type="text/html; charset=utf-8", name="a")

    assert found.n_invalid == 1
    assert found.text.replace("\ufffd", "") == GERMAN * 30


@pytest.mark.parametrize("data", [bytes(range(256)) * 10, b"\x80\x81\x82\xfe\xff" * 100])
def test_what_is_no_text_is_an_error(data):
    with pytest.raises(TextError):
        decode(data, content_type="text/html", name="a")


@given(
    data=st.binary(max_size=300),
    named=st.sampled_from(["utf-8", "gbk", "rot13", "x", "utf-7", "hex"]),
)
def test_bytes_become_text_without_control_characters_or_an_error(data, named):
    try:
        found = decode(data, content_type=f"text/html; charset={named}", name="a")
    except TextError:
        return

    assert not any(ord(c) < 32 and c not in "\t\n\r" for c in found.text)
    assert found.text.encode("utf-8").decode("utf-8") == found.text


@pytest.mark.parametrize(
    "name", ["punycode", "idna", "rot13", "base64", "hex", "zlib", "undefined", "unicode_escape"]
)
@pytest.mark.parametrize("where", ["header", "page"])
def test_what_is_no_encoding_of_text_is_not_one_of_a_page(name, where):
    text = GERMAN.format(meta(name) if where == "page" else "")
    content_type = f"text/html; charset={name}" if where == "header" else "text/html"

    found = decode(text.encode("cp1252"), content_type=content_type, name="a")

    assert (found.text, found.encoding, found.decided_by) == (text, "cp1252", "content")


@pytest.mark.parametrize("body", [b"abc\xff", b"\xe9" * 500, bytes(range(32, 256)) * 8])
def test_no_name_that_python_knows_raises_anything_but_text_error(body):
    names = {module.name for module in pkgutil.iter_modules(encodings.__path__)} | aliases.keys()

    for name in sorted(names):
        try:
            found = decode(body, content_type=f"text/html; charset={name}", name="a")
        except TextError:
            continue
        assert found.text
