"""Transforms: they fit together, whatever stands between them; a unit is never torn."""

from collections import Counter

import apache_beam as beam
import pytest
from apache_beam.pvalue import PCollection

from corpora.build import hold
from pipelines import tei_to_ner
from pipelines.engine import describe
from pipelines.failures import UnitFailedError
from pipelines.in_memory import run_graph
from pipelines.outcomes import Filtered
from pipelines.transforms.elements import EndOfUnit, InUnit
from tests.pipelines.test_record_errors import (
    WORDS,
    run_augment,
    run_examples,
    run_ner,
    run_tokenizer,
)
from tests.pipelines.test_tei_to_ner import LETTERS, OPTIONS, files_of


@pytest.fixture
def n_put(monkeypatch):
    """Put a step that changes nothing behind each step of every graph; counts them."""
    apply, state = PCollection.__or__, Counter()

    def apply_and_put(pcoll, transform):
        state["depth"] += 1
        made = apply(pcoll, transform)
        state["depth"] -= 1
        if state["depth"] or not isinstance(made, PCollection):
            return made
        state["put"] += 1
        return apply(made, f"Nothing {state['put']}" >> beam.Map(lambda element: element))

    monkeypatch.setattr(PCollection, "__or__", apply_and_put)
    return lambda: state["put"]


def run_letters(_folder, output, _words):
    return tei_to_ner.main(["--input", str(LETTERS), *OPTIONS, "--output", str(output)])


def run_divided(folder, output, words):
    return run_ner(folder, output, words, "--split", "sentence")


GRAPHS = {
    "tei_to_ner": (run_letters, 4),
    "augment_mentions": (run_augment, 6),
    "benchmark_to_ner": (run_divided, 4),
    "documents_to_tokenizer": (run_tokenizer, 11),
    "documents_to_examples": (run_examples, 10),
}
"""How each is run, and the number of its steps at least."""


@pytest.mark.parametrize("name", GRAPHS)
def test_steps_that_change_nothing_may_stand_anywhere(name, tmp_path, n_put, monkeypatch):
    run, n_steps = GRAPHS[name]
    assert run(tmp_path / "with" / "in", tmp_path / "with" / "out", WORDS) == 0
    assert n_put() >= n_steps
    monkeypatch.undo()

    assert run(tmp_path / "without" / "in", tmp_path / "without" / "out", WORDS) == 0

    assert files_of(tmp_path / "with" / "out") == files_of(tmp_path / "without" / "out")


def test_unit_that_a_runner_has_torn_fails(tmp_path):
    def torn(units, _, run):
        """End the bundle in the middle of each unit, as a shuffle does."""
        return (
            units
            | "Read"
            >> beam.FlatMap(lambda u: [InUnit(u, Filtered("a", "b")), InUnit(u, EndOfUnit())])
            | "Tear" >> beam.Filter(lambda element: not isinstance(element.value, EndOfUnit))
            | run.write_shards()
        )

    options = tei_to_ner.Options(input=(str(LETTERS),), output=tmp_path)
    with hold(tmp_path, tei_to_ner.plan(options)) as build:
        run = describe(build, code="")

        with pytest.raises(UnitFailedError, match="ended a bundle in the middle"):
            run_graph(torn, build.pending(), options=options, run=run)

        assert build.pending()
        assert not list(tmp_path.rglob(".tmp-*"))
