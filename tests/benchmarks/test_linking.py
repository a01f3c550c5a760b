"""References are taken out and compared; names of an evaluation are read back."""

from benchmarks.linking import (
    describe_ambiguous,
    describe_difference,
    read_outcomes,
    references,
    without_references,
)
from modeling.link.evaluation import Outcome
from modeling.link.report import write_report

TEI = (
    "<TEI><teiHeader><persName key='h'>H</persName></teiHeader><text><p>"
    '<persName type="x"\n key="p1">A</persName> <placeName ref=\'#o2\' n="1">B</placeName>'
    ' <persName>C</persName> <term key="w3">D</term></p></text></TEI>'
)


def test_references_of_the_text_are_taken_out_and_nothing_else():
    bare = without_references(TEI)

    assert references(TEI) == ["p1", "#o2", ""]
    assert references(bare) == ["", "", ""]
    assert bare == TEI.replace('\n key="p1"', "").replace(" ref='#o2'", "")


def outcome(form, gold, *, n_senses, **more):
    made = {"document": "d", "label": None, "baseline": "w:a", "prior": None, "chosen": gold}
    made |= {"probability": 0.5, "is_written": True, "rank": 1, "is_known": gold is not None}
    return Outcome(form=form, gold=gold, n_senses=n_senses, **made | more)


def test_links_of_ambiguous_forms_are_counted_from_the_names_of_an_evaluation(tmp_path):
    outcomes = [
        outcome('a\t"b"\n', "w:a", n_senses=2),
        outcome("c", "w:c", n_senses=3, chosen="w:d", is_written=False, rank=None),
        outcome("c", "w:e", n_senses=3, is_known=False),
        outcome("d", "w:a", n_senses=1),
        outcome("e", None, n_senses=2, label="x", chosen="w:a"),
    ]
    write_report(outcomes, tmp_path, title="t", replicates=10)

    read = read_outcomes(tmp_path / "names.tsv")

    assert read == outcomes
    said = dict(line.split(": ") for line in describe_ambiguous(read))
    assert said["known"].endswith(", 2 of 3")
    assert said["baseline, known"].endswith(", 1 of 2")
    assert said["written"].endswith(", 2 of 3")
    assert said["wrong among written"].endswith(", 0 of 2")


def test_two_evaluations_of_the_same_names_are_compared_name_by_name():
    first = [outcome("a", "w:a", n_senses=n, document=f"{n}", chosen="w:b") for n in range(20)]
    second = [outcome("a", "w:a", n_senses=n, document=f"{n}") for n in range(20)]

    assert list(describe_difference(first, second)) == [
        "all: +1.0000 (+1.0000 to +1.0000), +20 of 20",
        "forms of two entities or more: +1.0000 (+1.0000 to +1.0000), +18 of 18",
    ]
    assert next(describe_difference(first, first)).startswith("all: +0.0000")
