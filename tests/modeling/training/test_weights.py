import torch

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
