"""Cards and Croissant files: what they say is what other libraries read."""

import json
import re
import shutil
import tomllib
from ast import literal_eval
from pathlib import Path

import pyarrow as pa
import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.examples.maker import TRAIN, VALIDATION
from corpora.lexicon.ranking import FLAGS
from corpora.store import catalogue
from corpora.store.catalogue import main
from corpora.store.inspection import verify
from tests.corpora.store.stored_runs import make
from tests.datasets import write_dataset

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}")  # in mlcroissant
    for text in ("ConjunctiveGraph is deprecated", "The inplace keyword")
]
ROOT = Path(__file__).resolve().parents[3]
KINDS = tomllib.loads(Path(catalogue.__file__).with_suffix(".toml").read_text("utf-8"))
CC0 = "https://creativecommons.org/publicdomain/zero/1.0/"


def value(kind, number):
    """Make a value of a type of Arrow."""
    if pa.types.is_list(kind):
        return [value(kind.value_type, number)] * number
    if pa.types.is_struct(kind):
        return {field.name: value(field.type, number) for field in kind}
    if pa.types.is_boolean(kind):
        return True
    return f"é{number}" if pa.types.is_string(kind) else number


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a dataset of each kind: two shards with three rows."""
    folder = tmp_path_factory.mktemp("kinds") / "all"
    for name in KINDS:
        columns = SCHEMAS[name].columns
        more = {"license": CC0, "lang": "da"} if "lang" in columns.names else {}
        rows = [{f.name: value(f.type, n) for f in columns} | more for n in (1, 2, 3)]
        plan = {"fingerprint": "0" * 64}
        write_dataset(folder / name, rows[:2], rows[2:], schema=name, plan=plan)
    return folder


def test_columns_are_described_with_the_values_that_they_can_have():
    assert KINDS["lexicon"]["flags"] == ", ".join(FLAGS)
    assert KINDS["examples"]["split"] == f"{TRAIN} or {VALIDATION}"


def test_every_kind_that_a_run_publishes_is_described():
    sources = (file.read_text("utf-8") for file in (ROOT / "pipelines").glob("*.py"))
    made = (re.search(r"^DATASETS = (\{[^}]*\})", text, re.MULTILINE) for text in sources)
    kinds = {kind for found in filter(None, made) for kind in literal_eval(found[1]).values()}

    assert kinds <= {*KINDS}


def test_every_column_of_every_kind_is_described():
    for name, texts in KINDS.items():
        assert {*texts} - {"row"} == {*SCHEMAS[name].columns.names}, name


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_other_libraries_open_every_kind(folder, form, tmp_path):
    import mlcroissant
    from datasets import load_dataset

    target = folder if form == "arrow" else tmp_path / "hub"
    options = ["--parquet", str(target)] if form == "parquet" else []
    more = ["--facts", "published=2026-11-22", "cite=A book.", "url=https://example.org"]
    assert main([str(folder), *options, *more]) == 0

    described = mlcroissant.Dataset(jsonld=str(target / "croissant.json"))

    assert not described.metadata.issues.errors
    assert not described.metadata.issues.warnings
    assert [one.id for one in described.metadata.record_sets] == sorted(KINDS)
    for name in KINDS:
        rows = load_dataset(str(target), name, split="train", cache_dir=str(tmp_path / "cache"))
        assert rows["id"] == [value(SCHEMAS[name].columns.field("id").type, n) for n in (1, 2, 3)]
        if form == "parquet":
            assert len([*described.records(name)]) == 3
    card = (target / "README.md").read_text("utf-8")
    assert '\nlicense: "cc0-1.0"\nlanguage: ["da"]\n' in card
    assert "Of 3 inputs, 3 were written, 0 filtered, 0 rejected." in card


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("name", KINDS)
def test_a_folder_with_one_dataset_is_opened_by_its_path_alone(folder, name, form, tmp_path):
    import mlcroissant
    from datasets import load_dataset

    source = tmp_path / name
    shutil.copytree(folder / name, source)
    target = source if form == "arrow" else tmp_path / "hub"
    options = ["--parquet", str(target)] if form == "parquet" else []
    assert main([str(source), *options, "--license", "CC0-1.0"]) == 0

    rows = load_dataset(str(target), split="train", cache_dir=str(tmp_path / "cache"))
    described = mlcroissant.Dataset(jsonld=str(target / "croissant.json"))

    assert {*rows.column_names} == {*SCHEMAS[name].columns.names}
    assert len(rows) == 3
    assert not described.metadata.issues.errors
    [records] = described.metadata.record_sets
    assert {field.name for field in records.fields} == {*SCHEMAS[name].columns.names}
    if form == "parquet":
        assert len([*described.records(name)]) == 3


def test_the_hashes_of_the_files_are_those_of_the_dataset(folder):
    main([str(folder / "ner")])

    about = json.loads((folder / "ner" / "croissant.json").read_text("utf-8"))

    shards = json.loads((folder / "ner" / "dataset.json").read_text("utf-8"))["shards"]
    listed = [item["sha256"] for item in about["distribution"] if "sha256" in item]
    assert listed == [shard["sha256"] for shard in shards]
    assert [item.get("contentUrl") for item in about["distribution"]] == [
        *(shard["name"] for shard in shards),
        None,
    ]


@pytest.mark.parametrize("mine", [b"mine", "über uns".encode("latin-1")])
def test_a_card_that_somebody_wrote_stays(mine, folder, tmp_path, capsys):
    (tmp_path / "README.md").write_bytes(mine)

    assert main([str(folder), "--parquet", str(tmp_path)]) == 2

    assert f"{tmp_path}/README.md: is not ours. Move it away" in capsys.readouterr().err
    assert (tmp_path / "README.md").read_bytes() == mine


@pytest.mark.parametrize("where", ["above", "below", "between"])
def test_a_card_that_was_edited_stays_and_any_other_is_written_again(where, tmp_path, capsys):
    run = make(tmp_path / "run", "Jena")
    card = run / "README.md"
    assert main([str(run), "--license", "CC0-1.0"]) == 0
    assert main([str(run), "--license", "CC-BY-4.0"]) == 0
    text = card.read_text()
    assert "cc-by-4.0" in text
    card.write_text(
        {
            "above": f"Mine.\n{text}",
            "below": f"{text}Mine.\n",
            "between": text.replace("## Use", "## Mine\n\n## Use"),
        }[where]
    )
    edited = card.read_bytes()

    assert main([str(run)]) == 2

    assert f"{card}: was edited since it was made" in capsys.readouterr().err
    assert card.read_bytes() == edited


def test_a_card_beside_a_run_changes_nothing_that_is_verified(tmp_path, capsys):
    run = make(tmp_path / "run", "Jena")
    before = verify(run)

    assert main([str(run), "--license", "CC0-1.0"]) == 0

    assert verify(run) == before
    assert "hf upload USER/NAME" in (said := capsys.readouterr().out)
    assert "--exclude '.*'" in said  # .build/ and .lock are no data


def test_a_folder_of_other_files_is_no_dataset_and_no_place_for_parquet(tmp_path, capsys):
    run = make(tmp_path / "run", "Jena")
    (tmp_path / "out" / "documents").mkdir(parents=True)
    (tmp_path / "out" / "documents" / "mine").touch()

    assert main([str(run), "--parquet", str(tmp_path / "out")]) == 2
    assert main([str(tmp_path / "out")]) == 1

    said = capsys.readouterr().err
    assert "out/documents: holds other files" in said
    assert "out: no dataset, nor a folder with datasets" in said
