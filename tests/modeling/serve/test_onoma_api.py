"""``POST /v1/tag``, and what it does under load."""

import json

import pytest

from modeling.taggers.tagger import Tagger
from tests.modeling.test_predict_tei import TEI

TEXT = "ich war in Ulm und sah bei Ida Berg viel."


def named(answer):
    return [(m["text"], m["label"]) for m in answer["mentions"]]


def test_a_text_comes_back_with_names_and_probabilities(ask):
    answer = ask("POST", "/v1/tag", json={"text": TEXT}).json()

    assert answer["model"] == "small"
    [text] = answer["texts"]
    assert named(text) == [("Ulm", "place"), ("Ida Berg", "person")]
    for mention in text["mentions"]:
        assert TEXT[mention["start"] : mention["end"]] == mention["text"]
        assert 0 < mention["probability"] <= 1


def test_plain_text_is_read_too(ask):
    answer = ask("POST", "/v1/tag", content=TEXT, headers={"Content-Type": "text/plain"})

    assert named(answer.json()["texts"][0]) == [("Ulm", "place"), ("Ida Berg", "person")]


def test_names_below_the_threshold_are_left_out(ask):
    every, none = ask.all(
        [
            ("POST", "/v1/tag", {"json": {"text": TEXT, "threshold": 0}}),
            ("POST", "/v1/tag?threshold=1", {"json": {"text": TEXT}}),
        ]
    )

    assert len(every.json()["texts"][0]["mentions"]) == 2
    assert none.json()["texts"][0]["mentions"] == []


def test_words_come_back_with_tags(ask):
    words = ["ich", "war", "in", "Bad", "Berg", "."]

    [sentence, empty] = ask("POST", "/v1/tag", json={"sentences": [words, []]}).json()["sentences"]

    assert sentence["tags"] == ["O", "O", "O", "B-place", "I-place", "O"]
    assert [(m["start"], m["end"], m["text"]) for m in sentence["mentions"]] == [(3, 5, "Bad Berg")]
    assert empty == {"tags": [], "mentions": []}


def test_texts_are_streamed_in_their_order(ask):
    texts = [{"text": f"ich war in {name}.", "id": name} for name in ("Ulm", "Jena") * 10]
    request = {"texts": [*texts, "nichts", {"text": "a" * 20_000, "id": "no text"}]}

    answer = ask("POST", "/v1/tag", json=request | {"stream": True})

    assert answer.headers["content-type"].startswith("application/x-ndjson")
    *lines, nothing, refused = map(json.loads, answer.text.splitlines())
    assert [(line["id"], named(line)) for line in lines] == [
        (text["id"], [(text["id"], "place")]) for text in texts
    ]
    assert nothing == {"id": "20", "mentions": []}
    assert refused["status"] == 422
    assert "this is no text" in refused["detail"]


def test_a_tei_file_comes_back_with_names_and_nothing_else_changed(ask):
    headers = {"Content-Type": "application/tei+xml"}

    answer = ask("POST", "/v1/tag", content=TEI.encode(), headers=headers)

    assert answer.headers["content-type"] == "application/tei+xml"
    assert ">Ulm</placeName>" in answer.text
    assert "<?xml version='1.0'  encoding=\"UTF-8\"?>\n<!-- kept -->" in answer.text
    names = ask(
        "POST", "/v1/tag", content=TEI.encode(), headers=headers | {"Accept": "application/json"}
    )
    assert ("Ulm", "place") in named(names.json()["texts"][0])


@pytest.mark.parametrize(
    ("of_dev", "of_service", "asked", "used"),
    [
        (1.0, None, "", "1.000"),
        (None, None, "", "0.900"),
        (1.0, 0.5, "", "0.500"),
        (1.0, 0.5, "?threshold=0", "0.000"),
    ],
)
def test_names_go_into_tei_from_the_taggers_own_threshold_on_unless_another_is_said(
    ask, tagger, monkeypatch, of_dev, of_service, asked, used
):
    monkeypatch.setitem(vars(tagger), "threshold_of_dev", of_dev)
    ask.settings = {"threshold": of_service}
    request = {"content": TEI.encode(), "headers": {"Content-Type": "application/tei+xml"}}

    answer = ask("POST", f"/v1/tag{asked}", **request)

    assert answer.headers["x-onoma-threshold"] == used
    assert ("</placeName>" in answer.text) == (used != "1.000")
    assert ("below the threshold" in answer.headers["x-onoma-counts"]) == (used == "1.000")
    request["headers"]["Accept"] = "application/json"
    names = ask("POST", "/v1/tag", **request).json()["texts"][0]
    assert ("Ulm", "place") in named(names)


def test_many_at_once_get_what_each_would_get_alone(ask, tagger):
    texts = [f"{'gestern ' * (n % 7)}sah ich bei Ida Berg und in Ulm." for n in range(40)]
    long = "\n".join(texts * 3)
    alone = Tagger.load(tagger.folder)
    expected = [[(m.start, m.end) for m in alone(text)] for text in [*texts, long]]

    answers = ask.all([("POST", "/v1/tag", {"json": {"text": text}}) for text in [*texts, long]])

    found = [[(m["start"], m["end"]) for m in a.json()["texts"][0]["mentions"]] for a in answers]
    assert found == expected
    assert ask.service.models.loaded["small"].counts["batches"] < len(texts)


