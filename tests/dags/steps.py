"""The steps in which tests run the DAGs, and the data of these.

The dump has three versions: in the second, a page was changed and one is new; in the third, every
third article is gone. The second training on the letters learns nothing. The model learns from what
the other two publish: from the first dump, from the second, and once more.
"""

import io
import json
import re
import sys
import tarfile
from pathlib import Path

import torch

from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import EncoderConfig, HeadsConfig, PretrainConfig
from modeling.models.pretraining_model import PretrainingModel
from tests.processes import PYTHONPATH

DATA = Path(__file__).resolve().parents[1] / "data"
DUMP = DATA / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
PAGES = DATA / "wikipedia" / "kleinwiki-NS0-20261101-ENTERPRISE-HTML.ndjson"

FOLDERS = f"""
work = "work"
store = "store"
environment = {{ PYTHONPATH = "{PYTHONPATH}" }}
"""
CORPUS = f"""
{FOLDERS}
[[wiki]]
name = "kleinwiki"
contact = "me@example.org"
mirror = "MIRROR"
learn_tokenizer = ["--size", "800"]
examples = ["--max-length", "128", "--validation", "0.1"]
[[wiki]]
name = "leer"
contact = "me@example.org"
[[news]]
name = "good"
wiki = "kleinwiki"
documents = ["--html", "NEWS/*.html*", "--urls", "NEWS/urls.tsv"]
[[news]]
name = "early"
wiki = "leer"
documents = ["--html", "NEWS/*.html*", "--urls", "NEWS/urls.tsv"]
"""
FINETUNE = """
recipe = "crf_small"
finetune = ["--augment-lexicon", "train", "--set", "training.batch_size=8",
            "training.epochs=4", "optimizer.lr=RATE"]
evaluate = ["--replicates", "200"]
"""
RENDERED = f"""
{FOLDERS}
[[wiki]]
name = "bachwiki"
contact = "me@example.org"
mirror = "MIRROR"
download = ["--html"]
learn_tokenizer = ["--size", "256"]
examples = ["--max-length", "32"]
"""
EDITION = f"""
{FOLDERS}
on_failure = ["sh", "-c", "cat >> failures.txt"]
[[edition]]
name = "letters"
input = ["letters/*.xml"]
edition = "letters/edition.toml"
model = "encoder"
{FINETUNE}
"""
MODEL = f"""
{FOLDERS}
[[wiki]]
name = "kleinwiki"
contact = "me@example.org"
[[edition]]
name = "letters"
input = ["letters/*.xml"]
{FINETUNE}
[[model]]
name = "klein"
wiki = "kleinwiki"
recipe = "daluke_small"
edition = "letters"
pretrain = ["--set", "training.max_steps=6", "training.batch_size=8", "training.micro_batch_size=8",
            "training.evaluate_every=6", "training.evaluate_examples=8", "data.n_workers=0",
            "encoder.width=32", "encoder.n_layers=1", "encoder.n_heads=2", "encoder.inner_width=64",
            "encoder.entity_width=16", "training.seed=SEED"]
"""
NEW_PAGE = """
  <page>
    <title>Ölmühle</title>
    <ns>0</ns>
    <id>900</id>
    <revision>
      <id>60000</id>
      <timestamp>2026-11-20T10:00:00Z</timestamp>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text xml:space="preserve">Eine '''Ölmühle''' presst Öl aus Samen.</text>
    </revision>
  </page>"""


def dumps():
    """Return three versions of the sample dump, by date."""
    xml = DUMP.read_text(encoding="utf-8")
    number = iter(range(1000))

    def thin_out(page):
        is_article = "<ns>0</ns>" in page[0] and "<redirect" not in page[0]
        return "" if is_article and next(number) % 3 == 0 else page[0]

    changed = xml.replace("</text>", "\n\nEin Satz mehr, auch zur [[Ölmühle]].</text>", 1)
    changed = changed.replace("</page>", f"</page>{NEW_PAGE}", 1)
    gone = re.sub(r"  <page>.*?</page>\n", thin_out, xml, flags=re.DOTALL)
    return {"20261101": xml, "20261201": changed, "20270101": gone}


def rendered_dumps():
    """Return two versions of the sample of rendered pages, by date; a record of one is newer."""
    lines = PAGES.read_text(encoding="utf-8").replace("kleinwiki", "bachwiki").splitlines()
    record = json.loads(lines[0])
    record["version"] = {"identifier": 12}
    body = record["article_body"]
    body["html"] = body["html"].replace("revision/11", "revision/12").replace("Eichen", "Erlen")
    versions = {"20261101": lines, "20261201": [json.dumps(record), *lines[1:]]}
    return {date: pack(date, "\n".join(lines) + "\n") for date, lines in versions.items()}


