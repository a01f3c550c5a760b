"""Label maps: what each shipped one does, and what is wrong with a map of one's own."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from corpora.errors import UsageError
from corpora.ner.columns import Tags
from corpora.ner.labels import label_map_path, load_label_map, shipped
from corpora.ner.schemes import normalise

LER_COARSE = {  # coarse class to fine classes, as in the paper of LER
    "PER": "PER RR AN",
    "LOC": "LD ST STR LDS",
    "ORG": "ORG UN INN GRT MRK",
    "NRM": "GS VO EUN",
    "REG": "VS VT",
    "RS": "RS",
    "LIT": "LIT",
}


def apply(name, text):
    """Return the tags of a text after a map of labels, and what was counted."""
    tags = Tags.of(pa.array(text.split(), pa.string()))
    normal = normalise(tags, np.array([0, len(tags.codes)]), "iob2")
    counters = Counter()
    mapped = load_label_map(label_map_path(name)).apply(normal.tags, normal.opens, counters)
    return " ".join(mapped.strings().to_pylist()), counters


def test_coarse_classes_of_ler_are_those_of_the_paper():
    labels = load_label_map(label_map_path("ler-coarse"))

    fine = {old: coarse for coarse, olds in LER_COARSE.items() for old in olds.split()}
    assert dict(labels.labels) == fine
    assert len(fine) == 19


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("ler-coarse", "B-RR I-RR O B-GRT", "B-PER I-PER O B-ORG"),
        ("plain", "B-PERderiv O B-LOCpart B-MISC", "B-PER O B-LOC B-MISC"),
        ("names-only", "B-PERderiv O B-LOCpart B-MISC", "O O O B-MISC"),
        (
            "american",
            "B-organisation I-organisation B-person",
            "B-organization I-organization B-person",
        ),
        ("hipe-coarse", "B-loc.adm.town B-pers.ind I-pers.ind B-loc", "B-loc B-pers I-pers B-loc"),
        ("weibo-names", "B-PER.NAM I-PER.NAM B-PER.NOM", "B-PER I-PER O"),
        ("weibo-merged", "B-PER.NAM I-PER.NAM B-PER.NOM", "B-PER I-PER B-PER"),
        (
            "per-loc-org",
            "B-person B-GPE.NAM I-GPE.NAM B-book I-book B-company",
            "B-PER B-LOC I-LOC O O B-ORG",
        ),
    ],
)
def test_shipped_map(name, before, after):
    assert apply(name, before)[0] == after


def test_what_a_map_changes_is_counted_by_entities():
    _, counters = apply("names-only", "B-PERderiv I-PERderiv O B-LOCpart B-PERderiv B-PER")

    assert counters["labels.dropped"] == 3
    assert counters["labels/PERderiv to O"] == 2


def test_label_that_a_map_must_know_is_an_error():
    with pytest.raises(UsageError, match="does not know the label 'XYZ'"):
        apply("ler-coarse", "B-XYZ")


def test_every_shipped_map_says_what_it_is_for():
    assert all(shipped().values())
    assert set(shipped()) >= {"ler-coarse", "plain", "american"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("labels = 1", "labels = 1: must be a table"),
        ("[labels]\nPER = 1", "labels: PER = 1: must be a string"),
        ('[labels]\nPER = "a b"', "expected a label"),
        ('other = "maybe"\n[labels]\n', "other = 'maybe': must be one of keep, drop, error"),
        ("lables = 1\n[labels]\n", r"lables: unknown \(did you mean labels\?\)"),
        ("", "labels: missing. It must be a table"),
        ("[labels", "not valid TOML"),
    ],
)
def test_wrong_map_is_refused(tmp_path, text, problem):
    (tmp_path / "map.toml").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=problem):
        load_label_map(label_map_path(str(tmp_path / "map.toml")))


def test_map_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(UsageError, match="ler-coarse"):
        label_map_path("coarse")
