"""fake-gcs-server on loopback, built from its Go module, behind a proxy that translates writes.

obstore writes by Google's XML interface, but the server takes writes only by the JSON interface. So
the proxy passes ``PUT /BUCKET/NAME`` on as an upload, with its condition as ``ifGenerationMatch``,
which the server checks; generation and etag come back as headers. All other requests pass as they
are.
"""

import json
import subprocess
import sys
import threading
from http import HTTPStatus
from http.client import HTTPConnection, HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlencode

from tests.bucket_server import built, free_port, wait_for_port

MODULE = "github.com/fsouza/fake-gcs-server"
VERSION = "v1.56.1"
META = "x-goog-meta-"
BOUNDARY = "5d0a7c1f6b0e4c7ab7d2"
PARTS = (
    f"--{BOUNDARY}\r\nContent-Type: application/json\r\n\r\n%s\r\n"
    f"--{BOUNDARY}\r\nContent-Type: application/octet-stream\r\n\r\n%s\r\n--{BOUNDARY}--\r\n"
).encode()
Answer = tuple[int, HTTPMessage, bytes]


class Door(BaseHTTPRequestHandler):
    """Passes requests on; writes by the other interface."""

    protocol_version = "HTTP/1.1"
    port: int
    """Of the server behind."""

    def do_GET(self) -> None:
        """Pass a request on as it is."""
        self._answer(*self._ask(self.command, self.path, self._body(), dict(self.headers)))

    do_HEAD = do_DELETE = do_POST = do_GET  # noqa: N815 - as the library calls them

    def do_PUT(self) -> None:
        """Write an object, if its condition holds."""
        bucket, _, name = self.path.lstrip("/").partition("/")
        query = {"uploadType": "multipart"}
        if generation := self.headers.get("x-goog-if-generation-match"):
            query["ifGenerationMatch"] = generation
        named = {key.lower(): value for key, value in self.headers.items()}
        meta = {key.removeprefix(META): named[key] for key in named if key.startswith(META)}
        about = json.dumps({"name": unquote(name), "metadata": meta}).encode()
        status, headers, answer = self._ask(
            "POST",
            f"/upload/storage/v1/b/{bucket}/o?{urlencode(query)}",
            PARTS % (about, self._body()),
            {"Content-Type": f"multipart/related; boundary={BOUNDARY}"},
        )
        if status == HTTPStatus.OK:
            made = json.loads(answer)
            headers["ETag"], headers["x-goog-generation"] = made["etag"], made["generation"]
        self._answer(status, headers, b"")

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _ask(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        return answer.status, answer.headers, read

    def _answer(self, status: int, headers: HTTPMessage, body: bytes) -> None:
        if self.command != "HEAD":
            del headers["Content-Length"]
            headers["Content-Length"] = str(len(body))
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"transfer-encoding", "connection"}:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class GoogleServer:
    """A server with one bucket, ``onoma``, in memory; ``folder`` gets the file that leads there."""

    def __init__(self, program: Path, folder: Path) -> None:
        port = free_port()
        door = type("DoorTo", (Door,), {"port": port})
        self._door = ThreadingHTTPServer(("127.0.0.1", 0), door)
        threading.Thread(target=self._door.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{self._door.server_port}"
        options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port)]
        self.process = subprocess.Popen(
            [program, *options, "-backend", "memory", "-public-host", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.process, port)
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("POST", "/storage/v1/b", json.dumps({"name": "onoma"}))
        if (status := connection.getresponse().status) != HTTPStatus.OK:
            raise RuntimeError(f"{program}: makes no bucket ({status})")
        connection.close()
        self._account = folder / "account.json"
        names = ("client_email", "private_key", "private_key_id")
        leads = {"gcs_base_url": f"http://{address}", "disable_oauth": True}
        self._account.write_text(json.dumps(leads | dict.fromkeys(names, "")))

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to find it."""
        return {"GOOGLE_SERVICE_ACCOUNT": str(self._account)}

    def kill(self) -> None:
        """Kill it."""
        self._door.shutdown()
        self._door.server_close()
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    sys.stdout.write(f"{built(MODULE, VERSION)}\n")
