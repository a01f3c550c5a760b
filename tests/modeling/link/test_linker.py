import math
import pickle
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import onoma
from corpora.document import Mention
from corpora.entities.lookup import EntityLookup, Pairs, write_lookup
from corpora.errors import CorpusError
from modeling.link.candidates import FEATURES, N_PLAIN, KnownEntities
from modeling.link.choice import softmax
from modeling.link.counts import EntityCounts
from modeling.link.datasets import PROBABILITY, link_document
from modeling.link.evaluation import cross_validate
from modeling.link.linker import PRIOR, Linker, LinkerTraining, grouped
from modeling.link.records import record_of
from modeling.link.report import measure, write_report
from tests.modeling.link.samples import ANNA, FRANZ, MARIA, PAUL, REGISTER, letter, letters, records


@pytest.fixture(scope="module")
def linker():
    return LinkerTraining(records(), REGISTER).train()


def best(linker, document):
    return [
        one.entities[0] if one and one.entities else None
        for one in linker.rank(record_of(document))
    ]


def test_who_is_meant_follows_from_who_writes(linker):
    text = "Marc ist da."

    assert best(linker, letter("x", text, ("Marc", None), by="Herwarth")) == [FRANZ]
    assert best(linker, letter("x", text, ("Marc", None), by="Else")) == [MARIA]


def test_entities_of_the_register_are_found_that_no_document_has(linker):
    document = letter("x", "Anna Grossmann grüßt.", ("Anna Grossmann", None))

    assert best(linker, document) == [ANNA]


def test_a_document_that_was_trained_on_is_linked_as_if_it_had_not_been():
    alone = letter("alone", "Feininger war hier.", ("Feininger", "s:feininger"))
    training = [*letters(), alone]

    with_it = KnownEntities([record_of(document) for document in training], REGISTER)
    without = KnownEntities(records(), REGISTER)

    record = record_of(alone)
    [one], [other] = (k.candidates(record, record.cases) for k in (with_it, without))
    assert one.entities == other.entities == ()
    record = record_of(letters()[0])
    rest = KnownEntities(records()[1:], REGISTER)
    for one, other in zip(
        KnownEntities(records(), REGISTER).candidates(record, record.cases),
        rest.candidates(record, record.cases),
        strict=True,
    ):
        assert one.entities == other.entities
        assert one.features == pytest.approx(other.features)


def test_documents_of_two_datasets_with_one_id_are_left_out_together():
    """Files of two editions may have the same name, which is the id of their documents."""
    twins = [letter("01.xml", "Marc kam.", ("Marc", FRANZ)) for _ in range(2)]
    other = letter("01.xml", "Klee schrieb.", ("Klee", PAUL))
    counts = EntityCounts([record_of(document) for document in (*twins, other)])

    assert counts.spread("marc", without=None) == {FRANZ: 1}
    for form, entity in (("Marc", FRANZ), ("Klee", PAUL)):
        assert counts.count(("form", form), entity, without="01.xml") == 0
        assert counts.spread(form.casefold(), without="01.xml") == {}
    assert counts.sum((), without="01.xml") == 0
    assert counts.sum((), without=None) == 3


def test_documents_can_be_left_out_in_turn():
    documents = [letter(id, "Marc kam.", ("Marc", f"s:{id}")) for id in "abc"]
    counts = EntityCounts([record_of(document) for document in documents])

    for without in ("a", None, "b", "a", "c"):
        found = dict(counts.among(("form", "Marc"), without=without))
        assert set(found) == {f"s:{id}" for id in "abc" if id != without}
        assert counts.sum((), without=without) == len(found)
        assert counts.count(("around", "kam"), "s:a", without=without) == (without != "a")


