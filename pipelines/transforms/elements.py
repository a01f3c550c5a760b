"""The elements between the steps of a graph, and the base classes of steps.

A *unit* (``corpora.runs.plan.Unit``) is a part of the input that becomes one shard of each dataset.
Its records pass through the steps one after the other, in the process that read them: text is never
shuffled. Each element carries its unit, and the last element of a unit is an ``EndOfUnit``, at
which ``WriteShards`` closes the shards. A step passes on unchanged any element that it does not
handle, such as a rejected record or counters.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, partial
from types import FunctionType, MethodType
from typing import (
    ClassVar,
    Generic,
    Protocol,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_type_hints,
)

import apache_beam as beam
from apache_beam.transforms.core import get_function_args_defaults

from corpora.document import Rejected
from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_record
from corpora.runs.work_directory import WorkDirectory
from pipelines.failures import explain

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class InUnit(Generic[A]):
    """A value with its unit."""

    unit: Unit
    value: A


@dataclass(frozen=True, slots=True)
class EndOfUnit:
    """The mark after the last value of a unit."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A unit that cannot be done, because an input is damaged as a whole or a table is missing."""

    message: str


class Record(Protocol):
    """An unparsed record of an input, with its place."""

    @property
    def source(self) -> str:
        """The relative name of its file."""

    @property
    def position(self) -> str:
        """The place in the file; empty if the record is the whole file."""


R = TypeVar("R", bound=Record)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Step(beam.PTransform):
    """A transform whose annotated class attributes are its settings, as in a dataclass."""

    def __init_subclass__(cls) -> None:
        """Make the subclass a dataclass."""
        super().__init_subclass__()
        dataclass(kw_only=True, eq=False)(cls)


@dataclass(kw_only=True, eq=False)
class OfRun:
    """A step that reads or writes files in the work directory of a run."""

    folder: str
    """The work directory of the run: ``OUTPUT/.build/FINGERPRINT``, here or in a bucket."""

    @property
    def work(self) -> WorkDirectory:
        """The work directory of the run."""
        return WorkDirectory(self.folder)


class StepFunction(beam.DoFn):
    """A function of elements whose methods Beam examines only once.

    Beam asks for the arguments of all methods a dozen times in a graph, which takes a fifth of the
    processor time of a small run. If a method has an ``_inspect_NAME`` beside it, Beam calls that.
    """

    def __init_subclass__(cls) -> None:
        """Remember the arguments of each method."""
        super().__init_subclass__()
        for name in dir(cls):
            method = getattr(cls, name, None)  # zope adds names that a class does not have
            if isinstance(method, FunctionType):
                method = MethodType(method, cls)  # whose arguments do not begin with ``self``
            if isinstance(method, MethodType):
                arguments = cache(partial(get_function_args_defaults, method))
                setattr(cls, f"_inspect_{name}", staticmethod(arguments))


class ReadUnits(Step, Generic[B]):
    """Read the values of each unit; the first step of a graph.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[B]]``
    """

    def read(self, unit: Unit) -> Iterable[B]:
        """Read a unit; raises ``CorpusError`` or ``OSError`` where it is unreadable as a whole."""
        raise NotImplementedError

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the step."""
        return pcoll | beam.ParDo(_ReadUnits(self)).with_output_types(InUnit)


class PerUnit(Step, Generic[A, B]):
    """Process the values of one type; each unit has a copy of the step, which holds its state.

    ``PCollection[InUnit[A]]`` -> ``PCollection[InUnit[B]]``
    """

    takes: ClassVar[type[object] | tuple[type[object], ...]]
    """The types of values that the step processes, ``A``; other values pass unchanged."""
    unit: Unit = field(init=False, repr=False)
    """The unit that this copy of the step belongs to."""

    def __init_subclass__(cls) -> None:
        """Set ``takes`` from the annotation: ``PerUnit[Rows, Counts]`` takes ``Rows``."""
        super().__init_subclass__()
        for base in cls.__orig_bases__:
            if len(values := get_args(base)) == 2:
                cls.takes = get_args(values[0]) or values[0]

    def start(self) -> None:
        """Set up the state of a unit, in the copy of the step for this unit."""

    def process(self, value: A) -> Iterable[B] | None:
        """Return the results of a value, or None where they come at the end of the unit."""
        raise NotImplementedError

    def finish(self) -> Iterable[B]:
        """Return the results at the end of the unit."""
        return ()

    def expand(self, pcoll: beam.PCollection) -> beam.PCollection:
        """Apply the step."""
        step = beam.ParDo(_PerUnit(self))  # Beam knows no types of values in ``InUnit``
        return pcoll | step.with_input_types(InUnit).with_output_types(InUnit)


class PerRecord(PerUnit[R, B | Rejected], Generic[R, B]):
    """Process each record by itself; a record for which ``read`` raises is rejected."""

    def read(self, record: R) -> Iterable[B]:
        """Return the results of a record."""
        raise NotImplementedError

    def process(self, record: R) -> Iterable[B | Rejected]:
        """Process a record, or reject it."""
        made = read_record(
            lambda: list(self.read(record)),
            source=record.source,
            position=record.position,
        )
        return (made,) if isinstance(made, Rejected) else made


class Merge(OfRun, ReadUnits[B]):
    """Merge what all units of a stage wrote: once, in a unit of its own, which has no input.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[B]]``
    """

    functions: Sequence[Callable[[WorkDirectory], Iterable[B] | None]] = ()
    """Functions that write tables into the work directory and return results, if any; in order."""

    def read(self, unit: Unit) -> Iterator[B]:  # noqa: ARG002 - it has no input
        """Call the functions."""
        for function in self.functions:
            yield from function(self.work) or ()


@dataclass(kw_only=True, eq=False)
class _Named:
    """A step that a function is made into; it has the function's name in graphs and messages."""

    function: Callable[..., Iterable[object]]

    def default_label(self) -> str:
        """Return the name of the function, also of one with settings (``functools.partial``)."""
        return str(getattr(self.function, "func", self.function).__name__)


