"""Who may ask a server, how much, and how fast."""

import asyncio
import json

import httpx
import pytest

from modeling.http.guard import Guard, Refusal, RequestLimits, new_token

TOKEN = new_token()


async def echo(scope, receive, send):
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body or scope["path"].encode()})


def ask(method, path, *, rules=None, guard=None, **request):
    async def asked():
        transport = httpx.ASGITransport(app=guard or Guard(echo, rules or RequestLimits()))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **request)

    return asyncio.run(asked())


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8001", "[::1]:8001", "LOCALHOST:1"])
def test_this_machine_may_be_called_by_the_names_of_loopback(host):
    assert ask("GET", "/a", headers={"Host": host}).text == "/a"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "",
        "[",
        "a@localhost.x",
        "localhost#.x",
        "x@localhost",
        "localhost/.x",
        "localhost, evil.example",
    ],
)
def test_a_request_for_another_host_is_misdirected(host):
    answer = ask("GET", "/", headers={"Host": host})

    assert answer.status_code == 421
    assert "--allow-host" in answer.json()["detail"]


def test_two_hosts_or_origins_or_lengths_of_a_body_are_refused():
    twice = [("Host", "localhost"), ("Host", "localhost")]
    origins = [("Origin", "http://127.0.0.1"), ("Origin", "http://127.0.0.1")]
    lengths = [("Content-Length", "3"), ("Transfer-Encoding", "chunked")]

    rules = RequestLimits(origins=["*"])
    statuses = [
        ask("POST", "/", rules=rules, headers=headers).status_code for headers in (twice, origins)
    ]
    assert [*statuses, ask("POST", "/", headers=lengths, content=b"abc").status_code] == [
        421, 403, 400
    ]  # fmt: skip


def test_monitoring_is_answered_whatever_the_host():
    rules = RequestLimits(open_paths={"/health"})

    assert ask("GET", "/health", rules=rules, headers={"Host": "10.0.0.7:8001"}).text == "/health"


def test_requests_are_logged_with_their_id_and_counted_by_seconds(caplog):
    guard = Guard(echo, RequestLimits())
    caplog.set_level("INFO", "modeling.http.access")

    answer = ask("GET", "/a b", guard=guard, headers={"X-Request-ID": "r-1"})
    other = ask("GET", "/", guard=guard, headers={"X-Request-ID": "r 1"})

    first, second = (json.loads(record.message) for record in caplog.records)
    assert (answer.headers["x-request-id"], first["id"]) == ("r-1", "r-1")
    assert other.headers["x-request-id"] == second["id"] != "r 1"
    assert (first["method"], first["path"], first["status"]) == ("GET", "/a%20b", 200)
    assert guard.histogram()["+Inf"] == 2
    assert sorted(guard.histogram().values()) == [*guard.histogram().values()]


def test_a_name_that_was_allowed_is_answered():
    rules = RequestLimits(hosts=["onoma.example"])

    assert ask("GET", "/", rules=rules, headers={"Host": "onoma.example"}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1", 200),
        ("http://127.0.0.1:3333", 200),
        ("https://example.org", 200),
        ("https://evil.example", 403),
        ("null", 403),
    ],
)
def test_a_page_asks_from_this_machine_or_an_allowed_place_only(origin, status):
    rules = RequestLimits(origins=["https://example.org"], allow_loopback_origins=True)

    answer = ask("POST", "/", rules=rules, headers={"Origin": origin})

    assert answer.status_code == status
    if origin == "http://127.0.0.1:3333":
        assert answer.headers["access-control-allow-origin"] == origin


def test_by_default_another_server_of_this_machine_may_not_ask():
    assert ask("POST", "/", headers={"Origin": "http://127.0.0.1:3333"}).status_code == 403


def test_a_browser_that_asks_first_is_answered_what_it_may_do():
    rules = RequestLimits(origins=["https://example.org"])
    headers = {
        "Origin": "https://example.org",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }

    answer = ask("OPTIONS", "/v1/tag", rules=rules, headers=headers)

    assert answer.status_code == 204
    assert answer.headers["access-control-allow-headers"] == "content-type"
    assert answer.headers["access-control-allow-origin"] == "https://example.org"


def test_the_token_comes_in_the_address_once_and_is_a_cookie_after_that():
    rules = RequestLimits(token=TOKEN, open_paths={"/health"})

    assert ask("GET", "/page", rules=rules).status_code == 401
    assert ask("GET", "/page?token=wrong", rules=rules).status_code == 401
    assert ask("GET", "/health", rules=rules).status_code == 200
    first = ask("GET", f"/page?token={TOKEN}&a=1", rules=rules)
    assert (first.status_code, first.headers["location"]) == (303, "/page?a=1")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    again = {"Cookie": cookie.partition(";")[0]}
    assert ask("GET", "/page", rules=rules, headers=again).status_code == 200
    for scheme, status in (("Bearer", 200), ("bearer", 200), ("Basic", 401)):
        given = {"Authorization": f"{scheme} {TOKEN}"}
        assert ask("POST", "/page", rules=rules, headers=given).status_code == status


def test_a_browser_that_opens_an_address_gets_a_page_and_a_program_json():
    rules = RequestLimits(token=TOKEN)
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}

    page = ask("GET", "/page?token=old", rules=rules, headers=browser)
    host = ask("GET", "/", headers={**browser, "Host": "<b>.example"})

    assert page.status_code == 401
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<p>The token is missing or wrong: open the address as it was printed." in page.text
    assert "&lt;b&gt;.example" in host.text
    assert "detail" in ask("GET", "/page?token=old", rules=rules).json()


