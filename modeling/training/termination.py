"""SIGTERM: training ends after the step that is being made, with a checkpoint."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

EXIT_STATUS: Final = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM came; what Ctrl-C would end in an orderly way ends likewise."""


class Termination:
    """Whether SIGTERM came: ``Terminated`` is raised at once, or, while ``deferred``, by others."""

    def __init__(self) -> None:
        self.is_asked = False
        self._is_deferred = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen to SIGTERM; in the main thread only."""
        earlier = signal.signal(signal.SIGTERM, self._hear)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, earlier)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only take note inside; the caller looks at ``is_asked`` again and again."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False

    def _hear(self, *_: object) -> None:
        self.is_asked = True
        if not self._is_deferred:
            raise Terminated
