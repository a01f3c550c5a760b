"""The start and the end of a server."""

import asyncio
import socket
import threading

import httpx
import pytest

from corpora.errors import UsageError
from modeling.http import server as serving
from modeling.http.guard import Guard, RequestLimits
from modeling.http.server import Server, listen

ASKED = threading.Semaphore(0)


async def slow(scope, _, send):
    if scope["type"] == "lifespan":
        return
    ASKED.release()
    await asyncio.sleep(0.2)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


@pytest.fixture
def server(monkeypatch):
    """Start a server in a thread that waits 0.2 seconds at most for the head of a request."""
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)
    is_ready = threading.Event()
    guarded = Guard(slow, RequestLimits())
    server = Server(guarded, listen("127.0.0.1", 0), on_ready=lambda _: is_ready.set())
    thread = threading.Thread(target=server.answer)
    thread.start()
    assert is_ready.wait(20)
    yield server
    server.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_a_port_that_is_taken_is_an_error_that_says_so():
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(UsageError, match="another port"):
            listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(UsageError, match="--port 70000: cannot be had"):
        listen("127.0.0.1", 70_000)


def test_requests_that_are_here_are_answered_when_the_server_ends(server):
    answers = []

    def ask():
        answers.append(httpx.get(f"{server.address}/", timeout=20).text)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert ASKED.acquire(timeout=20)
    server.stop()
    for thread in threads:
        thread.join(20)

    assert answers == ["done"] * 3


def test_a_connection_without_the_head_of_a_request_is_closed(server):
    port = server.listener.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: local")

        assert connection.recv(100) == b""  # closed by the server
