"""A mirror of dumps on loopback, which misbehaves as it is asked."""

import hashlib
import json
import re
import threading
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_RANGE = re.compile(r"bytes=(\d+)-")


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one response."""

    status: int = 0
    """Instead of the file, with ``headers``."""
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Bytes that are sent before the connection closes."""
    is_corrupt: bool = False
    """Whether the first byte is another."""
    wait_after: int | None = None
    """Bytes that are sent before the server stays silent until ``DumpServer.release``."""


class DumpServer:
    """Files by path; what is asked is noted, and the next faults of a path are played."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.ignores_ranges = False
        self.asked: list[tuple[str, str | None]] = []
        self.agents: set[str] = set()
        self.sent: dict[str, int] = defaultdict(int)
        self.n_open = self.most_open = 0
        self.lock = threading.Lock()
        self.release = threading.Event()
        self.url = ""

    def add_run(self, wiki, date, parts, *, job="articlesmultistreamdump", status="done", **more):
        """Put a run there: its files, its status, and the listing of the wiki."""
        folder = f"/{wiki}/{date}"
        about = {
            name: {
                "size": len(data),
                "url": f"/elsewhere/{name}",
                "md5": "",
                "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
            }
            for name, data in parts.items()
        }
        jobs = {job: {"status": status, "updated": f"{date} 01:02:03", "files": about}} | more
        if status != "done":
            del jobs[job]["files"]
        for name, data in parts.items():
            self.files[f"{folder}/{name}"] = data
        self.files[f"{folder}/dumpstatus.json"] = json.dumps(
            {"version": "0.8", "jobs": jobs}
        ).encode()
        dates = sorted({path.split("/")[2] for path in self.files if path.startswith(f"/{wiki}/2")})
        links = "".join(f'<a href="{name}/">{name}/</a>\n' for name in ["..", *dates, "latest"])
        self.files[f"/{wiki}/"] = f"<html><body><pre>{links}</pre></body></html>".encode()

    def add_html_run(self, wiki, date, data, *, namespace="NS0"):
        """Put rendered pages of a wiki there, and the listings of their run and of all runs."""
        runs = "/other/enterprise_html/runs"
        name = f"{wiki}-{namespace}-{date}-ENTERPRISE-HTML.json.tar.gz"
        self.files[f"{runs}/{date}/{name}"] = data
        for folder in (runs, f"{runs}/{date}"):
            inside = (path.removeprefix(f"{folder}/") for path in self.files)
            inside = {path.partition("/")[0] for path in inside if not path.startswith("/")}
            links = "".join(f'<a href="{each}">{each}</a>\n' for each in sorted(inside - {""}))
            self.files[f"{folder}/"] = f"<pre>{links}</pre>".encode()
        return name

    def asked_for(self, name):
        """Return the Range headers of the requests for a file, in order."""
        return [range_ for path, range_ in self.asked if path.endswith(name)]


def _handler(server):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            with server.lock:
                server.asked.append((self.path, self.headers.get("Range")))
                server.agents.add(self.headers.get("User-Agent"))
                faults = server.faults[self.path]
                fault = faults.pop(0) if faults else Fault()
                server.n_open += 1
                server.most_open = max(server.most_open, server.n_open)
            try:
                self._answer(fault)
            finally:
                with server.lock:
                    server.n_open -= 1

        def do_HEAD(self):
            data = server.files.get(self.path)
            self.send_response(200 if data is not None else 404)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()

        def _answer(self, fault):
            data = server.files.get(self.path)
            if fault.status or data is None:
                self.send_response_only(fault.status or 404)  # without a Date of its own
                for name, value in fault.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if fault.is_corrupt:
                data = bytes([data[0] ^ 1]) + data[1:]
            first = self._begin(data)
            body = data[first:]
            for n, is_silent in ((fault.wait_after, True), (fault.cut_after, False)):
                if n is not None:
                    self._send(body[:n])
                    if is_silent:
                        server.release.wait(60)
                    return
            self._send(body)

        def _begin(self, data):
            """Send the head; returns the first byte that follows."""
            found = _RANGE.fullmatch(self.headers.get("Range") or "")
            if not found or server.ignores_ranges:
                self.send_response(200)
                first = 0
            else:
                first = int(found[1])
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
            self.send_header("Content-Length", str(len(data) - first))
            self.end_headers()
            return first

        def _send(self, body):
            self._count(len(body))  # before: whoever has all of it may look at once
            try:
                self.wfile.write(body)
                self.wfile.flush()
            except OSError:  # nobody listens any more
                self._count(-len(body))

        def _count(self, n_bytes):
            with server.lock:
                server.sent[self.path] += n_bytes

    return Handler


@contextmanager
def serve():
    """Serve on a free port of loopback."""
    server = DumpServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        server.release.set()
        http.shutdown()
        thread.join()
        http.server_close()
