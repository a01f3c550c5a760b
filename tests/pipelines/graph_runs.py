"""The phases of a pipeline, run in this process on a plan that is held."""

from itertools import tee
from unittest.mock import patch

import apache_beam as beam
from apache_beam.internal import pickler

from corpora.runs.build import hold
from pipelines import in_memory
from pipelines.engine import describe, jobs_of


def do_jobs(build, pipeline, *, reverse=False, run_graph=None):
    """Do what is still to be done; the units of each phase in the other order if ``reverse``."""
    run_graph = run_graph or in_memory.run_graph
    run = describe(build, code="")
    for graph, units in jobs_of(pipeline.phases(), build):
        ordered = list(reversed(units)) if reverse else units
        run_graph(graph, ordered, run=run)


def run_here(pipeline, output, inputs, *, reverse=False, run_graph=None, **options):
    """Do what the command does, in this process; returns the output."""
    chosen = pipeline.Options(input=tuple(map(str, inputs)), output=output, **options)
    with hold(output, pipeline.plan(chosen)) as held:
        do_jobs(held, pipeline, reverse=reverse, run_graph=run_graph)
        held.check_ids()
        held.publish(pipeline.write_side_files)
    return output


def run_plainly(graph, units, *, run):
    """Call the steps of a graph one after the other, without a runner; starts in no time.

    For tests that run a pipeline dozens of times; others prove that a runner makes the same bytes.
    """
    steps = {"ParDo": _Step, "GroupByKey": _Group, "Reshuffle": _Pass, "Flatten": _Flatten}
    steps |= {"FlatMap": _FlatMap, "Map": _Map, "Create": _Create}
    sides = {"AsIter": lambda plain: plain.taken, "AsSingleton": lambda plain: plain.only}
    with patch.multiple(beam, **steps), patch.multiple(beam.pvalue, **sides):
        made = graph(_Plain(units), run.settings, run)
    for _ in made.values:
        pass


class _Step:
    """In the place of a ``ParDo``, which examines the source of its function each time."""

    def __init__(self, fn):
        self.fn = pickler.roundtrip(fn)

    def with_output_types(self, *_):
        return self

    with_input_types = with_output_types

    def __rrshift__(self, label):
        return self

    def do(self, values):
        self.fn.setup()
        try:
            for value in values:
                yield from self.fn.process(value)
            self.fn.finish_bundle()
        finally:
            self.fn.teardown()


class _FlatMap(_Step):
    """In the place of a ``FlatMap``; side inputs are functions."""

    def __init__(self, fn, *sides):
        super().__init__(fn)
        self.sides = sides

    def do(self, values):
        sides = [side() for side in self.sides]
        for value in values:
            yield from self.apply(value, *sides)

    def apply(self, value, *sides):
        return self.fn(value, *sides)


class _Map(_FlatMap):
    """In the place of a ``Map``."""

    def apply(self, value, *sides):
        return [self.fn(value, *sides)]


class _Pass(_Step):
    """In the place of a ``Reshuffle``."""

    def __init__(self):
        """Have no function."""

    def do(self, values):
        return values


class _Create(_Pass):
    """In the place of a ``Create``."""

    def __init__(self, values):
        self.values = values

    def do(self, _):
        return iter(self.values)


class _Group(_Pass):
    """In the place of a ``GroupByKey``; the groups come in an order of their own."""

    def do(self, values):
        groups = {}
        for key, value in values:
            groups.setdefault(key, []).append(value)
        return sorted(groups.items(), reverse=True)


class _Flatten(_Pass):
    """In the place of a ``Flatten``."""

    def __ror__(self, plains):
        return _Plain([value for plain in plains for value in plain.values])


class _Plain:
    """Values, in the place of a ``PCollection``; steps are ``_Step`` or made of such."""

    def __init__(self, values):
        self.values = values

    def __or__(self, step):
        if not isinstance(step, _Step):
            return step.expand(self)
        return _Plain(step.do(self.taken()))

    @property
    def pipeline(self):
        return _Plain([])

    def taken(self):
        self.values, values = tee(self.values)  # another step may take them, too
        return values

    def only(self):
        [value] = self.taken()
        return value
