"""Documents to examples: what a run publishes, what it counts, and what ends it."""

import json
import re
from functools import partial
from itertools import chain

import numpy as np
import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from corpora.document import Document, Mention, Span
from corpora.entities.vocabulary import EntityVocab
from corpora.examples import mentions
from corpora.examples.mentions import LOSSES
from corpora.hashing.sampling import ratio
from corpora.store.inspection import verify
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from pipelines.documents_to_examples import main
from tests.corpora.entity_ids import id_of
from tests.datasets import document_to_row, write_dataset
from tests.pipelines.interrupting import broken_after

pytestmark = pytest.mark.usefixtures("without_runner")
ENTITIES = {"x:Jena": 7, "x:Schiller": 3, "x:Goethe": 1}
TEXT = "Schiller traf Goethe. Goethes Jena! Im Mai"


def document(id, text=TEXT, sentences=((0, 21), (22, 35), (36, 42))):
    mentions = [
        Mention(
            text.index(name), text.index(name) + len(name), entity=f"x:{name}", origin=f"{origin}"
        )
        for name, origin in (("Schiller", "link"), ("Goethe", "self_title"), ("Jena", "link"))
        if name in text
    ]
    return document_to_row(
        Document(
            id=id,
            group="x",
            source="s",
            text=text,
            sentences=tuple(Span(*s) for s in sentences),
            mentions=tuple(mentions),
        )
    )


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    first = [document(f"x:{n}") for n in range(12)]
    second = [document(f"y:{n}", "Im Mai", ((0, 6),)) for n in range(3)]
    second.append(document("y:empty", "", ()))
    write_dataset(folder / "documents", first, second)
    letters = sorted(set(TEXT) - {" "})
    subwords = [*SPECIALS, "Im", "Jena", "Mai", *letters, *(f"##{letter}" for letter in letters)]
    Tokenizer(wordpiece(subwords, cased=True), name="small").save(folder / "tok")
    rows = [("[PAD]", 0), ("[UNK]", 0), ("[MASK]", 0), *ENTITIES.items()]
    write_dataset(
        folder / "vocab",
        [{"id": id, "entity": e, "count": n, "retired": False} for id, (e, n) in enumerate(rows)],
        schema="entities",
    )
    return folder


def run(inputs, output, *options, documents="documents", tokenizer="tok", vocab="vocab"):
    command = ["--input", str(inputs / documents), "--tokenizer", str(inputs / tokenizer)]
    command += ["--entity-vocab", str(inputs / vocab)] if vocab else []
    return main([*command, "--output", str(output), *options])


def published(output):
    return {
        path.name: path.read_bytes()
        for path in sorted(output.iterdir())
        if path.is_file() and not path.name.startswith(".")
    }


def described(output):
    return open_dataset(output, "examples").description