def test_gold_ids_of_documents_that_are_linked_change_nothing(linker):
    text = "Gestern kam Marc zu uns. Ich sah Klee."
    named = letter("x", text, ("Marc", MARIA), ("Klee", FRANZ), by="Herwarth")
    bare = letter("x", text, ("Marc", None), ("Klee", None), by="Herwarth")

    assert linker.rank(record_of(named)) == linker.rank(record_of(bare))


def test_nobody_is_meant_before_birth_or_after_death():
    knowledge = KnownEntities(records(), REGISTER)

    def column(day):
        record = record_of(letter("x", "Anna Großmann", ("Anna Großmann", None), day=day))
        [found] = knowledge.candidates(record, record.cases)
        row = found.entities.index(ANNA)
        return tuple(found.features[row, FEATURES.index(name)] for name in ("not born", "is dead"))

    assert [column(day) for day in ("1904", "1920", "1951")] == [(1, 0), (0, 0), (0, 1)]


def test_many_mentions_in_one_document_count_as_one_document():
    once = [letter(f"{n}", "Klee kam.", ("Klee", PAUL)) for n in range(3)]
    often = letter("often", "Marc, Marc, Marc.", *[("Marc", FRANZ)] * 3)
    new = [letter(f"n{n}", "Kunze, Anna Kunze.", ("Kunze", f"s:{n}")) for n in range(3)]
    records = [record_of(document) for document in (*once, often, *new)]
    knowledge = KnownEntities(records)
    start = FEATURES.index("documents of the form")

    def columns(name, entity, of):
        record = record_of(of or letter("x", f"{name} kam.", (name, None)))
        [found] = knowledge.candidates(record, record.cases[:1])
        return found.features[found.entities.index(entity), start : start + 4]

    def expected(form, another, entity, new):
        return pytest.approx([*map(math.log1p, (form, another, entity)), new])

    assert columns("Klee", PAUL, None) == expected(3, 0, 3, 0.5 / 4)
    assert columns("Klee", PAUL, once[0]) == expected(2, 0, 2, 0.5 / 3)
    assert columns("Marc", FRANZ, None) == expected(1, 0, 1, 1.5 / 2)
    assert columns("Kunze", "s:1", None) == expected(1, 2, 1, 3.5 / 4)
    assert columns("Kunze", "s:1", new[0]) == expected(1, 1, 1, 2.5 / 3)


GEORGIA = ("Georgia (country)", "Georgia (U.S. state)", "Georgia in Europe")


@pytest.mark.parametrize(
    ("text", "names", "rest"),
    [
        ("Georgia is a country.", [("Georgia", None)], [math.log(2), 0, 0]),
        ("A U.S. state: Georgia", [("Georgia", None)], [0, math.log(2), 0]),
        ("Georgia, a state in Europe", [("Georgia", None)], [0, math.log(2) / 3, math.log(2)]),
    ],
)
def test_the_rest_of_a_name_is_looked_for_in_the_document(text, names, rest):
    spaced = [f"w:{title}" for title in GEORGIA]
    pages = [letter(t, f"{t} is here.", (t, e)) for t, e in zip(GEORGIA, spaced, strict=True)]
    knowledge = KnownEntities([record_of(page) for page in pages])
    record = record_of(letter("x", text, *names))

    [found] = knowledge.candidates(record, record.cases)

    rows = [found.entities.index(entity) for entity in spaced]
    column = found.features[rows, FEATURES.index("rest of the name is there")]
    assert column == pytest.approx(rest)
    assert not found.features[:, FEATURES.index("no rest of the name")].any()
    assert found.features[rows, FEATURES.index("begins as the name")] == pytest.approx(
        [1, 1, 7 / 17]
    )


TOWNS = ("Aarau", "Baden", "Chur", "Davos", "Gossau", "Herisau", "Luzern", "Thun", "Zug")


