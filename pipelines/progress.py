"""The progress of a run: a bar in a terminal, plain lines elsewhere, both on standard error."""

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from corpora.system.arguments import Output

_BAR_SECONDS = 0.2
_LINE_SECONDS = 15.0


@contextmanager
def quiet(log: Path) -> Iterator[TextIO]:
    """Redirect standard error of this process and its children to a file inside ``with``.

    Yields a stream to the real standard error, for what people should see.
    """
    sys.stderr.flush()
    real = os.dup(2)
    output = io.BufferedWriter(Output(real, "w"))
    with log.open("ab") as file, io.TextIOWrapper(output, encoding="utf-8") as stream:
        os.dup2(file.fileno(), 2)
        try:
            yield stream
        finally:
            sys.stderr.flush()
            os.dup2(real, 2)


@dataclass
class UnitProgress:
    """A progress bar or log of units; use it with ``with``."""

    total: int
    count: Callable[[], int]
    """A function that returns the number of done units; it is called from another thread."""
    stream: TextIO
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> None:
        """Start to report, in a thread."""
        self._reporter = threading.Thread(target=self._report, daemon=True)
        self._reporter.start()

    def __exit__(self, *_: object) -> None:
        """Stop, and erase the bar."""
        self._stop.set()
        self._reporter.join()
        if self.stream.isatty():
            self.stream.write("\r\033[K")

    def _report(self) -> None:
        terminal = self.stream.isatty()
        start = time.monotonic()
        while not self._stop.wait(_BAR_SECONDS if terminal else _LINE_SECONDS):
            line = self._line(seconds=time.monotonic() - start)
            self.stream.write(f"\r{line}\033[K" if terminal else f"{line}\n")
            self.stream.flush()

    def _line(self, *, seconds: float) -> str:
        done = self.count()
        per_second = done / seconds
        left = f"{_duration((self.total - done) / per_second)} left" if per_second > 0 else "…"
        bar = "█" * (20 * done // max(self.total, 1))
        return f"units {bar:░<20} {done:,}/{self.total:,} · {per_second:.1f}/s · {left}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
