"""Documents to examples: what an example looks like."""

from corpora.entities.vocabulary import UNK
from corpora.examples.maker import ExampleMaker
from tests.corpora.entity_ids import id_of
from tests.corpora.examples.small_examples import batch_of, document, make, rules, shown, tokenizer


def test_sentences_are_packed_with_their_words_and_entities(vocab):
    text = document("Jena, ab.\nGlas café", ("Jena", "x:Jena"), ("Glas", "x:Glas"))

    [row] = make(text, vocab).examples.to_pylist()

    subwords = ["Jena", ",", "ab", ".", "Glas", "café"]
    assert [tokenizer().backend.id_to_token(id) for id in row["input_ids"]] == subwords
    assert row == {
        "id": "d#1",
        "document_id": "d",
        "group": "g",
        "split": "train",
        "input_ids": row["input_ids"],
        "word_starts": [0, 1, 2, 3, 4, 5],
        "sentence_starts": [0, 4],
        "entity_ids": [id_of(vocab, "x:Jena"), id_of(vocab, "x:Glas")],
        "entity_starts": [0, 4],
        "entity_ends": [1, 5],
        "entity_origins": ["link", "link"],
    }


def test_an_example_ends_before_the_sentence_that_is_too_much():
    made = make(document("ab ab\nab ab\nab"), length=4)

    assert [subwords for subwords, _ in shown(made)] == [["ab"] * 4, ["ab"]]
    assert made.examples.column("id").to_pylist() == ["d#1", "d#2"]


def test_a_long_sentence_is_split_before_a_word():
    made = make(document("ab\nabc abdd ab ab"), length=3)

    assert [subwords for subwords, _ in shown(made)] == [
        ["ab"],
        ["abc", "ab", "##dd"],
        ["ab", "ab"],
    ]
    assert (made.counters["sentences.split"], made.counters["words.cut"]) == (1, 0)


def test_a_word_longer_than_an_example_is_cut_and_counted():
    made = make(document("a bbbbb"), length=2)

    assert [subwords for subwords, _ in shown(made)] == [
        ["a"],
        ["b", "##b"],
        ["##b", "##b"],
        ["##b"],
    ]
    assert made.counters["words.cut"] == 2
    assert made.examples.column("word_starts").to_pylist() == [[0]] * 4
    assert made.examples.column("sentence_starts").to_pylist() == [[0]] * 4


def test_a_mention_is_the_subwords_that_overlap_it(vocab):
    made = make(document("ab Jenaer", ("Jena", "x:Jena")), vocab)
    widened = make(document("ab Jenaer", ("ena", "x:Jena")), vocab)

    assert [entities for _, entities in shown(made)] == [[("Jena", id_of(vocab, "x:Jena"))]]
    assert shown(widened) == shown(made)
    assert [m.counters["mentions.widened"] for m in (made, widened)] == [0, 1]


def test_nested_mentions_are_both_kept(vocab):
    made = make(document("Glas Jena", ("Glas Jena", "x:Ab"), ("Jena", "x:Jena")), vocab)

    [(_, entities)] = shown(made)
    assert [surface for surface, _ in entities] == ["Glas Jena", "Jena"]


def test_too_many_mentions_begin_an_example_at_the_next_sentence(vocab):
    text = document("Jena\nGlas\nab", ("Jena", "x:Jena"), ("Glas", "x:Glas"), ("ab", "x:Ab"))

    made = make(text, vocab, max_entities=2)

    assert [len(entities) for _, entities in shown(made)] == [2, 1]
    assert made.counters["mentions.over_limit"] == 0


def test_too_many_mentions_in_a_sentence_are_counted(vocab):
    text = document("Jena Glas ab\nab", ("Jena", "x:Jena"), ("Glas", "x:Glas"), ("ab", "x:Ab"))

    made = make(text, vocab, max_entities=2)

    assert [[surface for surface, _ in entities] for _, entities in shown(made)] == [
        ["Jena", "Glas"]
    ]
    assert made.counters["mentions.over_limit"] == 1


def test_unknown_entities_are_dropped_or_kept(vocab):
    text = document("Jena Glas ab abc", ("Jena", "x:None"), ("Glas", "x:Glas"), ("abc", "x:Gone"))

    dropped, kept, rare = (
        make(text, vocab, **how)
        for how in ({}, {"keep_unknown": True}, {"keep_unknown": True, "min_entity_count": 3})
    )

    ids = [m.examples.column("entity_ids").to_pylist() for m in (dropped, kept, rare)]
    glas = id_of(vocab, "x:Glas")
    assert ids == [[[glas]], [[UNK, glas, UNK]], [[UNK, UNK, UNK]]]


def test_rare_entities_have_no_ids(vocab):
    text = document("Jena Glas", ("Jena", "x:Jena"), ("Glas", "x:Glas"))
    counts = vocab.table.column("count").to_pylist()
    least = counts[id_of(vocab, "x:Jena")]

    made = make(text, vocab, min_entity_count=least)

    kept = [id for id, count in enumerate(counts) if id < 3 or count >= least]
    [ids] = made.examples.column("entity_ids").to_pylist()
    assert len(kept) < len(counts)
    assert [kept[id] for id in ids] == [
        id for id in (id_of(vocab, "x:Jena"), id_of(vocab, "x:Glas")) if id in kept
    ]


def test_names_of_special_rows_have_no_entity(vocab):
    made = make(document("Jena", ("Jena", "[MASK]")), vocab)

    assert made.counters["mentions.out_of_vocabulary"] == 1


def test_what_becomes_of_documents(vocab):
    several = [
        document("Jena ab\nab", ("Jena", "x:Jena"), id="written"),
        document("abc ab", id="unmentioned"),
        document("Jena", ("Jena", "x:Jena"), id="short"),
        document("\u0000", id="empty"),
        document("", id="nothing"),
        document("ab", sentences=(), id="unsplit"),
        document(" \n", sentences=(), id="blank"),
    ]
    how = rules(9, min_sentence_subwords=2, only_with_mentions=True)

    made = ExampleMaker(tokenizer(), vocab, how).make(batch_of(*several))

    assert made.fates == [
        "written",
        "without_mentions",
        "short_sentences",
        "empty",
        "empty",
        "no_sentences",
        "empty",
    ]
    assert made.counters["characters.outside_sentences"] == 2