class _ReadUnitsBy(_Named, ReadUnits[object]):
    def read(self, unit: Unit) -> Iterable[object]:
        return self.function(unit)


class _PerRecordBy(_Named, PerRecord[Record, object]):
    def read(self, record: Record) -> Iterable[object]:
        return self.function(record)


def read_units(function: Callable[[Unit], Iterable[B]]) -> beam.PTransform:
    """Make the first step of a graph from a function, as ``ReadUnits`` with it as ``read``.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[B]]``
    """
    return _ReadUnitsBy(function=function)


def per_record(function: Callable[[R], Iterable[B]]) -> beam.PTransform:
    """Make a step from a function of a record; a record for which it raises is rejected.

    ``PCollection[InUnit[R]]`` -> ``PCollection[InUnit[B | Rejected]]``. The annotation of the first
    parameter, with settings by ``functools.partial``, says which values are taken; others pass.
    """
    step = _PerRecordBy(function=function)
    kind = next(iter(get_type_hints(getattr(function, "func", function)).values()))
    step.__dict__["takes"] = get_args(kind) or kind
    return step


class _ReadUnits(StepFunction, Generic[B]):
    def __init__(self, step: ReadUnits[B]) -> None:
        self._step = step

    def process(self, unit: Unit) -> Iterator[InUnit[object]]:
        try:
            unit = unit.hashed()
            for value in _uncollected(self._step.read(unit)):
                yield InUnit(unit, value)
            for file in unit.inputs:  # which may have changed while they were read
                file.check()
        except (CorpusError, OSError) as error:
            yield InUnit(unit, _failed(error, unit))
        else:
            yield InUnit(unit, EndOfUnit())


class _PerUnit(StepFunction, Generic[A, B]):
    def __init__(self, step: PerUnit[A, B]) -> None:
        self._step = step

    def setup(self) -> None:
        self._takes = self._step.takes
        self._begun: dict[int, PerUnit[A, B]] = {}

    def process(self, element: InUnit[object]) -> Iterator[InUnit[object]]:
        unit, value = element.unit, element.value
        is_end = isinstance(value, EndOfUnit)
        if not is_end and not isinstance(value, self._takes):
            yield element
            return
        try:
            step = self._begun.get(unit.number)
            if step is None:
                step = copy(self._step)
                step.unit = unit
                step.start()
                self._begun[unit.number] = step
            for made in _uncollected(
                (step.finish() if is_end else step.process(cast("A", value))) or ()
            ):
                yield InUnit(unit, made)
        except (CorpusError, OSError) as error:
            yield InUnit(unit, _failed(error, unit))
        if is_end:
            self._begun.pop(unit.number, None)
            yield element


_END = object()


def _uncollected(values: Iterable[B]) -> Iterator[B]:
    """Yield values; the garbage collector rests while they are made, not while others use them.

    A unit makes millions of small objects, and hardly any cycles.
    """
    waiting = iter(values)
    while True:
        is_on = gc.isenabled()
        gc.disable()
        try:
            value = next(waiting, _END)
        finally:
            if is_on:
                gc.enable()
        if value is _END:
            return
        yield cast("B", value)


def _failed(error: Exception, unit: Unit) -> Failed:
    return Failed(explain(error, where=f"unit {unit.number}"))
