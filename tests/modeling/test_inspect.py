"""``onoma inspect``: pictures of spans and of attention."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch

from corpora.document import Span
from corpora.errors import UsageError
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import EncoderConfig
from modeling.inspect.__main__ import main
from modeling.inspect.attention import attention_maps
from modeling.models.text_encoder import build_encoder
from modeling.taggers.encoder import Encoder

pytest.importorskip("matplotlib")
TEXT = "ich war bei Theo und in Bad Berg ."


def make_encoder(bases, **settings):
    tokenizer = Tokenizer.open(bases / "plain")
    sizes = {"width": 16, "n_layers": 2, "n_heads": 2, "inner_width": 24, "max_positions": 30}
    config = EncoderConfig(n_subwords=tokenizer.size, **sizes, **settings)
    torch.manual_seed(1)
    return Encoder(build_encoder(config), tokenizer, config=config)


def test_there_is_a_map_of_each_layer_with_the_subwords_as_names(bases):
    maps = attention_maps(Encoder.load(bases / "entities"), TEXT, [Span(12, 16)])

    assert [(one.layer, one.what) for one in maps] == [(1, "rows")]
    assert maps[0].names[4:6] == ("Th", "##eo")
    assert maps[0].names[-1] == "[MASK]"
    n = len(maps[0].names)
    assert maps[0].weights.shape == (2, n, n)
    torch.testing.assert_close(maps[0].weights.sum(2), torch.ones(2, n))


def test_whole_words_have_maps_of_words_and_of_windows(bases):
    encoder = make_encoder(bases, attention="whole_word", window=1)

    maps = attention_maps(encoder, TEXT)

    assert [(one.layer, one.what) for one in maps] == [
        (1, "words"),
        (1, "window"),
        (2, "words"),
        (2, "window"),
    ]
    assert maps[0].names[4] == "Theo"
    for one in maps:
        torch.testing.assert_close(one.weights.sum(2), torch.ones(2, len(one.names)))


def test_maps_leave_the_encoder_as_it_was(bases):
    encoder = make_encoder(bases, attention="relative", positions="none")
    before = encoder.words([TEXT])[0].vectors

    attention_maps(encoder, TEXT)

    assert (encoder.words([TEXT])[0].vectors == before).all()
    assert not any(module._forward_pre_hooks for module in encoder.model.modules())


def test_a_text_of_several_windows_is_an_error(bases):
    with pytest.raises(UsageError, match="Take a sentence"):
        attention_maps(make_encoder(bases), TEXT * 20)


def test_a_page_has_pictures_of_spans_and_of_attention(bases, ner, tmp_path, capsys):
    pytest.importorskip("sklearn")
    output = tmp_path / "inside"
    command = [str(bases / "entities"), "--output", str(output), "--ner", str(ner)]
    command += ["--plot", "pca", "tsne", "--sample", "30"]
    command += ["--attention", TEXT, "--entities", "12:16", "--heads", "2"]

    assert main(command) == 0

    page = (output / "inspection.html").read_text(encoding="utf-8")
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    for picture in pictures:
        ET.fromstring(picture)  # noqa: S314
    names = {"variances", "components", "pca", "tsne", "attention-layer-1-rows"}
    assert {path.stem for path in output.glob("*.png")} == names
    assert len(pictures) == len(names)
    rows = (output / "points.tsv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 30
    assert "30 of" in page
    assert "made" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing is asked for"),
        (["--plot", "pca"], "--plot needs --ner"),
        (["--attention", TEXT, "--sample", "9"], "--sample is for --plot"),
        (["--plot", "pca", "--ner", "x", "--heads", "1"], "--heads is for --attention"),
        (["--plot", "pca", "--ner", ".", "--sample", "-1"], "--sample -1: must be at least 0"),
        (["--attention", TEXT, "--layers", "9"], "--layers 9: there are 1 to 1"),
        (["--attention", TEXT, "--heads", "0"], "--heads 0: there are 1 to 2"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(bases, tmp_path, capsys, options, message):
    with pytest.raises(SystemExit) as end:
        main([str(bases / "plain"), "--output", str(tmp_path / "out"), *options])

    assert end.value.code == 2
    assert message in capsys.readouterr().err
