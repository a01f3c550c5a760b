"""Tokenizers: pieces and offsets against BERT written slowly, and against transformers."""

import json
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from corpora import pieces as pieces_module
from corpora.errors import CorpusError
from corpora.pieces import cut_all
from corpora.tokenizers import CLS, MASK, PAD, SEP, SPECIALS, UNK, Tokenizer, wordpiece

LOWER = [a + b for a in "abcdefghij" for b in "abcdefghij"]
LETTERS = "abcdefghijklmnoprstuwzäöüßéçşıñθσςи中文日本かな😀0123456789.,-#[]()'"
VOCAB = [
    *SPECIALS,
    *dict.fromkeys(LETTERS + LETTERS.upper()),
    *dict.fromkeys(f"##{c}" for c in LETTERS + LETTERS.upper() + "\u0307\u0301"),
    *("haus", "##haus", "Haus", "##ber", "über", "uber", "##lin", "Ber", "ber", "is", "##tan"),
]
CHARACTERS = st.sampled_from(
    " \t\n\r\x00\x1c\x85\xa0\xad\u200b\u200d\u2028\u3000\ufeff\ufffd"
    "İıẞßÄäÅåŞşﬁǅΣσς" + "\u0301\u0307\u0308" + "中文㐀𠀀가かカ・，。「¿«…–😀👩\U0001f3fd" + LETTERS
) | st.characters(max_codepoint=0x24F)
TEXTS = st.lists(
    st.text(CHARACTERS, max_size=30)
    | st.text("中文㐀鿿𠀀か,。aß \n\u0301", max_size=20)
    | st.lists(st.sampled_from(["Haus", "über", "[SEP]", "[MASK]", "Berlin", "a" * 101])).map(
        " ".join
    ),
    max_size=4,
)
KINDS = pytest.mark.parametrize(
    ("cased", "strip_accents"), [(True, False), (False, False), (False, None), (True, None)]
)


def bert(cased, strip_accents, vocab=VOCAB):
    return Tokenizer(wordpiece(vocab, cased=cased, strip_accents=strip_accents), name="bert")


def characters_of(text, *, cased, strip):
    """Each normalised character with the place it comes from."""
    places = []
    for at, character in enumerate(text):
        category = unicodedata.category(character)
        if character in "\t\n\r" or (category[0] != "C" and character.isspace()):
            places.append((" ", at))
        elif category[0] != "C" and character != "\ufffd":
            places.append((character, at))
    if strip:
        places = decomposed(places)
    if not cased:
        places = [(low, at) for character, at in places for low in character.lower()]
    return places


def decomposed(places):
    """NFD, in which marks may change places, without what is a mark of no width."""
    parts = [(c, at) for whole, at in places for c in unicodedata.normalize("NFD", whole)]
    return [(c, at) for c, at in parts if unicodedata.category(c) != "Mn"]


def is_alone(character):
    code = ord(character)
    is_ascii_mark = 33 <= code < 127 and not character.isalnum()
    is_chinese = any(
        first <= code <= last
        for first, last in [
            (0x4E00, 0x9FFF),
            (0x3400, 0x4DBF),
            (0x20000, 0x2A6DF),
            (0xF900, 0xFAFF),
        ]
    )
    return is_ascii_mark or is_chinese or unicodedata.category(character)[0] == "P"


def words_of(places):
    word = []
    for character, at in places:
        if word and (character == " " or is_alone(character) or is_alone(word[0][0])):
            yield word
            word = []
        if character != " ":
            word.append((character, at))
    if word:
        yield word


def slow_encode(text, vocab, *, cased, strip):
    """BERT as its paper has it, one character after the other: (id, start, end, begins a word)."""
    found = []
    for word in words_of(characters_of(text, cased=cased, strip=strip)):
        pieces, begin = [], 0
        string = "".join(character for character, _ in word)
        while begin < len(word) <= 100:
            prefix = "##" if begin else ""
            ends = range(len(word), begin, -1)
            end = next((end for end in ends if prefix + string[begin:end] in vocab), None)
            if end is None:
                break
            id = vocab[prefix + string[begin:end]]
            pieces.append((id, word[begin][1], word[end - 1][1] + 1, not begin))
            begin = end
        if begin < len(word):
            pieces = [(vocab[UNK], word[0][1], word[-1][1] + 1, True)]
        found += pieces
    return found


