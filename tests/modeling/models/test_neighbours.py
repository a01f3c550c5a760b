import pytest
import torch

from modeling.config import ConfigError, EncoderConfig
from modeling.data.batch import Batch, LayerRows, Layout
from modeling.inspect.attention import padded
from modeling.layers.dense import attend_densely
from modeling.models.text_encoder import build_encoder


def test_the_heads_of_the_first_layer_attend_to_the_subwords_nearby():
    torch.manual_seed(1)
    config = EncoderConfig(n_subwords=50, width=128, n_heads=4, inner_width=16, init="neighbours")
    encoder = build_encoder(config).eval()
    layout = Layout.of([12])
    rows = LayerRows(layout, layout)
    batch = Batch(ids=("x",), subwords=torch.randint(50, (12,)), rows=rows)
    inputs = []
    attention = encoder.encoder.layers[0].attention
    attention.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))

    encoder(batch)

    weights = attend_densely(attention, inputs[0][None], padded(rows)).weights["rows"][0]
    for head, offset in enumerate((-1, 1, -2, 2)):
        inside = torch.arange(2, 10)
        assert (weights[head, inside].argmax(1) == inside + offset).float().mean() >= 0.75


@pytest.mark.parametrize("other", [{"positions": "none"}, {"attention": "relative"}])
def test_without_learned_positions_nothing_is_nearby(other):
    with pytest.raises(ConfigError, match=r"encoder\.init=normal"):
        build_encoder(EncoderConfig(n_subwords=50, init="neighbours", **other))
