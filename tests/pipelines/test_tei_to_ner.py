"""The whole job on the letters of the sample: what comes out, and what ends it."""

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from corpora.concordance.__main__ import main as concordance
from corpora.datasets.shards import open_dataset
from corpora.registers.lines import TextLines
from corpora.runs import plan
from corpora.store.inspection import main as shards
from pipelines.tei_to_ner import main
from tests.killing import files_of
from tests.ner_files import read_conll, read_json

pytestmark = pytest.mark.usefixtures("without_runner")

DATA = Path(__file__).resolve().parents[1] / "data"
LETTERS = DATA / "letters"
OPTIONS = ("--edition", str(LETTERS / "edition.toml"))


def run(output, *options, inputs=f"{LETTERS}/*.xml"):
    edition = () if "--edition" in options else OPTIONS
    return main(["--input", str(inputs), "--output", str(output), *edition, *options])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    output = tmp_path_factory.mktemp("built") / "letters"
    assert run(output) == 0
    return output


def test_run_makes_datasets_conll_json_splits_and_a_card(built):
    assert set(files_of(built)) == {
        "counters.json",
        "documents/shard-00000.arrow",
        "documents/rejected.jsonl",
        "documents/dataset.json",
        "ner/shard-00000.arrow",
        "ner/rejected.jsonl",
        "ner/dataset.json",
        *(f"{split}.{form}" for split in ("train", "dev", "test") for form in ("conll", "json")),
        "card.md",
        "card.json",
        "splits.tsv",
        "run.json",
    }


def test_run_verifies(built, capsys):
    assert shards(["verify", str(built), "--rows"]) == 0
    assert "read 8 = written 8 + filtered 0 + rejected 0" in capsys.readouterr().out


def test_show_marks_mentions(built, capsys):
    assert shards(["show", str(built / "documents"), "--limit", "1"]) == 0

    shown = capsys.readouterr().out
    assert shown.count("── ") == 1
    assert "|person|letters:" in shown


def test_every_labelled_outer_mention_has_one_b_tag(built):
    documents = list(open_dataset(built / "documents", "documents").records())
    sentences = list(open_dataset(built / "ner", "ner").records())

    tags = Counter(tag[2:] for s in sentences for tag in s.tags if tag.startswith("B-"))

    nested = open_dataset(built / "ner").description["counters"]
    mentions = Counter(m.label for d in documents for m in d.mentions)
    for label, count in mentions.items():
        assert tags[label] + nested.get(f"nested names not in ner: {label}", 0) == count


def test_tokens_stand_where_they_say(built):
    texts = {d.id: d.text for d in open_dataset(built / "documents").records()}

    for sentence in open_dataset(built / "ner").records():
        text = texts[sentence.document_id]
        for token, start in zip(sentence.tokens, sentence.token_starts, strict=True):
            assert text.startswith(token, start)


def test_tokens_hold_the_whole_text(built):
    tokens = Counter()
    for sentence in open_dataset(built / "ner").records():
        tokens[sentence.document_id] += sum(map(len, sentence.tokens))

    for document in open_dataset(built / "documents").records():
        assert tokens[document.id] == len("".join(document.text.split()))


def test_conll_and_json_hold_the_sentences_of_their_split(built):
    sentences = list(open_dataset(built / "ner").records())

    for split in ("train", "dev", "test"):
        expected = [(s.tokens, s.tags) for s in sentences if s.split == split]
        for file, read in ((f"{split}.conll", read_conll), (f"{split}.json", read_json)):
            found = [(s.tokens, s.tags) for s in read(built / file, split=split)]
            assert found == expected


def test_document_is_on_one_side_only(built):
    sides = {}
    for sentence in open_dataset(built / "ner").records():
        sides.setdefault(sentence.document_id, set()).add(sentence.split)

    assert all(len(splits) == 1 for splits in sides.values())
    assert set.union(*sides.values()) == {"train", "dev", "test"}


def test_split_file_gives_back_the_same_split(built, tmp_path):
    assert run(tmp_path / "again", "--split-file", str(built / "splits.tsv")) == 0

    again, first = files_of(tmp_path / "again"), files_of(built)
    assert {n: b for n, b in again.items() if n.endswith("conll")} == {
        n: b for n, b in first.items() if n.endswith("conll")
    }


def test_split_by_sentence_puts_a_document_on_several_sides(tmp_path):
    assert run(tmp_path / "out", "--split", "sentence", "--seed", "3") == 0

    sides = {}
    for sentence in open_dataset(tmp_path / "out" / "ner").records():
        sides.setdefault(sentence.document_id, set()).add(sentence.split)
    assert any(len(splits) > 1 for splits in sides.values())


