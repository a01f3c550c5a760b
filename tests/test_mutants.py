"""The faults that ``benchmarks/mutants.py`` makes fit the code as it is."""

import pytest

from benchmarks.mutants import ROOT, read_mutants


@pytest.mark.parametrize("mutant", read_mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_and_names_tests_that_are_there(mutant):
    assert mutant.misfit(ROOT) == ""
    assert mutant.old != mutant.new
