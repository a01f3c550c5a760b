"""Who may ask the workbench, and what it never does with what is asked."""

import asyncio
import json

import httpx
import pytest

from modeling.http.guard import Guard, RequestLimits, new_token
from modeling.workbench.routes import application

TOKEN = new_token()
OWN = "http://127.0.0.1:8000"


@pytest.fixture
def ask(desk):
    guard = Guard(application(desk), RequestLimits(token=TOKEN))

    def ask(method, path, *, token=TOKEN, **request):
        headers = {"Authorization": f"Bearer {token}", **request.pop("headers", {})}

        async def asked():
            transport = httpx.ASGITransport(app=guard)
            async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
                return await client.request(method, path, headers=headers, **request)

        return asyncio.run(asked())

    return ask


def test_who_has_no_token_or_is_another_page_is_refused(ask):
    own = {"Origin": OWN}
    assert ask("GET", "/", token="").status_code == 401
    assert ask("GET", "/api/letters", token=new_token()).status_code == 401
    assert ask("GET", "/", headers={"Host": "evil.example"}).status_code == 421
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {}):
        assert ask("POST", "/api/undo", headers=headers, json=None).status_code == 403
    assert ask("POST", "/api/undo", headers=own, content=b"{").status_code == 400
    assert ask("POST", "/api/undo", headers=own, json=None).status_code == 422


def test_no_page_may_run_anything_but_the_modules_of_the_package(ask):
    page = ask("GET", "/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    assert "<style" not in page.text
    assert " style=" not in page.text
    script = ask("GET", "/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    for name in ("/app.js", "/reading.js", "/inspector.js", "/dialogs.js", "/elements.js"):
        assert "innerHTML" not in ask("GET", name).text


def test_files_are_never_named_by_who_asks(ask):
    for path in ("/api/letters/99", "/api/letters/0/7/0/markup", "/api/letters/0/0/999/markup"):
        assert ask("GET", path).status_code == 422
    for path in ("/api/letters/01.xml", "/../pyproject.toml", "/%2e%2e/server.py", "/server.py"):
        assert ask("GET", path).status_code == 404


@pytest.mark.parametrize(
    "change",
    [
        {"letter": 99},
        {"letter": "01.xml"},
        {"document": 1},
        {"start": 5, "end": 5},
        {"start": -1},
        {"start": 0, "end": 10**9},
        {"start": 5, "end": 9},  # begins with a space
        {"start": 0, "end": 33},  # of two paragraphs
        {"label": "planet"},
        {"status": "sure"},
        {"entity": 7},
    ],
)
def test_what_cannot_be_a_name_is_refused_and_nothing_is_decided(ask, desk, change):
    wanted = {"letter": 0, "document": 0, "id": "", "start": 27, "end": 33, "label": "person"}
    answer = ask("POST", "/api/decide", headers={"Origin": OWN}, json=[wanted | change])

    assert answer.status_code == 422
    assert answer.json()["detail"]
    assert not desk.journal.path.exists()


def test_answers_hold_text_as_data(ask, desk):
    letter = json.loads(ask("GET", "/api/letters/0").text)

    [document] = letter["documents"]
    assert document["text"] == desk.letters.all[0].documents[0].text
    assert {mark["kind"] for mark in document["marks"]} == {"line", "page"}


def test_what_no_page_sends_is_refused_and_nothing_is_decided(ask, desk):
    own, item = {"Origin": OWN}, {"letter": 0, "document": 0, "start": 0, "end": 1}
    for hostile in (
        {"id": []},
        {"id": {}},
        {"id": "0-1", "was": []},
        {"status": []},
        {"entity": "\ud800", "label": "person"},
    ):
        content = json.dumps([item | hostile]).encode()
        answer = ask("POST", "/api/decide", headers=own, content=content)
        assert answer.status_code in {400, 409, 422}, hostile
    assert not desk.journal.entries
