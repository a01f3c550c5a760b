"""Principal components, and the planes that pictures show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import CorpusError
from modeling.inspect.geometry import embed, find_components


def vectors(n, width, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, width)) @ rng.normal(size=(width, width)) + 5


@pytest.mark.parametrize(("n", "width"), [(60, 7), (9, 30), (8, 8)])
def test_components_are_those_of_another_library(n, width):
    decomposition = pytest.importorskip("sklearn.decomposition")
    data = vectors(n, width)

    ours = find_components(data)

    theirs = decomposition.PCA(n_components=len(ours.variances)).fit(data)
    np.testing.assert_allclose(ours.variances, theirs.explained_variance_)
    np.testing.assert_allclose(ours.ratios, theirs.explained_variance_ratio_)
    cosines = np.abs((ours.directions * theirs.components_).sum(1))
    np.testing.assert_allclose(cosines[: n - 1], 1)


@given(st.integers(2, 12), st.integers(2, 12), st.integers(0, 1000))
def test_points_have_the_variances_and_give_the_vectors_back(n, width, seed):
    data = vectors(n, width, seed)

    found = find_components(data, most=width)

    np.testing.assert_allclose(found.points.var(0, ddof=1), found.variances, atol=1e-6)
    back = found.points @ found.directions + data.mean(0)
    np.testing.assert_allclose(back, data, atol=1e-6)
    assert found.ratios.sum() == pytest.approx(1)


def test_the_divisor_is_the_number_of_samples_less_one():
    data = np.array([[0.0, 0, 0, 0], [2, 0, 0, 0]])

    assert find_components(data).variances == pytest.approx([2])


def test_one_vector_has_no_components():
    with pytest.raises(CorpusError, match="no variance"):
        find_components(np.zeros((1, 3)))


def test_neighbours_in_the_plane_are_neighbours():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 20)
    data = rng.normal(size=(40, 5)) + 40 * groups[:, None]

    plane = embed(find_components(data), "tsne")

    distances = np.linalg.norm(plane[:, None] - plane, axis=2) + np.diag([np.inf] * 40)
    assert (groups[distances.argmin(1)] == groups).all()


def test_the_same_seed_gives_the_same_plane():
    components = find_components(vectors(20, 5))

    one, other = (embed(components, "tsne") for _ in range(2))

    np.testing.assert_array_equal(one, other)


def test_without_umap_the_error_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "umap", None)

    with pytest.raises(CorpusError, match="pip install umap-learn"):
        embed(find_components(vectors(20, 5)), "umap")
