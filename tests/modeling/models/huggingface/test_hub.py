"""Models on a hub, by its own client: a server of its answers on loopback, and the cache alone."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from corpora.errors import CorpusError
from modeling.huggingface.hub import local_folder, origin
from modeling.huggingface.importing import read_pretrained
from modeling.taggers.folders import find_model
from tests.modeling.models.huggingface.small_models import make_theirs

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "writers/small"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write the files of a hub: a model, and what nobody asked for."""
    folder = tmp_path_factory.mktemp("hub")
    make_theirs("bert", folder)
    (folder / "modeling_small.py").write_text("raise SystemExit('code of a stranger')\n")
    (folder / "tf_model.h5").write_bytes(b"another framework")
    return folder


@pytest.fixture
def hub(files, tmp_path, monkeypatch):
    """Start a hub with one model, and empty the cache; yields the list of its requests."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.answer(with_body=False)

        def do_GET(self):
            self.answer(with_body=True)

        def answer(self, *, with_body):
            asked.append(f"{self.command} {self.path}")
            status, body, etag = self.find()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Repo-Commit", COMMIT)
            if etag:
                self.send_header("ETag", f'"{etag}"')
            if status == 404:
                kind = "RevisionNotFound" if NAME in self.path else "RepoNotFound"
                self.send_header("X-Error-Code", kind)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def find(self):
            path = self.path.partition("?")[0]
            names = sorted(file.name for file in files.iterdir())
            api = f"/api/models/{NAME}"
            if path in {api, *(f"{api}/revision/{r}" for r in ("main", "v1", COMMIT))}:
                siblings = [{"rfilename": name} for name in names]
                return (
                    200,
                    json.dumps({"id": NAME, "sha": COMMIT, "siblings": siblings}).encode(),
                    "",
                )
            if path == f"{api}/tree/{COMMIT}":
                tree = [
                    {"type": "file", "path": n, "size": (files / n).stat().st_size, "oid": "0" * 40}
                    for n in names
                ]
                return 200, json.dumps(tree).encode(), ""
            if path.startswith(f"/{NAME}/resolve/{COMMIT}/") and path.rsplit("/", 1)[1] in names:
                body = (files / path.rsplit("/", 1)[1]).read_bytes()
                return 200, body, hashlib.sha256(body).hexdigest()
            return 404, b"{}", ""

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setattr(
            constants,
            "HUGGINGFACE_CO_URL_TEMPLATE",
            constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}",
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("revision", ["", "@v1", f"@{COMMIT}"])
def test_a_model_of_a_hub_is_fetched_with_its_commit_and_without_its_code(revision, hub, files):
    folder = find_model(Path(f"hub:{NAME}{revision}"))

    assert origin(folder) == {"name": NAME, "revision": COMMIT}
    ours, theirs = read_pretrained(folder).weights, read_pretrained(files).weights
    assert all(ours[name].equal(theirs[name]) for name in theirs)
    assert not list(folder.glob("*.py")) + list(folder.glob("*.h5"))
    assert not any("modeling_small" in request or "h5" in request for request in hub)


def test_offline_what_is_in_the_cache_is_enough(hub, monkeypatch):
    before = local_folder(Path(f"hub:{NAME}"))
    n_asked = len(hub)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    assert local_folder(Path(f"hub:{NAME}")) == before
    assert len(hub) == n_asked
    with pytest.raises(CorpusError, match="HF_HUB_OFFLINE is set, and it is not in the cache"):
        local_folder(Path("hub:writers/other"))
    with pytest.raises(CorpusError, match=rf"{NAME}@v9: not .* hf download {NAME} --revision v9,"):
        local_folder(Path(f"hub:{NAME}@v9"))


@pytest.mark.usefixtures("hub")
def test_what_a_hub_has_not_is_said():
    with pytest.raises(CorpusError, match=r"writers/other: there is none of this name"):
        local_folder(Path("hub:writers/other"))
    with pytest.raises(CorpusError, match="has no revision 'v9'"):
        local_folder(Path(f"hub:{NAME}@v9"))
    with pytest.raises(CorpusError, match="no name on a hub"):
        local_folder(Path("hub:../../etc"))


def test_a_folder_is_itself_and_asks_nobody(hub, tmp_path):
    assert local_folder(tmp_path) == tmp_path
    assert origin(tmp_path) == {}
    assert hub == []
