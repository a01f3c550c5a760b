"""The geometry of vectors: principal components, and maps in the plane.

Shapes: N vectors, F numbers of each, C components.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError

Numbers = NDArray[np.float64]
Method = Literal["pca", "tsne", "umap"]

_FIRST: Final = 50
"""The number of components that t-SNE and UMAP use: more are mostly noise, and slow."""
_NEIGHBOURS: Final = 30


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The principal components of vectors, by the covariance X_cᵀ X_c / (N − 1)."""

    points: Numbers
    """(N, C): the vectors, centred, in the directions of the components."""
    directions: Numbers
    """(C, F): vectors of length 1; in each, the number with the largest magnitude is positive."""
    variances: Numbers
    """(C,): the variance along each component, descending."""
    total: float
    """The total variance."""

    @property
    def ratios(self) -> Numbers:
        """The fractions of the total variance along each component, (C,)."""
        ratios: Numbers = self.variances / max(self.total, np.finfo(np.float64).tiny)
        return ratios


def find_components(vectors: NDArray[np.floating], *, most: int = _FIRST) -> Components:
    """Compute the first principal components of (N, F) vectors, ``most`` at most.

    The variance is divided by N − 1, for N vectors (the thesis' code has the numbers of a vector
    there). Raises ``CorpusError`` for fewer than two vectors.
    """
    n, width = vectors.shape
    if n < 2:
        raise CorpusError(f"{n} spans have no variance: take more, or another --split.")
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    total = float(np.square(centred).sum()) / (n - 1)
    if n > width:
        values, columns = np.linalg.eigh(centred.T @ centred)
        values, directions = values[::-1], columns.T[::-1]
    else:
        _, singular, directions = np.linalg.svd(centred, full_matrices=False)
        values = np.square(singular)
    most = min(most, n - 1, width)
    values, directions = np.maximum(values[:most], 0), directions[:most]
    largest = np.abs(directions).argmax(axis=1)
    directions = directions * np.sign(directions[np.arange(most), largest])[:, None]
    return Components(centred @ directions.T, directions, values / (n - 1), total)


def embed(components: Components, method: Literal["tsne", "umap"]) -> Numbers:
    """Map vectors to a plane, (N, 2), by t-SNE (of perplexity 30) or by UMAP (of 30 neighbours).

    Both read the first components and begin with the first two. With too few vectors for so many
    neighbours, fewer neighbours are used. Raises ``CorpusError`` if the library is not installed.
    """
    n = len(components.points)
    if method == "tsne":
        return _tsne(components.points, perplexity=min(_NEIGHBOURS, (n - 1) / 3))
    return _umap(components.points, neighbours=min(_NEIGHBOURS, n - 1))


def _tsne(points: Numbers, *, perplexity: float) -> Numbers:
    try:
        from sklearn.manifold import TSNE  # noqa: PLC0415 - slow, and optional
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with it
    except ImportError as error:
        raise CorpusError(
            "t-SNE needs scikit-learn: pip install 'onoma[plots]', or 'scikit-learn'."
        ) from error
    model = TSNE(perplexity=perplexity, init="pca", random_state=1, n_jobs=1)
    with threadpool_limits(1):  # with more, its threads and torch's would wait for each other
        return np.asarray(model.fit_transform(points), np.float64)


def _umap(points: Numbers, *, neighbours: int) -> Numbers:
    try:
        from umap import UMAP  # noqa: PLC0415 - slow, and optional
    except ImportError as error:
        raise CorpusError("UMAP needs umap-learn: pip install umap-learn.") from error
    model = UMAP(n_neighbors=neighbours, min_dist=0.001, init="pca", random_state=1, n_jobs=1)
    return np.asarray(model.fit_transform(points), np.float64)
