import json
from collections import Counter, defaultdict
from dataclasses import asdict
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.errors import CorpusError
from corpora.ner.gazetteer import LEVELS
from corpora.tagging import from_iob2, to_iob2
from modeling.data.gazetteer import Gazetteer
from modeling.data.tagset import TagSet
from tests.corpora.ner.slow_gazetteer import learn_names, leftmost_longest
from tests.ner_files import examine, read_conll, sentences_of

WORDS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(("O", "O", "B-X", "B-Y", "I-X"))), max_size=9
)
SETS = st.lists(WORDS, max_size=8)


def decided(features, n_tags):
    """Return the tags of words (W,) from features (W, G), at the gazetteer's own threshold."""
    own = features[:, : n_tags - 1]
    outside = ~own.any(axis=1, keepdims=True)
    return np.concatenate([outside, own], axis=1).argmax(axis=1)


def sentences(drawn, split="train"):
    return sentences_of([(split, words) for words in drawn], split=split)


def sentence(text):
    """Read a text such as ``Hannah/B-PER Arendt/I-PER schrieb`` as a sentence."""
    words = [word.partition("/") for word in text.split()]
    return sentences([[(token, tag or "O") for token, _, tag in words]])[0]


def slow_names(train):
    """Learn a gazetteer token by token."""
    forms = defaultdict(Counter)
    for row in train:
        for span in from_iob2(row.tags):
            forms[row.tokens[span.start : span.end]][span.label] += 1
    return learn_names(forms, train)


def slowly(names, tokens, threshold):
    """Find the names of a sentence, token by token: (start, end, label) of each."""
    found = leftmost_longest(m for m in names.find_all(tokens) if m.value.level >= threshold)
    return [(match.start, match.end, match.value.label) for match in found]


def spans_of(tagset, codes):
    return [(s.start, s.end, s.label) for s in from_iob2(tagset.decode(codes))]


def words_of(rows):
    return [row.tokens for row in rows]


@given(SETS, SETS, st.integers(0, LEVELS))
def test_names_are_found_as_corpora_matching_finds_them(train, dev, threshold):
    train, dev = sentences(train), sentences(dev, "dev")
    tagset = TagSet.of(row.tags for row in train)

    found = Gazetteer.learn(train, tagset).look_up(words_of(dev), thresholds=[threshold])

    names, begin = slow_names(train), 0
    for row in dev:
        codes = found.tags[begin : begin + len(row.tokens), 0]
        assert spans_of(tagset, codes) == slowly(names, row.tokens, threshold)
        begin += len(row.tokens)


@given(SETS, WORDS, st.integers(0, LEVELS))
def test_features_say_which_names_are_found_at_each_threshold(train, words, level):
    train, [row] = sentences(train), sentences([words])
    tagset = TagSet.of(row.tags for row in train)
    gazetteer = Gazetteer.learn(train, tagset, level=level)

    features = gazetteer.look_up([row.tokens]).rows(np.arange(len(row.tokens)))

    assert features.shape == (len(row.tokens), gazetteer.n_features)
    names, tagged = slow_names(train), []
    for column, threshold in enumerate(gazetteer.thresholds):
        own = features[:, column * (len(tagset) - 1) :][:, : len(tagset) - 1]
        assert spans_of(tagset, decided(own, len(tagset))) == slowly(names, row.tokens, threshold)
        tagged.append(own.any(axis=1))
    assert (features[:, -1] > 0).tolist() == (~np.any(tagged, axis=0)).tolist()


@given(SETS, SETS)
def test_the_floor_of_the_health_card_is_reached_by_the_features(train, dev):
    train, dev = sentences(train), sentences(dev, "dev")
    tagset = TagSet.of(row.tags for row in train)
    card = examine({"train": partial(iter, train), "dev": partial(iter, dev)}).gazetteer
    level = round((card.threshold or 0) * LEVELS)

    found = Gazetteer.learn(train, tagset).at_level(level).look_up(words_of(dev))

    tags = tagset.decode(decided(found.rows(np.arange(len(found))), len(tagset)))
    predicted, gold = set(), set()
    begin = 0
    for row in dev:
        end = begin + len(row.tokens)
        predicted |= {
            (row.id, span.start, span.end, span.label) for span in from_iob2(tags[begin:end])
        }
        gold |= {(row.id, span.start, span.end, span.label) for span in from_iob2(row.tags)}
        begin = end
    baseline = card.scores["dev"]
    assert len(predicted) == baseline.predicted
    assert len(predicted & gold) == baseline.correct


