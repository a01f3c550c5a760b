"""The elements between the steps of a graph, and steps that are made from functions.

A *unit* (``corpora.runs.plan.Unit``) is a part of the input that becomes one shard of each dataset.
Its records pass through the steps one after the other, in the process that read them: text is never
shuffled. Each element carries its unit, and the last element of a unit is an ``EndOfUnit``, at
which ``WriteShards`` closes the shards. A step passes on unchanged any element that it does not
handle, such as a rejected record or counters.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from types import FunctionType, MethodType
from typing import (
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import apache_beam as beam
from apache_beam.transforms.core import get_function_args_defaults

from corpora.document import Rejected
from corpora.errors import CorpusError
from corpora.runs.plan import Unit
from corpora.runs.record_errors import read_record
from pipelines.failures import explain

A = TypeVar("A")
P = ParamSpec("P")
Function = Callable[..., Iterable[object]]
Kinds = type[object] | tuple[type[object], ...]


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


class InputRecord(Protocol):
    """An unparsed record of an input, with its place."""

    @property
    def source(self) -> str:
        """The relative name of its file."""

    @property
    def position(self) -> str:
        """The place in the file; empty if the record is the whole file."""


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


def read_units(
    function: Callable[Concatenate[Unit, P], Iterable[object]], *_: P.args, **settings: P.kwargs
) -> object:
    """Make the first step of a graph, which reads the values of each unit, from a function.

    ``PCollection[Unit]`` -> ``PCollection[InUnit[B]]``. A unit for which the function raises
    ``CorpusError`` or ``OSError`` fails.
    """
    return _step(_ReadUnits(partial(function, **settings)), function, Unit)


def per_record(
    function: Callable[Concatenate[A, P], Iterable[object]], *_: P.args, **settings: P.kwargs
) -> object:
    """Make a step from a function of a record; a record for which it raises is rejected.

    ``PCollection[InUnit[A]]`` -> ``PCollection[InUnit[B | Rejected]]``. The annotation of the first
    parameter says which values are taken, others pass unchanged. A function of ``InUnit[A]`` gets
    the unit, too.
    """
    return _step(_PerRecord(partial(function, **settings), _takes(function)), function)


def _step(function: beam.DoFn, named: Function, takes: type[object] = InUnit) -> object:
    step = beam.ParDo(function).with_input_types(takes).with_output_types(InUnit)
    step.label = named.__name__
    return step


def _takes(function: Function) -> tuple[Kinds, bool]:
    """Return the types of the first parameter, and whether these are elements with their unit."""
    kind: object
    name, kind = next(iter(function.__annotations__.items()))
    if isinstance(kind, str):  # the types of other parameters may be there for mypy alone
        kind = get_type_hints(function)[name]
    has_unit = get_origin(kind) is InUnit
    if has_unit:
        [kind] = get_args(kind)
    return cast("Kinds", get_args(kind) or kind), has_unit


class _ReadUnits(StepFunction):
    def __init__(self, read: Function) -> None:
        self._read = read

    def process(self, unit: Unit) -> Iterator[InUnit[object]]:
        try:
            unit = unit.hashed()
            for value in _uncollected(self._read(unit)):
                yield InUnit(unit, value)
            for file in unit.inputs:  # which may have changed while they were read
                file.check()
        except (CorpusError, OSError) as error:
            yield InUnit(unit, _failed(error, unit))
        else:
            yield InUnit(unit, EndOfUnit())


class _PerRecord(StepFunction):
    def __init__(self, function: Function, takes: tuple[Kinds, bool]) -> None:
        self._function, (self._takes, self._has_unit) = function, takes

    def process(self, element: InUnit[object]) -> Iterator[InUnit[object]]:
        unit = element.unit
        if not isinstance(element.value, self._takes):
            yield element
            return
        try:
            yield from (InUnit(unit, result) for result in _uncollected(self._read(element)))
        except (CorpusError, OSError) as error:
            yield InUnit(unit, _failed(error, unit))

    def _read(self, element: InUnit[object]) -> Iterator[object]:
        """Read a record, or reject it."""
        record = cast("InputRecord", element.value)
        taken = element if self._has_unit else record
        read = read_record(
            lambda: list(self._function(taken)), source=record.source, position=record.position
        )
        yield from (read,) if isinstance(read, Rejected) else read


_END = object()


def _uncollected(values: Iterable[object]) -> Iterator[object]:
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
        yield value


def _failed(error: Exception, unit: Unit) -> Failed:
    return Failed(explain(error, where=f"unit {unit.number}"))
