"""States of an encoder with mean 0, from which new heads learn faster.

The states of many encoders lie in a narrow cone (Ethayarajh, EMNLP 2019): most of a state is what
all states share. A head with random weights first learns from that, which tells it nothing.
"""

from collections.abc import Collection, Iterable

import torch
from torch import nn

from modeling.data.batch import Batch
from modeling.heads.pretraining_heads import Classifier
from modeling.models.pretraining_model import PretrainingModel
from modeling.models.text_encoder import evaluating
from modeling.training.world import World


@torch.no_grad()
def center_states(
    model: PretrainingModel, batches: Iterable[Batch], world: World, *, transferred: Collection[str]
) -> None:
    """Shift the bias of the encoder's last norm, so that the mean state of subwords is 0.

    The mean is that of the batches of all processes. Heads whose weights are among the parameters
    ``transferred`` score as before: their first bias makes up for the shift.
    """
    norm = model.encoder.encoder.norm or model.encoder.encoder.layers[-1].feed_forward_norm
    assert isinstance(norm, nn.LayerNorm)  # noqa: S101 - the last norm of all our encoders
    # The sum of states, and their number; exact, so that processes may divide them.
    total = norm.bias.new_zeros(len(norm.bias) + 1, dtype=torch.float64)
    with evaluating(model):
        for batch in batches:
            states = model.encoder(batch.to(norm.bias.device)).subwords.double()
            total += torch.cat([states.sum(0), total.new_tensor([len(states)])])
    *_, n = world.sum(total)
    mean = (total[:-1] / n).to(norm.bias)
    norm.bias.sub_(mean)
    parameters = dict(model.named_parameters())
    given = {id(parameters[name]) for name in transferred}
    for head in model.heads.values():
        assert isinstance(head, Classifier)  # noqa: S101 - all heads of pre-training are
        weight, bias = head.first
        if id(bias) in given:
            bias.add_(weight @ mean)
