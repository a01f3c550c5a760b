"""Put the service under load, and measure latency, processor time and memory.

Example:
  python -m benchmarks.serve --minutes 2
  python -m benchmarks.serve --minutes 10 --clients 50 --layers 12 --width 384
  python -m benchmarks.serve --tagger runs/sturm --texts letters/*.txt

Starts ``onoma serve`` on this machine with a tagger of random weights (or
``--tagger``) and the register of the tests. Clients send one request after the other, over
connections that stay open: short texts to ``/v1/tag``, letters to TEI Publisher's ``/entities/``,
names to ``/reconcile``. 503 is counted, and sent again. Latencies are those of the clients, which
run on the same cores; processor time is that of the service alone, and does not depend on what
else the machine does.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import torch

from benchmarks.inputs import existing
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import EncoderConfig
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.tagger import Tagger, document_of, sentences_of
from modeling.tagging_config import HeadConfig, SentencesConfig, TaggerConfig

ROOT = Path(__file__).resolve().parent.parent
LETTERS = ROOT / "tests" / "data" / "letters"
REGISTER = ROOT / "tests" / "data" / "register"
N_SENTENCES = 1300
KINDS = {"text": 0.8, "letter": 0.1, "reconcile": 0.1}


def main() -> None:
    arguments = parse()
    texts = read_texts(arguments.texts)
    with tempfile.TemporaryDirectory() as folder:
        tagger = arguments.tagger or make_tagger(Path(folder) / "small", texts, arguments)
        register = sorted(map(str, REGISTER.glob("*.xml")))
        command = [
            sys.executable,
            "-m",
            "modeling.serve",
            str(tagger),
            "--port",
            "0",
            "--name",
            "m",
        ]
        command += ["--lang", "de", "--register", *register]
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": str(arguments.threads),
        }
        with subprocess.Popen(command, stderr=-1, text=True, env=environment) as process:
            try:
                address = wait_for(process)
                describe(arguments)
                asyncio.run(measure(Load(address, process.pid, texts), arguments))
            finally:
                process.terminate()
                process.wait(60)
        print(f"exit status after SIGTERM: {process.returncode}")


def read_texts(files: Sequence[Path]) -> list[str]:
    if files:
        return [path.read_text("utf-8") for path in files]
    edition = load_edition(edition_path(str(LETTERS / "edition.toml")))
    found = (read_tei(p.read_bytes(), edition, name=p.name) for p in sorted(LETTERS.glob("*.xml")))
    return [text.document.text for texts in found for text in texts if text.document]


def make_tagger(folder: Path, texts: Sequence[str], arguments: argparse.Namespace) -> Path:
    """Make a tagger of random weights: its names mean nothing, its time does."""
    words = Counter(word for text in texts for word in re.findall(r"\w+|\S", text))
    letters = sorted({letter for word in words for letter in word})
    subwords = dict.fromkeys([*SPECIALS, *letters, *(f"##{letter}" for letter in letters), *words])
    tokenizer = Tokenizer(wordpiece(list(subwords), cased=True), name="small")
    torch.manual_seed(1)
    width = arguments.width
    encoder = EncoderConfig(
        n_subwords=tokenizer.size,
        width=width,
        n_layers=arguments.layers,
        n_heads=width // 32,
        inner_width=4 * width,
        max_positions=512,
    )
    config = TaggerConfig(
        labels=("pers", "place", "org"),
        encoder=encoder,
        head=HeadConfig(kind="crf"),
        data=SentencesConfig(max_length=256),
    )
    TaggingModel.from_config(config).save(folder)
    tokenizer.save(folder)
    (folder / "run.json").write_text('{"config": {}, "examples": {}}')
    Tagger.load(folder)
    return folder


def wait_for(process: "subprocess.Popen[str]") -> str:
    said = []
    for line in process.stderr or ():
        said.append(line)
        if found := re.search(r"http://[\d.:]+(?= \(labels)", line):
            return found[0]
    raise SystemExit("".join(said))


def describe(arguments: argparse.Namespace) -> None:
    what = arguments.tagger or f"{arguments.layers} × {arguments.width}, CRF, random weights"
    machine = f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}"
    print(f"{datetime.now(UTC):%d %B %Y}, {machine}, {arguments.threads} threads")
    print(f"tagger: {what}")


async def measure(load: "Load", arguments: argparse.Namespace) -> None:
    if not arguments.only_clients:
        await whole_document(load)
    if arguments.minutes:
        await many_clients(load, arguments)


async def whole_document(load: "Load") -> None:
    document, n = "", 0
    while n < N_SENTENCES:
        document += " ".join(load.lines) + "\n"
        n = len(sentences_of(document_of(document, lang="de")))
    taken, before = [], load.processor_seconds()
    for _ in range(3):
        start = time.perf_counter()
        status, _ = await load.ask("/entities/m", document.encode(), "text/text")
        taken.append(time.perf_counter() - start)
        assert status == 200, status
    processor = (load.processor_seconds() - before) / 3
    print(
        f"a document of {n:,} sentences, {len(document.split()):,} words, to /entities/: "
        f"{statistics.median(taken):.1f} s ({min(taken):.1f} to {max(taken):.1f}); "
        f"{processor:.1f} s of the processor"
    )


async def many_clients(load: "Load", arguments: argparse.Namespace) -> None:
    until, before = time.monotonic() + 60 * arguments.minutes, load.processor_seconds()
    memory: list[float] = []

    async def watch() -> None:
        while time.monotonic() < until:
            memory.append(load.resident())
            await asyncio.sleep(1)

    clients = [load.client(number, until) for number in range(arguments.clients)]
    await asyncio.gather(watch(), *clients)
    print(f"\n{arguments.clients} clients for {arguments.minutes:g} minutes\n")
    print(
        "| request | requests | a second | median, ms | 99 %, ms |\n| --- | --- | --- | --- | --- |"
    )
    for kind, taken in sorted(load.taken.items()):
        taken.sort()
        p99 = taken[min(len(taken) - 1, int(0.99 * len(taken)))]
        rate = len(taken) / 60 / arguments.minutes
        print(
            f"| {kind} | {len(taken):,} | {rate:.1f} | {1000 * statistics.median(taken):.0f} | "
            f"{1000 * p99:.0f} |"
        )
    used = load.processor_seconds() - before
    print(f"\nprocessor time of the service: {used:.0f} s of {60 * arguments.minutes:.0f} s")
    print(f"answers: {dict(sorted(load.statuses.items()))}")
    tenth = max(1, len(memory) // 10)
    marks = [memory[tenth], memory[len(memory) // 2], memory[-1]]
    print("memory (RSS) after a tenth, the half, the whole:", *(f"{m:.0f} MB" for m in marks))


class Load:
    """A load of requests from clients, each with its own connection, and their outcomes."""

    def __init__(self, address: str, pid: int, texts: Sequence[str]) -> None:
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.port, self.pid, self.texts = int(port), pid, texts
        self.lines = [line for text in texts for line in text.splitlines() if line.strip()]
        self.taken: defaultdict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[int] = Counter()

    def resident(self) -> float:
        """Return the resident memory of the service in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text("ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def client(self, number: int, until: float) -> None:
        rng = random.Random(number)
        connection = await asyncio.open_connection(self.host, self.port)
        kinds, weights = [*KINDS], [*KINDS.values()]
        while time.monotonic() < until:
            kind = rng.choices(kinds, weights)[0]
            path, body, type = self.request(kind, rng)
            start, status = time.perf_counter(), 503
            while status == 503:
                status, _ = await self.ask(path, body, type, connection=connection)
                self.statuses[status] += 1
            self.taken[kind].append(time.perf_counter() - start)
        connection[1].close()

    def request(self, kind: str, rng: random.Random) -> tuple[str, bytes, str]:
        if kind == "text":
            text = "\n".join(rng.choices(self.lines, k=rng.randint(1, 3)))
            return "/v1/tag", json.dumps({"text": text}).encode(), "application/json"
        if kind == "letter":
            return "/entities/m", rng.choice(self.texts).encode(), "text/text"
        names = [rng.choice(rng.choice(self.lines).split()) for _ in range(10)]
        queries = {f"q{n}": {"query": name, "limit": 5} for n, name in enumerate(names)}
        body = urlencode({"queries": json.dumps(queries)}).encode()
        return "/reconcile", body, "application/x-www-form-urlencoded"

    async def ask(
        self,
        path: str,
        body: bytes,
        type: str,
        *,
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None,
    ) -> tuple[int, bytes]:
        reader, writer = connection or await asyncio.open_connection(
            self.host, self.port, limit=1 << 24
        )
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Type: {type}\r\n"
        writer.write(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", answered)
        content = await reader.readexactly(int(length[1])) if length else b""
        if connection is None:
            writer.close()
        return int(answered.split(maxsplit=2)[1]), content


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=2.0, help="of load; 0: the document alone")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--only-clients", action="store_true", help="leave the document out")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument(
        "--tagger", type=existing, help="a trained one (default: of random weights)"
    )
    parser.add_argument(
        "--texts", type=existing, nargs="*", default=(), help="(default: our letters)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
