import json
import time
from functools import partial

import pytest

from corpora.document import Sentence
from corpora.errors import UsageError
from corpora.ner.card import list_findings, to_json, to_markdown
from tests.ner_files import examine, read_conll

ARENDT = {
    "person": (1702, 1303, 182, 217),
    "place": (1087, 891, 111, 85),
    "ethnicity": (1093, 867, 115, 111),
    "organization": (455, 377, 39, 39),
    "event": (57, 49, 6, 2),
    "language": (20, 14, 4, 2),
    "not tagged": (153223, 121154, 16101, 15968),
    "sentences": (10728, 8582, 1073, 1073),
    "tokens": (158139, 125066, 16602, 16471),
}
STURM = {
    "pers": (930, 763, 83, 84),
    "date": (722, 612, 59, 51),
    "place": (492, 374, 59, 59),
    "not tagged": (33809, 27047, 3306, 3456),
    "sentences": (3247, 2636, 285, 326),
    "tokens": (36717, 29424, 3583, 3710),
}


def sentences(split, *texts):
    """Read texts such as ``Hannah/B-PER Arendt/I-PER schrieb`` as sentences of a split."""
    made = []
    for number, text in enumerate(texts, start=1):
        pairs = [word.partition("/") for word in text.split()]
        made.append(
            Sentence(
                id=f"{split}#{number}",
                document_id=split,
                split=split,
                tokens=tuple(token for token, _, _ in pairs),
                tags=tuple(tag or "O" for _, _, tag in pairs),
            )
        )
    return made


def examine_texts(**texts):
    splits = {split: sentences(split, *lines) for split, lines in texts.items()}
    return examine({split: partial(iter, rows) for split, rows in splits.items()})


@pytest.fixture(scope="module")
def published(realdata):
    def examine_published(name):
        folder = realdata("neiss-ner") / name
        return examine(
            {
                split: partial(read_conll, folder / f"{split}_{name.lower()}.conll", split=split)
                for split in ("train", "dev", "test")
            }
        )

    return examine_published


@pytest.fixture(scope="module")
def arendt(published):
    return published("Arendt")


@pytest.fixture(scope="module")
def sturm(published):
    return published("Sturm")


@pytest.fixture
def small():
    return examine_texts(
        train=[
            "Hannah/B-PER Arendt/I-PER kommt aus Linden/B-LOC .",
            "Linden/B-LOC blühen",
            "Die Linden blühen im Mai",
            "Jena/B-LOC",
            "9/B-date ./B-date Mai/I-date",
        ],
        dev=["Die Linden/B-LOC blühen im Mai", "Arendt/B-place"],
        test=["Jena/I-PER", "Hannah/B-PER Arendt/I-PER kommt aus Jena/B-LOC ."],
    )


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "table"), [("arendt", ARENDT), ("sturm", STURM)])
def test_counts_equal_the_published_tables(request, name, table):
    card = to_markdown(request.getfixturevalue(name), title=name)

    rows = [[cell.strip(" `") for cell in line.split("|")] for line in card.splitlines()]
    counts = {row[1]: tuple(map(int, row[2:6])) for row in rows if row[1:2] and row[1] in table}

    assert counts == table
    assert "all | train | test | dev" in card


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "label", "n_runs"),
    [("sturm", "pers", 873), ("sturm", "date", 471), ("arendt", "person", 1584)],
)
def test_touching_entities_are_joined_beside_the_count(request, name, label, n_runs):
    health = request.getfixturevalue(name)

    assert sum(counts.runs[label] for counts in health.splits.values()) == n_runs


@pytest.mark.realdata
def test_leaks_of_the_published_splits(arendt, sturm):
    leaks = {
        (name, leak.split, leak.min_tokens): leak
        for name, health in (("Arendt", arendt), ("Sturm", sturm))
        for leak in health.leaks
    }

    assert leaks["Arendt", "test", 4].ratio == pytest.approx(0.176, abs=5e-4)
    assert leaks["Arendt", "test", 1].leaked_with_tags == 234
    assert leaks["Arendt", "test", 6].leaked_with_tags == 92
    assert leaks["Arendt", "dev", 1].leaked_with_tags == 234
    assert leaks["Arendt", "dev", 6].leaked_with_tags == 105
    assert leaks["Sturm", "test", 1].leaked_with_tags == 37
    assert leaks["Sturm", "test", 6].leaked_with_tags == 3
    assert leaks["Sturm", "dev", 1].leaked_with_tags == 69
    assert leaks["Sturm", "dev", 6].leaked_with_tags == 4


@pytest.mark.realdata
def test_gazetteer_of_the_published_splits(arendt, sturm):
    assert arendt.gazetteer.threshold == 0.3
    assert arendt.gazetteer.scores["test"].f1 == pytest.approx(0.827, abs=0.005)
    assert arendt.gazetteer.scores_of_all_names["test"].f1 == pytest.approx(0.798, abs=0.005)
    assert sturm.gazetteer.scores["test"].f1 == pytest.approx(0.704, abs=0.005)


@pytest.mark.realdata
def test_arendt_is_examined_in_seconds(published):
    start = time.process_time()

    published("Arendt")

    assert time.process_time() - start < 5  # 0.6 on a laptop, however busy it is


