"""The Reconciliation Service API, 0.2 and the draft of 1.0, over a register and a vocabulary."""

import json
import re
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, RootModel, StringConstraints, ValidationError

from modeling.serve import reconciliation_messages as messages
from modeling.serve.entries import EntryIndex
from tests.datasets import write_dataset

REGISTER = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>
<listPerson>
 <person xml:id="P.1"><persName><surname>Marc</surname>, <forename>Franz</forename></persName>
  <birth when="1880-02-08"/><death when="1916"/><idno type="gnd">118577565</idno>
  <note>Maler &lt;b&gt;</note></person>
 <person xml:id="P.2"><persName><surname>Marc</surname>, <forename>Maria</forename></persName>
  <birth when="1876"/></person>
 <person xml:id="P.3"><persName>Müller, Otto</persName></person>
</listPerson>
<listPlace><place xml:id="O.1"><placeName>Murnau</placeName>
  <idno type="geonames">2868788</idno></place></listPlace>
</body></text></TEI>"""
SPACE = "https://example.org/register"
Address = Annotated[str, StringConstraints(pattern=r"\{\{id\}\}")]


class Message(BaseModel, strict=True, extra="forbid"):
    pass


class Named(Message):
    id: str
    name: str
    description: str = ""


class Service(Message):
    service_url: str
    service_path: str
    flyout_service_url: str = ""
    flyout_service_path: str = ""


class View(Message):
    url: Address


class Preview(View):
    width: int
    height: int


class Setting(Message):
    type: Literal["number"]
    label: str
    name: str
    help_text: str
    default: int


class Extend(Message):
    propose_properties: Service
    property_settings: list[Setting]


class Manifest(Message):
    versions: list[Literal["0.2"]]
    name: str
    identifierSpace: str  # noqa: N815
    schemaSpace: str  # noqa: N815
    defaultTypes: list[Named]  # noqa: N815
    serviceVersion: str  # noqa: N815
    view: View
    preview: Preview
    suggest: dict[Literal["entity", "property", "type"], Service]
    extend: Extend
    batchSize: int  # noqa: N815


class Feature(Message):
    id: str
    name: str
    value: float


class Candidate(Named):
    score: float
    features: list[Feature]
    match: bool
    type: list[Named]


class Suggested(Named):
    notable: list[Named] = []


class Text(Message):
    str: str


class Values(Message):
    meta: list[Named]
    rows: dict[str, dict[str, list[Named | Text]]]


class Proposed(Message):
    properties: list[Named]
    type: str
    limit: int


Results = RootModel[dict[str, dict[Literal["result"], list[Candidate]]]]
Suggestions = RootModel[dict[Literal["result"], list[Suggested]]]


@pytest.fixture(scope="session")
def entries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("register")
    (folder / "people.xml").write_text(REGISTER)
    return EntryIndex.open([str(folder / "*.xml")])


@pytest.fixture
def service(ask, entries):
    ask.entries, ask.space = entries, SPACE
    return ask


@pytest.fixture
def reconcile(service):
    def query(**queries):
        found = service("POST", "/reconcile", data={"queries": json.dumps(queries)}).json()
        Results.model_validate(found)
        return {name: result["result"] for name, result in found.items()}

    return query


def ids(candidates):
    return [one["id"] for one in candidates]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("list/*.xml", "list"), ("list/people.xml", "people"), ("list", "list"), ("*/*.xml", "all")],
)
def test_a_register_is_called_as_its_file_or_folder(pattern, name, tmp_path, monkeypatch):
    (tmp_path / "all" / "list").mkdir(parents=True)
    (tmp_path / "all" / "list" / "people.xml").write_text(REGISTER)
    monkeypatch.chdir(tmp_path / "all")

    assert EntryIndex.open([pattern]).name == name


def test_the_manifest_says_what_is_offered_and_where(service):
    answer = service("GET", "/reconcile", headers={"Origin": "http://127.0.0.1:3333"})

    manifest = answer.json()
    Manifest.model_validate(manifest)
    assert manifest["identifierSpace"] == SPACE
    assert manifest["suggest"]["entity"]["service_url"] == "http://127.0.0.1:8001"
    assert [kind["id"] for kind in manifest["defaultTypes"]] == ["person", "place"]
    assert answer.headers["access-control-allow-origin"] == "http://127.0.0.1:3333"


def test_names_find_entries_in_any_order_and_spelling(reconcile):
    found = reconcile(
        q0={"query": "Franz Marc"},
        q1={"query": "MARC, franz"},
        q2={"query": "Otto Mueller"},
        q3={"query": "P.3"},
        q4={"query": "xyz qqq"},
        q5={"query": "Marc", "limit": 1},
    )

    assert ids(found["q0"])[0] == ids(found["q1"])[0] == "P.1"
    assert found["q0"][0]["match"] is True
    assert found["q0"][0]["score"] == 100
    assert ids(found["q2"]) == ids(found["q3"]) == ["P.3"]
    assert found["q4"] == []
    assert len(found["q5"]) == 1
    assert found["q5"][0]["match"] is False  # there are two of that name


def test_types_and_properties_narrow_the_choice(reconcile):
    found = reconcile(
        by_type={"query": "Murnau", "type": "person"},
        by_place={"query": "Murnau", "type": ["place"]},
        by_year={"query": "Marc", "properties": [{"pid": "birth", "v": 1876}]},
        by_id={"properties": [{"pid": "gnd", "v": "118577565"}]},
    )

    assert "O.1" not in ids(found["by_type"])
    assert ids(found["by_place"]) == ["O.1"]
    assert ids(found["by_year"])[0] == "P.2"
    assert ids(found["by_id"]) == ["P.1"]


def test_tei_publisher_asks_with_json_that_is_not_encoded(service):
    body = 'queries={"q1":{"query":"Müller & Söhne 100%"}}'
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}

    answer = service("POST", "/reconcile", content=body.encode(), headers=headers).json()

    assert ids(answer["q1"]["result"])[:1] in ([], ["P.3"])
    assert all(kind["name"] for one in answer["q1"]["result"] for kind in one["type"])


def test_queries_may_stand_in_the_address(service):
    query = json.dumps({"q0": {"query": "Murnau"}})

    assert ids(service("GET", "/reconcile", params={"queries": query}).json()["q0"]["result"]) == [
        "O.1"
    ]


def condition(kind, value, **more):
    return {"matchType": kind, "propertyValue": value, **more}


def of_property(name, value, **more):
    return condition("property", value, propertyId=name, **more)


NAME = condition("name", "Marc")


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([condition("name", "Franz Marc")], ["P.1"]),
        ([condition("name", ["Otto Müller", "Murnau"])], ["P.3", "O.1"]),
        ([condition("id", "P.3")], ["P.3"]),
        ([NAME, condition("id", "P.2")], ["P.2"]),
        ([of_property("gnd", "118577565")], ["P.1"]),
        ([NAME, of_property("birth", 1876)], ["P.2", "P.1"]),
        ([NAME, of_property("birth", [1876, 1900], required=True)], ["P.2"]),
        ([NAME, of_property("birth", [1876, 1880], required=True, matchQuantifier="all")], []),
        ([NAME, of_property("birth", 1876, required=True, matchQuantifier="none")], ["P.1"]),
    ],
)
def test_the_draft_finds_entities_by_conditions(service, conditions, expected):
    asked = {"queries": [{"conditions": conditions}]}

    [found] = service("POST", "/reconcile/1.0/match", json=asked).json()["results"]

    assert ids(found["candidates"])[: max(len(expected), 1)] == expected


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"queries": [{}]},
        {"queries": [{"conditions": []}]},
        {"queries": [{"conditions": [{"matchType": "sound", "propertyValue": "a"}]}]},
        {"queries": [{"conditions": [condition("property", "a")]}]},
        {"queries": [{"conditions": [NAME], "query": "a"}]},
    ],
)
def test_wrong_queries_of_the_draft_are_said(service, asked):
    answer = service("POST", "/reconcile/1.0/match", json=asked)

    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_the_draft_has_its_own_root_with_suggestions_values_and_previews(service):
    asked = {"ids": ["P.1", "none"], "properties": [{"id": "gnd"}]}
    origin = {"Origin": "http://127.0.0.1:3333"}

    manifest, entities, proposed, preview, values = service.all(
        [
            ("GET", "/reconcile/1.0", {"headers": origin}),
            ("GET", "/reconcile/1.0/suggest/entity?prefix=mar&limit=1", {}),
            ("GET", "/reconcile/1.0/extend/propose?type=person&limit=2", {}),
            ("GET", "/reconcile/1.0/preview?id=P.1", {}),
            ("POST", "/reconcile/1.0/extend", {"json": asked}),
        ]
    )

    assert manifest.json()["versions"] == ["1.0-draft"]
    assert manifest.json()["view"]["url"] == "http://127.0.0.1:8001/reconcile/1.0/preview?id={id}"
    assert manifest.headers["access-control-allow-origin"] == "http://127.0.0.1:3333"
    assert ids(entities.json()["result"]) == ["P.1"]
    assert len(proposed.json()["properties"]) == 2
    assert "Marc, Franz" in preview.text
    assert values.json()["rows"] == [
        {"id": "P.1", "properties": [{"id": "gnd", "values": [{"str": "118577565"}]}]},
        {"id": "none", "properties": [{"id": "gnd", "values": []}]},
    ]


def test_suggestions_begin_as_what_was_typed(service):
    entity, more, kind, property_ = service.all(
        [
            ("GET", "/reconcile/suggest/entity?prefix=mar", {}),
            ("GET", "/reconcile/suggest/entity?prefix=mar&cursor=1", {}),
            ("GET", "/reconcile/suggest/type?prefix=pl", {}),
            ("GET", "/reconcile/suggest/property?prefix=g", {}),
        ]
    )

    for answer in (entity, more, kind, property_):
        Suggestions.model_validate(answer.json())
    assert ids(entity.json()["result"]) == ["P.1", "P.2"]
    assert ids(more.json()["result"]) == ["P.2"]
    assert ids(kind.json()["result"]) == ["place"]
    assert ids(property_.json()["result"]) == ["geonames", "gnd"]


def test_values_of_properties_are_fetched(service):
    asked = {
        "ids": ["P.1", "O.1", "none"],
        "properties": [{"id": "gnd"}, {"id": "birth"}, {"id": "forms", "settings": {"limit": "1"}}],
    }

    answer = service("POST", "/reconcile", data={"extend": json.dumps(asked)}).json()
    proposed = service("GET", "/reconcile/properties?type=person&limit=2").json()
    below_zero = service("GET", "/reconcile/properties?type=person&limit=-1").json()
    assert below_zero == service("GET", "/reconcile/properties?type=person").json()

    Values.model_validate(answer)
    assert answer["rows"]["P.1"] == {
        "gnd": [{"str": "118577565"}],
        "birth": [{"str": "1880-02-08"}],
        "forms": [{"str": "Marc, Franz"}],
    }
    assert answer["rows"]["none"] == {"gnd": [], "birth": [], "forms": []}
    Proposed.model_validate(proposed)
    assert len(proposed["properties"]) == 2


def test_a_flyout_shows_what_the_preview_does(service):
    manifest, flyout, preview, kind = service.all(
        [
            ("GET", "/reconcile", {}),
            ("GET", "/reconcile/flyout/entity?id=P.1", {}),
            ("GET", "/reconcile/preview?id=P.1", {}),
            ("GET", "/reconcile/flyout/type?id=person", {}),
        ]
    )

    path = manifest.json()["suggest"]["entity"]["flyout_service_path"]
    assert path == "/reconcile/flyout/entity?id=${id}"
    assert flyout.json() == {"id": "P.1", "html": preview.text}
    assert "person" in kind.json()["html"]


def test_a_preview_leaves_the_styles_of_its_host_alone(service):
    page = service("GET", "/reconcile/preview?id=P.1").text

    assert not re.search("<(?:style|html|body|link|h[1-6]|p)[ >]", page)


def test_a_preview_is_a_page_without_scripts_or_markup_of_the_register(service):
    page, none = service.all(
        [("GET", "/reconcile/preview?id=P.1", {}), ("GET", "/reconcile/preview?id=../etc", {})]
    )

    assert "Maler &lt;b&gt;" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert none.status_code == 404


@pytest.mark.parametrize(
    "form",
    [
        {"queries": "{"},
        {"queries": "[]"},
        {"queries": '{"q0": {}}'},
        {"queries": '{"q0": {"query": "a", "props": []}}'},
        {"extend": '{"ids": ["P.1"]}'},
        {"other": "1"},
    ],
)
def test_wrong_requests_are_said(service, form):
    answer = service("POST", "/reconcile", data=form)

    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_too_many_queries_are_refused(service):
    queries = {f"q{n}": {"query": "a"} for n in range(101)}

    assert service("POST", "/reconcile", data={"queries": json.dumps(queries)}).status_code == 413


def test_without_a_register_there_are_no_ids(ask):
    assert ask("GET", "/reconcile").status_code == 404
    request = {"text": "bei Anna", "candidates": 1}
    assert ask("POST", "/v1/tag", json=request).status_code == 422


def test_names_in_texts_come_with_entries_of_their_kind(service):
    request = {"texts": ["ich war bei Otto."], "candidates": 2}

    answer, streamed = service.all(
        [
            ("POST", "/v1/tag", {"json": request}),
            ("POST", "/v1/tag", {"json": request | {"stream": True}}),
        ]
    )

    [name] = answer.json()["texts"][0]["mentions"]
    assert ids(name["candidates"]) == ["P.3"]
    assert json.loads(streamed.text)["mentions"] == [name]


def write_vocabulary(folder):
    """Write a vocabulary with two cities of one name, and one that is gone."""
    rows = [
        {
            "id": n,
            "entity": entity,
            "title": entity.partition(":")[2],
            "page_id": None,
            "count": count,
            "counts": [],
        }
        | {
            "aliases": [
                {"form": f, "count": 1, "prior": 1.0, "link_probability": 1.0} for f in forms
            ]
        }
        | {"retired": entity == "dawiki:Old"}
        for n, (entity, count, forms) in enumerate(
            [
                ("[PAD]", 0, []),
                ("dawiki:Berlin_(by)", 9, ["Berlin", "Tysklands hovedstad"]),
                ("dawiki:Berlin_(Ohio)", 2, ["Berlin"]),
                ("dawiki:Old", 2, ["Berlin"]),
            ]
        )
    ]
    return write_dataset(folder, rows, schema="entities")


def test_a_vocabulary_serves_as_well(tmp_path):
    write_vocabulary(tmp_path)

    entries = EntryIndex.open([str(tmp_path)])

    assert len(entries) == 2
    found = [one.id for one, _ in entries.search("berlin", limit=5)]
    assert found == ["dawiki:Berlin_(by)", "dawiki:Berlin_(Ohio)"]  # the one that is meant more
    assert entries.entry("dawiki:Berlin_(by)").kinds == ("dawiki",)
    assert [one.id for one in entries.beginning("tysk")] == ["dawiki:Berlin_(by)"]


ENTITY = {"id": "1", "name": "n"}


@pytest.mark.parametrize(
    ("kind", "value", "is_valid"),
    [
        ("QueryBatch", {"q0": {"query": "a"}, "q1": {"query": "b", "limit": 3}}, True),
        ("QueryBatch", {"q0": {"properties": [{"pid": "p", "v": [1, "a", True, ENTITY]}]}}, True),
        ("QueryBatch", {"q0": {"limit": 1}}, False),
        ("QueryBatch", {"q0": {"properties": []}}, False),
        ("QueryBatch", {"q0": {"query": "a", "props": []}}, False),
        ("QueryBatch", {"q0": {"query": "a", "type_strict": "none"}}, False),
        ("QueryBatch", {"q0": {"query": "a", "limit": "3"}}, False),
        ("QueryBatch", {"q0": {"query": "a", "properties": [{"pid": "p"}]}}, False),
        ("ExtendQuery", {"ids": ["1"], "properties": [{"id": "p", "settings": {"a": 1}}]}, True),
        ("ExtendQuery", {"ids": [1], "properties": []}, False),
    ],
)
def test_requests_are_judged_as_by_the_schemas_of_the_specification(kind, value, is_valid):
    text = json.dumps(value)
    judge = getattr(messages, kind).model_validate_json

    if is_valid:
        judge(text)
    else:
        with pytest.raises(ValidationError):
            judge(text)


def test_what_would_take_hours_or_is_absurd_is_answered(service):
    def ask(**fields):
        data = {name: json.dumps(value) for name, value in fields.items()}
        return service("POST", "/reconcile", data=data).status_code

    many = {"query": "Marc", "properties": [{"pid": "name", "v": ["Marc"] * 1001}]}
    limit = {"id": "name", "settings": {"limit": "9" * 5000}}
    assert ask(queries={"a": many}) == 413
    assert ask(queries={"a": {"query": "Marc", "limit": float("inf")}}) == 400
    assert ask(queries={"a": {"query": "Marc", "limit": float("nan")}}) == 400
    assert ask(extend={"ids": ["P.1"], "properties": [{"id": "name"}] * 101}) == 413
    assert ask(extend={"ids": ["P.1"], "properties": [limit]}) == 200
    assert service("GET", f"/reconcile/suggest/entity?cursor={10**19}").status_code == 200
