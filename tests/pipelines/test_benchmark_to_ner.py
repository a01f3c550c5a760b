"""The whole job on the samples and on real sets: what comes out, and what ends it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from corpora.hashing.sampling import choose
from corpora.ner import files as ner_files
from corpora.store.inspection import main as shards
from pipelines.benchmark_to_ner import main
from tests.killing import files_of
from tests.ner_files import examine

pytestmark = pytest.mark.usefixtures("without_runner")
DATA = Path(__file__).resolve().parents[1] / "data" / "ner"
SAMPLES = (
    "wikiann-de-train",
    "NER-de-dev.tsv",
    "da_news_test.tsv",
    "eng.testa",
    "train_letters.json",
    "cluener-dev.json",
)


def run(output, *options, inputs):
    return main(["--input", *map(str, inputs), "--output", str(output), *options])


def rows_of(output):
    return list(open_dataset(output, "ner").rows())


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    output = tmp_path_factory.mktemp("built") / "sets"
    assert run(output, inputs=[DATA / name for name in SAMPLES]) == 0
    return output


def test_run_makes_a_dataset_its_sources_and_a_card(built):
    named = {name for name in files_of(built) if not name.startswith("shard-")}

    assert named == {
        "counters.json",
        "dataset.json",
        "rejected.jsonl",
        "run.json",
        "sources.tsv",
        "card.md",
        "card.json",
    }
    assert shards(["verify", str(built), "--rows"]) == 0


def test_splits_are_those_of_the_names(built):
    splits = {row["id"].split(":")[0].split("#")[0]: row["split"] for row in rows_of(built)}

    assert splits == {
        "wikiann-de-train": "train",
        "train_letters.json": "train",
        "NER-de-dev.tsv": "dev",
        "eng.testa": "dev",
        "cluener-dev.json": "dev",
        "da_news_test.tsv": "test",
    }


def test_card_is_that_of_the_sentences(built):
    rows = list(open_dataset(built, "ner").records())
    sources = {
        split: [row for row in rows if row.split == split].__iter__
        for split in ("train", "dev", "test")
    }

    card = json.loads((built / "card.json").read_text("utf-8"))

    health = examine(sources)
    assert card["splits"]["dev"]["entities"] == dict(health.splits["dev"].entities)
    assert card["gazetteer"]["forms"] == health.gazetteer.forms
    assert "| NER-de-dev.tsv | dev | germeval | iob2 | 2 | 2 | 7 | 3 |" in (
        built / "card.md"
    ).read_text("utf-8")


def test_two_workers_make_the_same_bytes_as_one(built, tmp_path):
    inputs = [DATA / name for name in SAMPLES]

    assert run(tmp_path / "two", "--workers", "2", inputs=inputs) == 0

    assert files_of(tmp_path / "two") == files_of(built)


@pytest.mark.parametrize("mark", ["-DOCSTART- -X- O\n\n", "# newdoc id = {}\n", "<title>{}\n"])
def test_large_file_in_parts_makes_the_rows_of_the_whole(tmp_path, monkeypatch, mark):
    sentences = "Jena NNP B-LOC\nblüht VBZ O\n\n" * 50
    text = "".join(mark.format(f"Brief {n}") + sentences for n in range(20))
    (tmp_path / "eng.train").write_text(text, encoding="utf-8")
    run(tmp_path / "whole", inputs=[tmp_path / "eng.train"])

    monkeypatch.setattr(ner_files, "RANGE_BYTES", 1000)
    run(tmp_path / "parts", inputs=[tmp_path / "eng.train"])

    assert len(open_dataset(tmp_path / "parts").shards) > 10
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")
    assert len({row["document_id"] for row in rows_of(tmp_path / "parts")}) == 20


def test_labels_are_mapped_and_sources_keep_the_old_ones(tmp_path):
    inputs = [DATA / "NER-de-dev.tsv"]

    assert run(tmp_path / "out", "--labels", "names-only", inputs=inputs) == 0

    tags = {tag for row in rows_of(tmp_path / "out") for tag in row["tags"]}
    assert tags == {"O", "B-LOC"}
    assert "ORGpart\tentities" in (tmp_path / "out" / "sources.tsv").read_text("utf-8")


def test_dictionary_becomes_forms(tmp_path):
    options = ("--dictionary", str(DATA / "entities-14.txt"), str(DATA / "entities-3.txt"))

    assert run(tmp_path / "out", *options, inputs=[DATA / "novels.train.txt"]) == 0

    lines = (tmp_path / "out" / "forms.tsv").read_text("utf-8").splitlines()
    assert "小红\t山中记:小红" in lines
    assert "小红\t体育:小红" in lines


@pytest.mark.parametrize(
    ("options", "status", "problem"),
    [
        (("--labels", "ler-coarse"), 1, "does not know the label"),
        (("--labels", "none"), 2, "no such map"),
        (("--ratios", "70/15/15"), 2, "--ratios is for --split document or sentence"),
        (("--split-of", "x=test"), 2, "matches no input"),
        (("--max-tokens", "-1"), 2, "at least 0"),
        (("--dictionary", str(DATA / "eng.testa")), 2, "neither"),
        (("--format", "hipe"), 2, "is not laid out as hipe"),
        (("--encoding", "klingon"), 2, "unknown"),
        (("--lang", "klingon!"), 2, "no tag of a language"),
    ],
)
def test_wrong_options_end_the_run(tmp_path, capsys, options, status, problem):
    code = run(tmp_path / "out", *options, inputs=[DATA / "wikiann-de-train"])

    assert code == status
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "out" / "dataset.json").exists()


def test_file_in_no_format_ends_the_run(tmp_path, capsys):
    assert run(tmp_path / "out", inputs=[DATA / "README.md"]) == 2
    assert "README.md: in no format that is known" in capsys.readouterr().err


def test_a_set_without_a_name_is_made_only_if_asked_for(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("Ada O\nkam O\n")
    options = ("--format", "conll")

    assert run(tmp_path / "out", *options, inputs=[tmp_path / "a.txt"]) == 1
    assert "no name is marked in 1 sentences of a.txt" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out" / "dataset.json").exists()

    assert run(tmp_path / "out", *options, "--allow-empty", inputs=[tmp_path / "a.txt"]) == 0
    assert "WARNING a.txt: no name is marked." in capsys.readouterr().out


@pytest.mark.parametrize("n", [1, 10])
def test_a_set_most_of_whose_records_are_rejected_is_not_made(tmp_path, capsys, n):
    named = {"text": "Ada kam.", "label": [{"text": "Ada", "type": "PER"}]}
    records = [named, named, {"text": "Niemand kam.", "label": []}] * n
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))

    assert run(tmp_path / "out", "--allow-empty", inputs=[tmp_path / "a.jsonl"]) == 1

    assert f"{2 * n} of {3 * n} records were rejected (bad_span" in capsys.readouterr().err
    assert not (tmp_path / "out" / "dataset.json").exists()


def test_copies_of_a_file_are_warned_of(tmp_path, capsys):
    for name in ("train.txt", "more/train.txt", "other/train.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Ada B-PER\nkam O\n")
    (tmp_path / "test.txt").write_text("Ada B-PER\nging O\n")

    assert run(tmp_path / "out", inputs=[f"{tmp_path}/**/*.txt"]) == 0

    [card] = json.loads((tmp_path / "out" / "card.json").read_text("utf-8"))["warnings"]
    assert card == (
        "more/train.txt and other/train.txt (and 1 more) have the same bytes: their sentences "
        "count twice. Leave one out with --exclude."
    )
    printed = capsys.readouterr()
    assert f"WARNING {card}" in printed.out + printed.err


def test_labels_without_letters_are_warned_of(tmp_path, capsys):
    name = "corpus_Paramopama.txt"

    assert run(tmp_path / "out", inputs=[DATA / name]) == 0

    warning = f"{name}: labels without B- and I-. Adjacent names of one label"
    printed = capsys.readouterr()
    assert f"WARNING {warning}" in printed.out + printed.err
    card = json.loads((tmp_path / "out" / "card.json").read_text("utf-8"))
    assert [text.startswith(warning) for text in card["warnings"]] == [True]
    assert f"- **{warning}" in (tmp_path / "out" / "card.md").read_text("utf-8")


def test_tags_in_place_of_labels_are_warned_of_unless_they_are_renamed(tmp_path, capsys):
    labels = [[0, 3, "B-PER"], [4, 12, "I-PER"], [22, 28, "LOC"]]
    record = {"text": "Ada Lovelace kam nach Weimar.", "label": labels}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    (tmp_path / "map.toml").write_text('[labels]\n"I-PER" = "PER"\n')
    options = [(), ("--labels", str(tmp_path / "map.toml"))]

    for number, given in enumerate(options):
        assert run(tmp_path / f"out{number}", *given, inputs=[tmp_path / "a.jsonl"]) == 0

    said = [line for line in capsys.readouterr().out.splitlines() if "WARNING" in line]
    begins = ["WARNING B-PER, I-PER: labels that begin as tags do.", "WARNING B-PER: labels that"]
    assert [line.startswith(begin) for line, begin in zip(said, begins, strict=True)] == [True] * 2


@pytest.fixture
def standoff(tmp_path):
    for split, text in (("train", "Ada kam."), ("test", "Sue kam am 9. Mai.")):
        (tmp_path / "set" / split).mkdir(parents=True)
        (tmp_path / "set" / split / "a.txt").write_text(text)
        (tmp_path / "set" / split / "a.ann").write_text(f"T1\tPer 0 3\t{text[:3]}\n")
    return tmp_path / "set"


@pytest.mark.parametrize("pattern", ["", "*/*.ann"])
def test_standoff_is_read_with_the_texts_beside_it(standoff, tmp_path, pattern):
    assert run(tmp_path / "out", "--lang", "de", inputs=[standoff / pattern]) == 0

    rows = rows_of(tmp_path / "out")
    assert [(row["id"].split("/", 1)[-1], row["split"], row["tags"]) for row in rows] == [
        ("a.ann#1", "train", ["B-Per", "O", "O"]),
        ("a.ann#1", "test", ["B-Per", "O", "O", "O", "O", "O"]),
    ]
    sources = (tmp_path / "out" / "sources.tsv").read_text("utf-8")
    assert "train/a.ann\ttrain\tbrat\tiob2\t1\t1\t3\t1\t" in sources
    assert ".txt" not in sources


def test_a_change_of_a_text_is_a_new_run(standoff, tmp_path):
    assert run(tmp_path / "out", inputs=[standoff]) == 0
    (standoff / "train" / "a.txt").write_text("Ada ging.")

    assert run(tmp_path / "out", inputs=[standoff]) == 0

    assert rows_of(tmp_path / "out")[0]["tokens"] == ["Ada", "ging", "."]


def test_standoff_without_its_text_ends_the_run(standoff, tmp_path, capsys):
    (standoff / "test" / "a.txt").unlink()

    assert run(tmp_path / "out", inputs=[standoff]) == 2
    assert "test/a.ann: its text, test/a.txt, is not beside it." in capsys.readouterr().err


def test_a_text_beside_columns_is_not_left_out_in_silence(standoff, tmp_path, capsys):
    (standoff / "test" / "a.ann").write_text("Ada B-PER\n")

    assert run(tmp_path / "out", inputs=[standoff]) == 2
    assert "test/a.txt: is it the text of test/a.ann, which is conll" in capsys.readouterr().err


def damaged(path, name, damage):
    """Write a real file with damage at about its thousandth line; returns the line's number."""
    lines = path.read_bytes().split(b"\n")
    at = next(i for i in range(1000, len(lines)) if lines[i].count(b"\t") or b" " in lines[i])
    lines[at] = damage(lines[at])
    name.write_bytes(b"\n".join(lines))
    return at + 1