def test_an_entity_is_likelier_for_being_called_so():
    """Each town's name means the town and its canton as often; the canton is named more often."""
    names = [
        pair
        for town in TOWNS
        for pair in ((town, f"w:{town}"), (town, f"w:{town} (canton)"))
        + ((f"Land {town}", f"w:{town} (canton)"),) * (4 if town == "Zug" else 0)
    ]
    letters = [record_of(letter(f"{n}", f"In {f}.", (f, e))) for n, (f, e) in enumerate(names * 3)]
    toward = [
        record_of(letter(f"t{n}", f"In {t}.", (t, f"w:{t}"))) for n, t in enumerate(TOWNS[:6])
    ]
    training = LinkerTraining([*letters, *toward], {})
    zug = record_of(letter("x", "In Zug.", ("Zug", None)))
    [found] = training.knowledge.candidates(zug, zug.cases)

    def probability(uses):
        choice = softmax(training.fit_plain(uses).score(found.features[:, :N_PLAIN]))
        return choice[found.entities.index("w:Zug")]

    without = probability([one for one in FEATURES if "the name" not in one])
    assert probability(FEATURES) > without + 0.05


def test_the_prior_alone_does_not_see_who_writes():
    training = LinkerTraining([*records(12), *records(24)[12::2]], REGISTER)  # more that mean Franz
    of_else = record_of(letter("x", "Marc und Xyz", ("Marc", None), ("Xyz", None), by="Else"))

    [[marc, nobody]] = training.train().rank_all([of_else], prior=training.fit_plain(PRIOR))

    assert (marc.by_prior, marc.entities[0]) == (FRANZ, MARIA)
    assert nobody.by_prior is None


def test_ids_that_are_no_names_have_no_name(linker):
    name = linker.knowledge.name_of("s:P.0000057")

    assert (name.normal, name.words) == ("", ())
    assert linker.knowledge.name_of(PAUL).normal == "klee"
    assert linker.knowledge.name_of(PAUL).words == ("klee", "paul")  # in an order, to be summed
    assert linker.knowledge.name_of(FRANZ).text == "franz"


def test_a_linker_that_was_saved_links_as_before(linker, tmp_path):
    linker.save(tmp_path)

    again = Linker.load(tmp_path)

    record = record_of(letter("x", "Marc und Klee", ("Marc", None), ("Klee", None), by="Else"))
    assert again.rank(record) == linker.rank(record)
    assert again.threshold == linker.threshold
    (tmp_path / "linker.json").write_text("{}")
    with pytest.raises(CorpusError, match="Train it again"):
        Linker.load(tmp_path)


def test_a_file_of_a_linker_that_is_missing_is_named(linker, tmp_path):
    linker.save(tmp_path)
    (tmp_path / "records.jsonl").unlink()

    with pytest.raises(CorpusError, match=r"records.jsonl missing. Copy the whole linker"):
        Linker.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("linker.json", '"threshold"', '"treshold"', "'threshold' is missing"),
        ("linker.json", '"bias": ', '"bias": NaN, "was": ', "finite"),
        ("linker.json", '"mean": [', '"mean": [1, ', "numbers"),
        ("linker.json", '"mean": [', '"mean": [["a"], ', "inhomogeneous"),
        ("linker.json", '"threshold": ', '"threshold": NaN, "was": ', "threshold: nan"),
        ("linker.json", '"settings": {', '"settings": [], "was": {', ""),
        ("linker.json", '"settings": {', '"settings": {"vocabulary": 1', "int"),
        ("linker.json", '"settings": {', '"settings": {"encoder": "a"', "belong together"),
        ("linker.json", '"labels": [', '"labels": 1, "was": [', "labels"),
        ("records.jsonl:1", '"cases"', '"case"', "field `cases`"),
        ("records.jsonl:1", '{"', '["', "delimiter"),
        ("register.jsonl:1", '"forms"', '"form"', "field `forms`"),
    ],
)
def test_a_file_of_a_linker_that_was_edited_is_named(linker, tmp_path, name, old, new, said):
    linker.save(tmp_path)
    file = tmp_path / name.partition(":")[0]
    text = re.sub(r"([\[{]|: |,)\n *", r"\1", file.read_text()).replace(old, new, 1)
    file.write_text(text)

    with pytest.raises(CorpusError, match=rf"{name}: damaged \(.*{said}.*Train it again"):
        Linker.load(tmp_path)


