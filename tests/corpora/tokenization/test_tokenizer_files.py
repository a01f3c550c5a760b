"""Tokenizers: what is saved is what is opened, and files that say less are read right."""

import json

import pytest

from corpora.errors import CorpusError
from corpora.tokenization.tokenizers import CLS, MASK, PAD, SEP, SPECIALS, UNK, Tokenizer, wordpiece
from tests.corpora.small_bert import KINDS, VOCAB, bert

LOWER = [a + b for a in "abcdefghij" for b in "abcdefghij"]


@KINDS
def test_transformers_reads_what_is_saved(tmp_path, cased, strip_accents):
    from transformers import AutoTokenizer, BertTokenizer

    tokenizer = bert(cased, strip_accents)
    texts = ["Über Berlin: das Haus (İstanbul) 中文 é", "x" * 101]

    tokenizer.save(tmp_path)

    for kind in (AutoTokenizer, BertTokenizer):
        theirs = kind.from_pretrained(tmp_path)
        encoded = theirs(texts, add_special_tokens=False)["input_ids"]
        assert encoded == [subwords.ids.tolist() for subwords in tokenizer.encode(texts)]
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
    ("subwords", "cased"),
    [
        (["Haus", "haus"], True),
        (["haus", "[unused1]"], False),
        (["中", *map(chr, range(0x430, 0x450)), *LOWER, "<S>"], False),
    ],
)
def test_capitals_in_a_vocabulary_decide_whether_it_is_cased(tmp_path, subwords, cased):
    file = tmp_path / "some.txt"
    file.write_text(
        "\n".join([*SPECIALS, *dict.fromkeys(subwords), *map(str, range(300))]), "utf-8"
    )

    tokenizer = Tokenizer.open(file)

    assert tokenizer.backend.normalizer.lowercase is not cased
    assert tokenizer.name == "some"


@pytest.mark.parametrize(
    ("subwords", "text", "expected"),
    [
        (["für", "fur", "über", "ş"], "FÜR", "für"),
        (["fur"], "FÜR", "fur"),
        (["が", "か"], "が", "が"),
        (["한"], "한", "한"),
    ],
)
def test_accents_in_a_lower_cased_vocabulary_stay(tmp_path, subwords, text, expected):
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join([*SPECIALS, *subwords, *map(str, range(60))]), "utf-8")

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


@pytest.mark.parametrize("kind", [None, "BertTokenizer", "ElectraTokenizerFast"])
@pytest.mark.parametrize(
    "setting", [("do_lower_case", True), ("strip_accents", True), ("tokenize_chinese_chars", False)]
)
def test_settings_beside_a_tokenizer_of_bert_count_as_in_transformers(tmp_path, kind, setting):
    from transformers import AutoTokenizer

    bert(True, False).save(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    settings = json.loads(file.read_text()) | dict([setting])
    del settings["tokenizer_class"]
    file.write_text(json.dumps(settings | ({"tokenizer_class": kind} if kind else {})))
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    texts = ["Über Berlin: das Haus (İstanbul) 中文 é"]

    opened = Tokenizer.open(tmp_path)

    theirs = AutoTokenizer.from_pretrained(tmp_path)(texts, add_special_tokens=False)["input_ids"]
    assert theirs == [subwords.ids.tolist() for subwords in opened.encode(texts)]
    opened.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").sha256 == opened.sha256
    assert opened.sha256 != bert(True, False).sha256


@pytest.mark.parametrize(("there", "beside"), [(False, True), (True, False)])
def test_a_space_before_the_first_word_is_as_in_transformers(tmp_path, there, beside):
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers
    from transformers import AutoTokenizer

    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    subwords = [*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    backend = Backend(models.BPE({subword: id for id, subword in enumerate(subwords)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=there)
    backend.add_special_tokens(specials)
    backend.save(str(tmp_path / "tokenizer.json"))
    settings = {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": beside}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))

    [cut] = Tokenizer.open(tmp_path).encode(["Jena"])

    theirs = AutoTokenizer.from_pretrained(tmp_path)("Jena", add_special_tokens=False)["input_ids"]
    assert cut.ids.tolist() == theirs
    assert len(theirs) == 4 + beside


def test_settings_of_bert_do_not_change_a_tokenizer_of_another_class(tmp_path):
    bert(True, False).save(tmp_path)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))

    assert Tokenizer.open(tmp_path).sha256 == bert(True, False).sha256


def test_a_vocabulary_of_a_tokenizer_that_cuts_otherwise_is_refused(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(VOCAB), "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertJapaneseTokenizer"}')

    with pytest.raises(CorpusError, match="BertJapaneseTokenizer, which cuts text otherwise"):
        Tokenizer.open(tmp_path)


@pytest.mark.parametrize("missing", [PAD, UNK, CLS, SEP, MASK])
def test_a_vocabulary_without_a_special_subword_is_refused(tmp_path, missing):
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
    with pytest.raises(CorpusError, match=r"twice\.txt:8: the subword 'a' stands on line 6, too"):
        Tokenizer.open(tmp_path / "twice.txt")
    with pytest.raises(CorpusError, match=r"prose\.txt: is no vocabulary"):
        Tokenizer.open(tmp_path / "prose.txt")
    with pytest.raises(CorpusError, match="is no vocabulary: no UTF-8"):
        Tokenizer.open(tmp_path / "latin.txt")
    with pytest.raises(CorpusError, match="no such file"):
        Tokenizer.open(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"no tokenizer; .*\.save_pretrained\(FOLDER\)"):
        Tokenizer.open(tmp_path / "empty")


def test_a_case_that_a_file_contradicts_is_refused(tmp_path):
    bert(True, False).save(tmp_path)

    with pytest.raises(CorpusError, match="cased and says so itself"):
        Tokenizer.open(tmp_path, cased=False)
