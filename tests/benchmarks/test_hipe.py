"""Counts of published responses, on a response made for it."""

from benchmarks.hipe import LINKS, NAMES, compare

HEADER = "TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC\n# hipe2022:document_id = a\n"
GOLD = (
    "Graf\tB-pers\tQ1\t_\nUlm\tI-pers\tQ1\t_\nin\tO\t_\t_\nJena\tB-loc\tQ2\t_\n\n"
    "Bonn\tB-loc\tNIL\t_\n"
)
ANSWER = (
    "Graf\tB-pers\tQ1|Q7\t_\nUlm\tE-pers\tQ1|Q7\t_\nin\tO\t-\t_\nJena\tS-org\tQ2\t_\n\n"
    "Bonn\tS-loc\tQ9\t_\n"
)


def publish(tmp_path, answer=ANSWER, names="2\t1\t1"):
    """Lay out a set, a response to it, and its published counts."""
    (tmp_path / "submitted").mkdir()
    (tmp_path / "HIPE-2022-v2.1-blatt-test-de.tsv").write_text(HEADER + GOLD)
    (tmp_path / "submitted" / "team_bundle_blatt_de_1.tsv").write_text(HEADER + answer)
    name = "team_bundle_blatt_de_1"
    rows = [f"{name}\t{NAMES}\tALL\t{names}", f"{name}\t{LINKS}\tALL\t2\t1\t1"]
    (tmp_path / "ranking-blatt-de-all.tsv").write_text(
        "\n".join(["System\tEvaluation\tLabel\tTP\tFP\tFN", *rows])
    )
    return list(compare(tmp_path, tmp_path))


def test_equal_counts_are_counted(tmp_path):
    assert publish(tmp_path) == ["links: equal: 1", "names: equal: 1"]


def test_other_counts_are_named(tmp_path):
    assert publish(tmp_path, names="3\t0\t0") == [
        "team_bundle_blatt_de_1, names: (2, 1, 1), published (3, 0, 0)",
        "links: equal: 1",
        "names: different: 1",
    ]


def test_a_response_with_other_tokens_is_left_out(tmp_path):
    assert publish(tmp_path, answer=ANSWER + "Ende\tO\t-\t_\n") == [
        "team_bundle_blatt_de_1: 6 tokens, not 5",
        "other tokens than the gold: 1",
    ]