def test_a_linker_goes_to_other_processes_and_is_short_in_a_notebook(linker):
    document = letter("x", "Marc ist da.", ("Marc", None), by="Herwarth")

    assert best(pickle.loads(pickle.dumps(linker)), document) == best(linker, document)  # noqa: S301
    assert len(repr(linker)) < 200
    assert hash(linker)


def test_documents_are_linked_so_many_at_a_time_as_have_a_thousand_names():
    sizes = [400, 700, 0, 999, 1, 5]

    assert list(grouped(sizes, int)) == [[400, 700], [0, 999, 1], [5]]


def test_links_are_written_with_their_probability_and_what_is_there_stays(linker):
    document = letter(
        "x", "Klee, Klee und Xaver", ("Klee", "s:mine"), ("Klee", None), ("Xaver", None)
    )
    counters = Counter()
    linker.threshold = 0.5

    linked = link_document(document, linker, counters)

    assert [mention.entity for mention in linked.mentions] == ["s:mine", PAUL, None]
    assert 0.5 <= float(linked.mentions[1].attributes[PROBABILITY]) <= 1
    assert counters == {"names.linked_before": 1, "links": 1, "names.without_candidates": 1}
    again = link_document(linked, linker, counters)
    assert again == linked


def incomplete():
    """Make letters of two names each; in every third, one has no id, though it is known."""
    return [
        letter(
            f"{n}",
            "Klee kam. Paul Klee las den Roman.",
            *(("Klee", None if n % 3 == 0 else PAUL), ("Paul Klee", PAUL)),
        )
        for n in range(60)
    ]


def test_names_without_an_id_teach_nothing_unless_they_mean_nobody_who_is_known():
    training = [record_of(document) for document in incomplete()]
    document = letter("x", "Klee kam.", ("Klee", None))

    [by_default] = LinkerTraining(training, REGISTER).train().rank(record_of(document))
    [as_nil] = LinkerTraining(training, REGISTER, nil=True).train().rank(record_of(document))

    assert (by_default.entities[0], as_nil.entities[0]) == (PAUL, PAUL)
    assert by_default.probability > 0.95
    assert as_nil.probability < 0.7


def test_links_of_names_without_an_id_are_neither_right_nor_wrong():
    training = [record_of(document) for document in incomplete()]

    found = measure(cross_validate(training, REGISTER), replicates=10)
    as_nil = measure(cross_validate(training, REGISTER, nil=True), replicates=10, nil=True)

    assert (found["wrong among written"].part, found["wrong among written"].whole) == (0, 100)
    assert found["written of names without an id"].part == 20
    assert "written of names without an id" not in as_nil
    assert as_nil["NIL is an answer: all features"].part == 100


def test_names_of_a_class_that_only_one_fold_has_count_as_not_linked():
    training = records(10)
    place = Mention(7, 11, label="place", entity="s:jena")
    rare = replace(letter("jena", "Ich in Jena."), mentions=(place,))

    outcomes = cross_validate([*training, record_of(rare)], REGISTER)

    assert len(outcomes) == 31  # each name of each document
    [found] = [outcome for outcome in outcomes if outcome.label == "place"]
    assert (found.gold, found.chosen, found.is_known) == ("s:jena", None, False)


def test_a_class_of_which_hardly_a_name_has_an_id_is_not_linked():
    def documents(n_with):
        for n in range(41):
            text = letter(f"{n}", "Klee las den Roman.", ("Klee", PAUL))
            place = text.text.index("Roman")
            work = Mention(place, place + 5, label="work", entity="s:w" if n < n_with else None)
            yield record_of(replace(text, mentions=(*text.mentions, work)))

    assert LinkerTraining(list(documents(2)), {}).labels == {"person"}  # of 41; 5 % are asked for
    assert LinkerTraining(list(documents(3)), {}).labels == {"person", "work"}