def rows_of(pieces):
    begins = np.isin(np.arange(len(pieces)), pieces.word_starts)
    columns = (pieces.ids, pieces.starts, pieces.ends, begins)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@KINDS
@settings(deadline=None, max_examples=100)
@given(texts=TEXTS)
def test_pieces_are_those_of_bert_written_slowly(cased, strip_accents, texts):
    tokenizer = bert(cased, strip_accents)
    strip = strip_accents is None and not cased

    found = tokenizer.encode(texts)

    ids = {piece: id for id, piece in enumerate(VOCAB)}
    assert [rows_of(pieces) for pieces in found] == [
        slow_encode(text, ids, cased=cased, strip=strip) for text in texts
    ]


@settings(deadline=None, max_examples=100)
@given(batches=st.lists(TEXTS, max_size=4))
def test_the_table_changes_nothing(batches):
    tokenizer = bert(cased=False, strip_accents=None)

    found = [rows_of(pieces) for texts in batches for pieces in tokenizer.encode(texts)]

    direct = [
        rows_of(pieces)
        for texts in batches
        for pieces in cut_all(tokenizer.backend, texts, ~tokenizer.continuations)
    ]
    assert found == direct


def test_a_full_table_is_begun_anew(monkeypatch):
    monkeypatch.setattr(pieces_module, "MAX_CACHED", 5)
    tokenizer = bert(cased=True, strip_accents=False)
    texts = ["Haus über Berlin", "Haus, ein Haus", "nur ein Haus am See", "Berlin"]

    found = [rows_of(tokenizer.encode([text])[0]) for text in texts]

    assert found == [rows_of(pieces) for pieces in bert(True, False).encode(texts)]
    assert len(tokenizer._table._numbers) < 5


def test_half_a_surrogate_is_refused_and_leaves_the_table_right():
    tokenizer = bert(cased=True, strip_accents=False)
    tokenizer.encode(["Haus"])

    with pytest.raises(UnicodeError):
        tokenizer.encode(["Berlin \ud83d Haus"])

    [pieces] = tokenizer.encode(["Berlin Haus"])
    assert rows_of(pieces) == rows_of(bert(True, False).encode(["Berlin Haus"])[0])


def test_special_pieces_in_a_text_are_text():
    [pieces] = bert(cased=True, strip_accents=False).encode(["a [SEP] b[MASK]"])

    assert not {0, 2, 3, 4} & set(pieces.ids.tolist())
    assert pieces.starts.tolist()[:2] == [0, 2]


def test_arrays_are_int32_and_one_text_long():
    first, empty, second = bert(cased=True, strip_accents=False).encode(["Berlin", "", "am Haus"])

    for pieces in (first, empty, second):
        for array in (pieces.ids, pieces.starts, pieces.ends, pieces.word_starts):
            assert array.dtype == np.int32
    assert (len(empty), len(empty.word_starts)) == (0, 0)
    assert second.starts[0] == 0
    assert second.word_starts[0] == 0


def test_chinese_is_cut_right_where_chinese_characters_are_no_words(tmp_path):
    bert(True, False).save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    settings["tokenize_chinese_chars"] = False
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))

    [pieces] = Tokenizer.open(tmp_path).encode(["中文"])

    assert [VOCAB[id] for id in pieces.ids.tolist()] == ["中", "##文"]


def test_no_texts_give_no_pieces():
    assert bert(cased=True, strip_accents=False).encode([]) == []