@pytest.mark.realdata
def test_the_floor_of_the_sturm_set_is_reached_by_the_features(realdata):
    folder = realdata("neiss-ner") / "Sturm"
    train, dev = (
        list(read_conll(folder / f"{split}_sturm.conll", split=split)) for split in ("train", "dev")
    )
    tagset = TagSet.of(row.tags for row in train)
    card = examine({"train": partial(iter, train), "dev": partial(iter, dev)}).gazetteer
    level = round(card.threshold * LEVELS)

    found = Gazetteer.learn(train, tagset).at_level(level).look_up(words_of(dev))

    codes = decided(found.rows(np.arange(len(found))), len(tagset))
    ends = np.cumsum([len(row.tokens) for row in dev])
    names, correct = slow_names(train), 0
    for row, own in zip(dev, np.split(codes, ends)[:-1], strict=True):
        predicted = spans_of(tagset, own)
        assert predicted == slowly(names, row.tokens, level)
        correct += len(set(predicted) & set(spans_of(tagset, tagset.encode(row.tags))))
    assert correct == card.scores["dev"].correct
    assert card.scores["dev"].f1 > 0.75


@given(SETS, WORDS)
def test_what_was_saved_finds_the_same(tmp_path_factory, train, words):
    train, folder = sentences(train), tmp_path_factory.mktemp("gazetteer")
    gazetteer = Gazetteer.learn(train, TagSet.of(row.tags for row in train), level=7)
    tokens = [[token for token, _ in words]]

    gazetteer.save(folder)
    loaded = Gazetteer.load(folder)

    assert (loaded.classes, loaded.level) == (gazetteer.classes, 7)
    assert loaded.n_features == gazetteer.n_features
    assert loaded.look_up(tokens).tags.tolist() == gazetteer.look_up(tokens).tags.tolist()


def test_a_damaged_file_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match=r"gazetteer\.arrow: no gazetteer that can be read"):
        Gazetteer.load(tmp_path)
    (tmp_path / "gazetteer.arrow").write_text("names")
    with pytest.raises(CorpusError, match=r"gazetteer\.arrow: no gazetteer that can be read"):
        Gazetteer.load(tmp_path)


def test_case_counts():
    train = [sentence("Essen/B-LOC liegt an der Ruhr/B-LOC")]
    gazetteer = Gazetteer.learn(train, TagSet(("LOC",)))

    assert gazetteer.look_up([["essen", "Ruhr"]]).tags[:, 0].tolist() == [0, 1]


def test_mentions_of_other_labels_are_no_names():
    train = [sentence("Jena/B-LOC Otto/B-PER")]

    gazetteer = Gazetteer.learn(train, TagSet(("PER",)))

    assert gazetteer.look_up([["Jena", "Otto"]]).tags[:, 0].tolist() == [0, 1]


def test_a_file_of_names_is_matched_however_sentences_are_cut(tmp_path):
    file = tmp_path / "names.tsv"
    file.write_text("St. Gallen\tLOC\t0.5\n\n北京大学\tORG\n", encoding="utf-8")

    gazetteer = Gazetteer.from_file(file)

    assert gazetteer.classes == ("LOC", "ORG")
    for words in (["St.", "Gallen"], ["St", ".", "Gallen"], ["St.Gallen"]):
        n_inside = len(words) - 1
        assert gazetteer.look_up([words]).tags[:, 0].tolist() == [1] + [2] * n_inside
    assert gazetteer.look_up([["在", *"北京大学"]]).tags[:, 0].tolist() == [0, 3, 4, 4, 4]
    assert gazetteer.look_up([["在北京", "大学"]]).tags[:, 0].tolist() == [0, 0]
    assert gazetteer.look_up([["St"], [".", "Gallen"]]).tags[:, 0].tolist() == [0, 0, 0]


@given(
    st.lists(st.text("ab.北 ", max_size=4), max_size=6), st.text("ab.北 ", min_size=1, max_size=5)
)
def test_a_name_is_found_where_words_spell_it(tmp_path_factory, words, form):
    file = tmp_path_factory.mktemp("names") / "names.tsv"
    file.write_text(f"x{form}x\tLOC\n", encoding="utf-8")
    words = ["", *words, "x" + form, "x", form]

    found = Gazetteer.from_file(file).look_up([words], thresholds=[0]).tags[:, 0]

    runs = [
        (start, end)
        for start in range(len(words))
        for end in range(len(words), start, -1)
        if words[start].strip()
        and words[end - 1].strip()
        and [p for word in words[start:end] for p in split(word)] == split(f"x{form}x")
    ]
    kept, after = [], 0
    for start, end in runs:
        if start >= after:
            kept.append((start, end))
            after = end
    assert spans_of(TagSet(("LOC",)), found) == [(start, end, "LOC") for start, end in kept]