def test_a_linker_that_saw_no_choice_writes_no_links():
    linker = LinkerTraining(records(1), {}).train()  # what one document alone knows is never tried
    counters: Counter[str] = Counter()

    new = link_document(letter("new", "Marc kam.", ("Marc", None)), linker, counters)

    assert linker.threshold > 1
    assert new.mentions[0].entity is None
    assert counters == {"names.not_sure": 1}


def test_training_without_links_says_what_to_do():
    with pytest.raises(CorpusError, match=r"0 of 1 names .* Train on documents whose names are"):
        LinkerTraining([record_of(letter("x", "Klee", ("Klee", None)))], {})


def test_training_with_too_few_links_says_how_few():
    few = letter("x", "Klee " * 21, ("Klee", PAUL), *[("Klee", None)] * 20)

    with pytest.raises(CorpusError, match=r"1 of 21 names .* too few in each class: 5% must"):
        LinkerTraining([record_of(few)], {})


def test_a_report_has_the_baseline_beside_the_linker(tmp_path):
    outcomes = cross_validate(records(20), REGISTER, folds=4)

    found = measure(outcomes, replicates=50)

    assert found["accuracy, all features"].value == 1
    assert found["accuracy, baseline"].value < 1  # Marc is Franz, whoever writes
    assert found["coverage"].part == found["coverage"].whole == 60
    assert found["recall at 10 of known entities"].value == 1
    text = write_report(outcomes, tmp_path, title="Links", replicates=50)
    assert "| baseline |" in text
    assert len((tmp_path / "names.tsv").read_text().splitlines()) == 61


def test_library_gives_names_the_entities_that_the_linker_ranks_first(linker, tmp_path):
    linker.save(tmp_path)
    document = letter("x", "Marc und Klee", ("Marc", None), ("Klee", None), by="Else")

    linked = onoma.link(document, onoma.load_linker(tmp_path))

    assert linked == link_document(document, linker, Counter())


def test_a_vocabulary_brings_candidates_with_their_priors(tmp_path):
    entities, forms = pa.array(["w:Ulm", "w:Ulm (Texas)"]), pa.array(["Ulm", "Ulm"])
    priors = np.array([0.9, 0.1], np.float32)
    write_lookup(tmp_path, [Pairs(entities, entities, forms, np.arange(2), priors)])
    knowledge = KnownEntities(records(), REGISTER, EntityLookup(tmp_path))
    record = record_of(letter("new", "Aus Ulm.", ("Ulm", None)))

    [found] = knowledge.candidates(record, record.cases)

    assert found.entities == ("w:Ulm", "w:Ulm (Texas)")
    column = found.features[:, FEATURES.index("of the form in the vocabulary")]
    np.testing.assert_allclose(np.exp(column), priors, rtol=1e-6)
    assert knowledge.holds("w:Ulm", without=None)


def test_mentions_of_one_form_share_all_columns_but_those_of_label_and_words():
    knowledge = KnownEntities(records(), REGISTER)
    document = letter("x", "Marc malt, und da kam Marc", ("Marc", None), ("Marc", None))
    cases = record_of(document).cases
    one, other = (cases[0]._replace(label="place"), cases[1])

    both = knowledge.candidates(record_of(document), [one, other])
    alone = [
        found
        for case in (one, other)
        for found in knowledge.candidates(record_of(document), [case])
    ]

    for found, again in zip(both, alone, strict=True):
        assert found.features.tolist() == again.features.tolist()
    differ = np.flatnonzero((both[0].features != both[1].features).any(axis=0))
    assert [FEATURES[n] for n in differ] == ["class", "words around"]