def test_continuations_are_the_pieces_with_hashes():
    tokenizer = bert(cased=True, strip_accents=False)

    continuing = {
        tokenizer.backend.id_to_token(id) for id in np.flatnonzero(tokenizer.continuations)
    }

    assert continuing == {piece for piece in VOCAB if piece.startswith("##") and piece != "##"}
    assert tokenizer.specials == {0, 1, 2, 3, 4}
    assert tokenizer.size == len(VOCAB)


# Where it comes from


@KINDS
def test_transformers_reads_what_is_saved(tmp_path, cased, strip_accents):
    from transformers import AutoTokenizer, BertTokenizer

    tokenizer = bert(cased, strip_accents)
    texts = ["Über Berlin: das Haus (İstanbul) 中文 é", "x" * 101]

    tokenizer.save(tmp_path)

    for kind in (AutoTokenizer, BertTokenizer):
        theirs = kind.from_pretrained(tmp_path)
        encoded = theirs(texts, add_special_tokens=False)["input_ids"]
        assert encoded == [pieces.ids.tolist() for pieces in tokenizer.encode(texts)]
        assert theirs("Haus")["input_ids"] == [2, VOCAB.index("Haus" if cased else "haus"), 3]
        roles = (theirs.pad_token_id, theirs.unk_token_id, theirs.mask_token_id)
        assert roles == (0, 1, 4)


@KINDS
def test_identity_survives_saving(tmp_path, cased, strip_accents):
    tokenizer = bert(cased, strip_accents)
    tokenizer.save(tmp_path / "mine")

    opened = [
        Tokenizer.open(tmp_path / "mine" / name) for name in ("", "tokenizer.json", "vocab.txt")
    ]

    assert {each.sha256 for each in opened} == {tokenizer.sha256}
    assert opened[0].name == "mine"


def test_identity_tells_cases_apart():
    assert bert(True, False).sha256 != bert(False, False).sha256


def test_truncation_and_padding_of_a_file_are_ignored(tmp_path):
    backend = wordpiece(VOCAB, cased=True)
    backend.enable_truncation(2)
    backend.enable_padding(length=9)
    backend.save(str(tmp_path / "tokenizer.json"))

    tokenizer = Tokenizer.open(tmp_path)

    assert len(tokenizer.encode(["a b c d"])[0]) == 4
    assert tokenizer.sha256 == bert(True, False).sha256


@pytest.mark.parametrize(
    ("pieces", "cased"),
    [
        (["Haus", "haus"], True),
        (["haus", "[unused1]"], False),
        (["中", *map(chr, range(0x430, 0x450)), *LOWER, "<S>"], False),
    ],
)
def test_capitals_in_a_vocabulary_decide_whether_it_is_cased(tmp_path, pieces, cased):
    file = tmp_path / "some.txt"
    file.write_text("\n".join([*SPECIALS, *dict.fromkeys(pieces), *map(str, range(300))]), "utf-8")

    tokenizer = Tokenizer.open(file)

    assert tokenizer.backend.normalizer.lowercase is not cased
    assert tokenizer.name == "some"


@pytest.mark.parametrize(
    ("pieces", "text", "expected"),
    [
        (["für", "fur", "über", "ş"], "FÜR", "für"),
        (["fur"], "FÜR", "fur"),
        (["が", "か"], "が", "が"),
        (["한"], "한", "한"),
    ],
)
def test_accents_in_a_lower_cased_vocabulary_stay(tmp_path, pieces, text, expected):
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join([*SPECIALS, *pieces, *map(str, range(60))]), "utf-8")

    tokenizer = Tokenizer.open(file, cased=False)

    [row] = tokenizer.encode([text])
    assert [tokenizer.backend.id_to_token(id) for id in row.ids] == [expected]


def test_a_few_accents_in_a_lower_cased_vocabulary_are_stripped_as_bert_does(tmp_path):
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join([*SPECIALS, "für", "fur", *map(str, range(200))]), "utf-8")

    tokenizer = Tokenizer.open(file)

    [row] = tokenizer.encode(["für"])
    assert tokenizer.backend.id_to_token(int(row.ids[0])) == "fur"


