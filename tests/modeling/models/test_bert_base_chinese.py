"""The published vocabulary and layout of bert-base-chinese, with small random weights."""

import shutil
from dataclasses import replace

import pytest
import torch
import transformers

from modeling.pretrain.__main__ import main as pretrain
from modeling.taggers.encoder import Encoder
from pipelines import (
    augment_mentions,
    documents_to_entity_vocab,
    documents_to_examples,
    text_to_documents,
)

TEXT = "数学是利用符号语言研究数量，数学也是Python。"


def write_examples_of(texts, folder, *, tokenizer):
    """Make examples of raw texts, in which 数学 is an entity."""
    (folder / "text.txt").write_text("\n".join(texts), encoding="utf-8")
    (folder / "forms.tsv").write_text("数学\tlexicon:数学\n", encoding="utf-8")
    commands = [
        (text_to_documents, "text.txt", "documents", ["--lang", "zh", "--split-blank", 0]),
        (augment_mentions, "documents", "matched", ["--forms", folder / "forms.tsv"]),
        (documents_to_entity_vocab, "matched", "words",
         ["--origins", "lexicon", "--existing", "any", "--link-probability", "off"]),
        (documents_to_examples, "matched", "examples",
         ["--tokenizer", tokenizer, "--entity-vocab", folder / "words", "--max-length", 64]),
    ]  # fmt: skip
    for pipeline, read, made, options in commands:
        arguments = ["--input", folder / read, "--output", folder / made, *options]
        assert pipeline.main([str(part) for part in arguments]) == 0


@pytest.mark.realdata
def test_bert_base_chinese_begins_a_run_and_computes_the_same_without_entities(tmp_path, realdata):
    """Its vocabulary, its layout, small: from text to a run, whose learning rate is 0."""
    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=21_128, intermediate_size=64, **sizes)
    theirs = transformers.BertForMaskedLM(config).eval()
    theirs.save_pretrained(tmp_path / "bert")
    vocabulary = realdata("vocab") / "bert-base-chinese-vocab.txt"
    shutil.copy(vocabulary, tmp_path / "bert" / "vocab.txt")
    write_examples_of([TEXT] * 9, tmp_path, tokenizer=tmp_path / "bert")
    tiny = {"width": 32, "n_layers": 2, "n_heads": 2, "inner_width": 64}
    settings = [f"encoder.{name}={value}" for name, value in tiny.items()]
    settings += ["optimizer.lr=0", "training.max_steps=1", "training.batch_size=4"]
    command = ["entity_bert", "--examples", tmp_path / "examples", "--output", tmp_path / "run"]
    command += ["--init-from", tmp_path / "bert", "--set", *settings]

    assert pretrain([str(part) for part in command]) == 0

    encoder = Encoder.load(tmp_path / "run")
    read = transformers.BertTokenizerFast(str(vocabulary))(TEXT, return_tensors="pt")
    batch = encoder.windows(TEXT)
    assert batch.subwords.tolist() == read["input_ids"][0].tolist()
    with torch.inference_mode():
        plain = encoder.model(replace(batch, subword_entities=None)).subwords
        expected = theirs.bert(**read).last_hidden_state[0]
        knowing = encoder.model(batch).subwords
    torch.testing.assert_close(plain, expected, rtol=0, atol=1e-5)
    assert batch.subword_entities.rows.tolist() == [1, 2, 15, 16]
    assert not torch.allclose(knowing, expected, atol=1e-4)
