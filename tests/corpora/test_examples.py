"""Documents to examples: against a slow obvious way, and what holds for any text."""

from collections import Counter
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, trainers

from corpora.document import Document, Mention, Span, without_crossing
from corpora.entity_vocab import UNK, EntityVocab
from corpora.example_losses import LISTED, Listing, section, to_tsv
from corpora.example_mentions import LOSSES, NAMED, MentionRules
from corpora.examples import COLUMNS, HELD_OUT, TRAIN, ExampleMaker, Rules, in_chunks
from corpora.held_out import threshold
from corpora.rows import document_to_row
from corpora.sampling import share
from corpora.schemas import SCHEMAS
from corpora.shards import ShardWriter, write_json
from corpora.tokenizers import SPECIALS, Tokenizer, wordpiece

LISTS = ("input_ids", "word_starts", "sentence_starts", "entity_ids", "entity_starts")
LETTERS = "abcdé中"
WORDS = ("ab", "abc", "##bc", "##dd", "café", "Jena", "##er", "Glas", ".", ",")
ENTITIES = {"x:Jena": 9, "x:Glas": 2, "x:Ab": 1}
ORIGINS = ("link", "title_match")


@cache
def tokenizer(*, cased=True):
    pieces = [*SPECIALS, *LETTERS, *(f"##{letter}" for letter in LETTERS), *WORDS]
    return Tokenizer(wordpiece(pieces, cased=cased), name="small")


@pytest.fixture(scope="module")
def vocab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocab")
    rows = [(name, 0, False) for name in ("[PAD]", "[UNK]", "[MASK]")]
    rows += [(name, count, False) for name, count in ENTITIES.items()] + [("x:Gone", 5, True)]
    with ShardWriter(folder / "shard-00000.arrow", SCHEMAS["entities"]) as writer:
        for id, (entity, count, retired) in enumerate(rows):
            writer.write({"id": id, "entity": entity, "count": count, "retired": retired})
    shard = {name: getattr(writer.shard, name) for name in ("name", "rows", "bytes", "sha256")}
    description = {"schema": "entities", "version": 1, "shards": [shard]}
    write_json(folder / "dataset.json", {**description, "plan": {}, "accounting": {}})
    return EntityVocab(folder)


def rules(length=510, **settings):
    ours = {name: settings.pop(name) for name in list(settings) if hasattr(Rules, name)}
    return Rules(length=length, mentions=MentionRules(**{"origins": ORIGINS, **settings}), **ours)


def batch_of(*documents):
    rows = [document_to_row(document) for document in documents]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMAS["documents"].columns).select(
        list(COLUMNS)
    )


def document(text, *mentions, id="d", sentences=None):
    """Sentences end with a line; a mention is its surface and its entity."""
    if sentences is None:
        ends = [i for i, c in enumerate(text) if c == "\n"] + [len(text)]
        sentences = [Span(a, b) for a, b in zip([0, *(e + 1 for e in ends)], ends) if a < b]  # noqa: B905
    found = []
    for surface, entity in mentions:
        start = text.index(surface)
        found.append(Mention(start, start + len(surface), entity=entity, origin="link"))
    return Document(
        id=id,
        group="g",
        source="s",
        text=text,
        sentences=tuple(sentences),
        mentions=tuple(without_crossing(found)[0]),
    )


def make(document, vocab=None, **settings):
    return ExampleMaker(tokenizer(), vocab, rules(**settings)).make(batch_of(document))


def shown(made):
    """Of each example, its pieces and its entities with theirs."""
    name = tokenizer().backend.id_to_token
    return [
        (
            [name(id) for id in row["input_ids"]],
            [
                (" ".join(name(id) for id in row["input_ids"][a:b]), id)
                for id, a, b in zip(
                    row["entity_ids"], row["entity_starts"], row["entity_ends"], strict=True
                )
            ],
        )
        for row in made.examples.to_pylist()
    ]


# What an example looks like


def test_sentences_are_packed_with_their_words_and_entities(vocab):
    text = document("Jena, ab.\nGlas café", ("Jena", "x:Jena"), ("Glas", "x:Glas"))

    [row] = make(text, vocab).examples.to_pylist()

    pieces = ["Jena", ",", "ab", ".", "Glas", "café"]
    assert [tokenizer().backend.id_to_token(id) for id in row["input_ids"]] == pieces
    assert row == {
        "id": "d#1",
        "document_id": "d",
        "group": "g",
        "split": "train",
        "input_ids": row["input_ids"],
        "word_starts": [0, 1, 2, 3, 4, 5],
        "sentence_starts": [0, 4],
        "entity_ids": [vocab.id_of("x:Jena"), vocab.id_of("x:Glas")],
        "entity_starts": [0, 4],
        "entity_ends": [1, 5],
        "entity_origins": ["link", "link"],
    }


