"""A few threads for work that releases the interpreter lock: hashing, reading files, pyarrow."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

N_THREADS = min(4, os.cpu_count() or 1)

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def map_in_order(
    do: Callable[[_In], _Out], items: Iterable[_In], *, n_threads: int = N_THREADS
) -> Iterator[_Out]:
    """Apply a function to each item, several at once; yield the results in the order of the items.

    At most twice as many items as threads are begun before a result is taken, so that waiting
    results need bounded memory. An exception for an item is raised in its turn; later items are not
    begun.
    """
    begun: deque[Future[_Out]] = deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        for item in items:
            begun.append(pool.submit(do, item))
            if len(begun) == 2 * n_threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