def split(text):
    """Split a text into runs of a, b and x, and other characters one by one, without spaces."""
    parts, run = [], ""
    for character in text + " ":
        if character in "abx":
            run += character
            continue
        parts += [run] * bool(run) + [character] * (character != " ")
        run = ""
    return parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"no names"),
        ("Jena\n", r"names\.tsv:1: 'Jena' is no name"),
        ("Jena\tLOC\n\tLOC\n", r"names\.tsv:2: .* is no name"),
        ("Jena\tLOC\t2\n", r"names\.tsv:1: the reliability '2' is not a number between 0 and 1"),
        ("Jena\tLOC\tnan\n", r"names\.tsv:1: the reliability 'nan' is not"),
    ],
)
def test_what_is_no_list_of_names_is_an_error(tmp_path, text, message):
    file = tmp_path / "names.tsv"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(CorpusError, match=message):
        Gazetteer.from_file(file)


def test_a_list_of_names_that_is_not_there_is_an_error_that_says_what_one_is(tmp_path):
    with pytest.raises(CorpusError, match=r"\(No such file or directory\)\. Name a file"):
        Gazetteer.from_file(tmp_path / "names.tsv")


def test_of_equal_forms_the_more_reliable_counts(tmp_path):
    file = tmp_path / "names.tsv"
    file.write_text("Essen\tFOOD\t0.3\nEssen\tLOC\t0.8\nEssen\tORG\t0.8\n", encoding="utf-8")

    gazetteer = Gazetteer.from_file(file)

    found = gazetteer.look_up([["Essen"]], thresholds=[0, 16, 17]).tags[0].tolist()
    assert found == [1 + 2 * gazetteer.classes.index("LOC")] * 2 + [0]


def write_entities(folder, rows):
    """Write an entity vocabulary of one shard."""
    folder.mkdir()
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["entities"]) as writer:
        for id, (entity, aliases, retired) in enumerate(rows):
            names = ("form", "count", "prior", "link_probability")
            structs = [dict(zip(names, (form, 1, *rest), strict=True)) for form, *rest in aliases]
            row = {"id": id, "entity": entity, "count": 1, "counts": [], "retired": retired}
            writer.write(row | {"title": entity, "page_id": None, "aliases": structs})
    description = {"schema": "entities", "version": 1, "plan": {}, "accounting": {}}
    description["shards"] = [asdict(writer.shard)]
    (folder / "dataset.json").write_text(json.dumps(description))
    return folder


def test_aliases_of_entities_are_names_without_labels(tmp_path):
    folder = write_entities(
        tmp_path / "entities",
        [
            ("x:Jena", [("Jena", 1.0, 0.5), ("die Stadt", 0.5, 0.01)], False),
            ("x:Ulm", [("die Stadt", 0.5, 0.01), ("Ulm", 1.0, None)], False),
            ("x:Bonn", [("Bonn", 1.0, 1.0)], True),
        ],
    )

    gazetteer = Gazetteer.from_entities(folder)

    words = [["die", "Stadt", "Jena", "Ulm", "Bonn"]]
    found = gazetteer.look_up(words, thresholds=[0, 1, 10, 11]).tags.T.tolist()
    assert gazetteer.classes == ("entity",)
    assert found == [[1, 2, 1, 1, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]


def test_a_vocabulary_without_aliases_is_an_error(tmp_path):
    folder = write_entities(tmp_path / "entities", [("x:Jena", [], False)])

    with pytest.raises(CorpusError, match=r"no aliases"):
        Gazetteer.from_entities(folder)


def test_an_empty_gazetteer_finds_nothing():
    gazetteer = Gazetteer.learn([], TagSet(("PER",)))

    features = gazetteer.look_up([["Else"]]).rows(np.arange(1))

    assert features.shape == (1, gazetteer.n_features)
    assert features.any(axis=0).nonzero()[0].tolist() == [gazetteer.n_features - 1]


def test_tags_that_are_no_iob2_are_an_error():
    with pytest.raises(CorpusError, match=r"is none of O, B-x, I-x"):
        Gazetteer.learn([sentence("Else/PER")], TagSet(("PER",)))


def test_spans_touch_and_stay_apart():
    tags = to_iob2(from_iob2(("B-X", "B-X")), 2)
    [row] = sentences([list(zip("ab", tags, strict=True))])
    gazetteer = Gazetteer.learn([row], TagSet(("X",)))

    assert gazetteer.look_up([["a", "b", "b", "a"]]).tags[:, 0].tolist() == [1, 1, 1, 1]
