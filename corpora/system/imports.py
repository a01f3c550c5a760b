"""Libraries that other libraries load if they are installed, left out where nothing needs them."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

own_process = False
"""Whether the user started this process as ``onoma``; its libraries serve nobody else."""


class _Hidden:
    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - as importlib calls it
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if name in self.names:
            raise ModuleNotFoundError(f"{name} is hidden", name=name)
        return None


@contextmanager
def hidden(*names: str) -> Iterator[None]:
    """Let packages seem not installed inside a ``with`` block, unless they are loaded already.

    Modules that are imported inside log nothing, because they may warn of missing packages.
    """
    finder, level = _Hidden(names), logging.root.manager.disable
    sys.meta_path.insert(0, finder)
    logging.disable()
    try:
        yield
    finally:
        logging.disable(level)
        sys.meta_path.remove(finder)


def hide_pandas_from_pyarrow() -> None:
    """Keep pyarrow from loading pandas at its first array: half a second, 40 MB.

    For processes that are a command of Onoma. pyarrow looks for pandas again in ``to_pandas``, but
    takes a Series for any other sequence.
    """
    import pyarrow as pa

    with hidden("pandas"):
        pa.array([])
