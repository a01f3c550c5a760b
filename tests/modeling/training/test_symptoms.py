import pytest
import torch

from modeling.config import PretrainConfig
from modeling.data.batch import Batch, LayerRows, Layout
from modeling.models.pretraining_model import PretrainingModel
from modeling.recipes import change
from modeling.recipes.pretraining_recipes import recipe
from modeling.training.symptoms import conclusions, likeness, symptoms

UNIGRAM = {"kind": "unigram", "loss": {"subwords": 6.0, "entities": 4.0}}
LOOKUP = {"kind": "lookup", "loss": {"subwords": 5.0, "entities": 1.0}}
CONFIG = PretrainConfig()


def evaluation(subwords, entities=0.5, *, likeness=0.1, **more):
    loss = {"subwords": subwords, "entities": entities}
    return {"kind": "evaluation", "loss": loss, "likeness": likeness, **more}


def test_a_healthy_model_has_no_symptom():
    train = [{"kind": "train", "gradient_norm": norm} for norm in (2.0, 1.0)]

    assert symptoms(evaluation(5.5), [UNIGRAM, *train], CONFIG) == {}


@pytest.mark.parametrize(
    ("line", "norm", "name", "said"),
    [
        (evaluation(5.5, likeness=0.999), 1.0, "collapsed", "optimizer.bias_correction=true"),
        (evaluation(5.99), 1.0, "unigram subwords", "training.max_steps"),
        (evaluation(5.5, 4.1), 1.0, "unigram entities", "--init-from"),
        (evaluation(5.5), 1e-4, "gradient", "has vanished"),
        (evaluation(5.5), 1e4, "gradient", "explodes"),
    ],
)
def test_a_symptom_has_its_cause_and_what_to_change(line, norm, name, said):
    config = change(CONFIG, optimizer={"bias_correction": False})
    train = [{"kind": "train", "gradient_norm": norm} for norm in (2.0, norm)]

    signs = symptoms(line, [UNIGRAM, *train], config)

    assert list(signs) == [name]
    assert said in signs[name]


def test_in_the_end_it_is_said_what_a_table_knows_better():
    lines = [UNIGRAM, LOOKUP, evaluation(5.5, symptoms={})]

    [said] = conclusions(lines, CONFIG.to_json())

    assert "gives the loss 5.000, the model 5.500: of subwords it knows less" in said


def test_states_that_do_not_depend_on_the_subword_are_alike():
    sizes = {"n_subwords": 20, "width": 16, "n_heads": 2, "inner_width": 16}
    model = PretrainingModel.from_config(change(recipe("bert_small"), encoder=sizes))
    layout = Layout.of([6])
    batch = Batch(ids=("x",), subwords=torch.arange(6), rows=LayerRows(layout, layout))

    before = likeness(model.encoder, batch)
    torch.nn.init.zeros_(model.encoder.encoder.layers[-1].feed_forward_norm.weight)
    torch.nn.init.ones_(model.encoder.encoder.layers[-1].feed_forward_norm.bias)

    assert before < 0.9
    assert likeness(model.encoder, batch) == pytest.approx(1.0)