def test_a_cookie_of_another_server_that_is_none_by_the_rules_hides_no_token():
    rules = RequestLimits(token=TOKEN)
    own = ask("GET", f"/page?token={TOKEN}", rules=rules).headers["set-cookie"].partition(";")[0]

    answer = ask("GET", "/page", rules=rules, headers={"Cookie": f'view={{"open": 1}}; {own}'})

    assert answer.status_code == 200


def test_an_address_with_a_token_leads_to_no_other_server():
    answer = ask(
        "GET", f"http://127.0.0.1//evil.example/?token={TOKEN}", rules=RequestLimits(token=TOKEN)
    )

    assert "location" not in answer.headers


def test_a_body_that_is_too_large_is_refused_before_it_is_read():
    async def chunks():
        for _ in range(3):
            yield b"x" * 50

    rules = RequestLimits(max_body=100)

    assert ask("POST", "/", rules=rules, content=b"x" * 100).status_code == 200
    assert ask("POST", "/", rules=rules, content=b"x" * 101).status_code == 413
    assert ask("POST", "/", rules=rules, content=chunks()).status_code == 413
    packed = {"Content-Encoding": "gzip"}
    assert ask("POST", "/", rules=rules, content=b"x", headers=packed).status_code == 415


def test_bodies_that_are_too_large_together_are_put_off():
    answer = ask("POST", "/", rules=RequestLimits(max_bodies=10), content=b"x" * 11)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_a_body_that_does_not_come_is_waited_for_no_longer_than_said():
    async def slow():
        yield b"x"
        await asyncio.sleep(30)
        yield b"x"

    guard = Guard(echo, RequestLimits(body_seconds=0.05))

    assert ask("POST", "/", guard=guard, content=slow()).status_code == 408
    assert (guard.n_requests, guard.n_bytes) == (0, 0)
    assert guard.counts == {408: 1}


HEADERS = [(b"host", b"localhost")]
SCOPE = {"type": "http", "method": "POST", "path": "/", "headers": HEADERS, "query_string": b""}
WHOLE = {"type": "http.request", "body": b"x", "more_body": False}


def receiving(*messages):
    """Return an ASGI ``receive`` of these messages, and then of none."""
    coming = list(messages)

    async def receive():
        if not coming:
            await asyncio.sleep(30)
        return coming.pop(0)

    return receive


def test_an_answer_that_the_client_does_not_take_is_given_up():
    sent = []

    async def send(message):
        sent.append(message)
        await asyncio.sleep(30)

    guard = Guard(echo, RequestLimits(send_seconds=0.05))

    asyncio.run(asyncio.wait_for(guard(SCOPE, receiving(WHOLE), send), 10))

    assert guard.n_requests == 0
    assert [message["type"] for message in sent] == ["http.response.start"]


def test_of_a_body_that_is_cut_the_application_sees_nothing():
    sent, seen = [], []

    async def send(message):
        sent.append(message)

    async def application(*of):
        seen.append(of)

    part = {"type": "http.request", "body": b"x", "more_body": True}
    receive = receiving(part, {"type": "http.disconnect"})

    asyncio.run(Guard(application, RequestLimits())(SCOPE, receive, send))

    assert (sent[0]["status"], seen) == (400, [])


def test_a_refusal_after_the_beginning_of_an_answer_ends_the_connection():
    async def application(_, __, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise Refusal(422, "too late")

    sent = []

    async def send(message):
        sent.append(message)

    with pytest.raises(Refusal):  # the server closes the connection
        asyncio.run(Guard(application, RequestLimits())(SCOPE, receiving(WHOLE), send))

    assert len(sent) == 1


def test_a_server_that_stops_cancels_what_is_being_answered():
    ended = []

    async def application(*_):
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(True)

    async def stop():
        answering = asyncio.create_task(
            Guard(application, RequestLimits())(SCOPE, receiving(WHOLE), lambda _: None)
        )
        await asyncio.sleep(0.05)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering

    asyncio.run(stop())

    assert ended == [True]


def test_more_requests_than_are_answered_at_once_are_put_off():
    waits = asyncio.Event()

    async def slow(scope, receive, send):
        await waits.wait()
        await echo(scope, receive, send)

    rules = RequestLimits(max_requests=1, open_paths={"/health"})

    async def both():
        transport = httpx.ASGITransport(app=Guard(slow, rules))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            first = asyncio.create_task(client.get("/a"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            second = await client.get("/b")
            watching = asyncio.create_task(client.get("/health"))
            await asyncio.sleep(0)
            waits.set()
            return [(await one).status_code for one in (first, watching)], second.status_code

    assert asyncio.run(both()) == ([200, 200], 503)


def test_an_origin_that_is_no_address_is_not_allowed():
    rules = RequestLimits(allow_loopback_origins=True)

    for origin in ("http://[", "http://[::1", "://", "http://127.0.0.1:x@evil.example"):
        assert ask("GET", "/", rules=rules, headers={"Origin": origin}).status_code == 403


def test_a_path_that_no_address_has_is_refused():
    assert ask("GET", f"/{'9' * 2000}").status_code == 414
    assert ask("POST", "/", headers={"Content-Length": "9" * 5000}).status_code == 413


def test_the_way_to_a_page_without_its_token_is_of_this_server():
    rules = RequestLimits(token=TOKEN)

    for path in ("/%5Cevil.example", "/a%0D%0Ax%3A%20y", "/%C3%A9"):
        answer = ask("GET", f"{path}?token={TOKEN}", rules=rules)
        assert (answer.status_code, answer.headers["location"]) == (303, path)