def test_an_example_ends_before_the_sentence_that_is_too_much():
    made = make(document("ab ab\nab ab\nab"), length=4)

    assert [pieces for pieces, _ in shown(made)] == [["ab"] * 4, ["ab"]]
    assert made.examples.column("id").to_pylist() == ["d#1", "d#2"]


def test_a_long_sentence_is_split_before_a_word():
    made = make(document("ab\nabc abdd ab ab"), length=3)

    assert [pieces for pieces, _ in shown(made)] == [
        ["ab"],
        ["abc", "ab", "##dd"],
        ["ab", "ab"],
    ]
    assert (made.counters["sentences.split"], made.counters["words.cut"]) == (1, 0)


def test_a_word_longer_than_an_example_is_cut_and_counted():
    made = make(document("a bbbbb"), length=2)

    assert [pieces for pieces, _ in shown(made)] == [
        ["a"],
        ["b", "##b"],
        ["##b", "##b"],
        ["##b"],
    ]
    assert made.counters["words.cut"] == 2
    assert made.examples.column("word_starts").to_pylist() == [[0]] * 4
    assert made.examples.column("sentence_starts").to_pylist() == [[0]] * 4


def test_a_mention_is_the_pieces_that_overlap_it(vocab):
    made = make(document("ab Jenaer", ("Jena", "x:Jena")), vocab)
    widened = make(document("ab Jenaer", ("ena", "x:Jena")), vocab)

    assert [entities for _, entities in shown(made)] == [[("Jena", vocab.id_of("x:Jena"))]]
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
        ["Jena", "Glas"],
    ]
    assert made.counters["mentions.over_limit"] == 1


def test_unknown_entities_are_dropped_or_kept(vocab):
    text = document("Jena Glas ab abc", ("Jena", "x:None"), ("Glas", "x:Glas"), ("abc", "x:Gone"))

    dropped, kept, rare = (
        make(text, vocab, **how)
        for how in ({}, {"keep_unknown": True}, {"keep_unknown": True, "min_entity_count": 3})
    )

    ids = [m.examples.column("entity_ids").to_pylist() for m in (dropped, kept, rare)]
    glas = vocab.id_of("x:Glas")
    assert ids == [[[glas]], [[UNK, glas, UNK]], [[UNK, UNK, UNK]]]


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
    how = rules(9, min_sentence_pieces=2, only_with_mentions=True)

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


# Against the slow obvious way


def slow_pieces(text, sentence):
    """Pieces of a sentence: id, first and last character of the text, whether it begins a word."""
    encoding = tokenizer().backend.encode(
        text[sentence.start : sentence.end], add_special_tokens=False
    )
    before, pieces = None, []
    for id, (start, end), word in zip(
        encoding.ids, encoding.offsets, encoding.word_ids, strict=True
    ):
        pieces.append((id, sentence.start + start, sentence.start + end, word != before))
        before = word
    return pieces


def slow_parts(pieces, length):
    while len(pieces) > length:
        starts = [n for n in range(1, length + 1) if pieces[n][3]]
        cut = starts[-1] if starts else length
        yield pieces[:cut]
        pieces = pieces[cut:]
    yield pieces


def slow_fate(mention, sentences, vocab, limits, *, min_size):
    """The reason why a mention is lost, or its entity, its sentence and the pieces in it."""
    id = vocab.id_of(mention.entity) if mention.entity in ENTITIES else None
    is_rare = id is not None and vocab.table["count"][id].as_py() < limits.min_entity_count
    touched = {
        (s, n)
        for s, pieces in enumerate(sentences)
        for n, (_, start, end, _) in enumerate(pieces)
        if start < mention.end and mention.start < end
    }
    if mention.origin not in limits.origins:
        return "of_other_origins"
    if not limits.keep_unknown:
        if mention.entity is None:
            return "without_entity"
        if id is None:
            return "out_of_vocabulary"
        if is_rare:
            return "below_min_count"
    if not touched:
        return "without_pieces"
    if len({s for s, _ in touched}) > 1:
        return "crossing_sentences"
    if len(touched) > limits.max_pieces:
        return "too_long"
    (s, first), (_, last) = min(touched), max(touched)
    if len(sentences[s]) < min_size:
        return "in_short_sentences"
    return UNK if id is None or is_rare else id, s, first, last + 1


