"""What a form may mean, by the files of a vocabulary."""

from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pytest

from corpora.entities.lookup import EntityLookup, Pairs, write_lookup
from corpora.errors import CorpusError


def pairs(entities, *forms):
    texts, of, priors = zip(*forms, strict=True)
    priors = np.array(priors, np.float32)
    names = pa.array(entities)
    return Pairs(names, names, pa.array(texts), np.array(of), priors)


@pytest.fixture
def lookup(tmp_path):
    first = pairs(["x:Berlin", "x:Бérgen"], ("Berlin", 0, 0.25), ("Bergen", 1, 1.0))
    second = pairs(["x:Berlin (Texas)"], ("Berlin", 0, 0.75), ("US-Berlin", 0, 1.0))
    assert write_lookup(tmp_path, [first, second]) == 3
    return EntityLookup(tmp_path)


def test_a_form_means_the_entities_that_have_it_the_likeliest_first(lookup):
    assert lookup.look_up("Berlin") == [("x:Berlin (Texas)", 0.75), ("x:Berlin", 0.25)]
    assert lookup.look_up("Berlin", limit=1) == [("x:Berlin (Texas)", 0.75)]
    assert lookup.look_up("Bergen") == [("x:Бérgen", 1.0)]
    assert lookup.look_up("Ulm") == []


def test_case_is_folded_only_where_no_form_is_written_so(lookup):
    assert [entity for entity, _ in lookup.look_up("BERLIN")] == ["x:Berlin (Texas)", "x:Berlin"]
    assert lookup.look_up("us-berlin") == [("x:Berlin (Texas)", 1.0)]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("written", ["NFC", "NFD"])
def test_a_form_is_found_however_its_letters_are_composed(tmp_path, form, written):
    known = normalize(form, "São Tomé")
    write_lookup(tmp_path, [pairs(["x:ST"], (known, 0, 1.0))])

    found = EntityLookup(tmp_path)

    assert found.look_up(normalize(written, "São Tomé")) == [("x:ST", 1.0)]
    assert found.look_up(normalize(written, "SÃO\u00a0TOMÉ")) == [("x:ST", 1.0)]


def test_an_entity_is_known_by_its_name(lookup):
    assert "x:Berlin" in lookup
    assert "x:Ulm" not in lookup
    assert len(lookup) == 3


def test_a_folder_without_the_files_is_an_error_that_says_how_to_make_them(tmp_path):
    with pytest.raises(CorpusError, match="onoma link index"):
        EntityLookup(tmp_path / "none")


def test_entries_are_sorted_by_key_and_prior_though_only_a_part_is_sorted_at_a_time(tmp_path):
    entities = [f"x:{n}" for n in range(500)]
    forms = [(f"Form {n % 200}", n, 1 / (n + 1)) for n in range(500)]

    write_lookup(
        tmp_path,
        [
            pairs(entities[:300], *forms[:300]),
            pairs(entities[300:], *((form, n - 300, prior) for form, n, prior in forms[300:])),
        ],
    )

    keys, priors = (np.load(tmp_path / f"{name}.npy") for name in ("keys", "priors"))
    assert len(keys) == 1000  # each form as it is written, and in lower case
    order = np.lexsort((-priors, keys))
    assert order.tolist() == list(range(1000))
    found = EntityLookup(tmp_path).look_up("Form 7")
    assert found == [(f"x:{n}", pytest.approx(1 / (n + 1))) for n in (7, 207, 407)]
    assert len(list(tmp_path.iterdir())) == 7  # nothing that was written on the way