def test_a_register_names_entities_and_its_hashes_are_in_the_plan(tmp_path):
    register = tmp_path / "register"
    shutil.copytree(DATA / "register", register)

    assert run(tmp_path / "out", "--register", f"{register}/*.xml") == 0

    card = (tmp_path / "out/card.md").read_text("utf-8")
    assert "| place | 11 | 10 | 1 |" in card
    assert "| `o24` | place | Naumburg | orte.xml:" in card
    assert len((tmp_path / "out/register.jsonl").read_text("utf-8").splitlines()) == 22
    documents = open_dataset(tmp_path / "out/documents", "documents")
    names = {m.entity: m.attributes.get("name") for d in documents.records() for m in d.mentions}
    assert names["letters:p1"] == "Lindenrot, Agathe"
    assert names["letters:p17"] is None
    auxiliary = documents.description["plan"]["auxiliary"]
    assert {"register orte.xml", "register personen.xml"} <= set(auxiliary)
    (register / "orte.xml").write_text("<TEI><listPlace/></TEI>", "utf-8")
    (register / "personen.xml").unlink()
    assert run(tmp_path / "out", "--register", f"{register}/*.xml") == 1


def test_help_of_inspect_needs_no_file(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--inspect", "--help"])

    assert ended.value.code == 0
    assert "--edition" in capsys.readouterr().out


def test_lines_are_those_of_the_mentions_in_the_files(tmp_path, capsys):
    assert run(tmp_path / "with", "--lines") == 0
    assert run(tmp_path / "without") == 0

    for document in open_dataset(tmp_path / "with/documents", "documents").records():
        data, lines = (LETTERS / document.id).read_bytes(), TextLines(document.metadata)
        for mention in document.mentions:
            before = data[: int(mention.attributes["byte"])]
            assert lines.at(mention.start) >= before.count(b"\n") + 1
            assert lines.at(mention.start) <= before.count(b"\n") + 2
    capsys.readouterr()
    assert concordance([str(tmp_path / "with")]) == 0
    assert "--lines" not in capsys.readouterr().out
    assert concordance([str(tmp_path / "without")]) == 0
    assert "places are characters of the texts" in capsys.readouterr().out


def test_same_bytes_with_two_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "UNIT_FILES", 10)
    copies = tmp_path / "many"
    for number in range(3):  # enough for two units
        for letter in LETTERS.glob("*.xml"):
            copies.mkdir(exist_ok=True)
            shutil.copy(letter, copies / f"{number:02}-{letter.name}")

    assert run(tmp_path / "one", inputs=copies) == 0
    assert run(tmp_path / "two", "--workers", "2", inputs=copies) == 0

    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert len(open_dataset(tmp_path / "two" / "ner").shards) > 1


def test_nested_all_fills_the_second_level(tmp_path):
    assert run(tmp_path / "out", "--nested", "all") == 0

    sentences = list(open_dataset(tmp_path / "out" / "ner").records())
    assert any(tag != "O" for s in sentences for tag in s.inner_tags)


def test_limit_and_exclude_leave_inputs_out(tmp_path):
    assert run(tmp_path / "out", "--limit", "2", "--exclude", "01.xml") == 0

    ids = [d.id for d in open_dataset(tmp_path / "out" / "documents").records()]
    assert ids == ["02.xml", "03.xml"]


def test_inputs_of_several_options_are_all_read(tmp_path):
    two = [f"--input={LETTERS}/0{number}.xml" for number in (1, 2)]

    assert main([*two, "--output", str(tmp_path / "out"), *OPTIONS]) == 0

    assert open_dataset(tmp_path / "out" / "documents").n_rows == 2


def test_a_folder_holds_xml_and_tei_files(tmp_path):
    folder = tmp_path / "letters"
    folder.mkdir()
    for name, number in (("a.xml", 1), ("b.tei", 2), ("b.rng", 3)):
        shutil.copy(LETTERS / f"0{number}.xml", folder / name)

    assert run(tmp_path / "out", inputs=folder) == 0

    assert open_dataset(tmp_path / "out" / "documents").n_rows == 2


def test_what_is_not_read_of_files_without_text_is_counted(tmp_path, capsys):
    folder = tmp_path / "pages"
    folder.mkdir()
    page = "<TEI><sourceDoc><line>Zueignung</line></sourceDoc></TEI>"
    (folder / "page.xml").write_text(page)
    shutil.copy(LETTERS / "01.xml", folder)

    assert run(tmp_path / "out", inputs=folder) == 0

    assert "not read: sourceDoc (characters): 9" in capsys.readouterr().out
    account = open_dataset(tmp_path / "out" / "documents").description["accounting"]
    assert account["filtered"] == {"no_text": 1}


def test_bad_files_are_rejected_with_reasons_and_the_rest_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.tei_to_ner.MAX_BYTES", 1_000_000)
    folder = tmp_path / "mixed"
    shutil.copytree(DATA / "tei" / "bad", folder)
    shutil.copy(LETTERS / "01.xml", folder)
    (folder / "large.xml").write_bytes(b"<TEI>" + b" " * 2_000_000 + b"</TEI>")

    options = ("--max-reject-rate", "1")
    assert run(tmp_path / "out", *options, inputs=folder) == 0

    lines = (tmp_path / "out" / "documents" / "rejected.jsonl").read_text().splitlines()
    rejected = {row["source"]: row for row in map(json.loads, lines)}
    assert rejected["large.xml"]["reason"] == "too_large"
    assert rejected["malformed.xml"]["message"].startswith("malformed.xml:")
    account = open_dataset(tmp_path / "out" / "documents").description["accounting"]
    assert account["read"] == 11
    assert account["written"] == 1
    assert account["filtered"] == {"no_text": 1}
    assert sum(account["rejected"].values()) == len(rejected) == 9
    assert shards(["verify", str(tmp_path / "out")]) == 0


