"""Batching of the sentences of many requests, tagged by one thread that owns the model.

Requests that arrive while a batch runs are tagged together afterwards; no request waits for others
to arrive. Long requests take turns, batch by batch, with those that arrived later.
"""

import asyncio
import logging
import queue
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from corpora.document import Sentence
from modeling.data.predictions import Tagged
from modeling.http.guard import Busy, Refusal
from modeling.taggers.tagger import Tagger

log = logging.getLogger(__name__)
_SMALL: Final = 64
"""The most sentences of a request that is grouped with other requests."""
_TOGETHER: Final = 256
"""The most sentences of such a group."""


@dataclass(eq=False)
class _Job:
    """The sentences of one request."""

    sentences: Sequence[Sentence]
    future: "Future[list[Tagged]]" = field(default_factory=Future)
    found: dict[int, Tagged] = field(default_factory=dict)

    @property
    def is_wanted(self) -> bool:
        return not self.future.done()

    def answer(self) -> None:
        if self.is_wanted and self.future.set_running_or_notify_cancel():
            self.future.set_result([self.found[n] for n in range(len(self.sentences))])

    def fail(self, error: Exception) -> None:
        if self.is_wanted and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


class _Group:
    """Jobs whose sentences go through the model together."""

    def __init__(self, jobs: Sequence[_Job], tagger: Tagger, numbers: Iterator[int]) -> None:
        self.jobs = jobs
        self.places = [(job, n) for job in jobs for n in range(len(job.sentences))]
        sentences = [
            replace(sentence, document_id=f"{number}:{sentence.document_id}")
            for job, number in zip(jobs, numbers, strict=False)
            for sentence in job.sentences
        ]  # ids get the number of the request: its documents are no context for other requests
        self.batches = tagger.tag_by_batch(sentences)

    @property
    def is_wanted(self) -> bool:
        return any(job.is_wanted for job in self.jobs)

    def step(self) -> bool:
        """Tag the next batch; return False once all jobs are done and answered."""
        for number, tagged in next(self.batches, ()):
            job, place = self.places[number]
            job.found[place] = replace(tagged, sentence=job.sentences[place])
            if len(job.found) == len(job.sentences):
                job.answer()
        return any(len(job.found) < len(job.sentences) for job in self.jobs)


class Batcher:
    """A tagger in its own thread, which tags the sentences of many requests together.

    The thread ends with ``close``.

    Args:
        tagger: must not be used elsewhere meanwhile.
        max_waiting: most sentences that wait or are being tagged, of all requests.
    """

    def __init__(self, tagger: Tagger, *, max_waiting: int = 20_000) -> None:
        self.tagger, self.max_waiting = tagger, max_waiting
        self.n_waiting = 0
        self.counts: Counter[str] = Counter()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._numbers = count()
        self._thread = threading.Thread(target=self._work, name="tagger", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread after all waiting sentences are tagged."""
        self._jobs.put(None)
        self._thread.join()

    async def tag(self, sentences: Sequence[Sentence]) -> list[Tagged]:
        """Tag sentences, in their order; the sentences of a document must be adjacent.

        Raises ``Busy`` where too many sentences wait already, and ``Refusal`` (413) for more than
        ``max_waiting``.
        """
        n = len(sentences)
        if not n:
            return []
        if n > self.max_waiting:
            raise Refusal(413, f"{n:,} sentences: at most {self.max_waiting:,} at once.")
        if self.n_waiting + n > self.max_waiting:
            raise Busy(f"{self.n_waiting:,} sentences wait already.")
        job = _Job(sentences)
        self.n_waiting += n
        try:
            self._jobs.put(job)
            return await asyncio.wrap_future(job.future)
        finally:
            self.n_waiting -= n

    def _work(self) -> None:
        groups: deque[_Group] = deque()
        is_ending = False
        while groups or not is_ending:
            jobs, ended = self._take(wait=not groups and not is_ending)
            is_ending = is_ending or ended
            for some in _grouped(jobs):
                self._begin(some, groups)
            if groups:
                self._advance(groups)

    def _take(self, *, wait: bool) -> tuple[list[_Job], bool]:
        """Take the jobs in the queue, and tell whether the end is among them.

        With ``wait``, wait for the first one.
        """
        taken = [self._jobs.get()] if wait else []
        while not self._jobs.empty():
            taken.append(self._jobs.get())
        return [job for job in taken if job is not None and job.is_wanted], None in taken

    def _begin(self, jobs: Sequence[_Job], groups: "deque[_Group]") -> None:
        try:
            groups.append(_Group(jobs, self.tagger, self._numbers))
        except Exception as error:  # noqa: BLE001 - of whatever kind: it ends its request alone
            self._part(jobs, groups, error)

    def _advance(self, groups: "deque[_Group]") -> None:
        group = groups.popleft()
        if not group.is_wanted:
            return
        try:
            self.counts["batches"] += 1
            if group.step():
                groups.append(group)
            else:
                self.counts["sentences"] += len(group.places)
        except Exception as error:  # noqa: BLE001
            self._part(group.jobs, groups, error)

    def _part(self, jobs: Sequence[_Job], groups: "deque[_Group]", error: Exception) -> None:
        """Retry the jobs of a group one by one after an error; a single job fails with it."""
        if len(jobs) > 1:
            for job in jobs:
                job.found.clear()
                self._begin([job], groups)
            return
        self.counts["failures"] += 1
        log.error("a request could not be tagged", exc_info=error)
        jobs[0].fail(error)


def _grouped(jobs: Sequence[_Job]) -> Iterator[list[_Job]]:
    """Group small jobs, up to ``_TOGETHER`` sentences; yield each large job alone, at once."""
    some: list[_Job] = []
    n = 0
    for job in jobs:
        if len(job.sentences) > _SMALL:
            yield [job]
            continue
        if n + len(job.sentences) > _TOGETHER and some:
            yield some
            some, n = [], 0
        some.append(job)
        n += len(job.sentences)
    if some:
        yield some