def pack(date, records):
    """Pack records as Wikimedia Enterprise does: in a file of a tar, in gzip."""
    data, packed = records.encode(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo(f"bachwiki_namespace_0_{date}.ndjson")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def rendered_steps():
    """Return the steps of a wiki of rendered pages: a first version, and one that is newer."""
    dates = (("2026-11-08", "20261101"), ("2026-12-08", "20261201"))
    return [
        {
            "dag": "corpus_refresh",
            "date": f"{day}T05:00:00+00:00",
            "conf": {"date": date, "wikis": ["bachwiki"]},
        }
        for day, date in dates
    ]


def part_of(date):
    return f"kleinwiki-{date}-pages-articles-multistream.xml"


def corpus_steps(folder):
    """Return the steps of a corpus.

    These are a first version; a second, killed on the way; one that differs too much; and the
    second again, by commands that Python itself starts. Then, on the same day and by its date, the
    one that differs too much, which is accepted; the first run once more; news with and without a
    vocabulary.
    """
    work = str(folder / "work" / "kleinwiki" / "20261208")
    kill = ["pipelines.wikipedia_to_documents", work, "documents/.build/*/plan.json"]
    only = {"wikis": ["kleinwiki"]}
    return [
        {"dag": "corpus_refresh", "date": f"{date}:00:00+00:00", "conf": only | conf} | more
        for date, conf, more in (
            ("2026-11-08T03", {"date": "20261101"}, {}),
            ("2026-12-08T03", {"date": "20261201"}, {"kill": kill}),
            ("2027-01-08T03", {"date": "20270101"}, {}),
            ("2027-02-08T03", {"date": "20261201"}, {"python": sys.executable}),
            ("2027-02-08T04", {"date": "20270101", "accept_drift": True}, {}),
            ("2026-11-08T03", {"date": "20261101"}, {}),
        )
    ] + [{"dag": "news_refresh", "date": "2027-02-09T04:30:00+00:00"}]


def write_encoder(folder):
    """Save a small encoder with random weights, and a tokenizer of characters."""
    files = DATA.glob("letters/*.xml")
    characters = sorted({c for file in files for c in file.read_text(errors="ignore")} - {*" \n\t"})
    subwords = [*SPECIALS, *characters, *(f"##{character}" for character in characters)]
    tokenizer = Tokenizer(wordpiece(subwords, cased=True), name="characters")
    small = {"width": 32, "n_layers": 1, "n_heads": 2, "inner_width": 64, "max_positions": 256}
    config = PretrainConfig(
        encoder=EncoderConfig(n_subwords=tokenizer.size, dropout=0.0, **small),
        heads=HeadsConfig(weights={"subwords": 1.0}),
    )
    torch.manual_seed(1)
    PretrainingModel.from_config(config).save(folder)
    tokenizer.save(folder)


def edition_steps(folder):
    """Return the steps of an edition.

    These are a first tagger; one of a changed edition that learns nothing; the same once more.
    """
    settings = folder / "settings.toml"
    worse = EDITION.replace("RATE", "1e-12").replace("epochs=4", "epochs=1")
    return [
        {"dag": "editions_refresh", "date": f"2026-11-22T{hour}:00:00+00:00", "write": files}
        for hour, files in (
            ("10", {str(settings): EDITION.replace("RATE", "5e-3")}),
            ("11", {str(settings): worse}),
            ("12", {}),
        )
    ]


def model_steps(folder, *, corpus, edition):
    """Return the steps of a model.

    These are the first dump, without NER data, in a run that events of the corpus start; the
    second, with; and a tagger that learns nothing.
    """
    store = folder / "store"

    def write(*, rate, seed):  # with another seed, what is not carried over is other numbers
        return {str(folder / "settings.toml"): MODEL.replace("RATE", rate).replace("SEED", seed)}

    def bring(other, shelf, pattern):
        return [str(other / "store" / shelf), pattern, str(store / shelf)]

    first = [bring(corpus, "kleinwiki-examples", "20261108")]
    second = [bring(corpus, "kleinwiki-examples", "20261208")]
    second += [bring(edition, f"letters-{part}", "20261122T*") for part in ("ner", "tagger")]
    return [
        {"dag": "model_refresh"} | when | more
        for when, more in (
            ({"event": "onoma_corpora"}, {"write": write(rate="5e-3", seed="1"), "bring": first}),
            (
                {"date": "2026-12-02T00:00:00+00:00"},
                {"write": write(rate="5e-3", seed="2"), "bring": second},
            ),
            ({"date": "2026-12-03T00:00:00+00:00"}, {"write": write(rate="1e-12", seed="3")}),
        )
    ]