def test_our_own_vocabulary_without_its_configuration_is_the_same_tokenizer(tmp_path):
    own = Tokenizer(
        wordpiece([p for p in VOCAB if p == p.lower() or p in SPECIALS], cased=False), name="own"
    )
    own.save(tmp_path / "own")
    (tmp_path / "vocab.txt").write_bytes((tmp_path / "own/vocab.txt").read_bytes())

    assert Tokenizer.open(tmp_path / "vocab.txt").sha256 == own.sha256


def test_a_configuration_of_bert_strips_accents_as_bert_does(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCAB), "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')

    assert Tokenizer.open(tmp_path).backend.normalizer.strip_accents is None


def test_a_byte_order_mark_is_no_part_of_a_vocabulary(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCAB), "utf-8-sig")

    assert Tokenizer.open(tmp_path).special.pad == 0


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer", "added_tokens"])
def test_a_part_that_tokenizer_json_leaves_out_is_none(tmp_path, part):
    bert(True, False).save(tmp_path)
    file = tmp_path / "tokenizer.json"
    parts = json.loads(file.read_text("utf-8"))
    del parts[part]
    file.write_text(json.dumps(parts), "utf-8")

    tokenizer = Tokenizer.open(tmp_path, cased=True)

    assert tokenizer.backend.id_to_token(int(tokenizer.encode(["Haus"])[0].ids[0])) == "Haus"
    tokenizer.save(tmp_path / "again")
    assert Tokenizer.open(tmp_path / "again").sha256 == tokenizer.sha256


def test_what_is_said_wins_over_what_is_guessed(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCAB), "utf-8")

    assert Tokenizer.open(tmp_path).backend.normalizer.lowercase is False
    assert Tokenizer.open(tmp_path, cased=False).backend.normalizer.lowercase is True
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert Tokenizer.open(tmp_path).backend.normalizer.lowercase is True


@pytest.mark.parametrize("missing", [PAD, UNK, CLS, SEP, MASK])
def test_a_vocabulary_without_a_special_piece_is_refused(tmp_path, missing):
    (tmp_path / "vocab.txt").write_text("\n".join(p for p in VOCAB if p != missing), "utf-8")

    with pytest.raises(CorpusError, match=rf"\[{missing[1:-1]}\]"):
        Tokenizer.open(tmp_path)


def test_files_that_are_no_tokenizer_are_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "twice.txt").write_text("\n".join([*SPECIALS, "a", "b", "a"]))
    (tmp_path / "prose.txt").write_text("First line.\n\nSecond line.\n\n")
    (tmp_path / "latin.txt").write_bytes(b"\xe4\n")

    with pytest.raises(CorpusError, match=r"tokenizer\.json: no tokenizer"):
        Tokenizer.open(tmp_path)
    with pytest.raises(CorpusError, match=r"twice\.txt:8: the piece 'a' stands on line 6, too"):
        Tokenizer.open(tmp_path / "twice.txt")
    with pytest.raises(CorpusError, match=r"prose\.txt: is no vocabulary"):
        Tokenizer.open(tmp_path / "prose.txt")
    with pytest.raises(CorpusError, match="is no vocabulary: no UTF-8"):
        Tokenizer.open(tmp_path / "latin.txt")
    with pytest.raises(CorpusError, match="no such file"):
        Tokenizer.open(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="no tokenizer"):
        Tokenizer.open(tmp_path / "empty")


def test_a_case_that_a_file_contradicts_is_refused(tmp_path):
    bert(True, False).save(tmp_path)

    with pytest.raises(CorpusError, match="cased and says so itself"):
        Tokenizer.open(tmp_path, cased=False)


# Other kinds of tokenizers

SENTENCES = [
    "Hello world, says the old house.",
    "  Two  spaces and a naïve café: 中文 😀!",
    "İstanbul\nis new\tYork",
    "",
]
NAMES = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