@pytest.fixture
def fails_at_jena(monkeypatch):
    """Let the tagger fail at sentences with ``Jena``."""
    tag_by_batch = Tagger.tag_by_batch

    def faulty(self, sentences, **options):
        for some in tag_by_batch(self, sentences, **options):
            if any("Jena" in tagged.sentence.tokens for _, tagged in some):
                raise LookupError("what nobody has thought of")
            yield some

    monkeypatch.setattr(Tagger, "tag_by_batch", faulty)


@pytest.mark.usefixtures("fails_at_jena")
def test_a_request_that_fails_takes_no_other_with_it(ask):
    texts = ["in Ulm.", "in Jena.", "bei Anna."]

    answers = ask.all([("POST", "/v1/tag", {"json": {"text": text}}) for text in texts])

    assert [answer.status_code for answer in answers] == [200, 500, 200]
    assert "LookupError" in answers[1].json()["detail"]


@pytest.mark.usefixtures("fails_at_jena")
def test_an_unexpected_error_is_the_line_of_its_text_in_a_stream_and_in_the_log(ask, caplog):
    texts = ["in Ulm.", "in Jena.", "in Ulm."]

    answer = ask("POST", "/v1/tag", json={"texts": texts, "stream": True})

    before, failed, after = map(json.loads, answer.text.splitlines())
    assert [named(one) for one in (before, after)] == [[("Ulm", "place")]] * 2
    assert (failed["id"], failed["status"]) == ("1", 500)
    assert "LookupError" in failed["detail"]
    assert "what nobody has thought of" in caplog.text
    assert "text 1 of a streamed answer" in caplog.text


def test_what_is_too_much_is_put_off_or_refused_and_the_rest_answered(ask):
    ask.settings["max_waiting"] = 3
    one, four = {"json": {"text": "in Ulm."}}, {"json": {"text": "in Ulm.\n" * 4}}

    answers = ask.all([("POST", "/v1/tag", request) for request in (*[one] * 9, four)])

    codes = [answer.status_code for answer in answers]
    assert codes[-1] == 413
    assert set(codes[:-1]) == {200, 503}
    assert all(a.headers["retry-after"] == "1" for a in answers if a.status_code == 503)


HOSTILE = {
    "no JSON": (b"{", "application/json", 422),
    "nested": (b'{"texts":' + b"[" * 100_000, "application/json", 422),
    "not an object": (b"[]", "application/json", 422),
    "unknown field": (b'{"text": "a", "path": "/etc/passwd"}', "application/json", 422),
    "two at once": (b'{"text": "a", "texts": []}', "application/json", 422),
    "nothing": (b"{}", "application/json", 422),
    "a lone surrogate": (b'{"text": "\\ud800"}', "application/json", 422),
    "an empty word": (b'{"sentences": [["a", " "]]}', "application/json", 422),
    "another model": (b'{"text": "a", "model": "../../etc"}', "application/json", 404),
    "no UTF-8": (b"\xff\xfe", "text/plain", 400),
    "a word of a million": (b"a" * 1_000_000, "text/plain", 422),
    "a picture": (b"\x89PNG", "image/png", 415),
    "no XML": (b"<TEI><text>", "application/tei+xml", 422),
    "entities": (
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><TEI>&x;</TEI>',
        "application/tei+xml",
        422,
    ),
    "deep XML": (b"<a>" * 10_000, "application/tei+xml", 422),
}


def test_broken_and_hostile_bodies_get_a_clear_answer(ask):
    requests = [
        ("POST", "/v1/tag", {"content": body, "headers": {"Content-Type": kind}})
        for body, kind, _ in HOSTILE.values()
    ]

    answers = ask.all(requests)

    assert {name: a.status_code for name, a in zip(HOSTILE, answers, strict=True)} == {
        name: status for name, (_, _, status) in HOSTILE.items()
    }
    assert all(answer.json()["detail"] for answer in answers)


@pytest.mark.parametrize(
    "text", ["", " \n ", "🙂 in Ulm 🙂.", "\x00 \x1f in Ulm", "לְ in Ulm ﷽", "a\u2028b"]
)
def test_any_text_is_answered(ask, text):
    answer = ask("POST", "/v1/tag", json={"text": text})

    assert answer.status_code == 200
    for mention in answer.json()["texts"][0]["mentions"]:
        assert text[mention["start"] : mention["end"]] == mention["text"]


def test_health_and_counters_say_what_was_done(ask):
    health, missing, metrics = ask.all(
        [("GET", "/health", {}), ("GET", "/nothing", {}), ("GET", "/metrics", {})]
    )

    assert health.json()["models"] == ["small"]
    assert missing.status_code == 404
    assert 'onoma_requests_total{status="404"} 1' in metrics.text
    assert 'onoma_sentences_waiting{model="small"} 0' in metrics.text


def test_the_service_describes_itself_and_loads_nothing_from_elsewhere(ask):
    described, page = ask.all([("GET", "/openapi.json", {}), ("GET", "/", {})])

    paths = described.json()["paths"]
    assert {"/v1/tag", "/entities/{model}", "/model", "/status", "/"} <= {*paths}
    assert "application/tei+xml" in paths["/v1/tag"]["post"]["requestBody"]["content"]
    assert "$defs" not in described.text
    assert "http" not in page.text