def slow_examples(document, vocab, how):
    """The examples of a document, without names, and how many mentions are lost for each reason."""
    limits, lost = how.mentions, Counter()
    sentences = [slow_pieces(document.text, sentence) for sentence in document.sentences]
    placed = []
    for mention in document.mentions:
        fate = slow_fate(mention, sentences, vocab, limits, min_size=how.min_sentence_pieces)
        if isinstance(fate, str):
            lost[fate] += 1
        else:
            placed.append((*fate, mention.origin))
    parts = []
    for s, pieces in enumerate(sentences):
        if not pieces or len(pieces) < how.min_sentence_pieces:
            continue
        begin, inside = 0, [m for m in placed if m[1] == s]
        for part in slow_parts(pieces, how.length):
            end = begin + len(part)
            spans = {}
            for id, _, first, last, origin in inside:
                if begin <= first < end < last:
                    lost["cut_by_split"] += 1
                elif begin <= first < end and last <= end:
                    key = (first - begin, -(last - begin), id)
                    lost["double"] += key in spans
                    spans.setdefault(key, origin)
            entities = sorted(spans.items())
            lost["over_limit"] += len(entities[limits.max_entities :])
            parts.append((part, entities[: limits.max_entities]))
            begin = end
    packed = []
    for part in parts:
        together = [*packed[-1], part] if packed else []
        n_pieces, n_entities = (sum(len(p[i]) for p in together) for i in (0, 1))
        if not packed or n_pieces > how.length or n_entities > limits.max_entities:
            packed.append([part])
        else:
            packed[-1].append(part)
    return [slow_row(example) for example in packed], +lost


def slow_row(parts):
    row = {name: [] for name in (*LISTS, "entity_ends", "entity_origins")}
    for pieces, entities in parts:
        base = len(row["input_ids"])
        row["sentence_starts"].append(base)
        for n, (id, _, _, is_word_start) in enumerate(pieces):
            if is_word_start or not row["input_ids"]:
                row["word_starts"].append(base + n)
            row["input_ids"].append(id)
        for (start, end, id), origin in entities:
            row["entity_ids"].append(id)
            row["entity_starts"].append(base + start)
            row["entity_ends"].append(base - end)
            row["entity_origins"].append(origin)
    return row


SNIPPETS = st.sampled_from(
    ["ab", "abc", "Jena", "Jenaer", "Glas", "café", "abdddd", "中", "😀", "\u00ad", "\u0301", ".,"]
)
SENTENCES = st.lists(SNIPPETS, min_size=1, max_size=7).flatmap(
    lambda words: st.sampled_from([" ", "", "  "]).map(lambda gap: gap.join(words))
)


@st.composite
def documents(draw, id="d"):
    texts, spans, text = draw(st.lists(SENTENCES, max_size=5)), [], ""
    for sentence in texts:
        text += draw(st.sampled_from(["", " ", "\n\n"]))
        spans.append(Span(len(text), len(text) + len(sentence)))
        text += sentence
    places = st.integers(0, max(len(text) - 1, 0))
    mentions = []
    for start, length in draw(st.lists(st.tuples(places, st.integers(1, 9)), max_size=8)):
        if start < len(text):
            mentions.append(
                Mention(
                    start,
                    min(start + length, len(text)),
                    entity=draw(st.sampled_from([*ENTITIES, "x:Gone", "x:None", "[UNK]", None])),
                    origin=draw(st.sampled_from([*ORIGINS, "prediction"])),
                )
            )
    return Document(
        id=id,
        group="g",
        source="s",
        text=text,
        sentences=tuple(spans),
        mentions=tuple(without_crossing(mentions)[0]),
    )


RULES = st.builds(
    Rules,
    length=st.integers(1, 12),
    mentions=st.builds(
        MentionRules,
        origins=st.just(ORIGINS),
        keep_unknown=st.booleans(),
        min_entity_count=st.integers(1, 3),
        max_pieces=st.integers(1, 6),
        max_entities=st.integers(1, 4),
    ),
    min_sentence_pieces=st.integers(1, 3),
)


@settings(deadline=None, max_examples=300)
@given(of=documents(), how=RULES)
def test_examples_are_those_of_the_slow_way(vocab, of, how):
    expected, lost = slow_examples(of, vocab, how)

    made = ExampleMaker(tokenizer(), vocab, how).make(batch_of(of))

    made.examples.validate(full=True)
    assert made.examples.select([*LISTS, "entity_ends", "entity_origins"]).to_pylist() == expected
    counted = {name: made.counters.get(f"mentions.{name}", 0) for name in LOSSES}
    assert +Counter(counted) == lost