def test_every_document_and_every_mention_is_accounted_for(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--max-length", "12") == 0

    description = described(tmp_path / "out")
    assert description["accounting"] == {
        "read": 16,
        "written": 15,
        "filtered": {"empty": 1},
        "rejected": {},
    }
    counters = description["counters"]
    lost = sum(counters.get(f"mentions.{name}", 0) for name in LOSSES)
    assert counters["mentions.read"] == 36 == counters["mentions.kept"] + lost
    verify(tmp_path / "out", rows=True)


def test_no_entity_is_of_another_origin(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--origins", "link,annotation") == 0

    rows = open_dataset(tmp_path / "out", "examples").rows()
    assert {origin for row in rows for origin in row["entity_origins"]} == {"link"}
    assert described(tmp_path / "out")["counters"]["mentions.of_other_origins"] == 12


def test_two_workers_write_the_same_bytes(inputs, tmp_path):
    options = ("--max-length", "9")
    assert run(inputs, tmp_path / "one", *options) == 0
    assert run(inputs, tmp_path / "two", *options, "--workers", "2") == 0

    one = published(tmp_path / "one")
    assert "lost_mentions.tsv" in one
    assert one == published(tmp_path / "two")


@pytest.mark.parametrize("stage", ["sample", ""])
def test_killed_run_resumes_to_the_same_bytes(inputs, tmp_path, stage):
    assert run(inputs, tmp_path / "undisturbed") == 0
    with broken_after(1, stage=stage):
        assert run(inputs, tmp_path / "out") == 1

    assert run(inputs, tmp_path / "out") == 0

    assert published(tmp_path / "out") == published(tmp_path / "undisturbed")


def test_a_folder_of_examples_has_its_tokenizer(inputs, tmp_path):
    assert run(inputs, tmp_path / "out") == 0

    ours, theirs = Tokenizer.open(tmp_path / "out"), Tokenizer.open(inputs / "tok")
    parameters = described(tmp_path / "out")["plan"]["parameters"]
    assert ours.sha256 == theirs.sha256 == parameters["tokenizer_sha256"]
    assert ours.size == parameters["tokenizer_size"]
    run_files = json.loads((tmp_path / "out/run.json").read_text("utf-8"))["files"]
    assert {"tokenizer.json", "vocab.txt", "_entities.ipc", "report.md"} <= run_files.keys()


def test_a_folder_of_examples_has_its_entities(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--validation", "0.4") == 0

    schema = SCHEMAS["example_entities"]
    [batch] = read_batches(tmp_path / "out/_entities.ipc", schema)
    vocab = EntityVocab(inputs / "vocab")
    assert batch.column("entity").to_pylist() == [vocab.entity_of(id) for id in range(len(vocab))]
    assert batch.column("count").to_pylist() == [0, 0, 0, *ENTITIES.values()]
    rows = open_dataset(tmp_path / "out", "examples").rows()
    ids = [row["entity_ids"] for row in rows if row["split"] == "train"]
    counts = np.bincount(list(chain(*ids)), minlength=len(vocab))
    assert batch.column("mentions").to_pylist() == counts.tolist()
    assert 0 < counts[3] < 12


def test_the_report_counts_what_the_rows_hold(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--validation", "0.4", "--max-length", "12") == 0

    report = (tmp_path / "out/report.md").read_text("utf-8")
    rows = list(open_dataset(tmp_path / "out", "examples").rows())
    for split in ("train", "validation"):
        of = [row for row in rows if row["split"] == split]
        n_subwords, n_entities = (sum(len(r[n]) for r in of) for n in ("input_ids", "entity_ids"))
        n_documents = len({row["document_id"] for row in of})
        assert f"| {split} | {n_documents} | {len(of)} | {n_subwords} | {n_entities} |\n" in report
    linked = [row for row in rows if "link" in row["entity_origins"]]
    named = [row for row in rows if row["entity_origins"]]
    assert len(linked) < len(named)
    assert f"| examples | {len(linked)} | {len(named)} |" in report
    n_linked, n_named = (sum(len(r["input_ids"]) for r in of) for of in (linked, named))
    assert f"| subwords | {n_linked} | {n_named} |" in report
    assert "This adds up." in report


def test_mentions_without_room_are_named_beside_the_examples(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(mentions, "MAX_SUBWORDS", 1)
    assert run(inputs, tmp_path / "out") == 0

    head, *lines = (tmp_path / "out/lost_mentions.tsv").read_text("utf-8").splitlines()
    rows = [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert len(rows) == 24 == described(tmp_path / "out")["counters"]["mentions.too_long"]
    for row in rows:
        assert row["reason"] == "too_long"
        assert row["text"] == TEXT[int(row["start"]) : int(row["end"])]
        assert int(row["subwords"]) == len(row["text"])
    report = (tmp_path / "out/report.md").read_text("utf-8")
    assert "24, of which 24 named" in report
    assert f"| {rows[0]['document']} | 0 | 8 | 8 | Schiller |\n" in report


def test_lost_mentions_are_still_named_when_one_shard_is_made_again(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(mentions, "MAX_SUBWORDS", 1)
    assert run(inputs, tmp_path / "out") == 0
    before = published(tmp_path / "out")

    (tmp_path / "out/shard-00001.arrow").write_bytes(b"damaged")
    assert run(inputs, tmp_path / "out") == 0

    assert published(tmp_path / "out") == before


def test_where_no_mention_is_lost_to_limits_none_is_named(inputs, tmp_path):
    assert run(inputs, tmp_path / "out") == 0

    assert not (tmp_path / "out/lost_mentions.tsv").exists()
    assert "no example has room" not in (tmp_path / "out/report.md").read_text("utf-8")


def test_one_document_at_least_is_validation(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--validation", "1e-9", "--seed", "3") == 0

    rows = list(open_dataset(tmp_path / "out", "examples").rows())
    validation = {row["document_id"] for row in rows if row["split"] == "validation"}
    lowest = min({row["document_id"] for row in rows}, key=partial(ratio, seed=3))
    assert validation == {lowest}


@pytest.mark.parametrize(
    ("place", "validation", "message"),
    [(0, "1e-9", "no example is for validation"), (-1, "0.9999", "no example is left to train on")],
)
def test_a_split_without_examples_ends_the_run(
    inputs, tmp_path, capsys, place, validation, message
):
    ids = sorted((f"z:{number}" for number in range(9)), key=partial(ratio, seed=1))
    rows = [document(id) for id in ids]
    rows[place] = document(ids[place], "Im Mai", ((0, 6),))
    write_dataset(tmp_path / "in/documents", rows)
    options = ["--only-with-mentions", "--validation", validation]

    assert run(inputs, tmp_path / "out", *options, documents=tmp_path / "in") == 1

    error = capsys.readouterr().err
    assert message in error
    assert "another --seed" in error
    assert not (tmp_path / "out/dataset.json").exists()


def test_a_single_document_with_examples_is_trained_on(inputs, tmp_path):
    write_dataset(tmp_path / "in/documents", [document("z:1")])

    assert run(inputs, tmp_path / "out", documents=tmp_path / "in") == 0

    rows = list(open_dataset(tmp_path / "out", "examples").rows())
    assert {row["split"] for row in rows} == {"train"}


def test_no_examples_at_all_are_warned_of(inputs, tmp_path, caplog):
    rows = [document(f"z:{n}", "Im Mai", ((0, 6),)) for n in range(3)]
    write_dataset(tmp_path / "in/documents", rows)

    assert run(inputs, tmp_path / "out", "--only-with-mentions", documents=tmp_path / "in") == 0

    assert "No examples" in caplog.text


def test_nothing_is_validation_where_nothing_is_asked_for(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--validation", "0") == 0

    rows = open_dataset(tmp_path / "out", "examples").rows()
    assert {row["split"] for row in rows} == {"train"}


def test_without_a_vocabulary_there_are_no_entities(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", vocab=None) == 0

    rows = list(open_dataset(tmp_path / "out", "examples").rows())
    assert len(rows) == 15
    assert not any(row["entity_ids"] for row in rows)
    assert described(tmp_path / "out")["counters"]["mentions.without_vocabulary"] == 36
    assert not (tmp_path / "out/_entities.ipc").exists()


def test_documents_without_mentions_are_filtered_if_asked(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--only-with-mentions") == 0

    filtered = described(tmp_path / "out")["accounting"]["filtered"]
    assert filtered == {"empty": 1, "without_mentions": 3}
    assert described(tmp_path / "out")["counters"]["examples.left_out"] == 3


def test_text_without_sentences_is_rejected(inputs, tmp_path, capsys):
    rows = [document(f"z:{n}") for n in range(20)] + [document("z:uncut", sentences=())]
    write_dataset(tmp_path / "in/documents", rows)

    assert run(inputs, tmp_path / "out", documents=tmp_path / "in") == 0

    [line] = (tmp_path / "out/rejected.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["source"] == "z:uncut"
    assert "has text, but no sentences" in line
    said = f"WARNING rejected: no_sentences 1; see {tmp_path}/out/rejected.jsonl\n"
    assert said in capsys.readouterr().out


def test_another_tokenizer_makes_other_examples(inputs, tmp_path):
    assert run(inputs, tmp_path / "out") == 0
    before = described(tmp_path / "out")["plan"]["fingerprint"]
    subwords = [*SPECIALS, *sorted(set(TEXT)), *(f"##{c}" for c in sorted(set(TEXT)))]
    (tmp_path / "vocab.txt").write_text("\n".join(subwords), encoding="utf-8")

    assert run(inputs, tmp_path / "out", tokenizer=tmp_path / "vocab.txt") == 0

    assert described(tmp_path / "out")["plan"]["fingerprint"] != before
    assert Tokenizer.open(tmp_path / "out").size == len(subwords)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-length", "2"), "--max-length 2: must be more than 2"),
        (("--validation", "1"), "--validation 1.0: must be at least 0 and below 1"),
        (("--max-entities", "0"), "--max-entities 0: must be at least 1"),
        (("--origins", "links"), "--origins links: there are annotation"),
    ],
)
def test_what_makes_no_sense_is_an_error(inputs, tmp_path, capsys, options, message):
    assert run(inputs, tmp_path / "out", *options) == 2

    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [("--only-with-mentions",), ("--min-entity-count", "2"), ("--unknown-entities", "keep")],
)
def test_entity_options_need_a_vocabulary(inputs, tmp_path, capsys, options):
    assert run(inputs, tmp_path / "out", *options, vocab=None) == 2

    assert re.search("needs? an --entity-vocab", capsys.readouterr().err)


def test_no_tokenizer_is_an_error(inputs, tmp_path, capsys):
    assert run(inputs, tmp_path / "out", tokenizer="absent") == 1

    assert "absent" in capsys.readouterr().err


@pytest.mark.realdata
def test_nothing_of_a_wiki_is_lost(realdata, tmp_path):
    from pipelines import documents_to_entity_vocab, wikipedia_to_documents

    dump = realdata("wiki-dumps") / "ltgwiki-latest-pages-articles.xml.bz2"
    vocab_file = realdata("vocab") / "bert-base-cased-vocab.txt"
    wiki, vocab = tmp_path / "wiki", tmp_path / "vocab"
    assert wikipedia_to_documents.main(["--input", str(dump), "--output", str(wiki)]) == 0
    command = ["--input", str(wiki), "--link-probability", "off", "--output", str(vocab)]
    assert documents_to_entity_vocab.main(command) == 0

    output = tmp_path / "out"
    assert run(tmp_path, output, documents=wiki, tokenizer=vocab_file, vocab=vocab) == 0

    subwords, surfaces = {}, {}
    entities = EntityVocab(vocab)
    for row in open_dataset(output, "examples").rows():
        ids = subwords.setdefault(row["document_id"], [])
        ids += row["input_ids"]
        spans = zip(row["entity_starts"], row["entity_ends"], row["entity_ids"], strict=True)
        surfaces.setdefault(row["document_id"], []).extend(
            (entities.entity_of(id), row["input_ids"][a:b]) for a, b, id in spans
        )
    backend = Tokenizer.open(vocab_file).backend
    n_mentions = 0
    for of in open_dataset(wiki / "documents", "documents").records():
        texts = [of.text[s.start : s.end] for s in of.sentences]
        encodings = backend.encode_batch(texts, add_special_tokens=False)
        assert subwords.get(of.id, []) == list(chain(*(e.ids for e in encodings)))
        known = [m for m in of.mentions if id_of(entities, m.entity) is not None]
        expected = [
            (m.entity, backend.encode(of.text[m.start : m.end], add_special_tokens=False).ids)
            for m in known
        ]
        missing = len(expected) - len(surfaces.get(of.id, []))
        assert missing in {0, 1}  # the one mention that is too long
        n_mentions += len(surfaces.get(of.id, []))
        if not missing:
            assert surfaces.get(of.id, []) == expected
    assert n_mentions == described(output)["counters"]["mentions.kept"]
