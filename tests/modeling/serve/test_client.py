"""The client, and a service that breaks off."""

import socket
import threading

import pytest

from modeling.serve.client import Client, ServiceError

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def answered(answer):
    """Listen for one request; answer with bytes and close. Return the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with listener, listener.accept()[0] as connection:
            request = b""
            while not request.endswith(b"}"):  # the body is an object
                request += connection.recv(65536)
            connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def line(text):
    return b"%x\r\n%s\r\n" % (len(text), text)


@pytest.mark.parametrize("more", [b"", line(b'{"id": "1", "men')])
def test_a_streamed_answer_that_breaks_off_is_an_error_after_the_texts_that_came(more):
    whole = line(b'{"id": "0", "mentions": []}\n')
    names = Client(answered(HEAD + whole + more)).tag_all(["in Ulm.", "in Jena."])

    assert next(names) == []
    with pytest.raises(ServiceError, match="1 of 2 texts early"):
        next(names)


def test_a_text_at_which_the_service_fails_is_an_error_with_its_status():
    failed = line(b'{"id": "0", "status": 500, "detail": "failed"}\n')
    names = Client(answered(HEAD + failed + b"0\r\n\r\n")).tag_all(["in Ulm."])

    with pytest.raises(ServiceError, match="500: text 0: failed"):
        next(names)
