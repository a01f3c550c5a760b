"""Cells that a spreadsheet would run are text, and come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.system.cells import guarded, one_line, unguarded


@pytest.mark.parametrize("cell", ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1"])
def test_what_a_spreadsheet_would_run_is_text(cell):
    assert guarded(cell) == f"'{cell}"


@given(st.text(st.sampled_from("'=+-@\t\r a"), max_size=6))
def test_each_cell_comes_back(cell):
    assert unguarded(guarded(cell)) == cell


def test_lines_in_a_cell_are_one():
    assert one_line("a\n b") == "a b"
