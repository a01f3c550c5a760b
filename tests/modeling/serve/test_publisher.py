"""TEI Publisher's API, asked as its ``modules/lib/api/nlp.xql`` (a52994f) asks."""

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


def test_hostile_patterns_take_no_time(ask, monkeypatch):
    monkeypatch.setattr("modeling.serve.patterns._SECONDS", 0.2)
    hostile = [{"lower": {"regex": "(?:a|aa)+c$"}}]

    assert "longer than" in by_patterns(ask, "a" * 40 + "b", hostile)["detail"]
    many = [[{"lower": "a", "op": "*"}] * 20] * 200
    assert "longer than" in by_patterns(ask, "a " * 200, *many)["detail"]


def test_patterns_that_are_not_read_are_said(ask):
    for pattern in (
        [],
        {},
        [{"pos": "NOUN"}],
        [{"lower": {"regex": "("}}],
        [{"op": "!", "lower": "a"}],
    ):
        assert by_patterns(ask, "a b", pattern)["detail"]


def test_a_pattern_of_many_words_is_refused(ask):
    starred = [{"lower": "a", "op": "*"}] * 101

    assert "101 words" in by_patterns(ask, "a b", starred)["detail"]
