"""Cells that a spreadsheet would run are text, and come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Document, Mention
from corpora.entities.exports import ExportRow, id_lines
from corpora.ner.sources import CountedFile, to_tsv
from corpora.system.cells import cell_of, guarded, one_line, text_of
from modeling.evaluate.scores import Spread
from modeling.predict.commands import format_mentions
from modeling.report.tables import ResultTable

SUM = "=1+2"
TABLES = {
    "entity_ids.tsv": id_lines([ExportRow(1, SUM, SUM, 1, retired=False, description=SUM)], {}),
    "names of onoma predict": format_mentions(
        Document(
            id="a", group="", source="", text=SUM, mentions=(Mention(0, 4, label=SUM, score=0.5),)
        ),
        "tsv",
    ),
    "sources.tsv": to_tsv([CountedFile(names=(SUM,) * 4, counts={f"entities/{SUM}": 1})]),
    "table of onoma report": [
        ResultTable(
            title="", rows=[SUM], columns=[SUM], cells={(SUM, SUM): Spread.of([0.5])}, notes=[]
        ).to_tsv()
    ],
}


@pytest.mark.parametrize("cell", ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "＝1", "'=1"])
def test_what_a_spreadsheet_would_run_is_text(cell):
    assert guarded(cell) == f"'{cell}"


@given(st.text(st.sampled_from("'=+-@\t\r\\t＝ a"), max_size=6))
def test_each_text_comes_back(text):
    assert text_of(cell_of(text)) == text


def test_lines_in_a_cell_are_one():
    assert one_line("a\n b") == "a b"


@pytest.mark.parametrize("name", TABLES)
def test_tables_for_people_hold_no_formula(name):
    cells = "".join(TABLES[name]).replace("\n", "\t").split("\t")

    assert f"'{SUM}" in cells
    assert SUM not in cells
