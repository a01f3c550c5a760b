"""The patterns of a stranger's request, which can take long, matched in a process of their own."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Generic, TypeVar

from corpora.system.sandbox import Arguments, Bounds, Task, TaskError, call, stop
from modeling.http.guard import Busy, Refusal

T = TypeVar("T")
_MOST_WAITING: Final = 8
"""The most calls that wait or run; further ones are refused."""


class Apart(Generic[T]):
    """A function that is called in another process, one call after the other.

    A call ends with its process after the time of its bounds, the wait for earlier calls included,
    and when its client closes the connection.
    """

    def __init__(self, task: Task[T], bounds: Bounds) -> None:
        self.task, self.bounds = task, bounds
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="apart")  # waits for the process
        self._n_calls = 0

    async def call(self, arguments: Arguments) -> T:
        """Call the function; raises ``Busy``, ``Refusal`` (422), or ``TaskError`` of the function.

        Cancelling the call, as where a client has gone, kills the process.
        """
        if self._n_calls >= _MOST_WAITING:
            raise Busy("Too many such requests wait already.")
        self._n_calls += 1
        try:
            async with asyncio.timeout(self.bounds.wall_seconds), self._turn:
                return await self._run(arguments)
        except TimeoutError:
            raise self._late() from None
        except TaskError as error:
            if error.reason == "timeout":
                raise self._late() from error
            raise
        finally:
            self._n_calls -= 1

    async def _run(self, arguments: Arguments) -> T:
        running = asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: call(self.task, arguments, bounds=self.bounds)
        )
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop(self.task, self.bounds)
            await asyncio.wait([running])  # then the next call starts a process of its own
            running.exception()  # is of the killed process: nobody need know
            raise

    def _late(self) -> Refusal:
        return Refusal(422, f"This takes longer than {self.bounds.seconds:g} seconds.")