def test_card_matches_golden_file(small, golden):
    golden("card.md", to_markdown(small, title="Small", notes={"licence": "CC0"}))


def test_json_is_the_same_numbers_unrounded(small):
    card = json.loads(json.dumps(to_json(small)))

    assert card["splits"]["train"]["entities"] == {"LOC": 3, "PER": 1, "date": 2}
    assert card["leaks"][0]["ratio"] == 0.5
    assert card["seen"][1]["split"] == "test"
    assert card["gazetteer"]["scores"]["test"]["f1"] == small.gazetteer.scores["test"].f1


def test_card_says_the_same_every_time(small):
    again = to_markdown(small, title="Small")

    assert to_markdown(small, title="Small") == again


def test_leaks_are_found_with_and_without_tags():
    health = examine_texts(
        train=["a b c d e/B-X f", "a", "b/B-X"], test=["a b c d e f", "b/B-X", "new"]
    )

    counts = {leak.min_tokens: leak for leak in health.leaks}

    assert (counts[1].sentences, counts[1].leaked, counts[1].leaked_with_tags) == (3, 2, 1)
    assert (counts[4].sentences, counts[4].leaked, counts[4].leaked_with_tags) == (1, 1, 0)
    assert (counts[6].sentences, counts[6].leaked) == (1, 1)


def test_mentions_seen_in_train_are_counted_by_form_and_label():
    health = examine_texts(
        train=["Essen/B-LOC", "New/B-LOC York/I-LOC"],
        test=["Essen/B-LOC Essen/B-ORG York/B-LOC", "New/B-LOC York/I-LOC"],
    )

    (seen,) = health.seen

    assert (seen.mentions, seen.seen, seen.seen_with_label) == (4, 3, 2)


def test_conflicts_within_and_across_splits():
    health = examine_texts(
        train=["a b/B-X", "a b", "c d/B-X", "e", "e"], dev=["a b"], test=["c d/B-Y", "e"]
    )

    conflicts = health.conflicts

    assert (conflicts.sentences, conflicts.copies, conflicts.only_across) == (2, 5, 1)
    assert conflicts.within == {"train": 1, "dev": 0, "test": 0}
    assert conflicts.examples[0].differing == ("b",)
    assert conflicts.examples[0].ways == {"B-X": {"train": 1}, "O": {"train": 1, "dev": 1}}


def test_spellings_of_one_label_are_grouped():
    health = examine_texts(
        train=["a/B-organization b/B-person c/B-place d/B-date e/B-Date."],
        dev=["a/B-organisation b/B-PER c/B-LOC x/B-event"],
        test=["b/B-pers"],
    )

    assert health.spellings == (
        ("Date.", "date"),
        ("organisation", "organization"),
        ("PER", "pers", "person"),
        ("LOC", "place"),
    )


def test_forms_with_several_labels_are_listed_by_weight():
    health = examine_texts(
        train=["a/B-X a/B-X a/B-Y", "b/B-X b/B-X b/B-Y b/B-Y", "c/B-X"], test=["a/B-X"]
    )

    assert [(form.form, dict(form.labels)) for form in health.ambiguous] == [
        ("b", {"X": 2, "Y": 2}),
        ("a", {"X": 3, "Y": 1}),
    ]


def test_illegal_and_touching_tags_are_counted():
    health = examine_texts(train=["a/I-X b/B-X c/B-X d/I-Y", "e/B-X f/B-Y", "g"])

    counts = health.splits["train"]

    assert (counts.orphans, counts.adjacent, counts.one_token, counts.longest) == (2, 1, 1, 4)
    assert counts.entities == {"X": 3, "Y": 1}
    assert counts.runs == {"X": 2, "Y": 1}


def test_threshold_is_chosen_on_dev():
    train = ["Essen/B-LOC", "Essen", "Essen", "Jena/B-LOC"]

    health = examine_texts(train=train, dev=["Essen Jena/B-LOC"], test=["Essen/B-LOC", "Jena"])

    assert health.gazetteer.threshold == 0.35  # the first twentieth above a third
    assert health.gazetteer.scores["dev"].f1 == 1
    assert health.gazetteer.scores["test"].correct == 0
    assert health.gazetteer.scores_of_all_names["test"].correct == 1


@pytest.mark.parametrize("dev", [{}, {"dev": []}, {"dev": ["Essen"]}])
def test_without_mentions_in_dev_all_names_are_used(dev):
    health = examine_texts(train=["Essen/B-LOC", "Essen"], test=["Essen/B-LOC"], **dev)

    assert health.gazetteer.threshold is None
    assert health.gazetteer.scores["test"].f1 == 1
    assert "all names | test" in to_markdown(health, title="x")


@pytest.mark.parametrize(
    "texts", [{"train": ["a/B-X"]}, {"train": [], "test": []}, {"test": ["a"]}]
)
def test_missing_and_empty_splits_make_a_card(texts):
    health = examine_texts(**texts)

    assert to_markdown(health, title="x")
    assert ("The split train is empty." in list_findings(health)) == (texts.get("train") == [])


def test_no_split_at_all_is_refused():
    with pytest.raises(UsageError):
        examine({})