DAMAGES = {
    "a missing column": (
        "ner-de",
        "germeval2014-dev.tsv",
        lambda line: line.rpartition(b"\t")[0],
        "columns",
    ),
    "mixed separators": (
        "ner-de",
        "ler-dev.conll",
        lambda line: line.replace(b" ", b"\t"),
        "columns",
    ),
    "a NUL": ("ner-da", "danplus-news-train.tsv", lambda line: b"\0" + line, "nul"),
    "half a character": ("ner-zh", "resume-train.char.bmes", lambda line: line[1:], "not_utf8"),
}


@pytest.mark.realdata
@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_file_loses_one_sentence_and_says_where(realdata, tmp_path, kind):
    folder, name, damage, reason = DAMAGES[kind]
    whole = realdata(folder) / name
    line = damaged(whole, tmp_path / name, damage)
    (tmp_path / "whole").mkdir()

    assert run(tmp_path / "out", inputs=[tmp_path / name]) == 0
    assert run(tmp_path / "whole", inputs=[whole]) == 0

    [rejected] = map(json.loads, (tmp_path / "out/rejected.jsonl").read_text("utf-8").splitlines())
    assert (rejected["reason"], rejected["position"]) == (reason, f"line {line}")
    kept, before = ({row["id"]: row for row in rows_of(tmp_path / x)} for x in ("out", "whole"))
    assert len(before) - len(kept) == 1
    assert all(before[id] == row for id, row in kept.items())