@settings(deadline=None, max_examples=100)
@given(of=documents(), how=RULES)
def test_every_mention_is_kept_or_lost_for_one_reason(vocab, of, how):
    counters = ExampleMaker(tokenizer(), vocab, how).make(batch_of(of)).counters

    lost = sum(counters.get(f"mentions.{name}", 0) for name in LOSSES)
    assert counters["mentions.read"] == len(of.mentions) == counters["mentions.kept"] + lost


@settings(deadline=None, max_examples=100)
@given(of=documents(), how=RULES)
def test_only_examples_with_mentions_leaves_out_the_others(vocab, of, how):
    all_, some = (
        ExampleMaker(tokenizer(), vocab, replace(how, only_with_mentions=only)).make(batch_of(of))
        for only in (False, True)
    )

    expected = [row for row in all_.examples.to_pylist() if row["entity_ids"]]
    assert some.examples.to_pylist() == expected
    left_out = all_.examples.num_rows - len(expected)
    assert some.counters["examples.left_out"] == left_out
    assert some.counters["pieces"] + some.counters["pieces.left_out"] == all_.counters["pieces"]


@settings(deadline=None, max_examples=100)
@given(st.lists(documents(), max_size=4), RULES)
def test_documents_do_not_depend_on_their_neighbours(vocab, several, how):
    several = [replace(of, id=f"d{n}") for n, of in enumerate(several)]
    maker = ExampleMaker(tokenizer(), vocab, how)

    together = maker.make(batch_of(*several))
    alone = [maker.make(batch_of(of)) for of in several]

    assert together.examples.to_pylist() == [r for made in alone for r in made.examples.to_pylist()]
    assert together.fates == [fate for made in alone for fate in made.fates]
    assert +together.counters == sum((made.counters for made in alone), Counter())


# Which mentions are lost to limits


@settings(deadline=None, max_examples=100)
@given(st.lists(documents(), min_size=1, max_size=2), RULES)
def test_mentions_without_room_are_named_with_what_they_are(vocab, several, how):
    several = {f"d{n}": replace(of, id=f"d{n}") for n, of in enumerate(several)}

    made = ExampleMaker(tokenizer(), vocab, how).make(batch_of(*several.values()))

    named = Counter(lost.reason for lost in made.lost)
    assert named == +Counter({name: made.counters[f"mentions.{name}"] for name in NAMED})
    for lost in made.lost:
        of = several[lost.document]
        assert (lost.start, lost.end) in {(m.start, m.end) for m in of.mentions}
        assert lost.text == " ".join(of.text[lost.start : lost.end].split())
        touched = [
            piece
            for sentence in of.sentences
            for piece in slow_pieces(of.text, sentence)
            if piece[1] < lost.end and lost.start < piece[2]
        ]
        assert lost.pieces == len(touched)
        assert (lost.pieces > how.mentions.max_pieces) == (lost.reason == "too_long")


def many_long_mentions(n, id="d"):
    """A document of ``n`` mentions, each with two pieces and a line of its own."""
    return Document(
        id=id,
        group="g",
        source="s",
        text="ab ab\n" * n,
        sentences=tuple(Span(6 * i, 6 * i + 5) for i in range(n)),
        mentions=tuple(Mention(6 * i, 6 * i + 5, entity="x:Ab", origin="link") for i in range(n)),
    )


def test_the_first_lost_mentions_are_named_and_all_are_counted(vocab):
    maker, listing = ExampleMaker(tokenizer(), vocab, rules(max_pieces=1)), Listing()
    batches = [many_long_mentions(LISTED - 30, "a"), many_long_mentions(LISTED + 7, "b")]

    made = [maker.make(batch_of(of)) for of in batches]
    taken = [row for each in made for row in listing.take(each.lost)]

    assert [each.counters["mentions.too_long"] for each in made] == [LISTED - 30, LISTED + 7]
    expected = [("a", 6 * n) for n in range(LISTED - 30)] + [("b", 6 * n) for n in range(30)]
    assert [(row["document"], row["start"]) for row in taken] == expected


def test_a_lost_mention_stands_on_a_line_and_is_not_shown_without_end(vocab):
    text = "ab\n\tab |" + "c" * 300
    mention = Mention(0, len(text), entity="x:Ab", origin="link")
    of = Document(
        id="d", group="g", source="s", text=text,
        sentences=(Span(0, len(text)),), mentions=(mention,),
    )  # fmt: skip

    lost = make(of, vocab, max_pieces=2).lost

    [head, line] = to_tsv(map(asdict, lost))
    assert len(head.split("\t")) == len(line.split("\t"))
    assert line.endswith("ab ab |" + "c" * 193 + "…\n")
    assert r"ab ab \|c" in "\n".join(section([*map(asdict, lost)], {"mentions.too_long": 1}))