def byte_level():
    """As RoBERTa's."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(SENTENCES, trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return backend


def unigram():
    """As XLM-RoBERTa's."""
    backend = Backend(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        unk_token="<unk>",  # noqa: S106 - no password
        show_progress=False,
    )
    backend.train_from_iterator(SENTENCES, trainer)
    return backend


@pytest.mark.parametrize("make", [byte_level, unigram])
def test_other_tokenizers_give_the_same_pieces_from_disk(tmp_path, make):
    from transformers import AutoTokenizer

    tokenizer = Tokenizer(make(), name="other")

    tokenizer.save(tmp_path)

    again, theirs = Tokenizer.open(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    ids = [pieces.ids.tolist() for pieces in tokenizer.encode(SENTENCES)]
    assert again.sha256 == tokenizer.sha256
    assert [pieces.ids.tolist() for pieces in again.encode(SENTENCES)] == ids
    assert theirs(SENTENCES, add_special_tokens=False)["input_ids"] == ids
    assert not (tmp_path / "vocab.txt").exists()
    named = {
        role: tokenizer.backend.id_to_token(id) for role, id in again.special._asdict().items()
    }
    assert named == NAMES


@pytest.mark.parametrize("make", [byte_level, unigram])
@settings(deadline=None, max_examples=60)
@given(texts=st.lists(st.text(CHARACTERS, max_size=20) | st.sampled_from(SENTENCES), max_size=3))
def test_pieces_of_other_tokenizers_begin_at_no_space(make, texts):
    tokenizer = Tokenizer(make(), name="other")

    for text, pieces in zip(texts, tokenizer.encode(texts), strict=True):
        for start, end in zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True):
            assert 0 <= start <= end <= len(text)
            assert end - start <= 1 or not text[start].isspace()


@pytest.mark.parametrize("make", [byte_level, unigram])
def test_words_of_other_tokenizers_are_those_of_their_pre_tokenizer(make):
    tokenizer = Tokenizer(make(), name="other")
    text = "the old house is new"

    [pieces] = tokenizer.encode([text])

    begins = pieces.starts[pieces.word_starts].tolist()
    assert [text[a:b].strip() for a, b in pairwise([*begins, len(text)])] == text.split()
    assert not tokenizer.continuations.any()


def test_an_added_piece_with_a_space_is_found():
    backend = wordpiece(VOCAB, cased=True)
    backend.add_tokens(["Haus am"])

    [pieces] = Tokenizer(backend, name="added").encode(["a Haus am b"])

    assert backend.token_to_id("Haus am") in pieces.ids.tolist()


# Real data


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["bert-base-cased-vocab.txt", "bert-base-chinese-vocab.txt"])
def test_known_vocabularies_cut_real_text_as_transformers_does(realdata, tmp_path, name):
    from transformers import BertTokenizer

    file = realdata("vocab") / name
    cased = "-cased" in name
    pieces = file.read_text("utf-8").rstrip("\n").split("\n")
    theirs = BertTokenizer({piece: id for id, piece in enumerate(pieces)}, do_lower_case=not cased)
    lines = (realdata("wiki-text-de") / "wiki_00").read_text("utf-8").split("\n")[:600]
    with (realdata("wiki-text-zh") / "wiki_00.jsonl").open(encoding="utf-8") as chinese:
        lines += json.loads(next(chinese))["text"].split("\n")

    tokenizer = Tokenizer.open(file)
    found = tokenizer.encode(lines)
    tokenizer.save(tmp_path)

    wanted = theirs(lines, add_special_tokens=False, return_offsets_mapping=True)
    assert [pieces.ids.tolist() for pieces in found] == wanted["input_ids"]
    offsets = [list(zip(p.starts.tolist(), p.ends.tolist(), strict=True)) for p in found]
    assert offsets == wanted["offset_mapping"]
    assert [p.ids.tolist() for p in Tokenizer.open(tmp_path).encode(lines)] == wanted["input_ids"]
