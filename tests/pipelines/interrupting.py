"""Runs in this process that break after some units."""

from contextlib import contextmanager

import pytest

from pipelines.transforms.shards import WriteShards


@contextmanager
def broken_after(n_units, *, stage=""):
    """Stop the machine when ``n_units`` of a stage are done, while the context lasts."""
    begin, left = WriteShards.begin, iter(range(n_units))

    def begin_or_die(self, unit):
        if self.stage == stage and next(left, None) is None:
            raise OSError(5, "the machine stops")
        return begin(self, unit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WriteShards, "begin", begin_or_die)
        yield