def test_too_many_rejects_end_the_run_and_publish_nothing(tmp_path, capsys):
    for number in range(11):
        (tmp_path / f"{number}.xml").write_text("<TEI><text>")

    assert run(tmp_path / "out", inputs=f"{tmp_path}/*.xml") == 1

    assert "11 of 11 records were rejected (malformed_xml 11)" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("**/dataset.json"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--edditon", "sturm"], "--edditon: no such option (did you mean --edition?)"),
        (["letters.xml"], "letters.xml: belongs to no option"),
        (["--edition", "strum"], "neither a file nor one of"),
        (["--ratios", "80/20"], "three weights"),
        (["--split-file", "none.tsv"], "none.tsv"),
        (["--split-file", "none.tsv", "--ratios", "1/1/1"], "--ratios has no effect"),
        (["--workers", "0"], "at least 1"),
        (["--limit", "x"], "invalid int"),
        (["--ratios", "nan/1/1"], "three weights"),
        (["--exclude", "none.xml"], "matches no input"),
        (["--runner=FnApiRunner", "--workers", "2"], "with --runner leave it out"),
        (["--direct_running_mode=multi_processing"], "of Beam, which runs nothing without a"),
    ],
)
def test_wrong_option_ends_with_status_2(tmp_path, capsys, options, message):
    try:
        status = run(tmp_path / "out", *options)
    except SystemExit as end:
        status = end.code

    assert status == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_pattern_that_matches_nothing_ends_with_status_2(tmp_path, capsys):
    assert run(tmp_path / "out", inputs="nowhere/*.xml") == 2
    assert "matches no file" in capsys.readouterr().err


def test_edition_with_a_typo_ends_with_status_2_and_the_line(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text('name = "mine"\n[labls]\n')

    assert run(tmp_path / "out", "--edition", str(tmp_path / "mine.toml")) == 2
    assert "mine.toml:2: labls: unknown (did you mean labels?)" in capsys.readouterr().err


def test_what_is_probably_not_meant_is_warned_of_and_stands_in_the_card(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(
        'lang = "x-none"\n[labels]\nperson = ["perName"]\nplace = ["placeName"]\n'
        '[languages]\n"*" = "tlh"\n[text]\nleave_out = ["...", "opener"]\n'
    )

    assert run(tmp_path / "out", "--edition", str(tmp_path / "mine.toml")) == 0

    said = capsys.readouterr().out
    assert "WARNING patterns of the edition that match nothing: labels.person: perName\n" in said
    assert "(100.0%) are in a language without a table of abbreviations (tlh)" in said
    assert "left out: opener (characters): " in said
    card = (tmp_path / "out" / "card.md").read_text("utf-8")
    assert "labels.person: perName**" in card.partition("## Counts")[0]
    assert "| tlh |" in card
    left_out = next(line for line in card.splitlines() if line.startswith("| left out: opener"))
    elements, characters, names = (int(n.replace(",", "")) for n in left_out.split("|")[2:5])
    assert elements < names < characters


def test_a_run_that_writes_no_document_ends_with_status_1_and_publishes_nothing(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text('content = ["fulltext"]\n')

    assert run(tmp_path / "out", "--edition", str(tmp_path / "mine.toml")) == 1

    assert "no document was written" in capsys.readouterr().err
    assert not (tmp_path / "out" / "card.md").exists()


def test_abbreviations_are_offered_on_the_card_and_taken_with_one_option(tmp_path):
    line = "Der Kab. Rat kam, sagte Ah. Meier. Da kam Dr. Meier, sagte er. Er kam, sagte der Rat. "
    text = f'<TEI xml:lang="ger"><text><p>{line * 20}</p></text></TEI>'
    (tmp_path / "one.xml").write_text(text)
    card = {}

    for how in ("listed", "learned"):
        options = ("--abbreviations", how)
        assert run(tmp_path / how, *options, inputs=tmp_path / "one.xml") == 0
        card[how] = (tmp_path / how / "card.md").read_text("utf-8")

    assert "| de | `Kab.` | 20 | 20 | no |" in card["listed"]
    assert "| de | `Kab.` | 20 | 0 | no |" in card["learned"]
    n_rows = {how: open_dataset(tmp_path / how / "ner").n_rows for how in card}
    assert n_rows == {"listed": 100, "learned": 60}
    [first, *_] = open_dataset(tmp_path / "learned" / "ner").records()
    assert first.tokens[:3] == ("Der", "Kab.", "Rat")


def test_without_beam_a_run_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "apache_beam", None)

    status = run(tmp_path / "out")

    assert status == 2
    assert "pip install 'onoma[pipelines]'" in capsys.readouterr().err
