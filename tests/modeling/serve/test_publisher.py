"""TEI Publisher's API, asked as its ``modules/lib/api/nlp.xql`` (a52994f) asks."""

import asyncio

import pytest

from corpora.system.sandbox import Bounds
from modeling.serve.apart import Apart
from modeling.serve.patterns import BOUNDS, PATTERNS

TEXT = "ich war\n      in Ulm und sah bei Ida\n   Berg viel. \U0001f642 Dann in Bad\tBerg."


def test_tei_publisher_finds_the_service_and_its_models(ask):
    status, models, model, none = ask.all(
        [
            ("GET", "/status/", {}),
            ("GET", "/model", {}),
            ("GET", "/model/small", {}),
            ("GET", "/model/other", {}),
        ]
    )

    assert status.json()["pipelines"].keys() == {"small"}
    assert models.json() == ["small"]
    assert model.json()["labels"] == {"ner": ["pers", "place"]}
    assert none.status_code == 404


def test_names_of_a_document_count_its_characters_across_line_ends(ask):
    request = {"content": TEXT.encode(), "headers": {"Content-Type": "text/text"}}

    found = ask("POST", "/entities/small", **request).json()

    assert [(one["text"], one["type"]) for one in found] == [
        ("Ulm", "place"),
        ("Ida\n   Berg", "person"),
        ("Bad\tBerg", "place"),
    ]
    for one in found:
        assert TEXT[one["start"] :].startswith(one["text"])
        assert set(one) == {"text", "type", "start"}


def test_a_model_that_is_not_there_is_404(ask):
    assert ask("POST", "/entities/../../etc/passwd", content=b"x").status_code == 404
    assert ask("POST", "/entities/de_core_news_sm", content=b"x").status_code == 404


def by_patterns(ask, text, *patterns):
    asked = {
        "lang": "de",
        "text": text,
        "patterns": [{"label": "PER", "pattern": p} for p in patterns],
    }
    answer = ask("POST", "/patterns/", json=asked)
    return [one["text"] for one in answer.json()] if answer.status_code == 200 else answer.json()


def test_patterns_as_tei_publisher_writes_them_find_names(ask):
    text = "Ida Berg kam. I. Berg\nund Bergs Haus, OTTO Marc und Otto; Neu Stadt."
    person = [
        {"lower": {"regex": r"^i(?:\.|da)$"}, "op": "?"},
        {"lower": {"regex": r"^berg\'?s?$"}},
    ]

    found = by_patterns(ask, text, person, "Otto", {"lower": "Neu Stadt"})

    assert found == ["Ida Berg", "I. Berg", "Bergs", "Otto", "Neu Stadt"]


HOSTILE = [{"lower": {"regex": "(?:a|aa)+c$"}}]


@pytest.fixture
def _half_a_second(monkeypatch):
    bounds = Bounds(seconds=0.5, wall_seconds=30)
    monkeypatch.setattr("modeling.serve.publisher.BOUNDS", bounds)


@pytest.mark.timeout(120)  # without the bounds, it would never end
@pytest.mark.usefixtures("_half_a_second")
def test_hostile_patterns_are_stopped(ask):
    assert "longer than" in by_patterns(ask, "a" * 40 + "b", HOSTILE)["detail"]
    many = [[{"lower": "a", "op": "*"}] * 20] * 200
    assert "longer than" in by_patterns(ask, "a " * 2_000, *many)["detail"]
    assert by_patterns(ask, "Otto kam.", "Otto") == ["Otto"]


def test_a_call_whose_client_has_gone_ends_with_its_process(caplog):
    patterns = [{"label": "PER", "pattern": HOSTILE}]
    apart = Apart(PATTERNS, Bounds(seconds=600, wall_seconds=600))

    async def leave():
        hostile = asyncio.create_task(apart.call({"sentences": [["a" * 60]], "patterns": patterns}))
        waiting = asyncio.create_task(apart.call({"sentences": [["a"]], "patterns": []}))
        await asyncio.sleep(1)
        assert not waiting.done()
        hostile.cancel()
        return await waiting  # for ever, if the process lived

    assert asyncio.run(leave()) == []
    assert not caplog.records


def test_more_calls_than_may_wait_are_refused():
    apart = Apart(PATTERNS, BOUNDS)

    async def many():
        calls = [apart.call({"sentences": [], "patterns": []}) for _ in range(9)]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert [type(answer).__name__ for answer in asyncio.run(many())] == [*["list"] * 8, "Busy"]


def test_patterns_that_are_not_read_are_said(ask):
    for pattern in (
        [],
        {},
        [{"pos": "NOUN"}],
        *([{"lower": {"regex": text}}] for text in ("(", "a{9}", "(?R)", "a" * 501)),
        [{"op": "!", "lower": "a"}],
    ):
        assert by_patterns(ask, "a b", pattern)["detail"]


def test_a_pattern_of_many_words_is_refused(ask):
    starred = [{"lower": "a", "op": "*"}] * 101

    assert "101 words" in by_patterns(ask, "a b", starred)["detail"]
