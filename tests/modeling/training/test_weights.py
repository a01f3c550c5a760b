import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from modeling.training import weights as module
from modeling.training.weights import EDGE, N_BINS, Distances, histograms


def weights(seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = {
        "encoder.embeddings.subwords.weight": (20, 4),
        "encoder.entity_embeddings.entities.weight": (5, 4),
        "encoder.encoder.layers.0.bias": (7,),
        "heads.subwords.bias": (20,),
    }
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


OLD = {"encoder.embeddings.subwords.weight", "encoder.encoder.layers.0.bias"}


def test_distances_are_those_of_all_numbers_in_a_row():
    start, now = weights(0), weights(1)

    distances = Distances(start, OLD).measure(now)

    expected = {
        "transferred": torch.cat([(now[n] - start[n]).flatten() for n in OLD]).norm(),
        "new": torch.cat([(now[n] - start[n]).flatten() for n in start.keys() - OLD]).norm(),
    }
    torch.testing.assert_close(
        {name: torch.tensor(value) for name, value in distances.items()}, expected
    )


def test_histograms_count_every_weight_once():
    made = histograms(weights(), OLD)

    assert list(made["transferred"]) == ["all", "embeddings", "encoder"]
    assert list(made["new"]) == ["all", "entity_embeddings", "heads"]
    for origin, n in (("transferred", 87), ("new", 40)):
        one = made[origin]["all"]
        assert one["n"] == n == sum(one["counts"]) + one["below"] + one["above"]
        assert len(one["counts"]) == N_BINS


def test_a_histogram_is_that_of_torch():
    values = weights()["encoder.embeddings.subwords.weight"].flatten()

    one = histograms({"heads.x": values}, ())["new"]["all"]

    counts = torch.histc(values, bins=N_BINS, min=-EDGE, max=EDGE)
    assert one["counts"] == counts.int().tolist()
    assert abs(one["sd"] - values.std(correction=0).item()) < 1e-5
    assert abs(one["mean"] - values.mean().item()) < 1e-6


class Largest(TorchDispatchMode):
    """The most bytes of a tensor that an operation made; views make none."""

    def __init__(self):
        super().__init__()
        self.n_bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given, made = (
            [t for t in tree_leaves(of) if isinstance(t, torch.Tensor)]
            for of in ([args, kwargs], result)
        )
        held = {tensor.untyped_storage().data_ptr() for tensor in given}
        new = [t for t in made if t.untyped_storage().data_ptr() not in held]
        self.n_bytes = max([self.n_bytes, *(t.untyped_storage().nbytes() for t in new)])
        return result


def test_measures_take_no_memory_that_grows_with_a_table(monkeypatch):
    monkeypatch.setattr(module, "PIECE", 50)
    start, now = ({"heads.x": torch.full((1000, 4), value)} for value in (0.0, 0.5))
    largest = Largest()

    with largest:
        distances = Distances(start, ()).measure(now)
        one = histograms(now, ())["new"]["all"]

    assert distances == {"new": (4000 * 0.25) ** 0.5}
    assert (one["n"], sum(one["counts"]), one["mean"], one["sd"]) == (4000, 4000, 0.5, 0.0)
    assert largest.n_bytes <= 8 * N_BINS  # and not 16,000