@pytest.mark.realdata
@pytest.mark.parametrize("illegal", ["repair", "reject"])
def test_stray_tag_in_a_real_file_is_repaired_or_rejected(realdata, tmp_path, illegal):
    text = (realdata("ner-zh") / "peoples-daily-dev.txt").read_text("utf-8")
    orphan = text.replace("B-PER", "I-PER", 1)
    line = next(n for n, x in enumerate(orphan.split("\n"), 1) if x.endswith("I-PER"))
    (tmp_path / "peoples-daily-dev.txt").write_text(orphan, encoding="utf-8")

    options = ("--illegal", illegal)
    assert run(tmp_path / "out", *options, inputs=[tmp_path / "peoples-daily-dev.txt"]) == 0

    dataset = open_dataset(tmp_path / "out", "ner")
    opened = sum(tag.startswith("B-") for row in dataset.rows() for tag in row["tags"])
    if illegal == "repair":
        assert opened == 1951 + 984 + 884
        assert dataset.description["counters"]["tags.orphan"] == 1
    else:
        [rejected] = (tmp_path / "out/rejected.jsonl").read_text("utf-8").splitlines()
        assert json.loads(rejected)["position"] == f"line {line}"


@pytest.mark.realdata
def test_official_splits_of_neiss_have_the_known_leaks(realdata, tmp_path):
    folder = realdata("neiss-ner") / "Arendt"

    assert run(tmp_path / "out", inputs=[folder / "*_arendt.conll"]) == 0

    card = json.loads((tmp_path / "out" / "card.json").read_text("utf-8"))
    leaks = {(x["split"], x["min_tokens"]): x["leaked_with_tags"] for x in card["leaks"]}
    assert (leaks["test", 1], leaks["test", 6]) == (234, 92)
    assert (leaks["dev", 1], leaks["dev", 6]) == (234, 105)


def test_sentences_are_divided_by_hash_and_named_files_are_not(tmp_path):
    rows = "".join(f"Wort{n}\tO\nOrt\tB-LOC\n\n" for n in range(300))
    (tmp_path / "all.conll").write_text(rows)
    (tmp_path / "held.conll").write_text("Prag\tB-LOC\n")
    cut = ("--split", "sentence", "--ratios", "80/20/0", "--split-of", "held.conll=test")

    assert run(tmp_path / "out", *cut, inputs=tmp_path.glob("*.conll")) == 0

    splits = {row["id"]: row["split"] for row in rows_of(tmp_path / "out")}
    chosen = {id: choose(id, {"train": 80, "dev": 20, "test": 0}) for id in splits}
    assert splits == chosen | {"held.conll:1": "test"}
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert {s: counts["sentences"] for s, counts in card["splits"].items()} == Counter(
        splits.values()
    )