# What holds for any text


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5),
    st.integers(1, 9),
    st.booleans(),
)
def test_no_piece_is_lost_and_none_is_added(texts, length, cased):
    ends = np.cumsum([len(text) for text in texts]).tolist()
    of = document(
        "".join(texts),
        sentences=[Span(end - len(text), end) for text, end in zip(texts, ends, strict=True)],
    )

    made = ExampleMaker(tokenizer(cased=cased), None, rules(length)).make(batch_of(of))

    encodings = tokenizer(cased=cased).backend.encode_batch(texts, add_special_tokens=False)
    ids = made.examples.column("input_ids").to_pylist()
    assert [id for row in ids for id in row] == [id for of in encodings for id in of.ids]
    assert all(0 < len(row) <= length for row in ids)
    for name in ("word_starts", "sentence_starts"):
        for row, starts in zip(ids, made.examples.column(name).to_pylist(), strict=True):
            assert starts[0] == 0
            assert starts == sorted(set(starts))
            assert starts[-1] < len(row)


@pytest.mark.parametrize("kind", ["bytes", "unigram"])
def test_mentions_have_their_pieces_whatever_the_tokenizer(vocab, kind):
    maker = ExampleMaker(trained(kind), vocab, rules())
    text = document(
        "ab 😀café Jena, Jena\nGlas 中 ab", ("Jena", "x:Jena"), ("Glas", "x:Glas"), ("中", "x:Ab")
    )

    made = maker.make(batch_of(text))

    [row] = made.examples.to_pylist()
    assert made.counters["mentions.widened"] == 0
    spans = zip(row["entity_starts"], row["entity_ends"], strict=True)
    decoded = [maker.tokenizer.backend.decode(row["input_ids"][a:b]) for a, b in spans]
    assert [surface.strip() for surface in decoded] == ["Jena", "Glas", "中"]


def trained(kind):
    """A tokenizer that takes spaces into its pieces."""
    text = ["ab Jena Glas café 中 😀, Jena"] * 3
    specials = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    if kind == "bytes":
        backend = Backend(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(special_tokens=specials, show_progress=False)
    else:
        backend = Backend(models.Unigram())
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        backend.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=60,
            special_tokens=specials,
            unk_token=specials[1],
            show_progress=False,
        )
    backend.train_from_iterator(text, trainer)
    return Tokenizer(backend, name=kind)


def test_chunks_are_the_batch(monkeypatch):
    monkeypatch.setattr("corpora.examples.BATCH_BYTES", 10)
    batch = batch_of(*(document("é" * n, id=str(n)) for n in (2, 3, 1, 9, 0, 0, 5, 1)))

    chunks = list(in_chunks(batch))

    assert [chunk.column("id").to_pylist() for chunk in chunks] == [
        ["2", "3"],
        ["1"],
        ["9"],
        ["0", "0", "5"],
        ["1"],
    ]


# What is held out


def test_the_share_of_a_document_decides_its_split():
    ids = [f"d{n}" for n in range(50)]
    how = rules(held_out=0.3, seed=7)
    maker = ExampleMaker(tokenizer(), None, replace(how, length=1))

    made = maker.make(batch_of(*(document("a b", id=id) for id in ids)))

    splits = dict(zip(*(made.examples.column(n).to_pylist() for n in ("document_id", "split"))))  # noqa: B905
    assert splits == {id: HELD_OUT if share(id, seed=7) < 0.3 else TRAIN for id in ids}
    assert set(splits.values()) == {HELD_OUT, TRAIN}


@given(
    st.lists(st.floats(0, 1, exclude_max=True), max_size=6, unique=True),
    st.floats(0, 1, exclude_max=True),
)
def test_of_several_documents_some_are_held_out_and_some_are_not(shares, held_out):
    found = min(shares, default=1.0), max(shares, default=0.0)

    limit = threshold(held_out, found)

    below = [at for at in shares if at < limit]
    wanted = [at for at in shares if at < held_out]
    if held_out == 0:
        assert below == []
    elif len(shares) > 1:
        assert 0 < len(below) < len(shares)
        if 0 < len(wanted) < len(shares):
            assert below == wanted
        else:
            assert abs(len(below) - len(wanted)) == 1
    else:
        assert below == []
