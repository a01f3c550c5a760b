import pyarrow as pa

from corpora.datasets.rows import document_to_row
from corpora.datasets.schemas import SCHEMAS
from corpora.document import Document, Mention
from corpora.matching.common_words import common_forms, without_common
from corpora.matching.form_dictionary import MEANINGS

FORMS = {"thu": 0.001, "đồng thời": 0.002, "Đồng thời": 0.04, "bill": 0.01, "Huế": 0.3, "生物": 0.5}


def table(forms):
    rows = [
        {"form": form, "entity": f"x:{form}", "count": 4, "prior": 1, "link_probability": ratio}
        for form, ratio in forms.items()
    ]
    return pa.Table.from_pylist(rows, schema=MEANINGS)


def kept(text, *titles, origin="title_match", lang="vi"):
    """Return the surface forms of the matches that stay; ``text`` gives matches as ``[form]``."""
    mentions, plain, titles = [], "", list(titles)
    for piece in text.replace("]", "[").split("["):
        if piece and f"{text} "[len(plain) + 2 * len(mentions)] == "[":
            title = titles.pop(0) if titles else piece
            entity = None if title is None else f"x:{title}"
            mentions.append(Mention(len(plain), len(plain) + len(piece), entity, origin=origin))
        plain += piece
    document = Document(id="1", group="x", source="s", text=plain, mentions=tuple(mentions))
    schema = SCHEMAS["documents"].columns
    batch = pa.RecordBatch.from_pylist([document_to_row(document)] * 2, schema=schema)

    gated, n = without_common(batch, common_forms(table(FORMS), below=0.05, lang=lang), lang=lang)

    first, second = gated.column("mentions").to_pylist()
    assert first == second
    assert n == 2 * (len(mentions) - len(first))
    return [plain[m["start"] : m["end"]] for m in first]


def test_words_that_hardly_ever_are_links_are_taken_out():
    assert kept("Tại [Huế] và [thu] nhập, [đồng thời] là [Huế].") == ["Huế", "Huế"]


def test_a_capital_at_the_start_of_a_sentence_shows_no_name():
    assert kept("Một. «[Đồng thời] hai. Trong [Bill] và [BILL].\n[Bill] ba. ") == ["Bill", "BILL"]


def test_the_ratio_of_a_form_is_that_of_all_its_spellings():
    assert kept("Một. [đồng Thời] và [Đồng thời]") == ["đồng Thời", "Đồng thời"]  # capitals inside
    assert kept("[Đồng thời] hai.") == []


def test_a_title_that_needs_a_qualifier_is_no_name_by_its_capital():
    assert kept("Trong [Bill] và [Huế].", "Bill (law)", "Huế (city)") == ["Huế"]


def test_a_match_without_an_entity_is_judged_by_its_form():
    assert kept("Trong [Bill] và [thu], [Huế].", None, None, None) == ["Bill", "Huế"]


def test_a_part_of_a_chinese_word_is_taken_out_whatever_its_ratio():
    assert kept("在 [生物]學 和 [生物] 家族 [生物]家", lang="zh") == ["生物"]


def test_mentions_of_other_origins_stay():
    for origin in ("link", "self_title", "lexicon"):
        assert kept("Cái [thu] nhập", origin=origin) == ["thu"]
