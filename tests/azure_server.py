"""Azurite, Microsoft's own server of blobs, on loopback; npm installs it in ``build/azurite``."""

import base64
import hashlib
import hmac
import shutil
import subprocess
import sys
from email.utils import formatdate
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

from tests.bucket_server import free_port, wait_for_port

VERSION = "3.35.0"
FOLDER = Path(__file__).resolve().parents[1] / "build" / "azurite"
PROGRAM = FOLDER / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of every emulator: https://learn.microsoft.com/azure/storage/common/storage-use-azurite."""


def install() -> None:
    """Install the server by npm, under a name of its own until it is whole."""
    making = FOLDER.with_name("azurite-making")
    making.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--prefix", making]
    subprocess.run([*command, f"azurite@{VERSION}"], check=True, stdout=sys.stderr)
    making.rename(FOLDER)


class AzureServer:
    """A server with one container, ``onoma``, in memory."""

    def __init__(self, node: str) -> None:
        self.port = free_port()
        options = ["--inMemoryPersistence", "--silent", "--disableTelemetry"]
        self.process = subprocess.Popen(
            [node, PROGRAM, *options, "--skipApiVersionCheck", "--blobPort", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.process, self.port)
        self._make_container()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to find it."""
        url = f"http://127.0.0.1:{self.port}"
        return {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": url}

    def _make_container(self) -> None:
        own = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        named = "".join(f"{name}:{value}\n" for name, value in own.items())
        signed = f"PUT{12 * chr(10)}{named}/{ACCOUNT}/{ACCOUNT}/onoma\nrestype:container"
        digest = hmac.digest(base64.b64decode(KEY), signed.encode(), hashlib.sha256)
        own["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request("PUT", f"/{ACCOUNT}/onoma?restype=container", headers=own)
        if (status := connection.getresponse().status) != HTTPStatus.CREATED:
            raise RuntimeError(f"{PROGRAM}: makes no container ({status})")
        connection.close()

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()


def missing() -> str:
    """Say why it cannot be started; empty: it can."""
    if not PROGRAM.exists():
        return "no Azurite: python3 -m tests.azure_server installs it, by npm"
    return "" if shutil.which("node") else "no Azurite: Node, which runs it, is not there"


if __name__ == "__main__":
    if not PROGRAM.exists():
        install()
    sys.stdout.write(f"{PROGRAM}\n")
