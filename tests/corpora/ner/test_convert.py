"""What is written for others can be read back as it was."""

import json
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.document import TokenSpan
from corpora.ner.convert import main
from corpora.ner.detection import Overrides
from corpora.ner.exports import (
    UnwritableError,
    class_list,
    hf_features,
    lines_of,
    write_columns,
    write_json,
    write_parquet,
)
from corpora.ner.files import FilePart, describe, read_file
from corpora.ner.sentence_rows import RowMaker
from corpora.tagging import to_iob2
from tests.ner_files import read_conll, read_json

SCHEMA = SCHEMAS["ner"].columns
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
ANY_TEXT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=5
)
COLUMN_TEXT = st.one_of(
    st.sampled_from(["#", "# x", "1", "de:Jena", "科0", "\ufeffJena", "<title>", "B-LOC", " "]),
    st.text(
        st.characters(exclude_characters="\0\t\n\r", exclude_categories=("Cs",)),
        min_size=1,
        max_size=5,
    ),
)


def tags(draw, n):
    ends = sorted(draw(st.sets(st.integers(0, n), max_size=4)))
    labels = st.sampled_from(["PER", "a-b_c", "x.y"])
    return to_iob2([TokenSpan(start=i, end=j, label=draw(labels)) for i, j in pairwise(ends)], n)


@st.composite
def rows(draw, texts, *, levels=2):
    """Draw rows of a dataset; whether there are inner tags at all is drawn, too."""
    made = []
    has_inner = levels == 2 and draw(st.booleans())
    for number in range(draw(st.integers(1, 5))):
        tokens = draw(st.lists(texts, min_size=1, max_size=6))
        n = len(tokens)
        inner = list(tags(draw, n)) if has_inner and draw(st.booleans()) else None
        starts = draw(st.none() | st.just(list(range(n))))
        made.append(
            {
                "id": f"some id {number}",
                "document_id": f"d{number // 2}",
                "split": "train",
                "tokens": tokens,
                "tags": list(tags(draw, n)),
                "inner_tags": inner,
                "token_starts": starts,
                "origin": None,
            }
        )
    return made


def opener(made):
    """Return a function that gives the rows in two batches: forms must not depend on batches."""
    parts = [made[:2], made[2:]]
    batches = [pa.RecordBatch.from_pylist(part, schema=SCHEMA) for part in parts if part]
    return batches.__iter__


def read(path, **said):
    layout = describe(path, name=path.name, overrides=Overrides(**said))
    maker = RowMaker(split="train", illegal="reject")
    found = [
        maker.make(found, layout, origin)
        for found, origin in read_file(path, layout, name=path.name, part=FilePart())
    ]
    assert not any(made.rejected for made in found)
    return [row for made in found for batch in made.batches for row in batch.to_pylist()]


def write(made, path, *, form):
    if form == "json":
        write_json(opener(made), path)
    else:
        write_columns(opener(made), path, form=form)


def core(made):
    return [(row["tokens"], row["tags"], row["inner_tags"]) for row in made]


@same_folder
@given(made=rows(COLUMN_TEXT))
@pytest.mark.parametrize(
    ("form", "scheme"), [("conll", "iob2"), ("iobes", "iobes"), ("bmes", "iobes")]
)
def test_columns_come_back(tmp_path, form, scheme, made):
    path = tmp_path / f"train.{form}"

    write_columns(opener(made), path, form=form)

    has_inner = any(row["inner_tags"] for row in made)
    back = read(path, format="danplus" if has_inner else "conll", scheme=scheme)
    assert core(back) == core(made)


@same_folder
@given(made=rows(ANY_TEXT))
def test_json_comes_back(tmp_path, made):
    path = tmp_path / "train.json"

    write_json(opener(made), path)

    assert core(read(path, format="json", scheme="iob2")) == core(made)
    text = path.read_text("ascii")
    assert text == json.dumps(json.loads(text))


@same_folder
@given(made=rows(ANY_TEXT))
def test_parquet_comes_back_with_ids_documents_and_starts(tmp_path, made):
    path = tmp_path / "train.parquet"
    classes = class_list([opener(made)])
    has_inner = any(row["inner_tags"] for row in made)

    write_parquet(
        opener(made), path, classes=classes, features=hf_features(classes, has_inner=has_inner)
    )

    assert read(path) == made


@pytest.mark.parametrize("form", ["conll", "iobes", "bmes", "json"])
def test_two_levels_are_detected_where_most_rows_have_one(tmp_path, form):
    made = [row(["Jena", "blüht"], ["B-LOC", "O"])] * 50 + [row(["Jena"], ["B-ORG"], ["B-LOC"])]
    path = tmp_path / f"train.{form}"

    write(made, path, form=form)

    assert core(read(path)) == core(made)


@pytest.mark.realdata
@pytest.mark.parametrize("part", ["", "train_", "dev_", "test_"])
@pytest.mark.parametrize("name", ["Arendt", "Sturm"])
def test_published_files_come_back_byte_for_byte(realdata, tmp_path, name, part):
    published = realdata("neiss-ner") / name / f"{part}{name.lower()}"

    for read_published, suffix in ((read_conll, ".conll"), (read_json, ".json")):
        sentences = read_published(published.with_suffix(suffix), split="train")
        made = [row(sentence.tokens, sentence.tags) for sentence in sentences]
        for form in ("conll", "json"):
            write(made, tmp_path / form, form=form)
            assert (tmp_path / form).read_bytes() == published.with_suffix(f".{form}").read_bytes()


def row(tokens, tags, inner=None):
    return {"id": "x", "document_id": "d", "split": "train", "tokens": tokens, "tags": tags} | {
        "inner_tags": inner,
        "token_starts": None,
        "origin": None,
    }


def test_rows_without_tokens_are_left_out_and_counted(tmp_path):
    made = [row(["Jena"], ["B-LOC"]), row([], [])]

    assert write_columns(opener(made), tmp_path / "a", form="conll") == (1, 1)
    assert write_json(opener(made), tmp_path / "b") == (1, 1)


@pytest.mark.parametrize(
    ("tokens", "tags"),
    [
        (["a\tb"], ["O"]),
        (["a\nb"], ["O"]),
        (["a\r"], ["O"]),
        (["a\0"], ["O"]),
        ([""], ["O"]),
        (["-DOCSTART-"], ["O"]),
        (["a", "b"], ["O", "I-X"]),
    ],
)
def test_what_columns_cannot_hold_is_refused(tmp_path, tokens, tags):
    with pytest.raises(UnwritableError, match=r"^x: "):
        write_columns(opener([row(tokens, tags)]), tmp_path / "file", form="conll")


def test_white_space_in_a_token_is_refused_where_blanks_are_between_columns():
    assert lines_of((["10 000"], ["O"]), "x", separator="\t") == "10 000\tO\n\n"
    with pytest.raises(UnwritableError, match=r"^x: token 2, '10 000', .* white space"):
        lines_of((["a", "10 000"], ["O", "O"]), "x")
    with pytest.raises(UnwritableError, match=r"^x: token 2, 'a\\tb', "):
        lines_of((["10 000", "a\tb"], ["O", "O"]), "x", separator="\t")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    from pathlib import Path

    from pipelines.benchmark_to_ner import main as build

    data = Path(__file__).resolve().parents[2] / "data" / "ner"
    output = tmp_path_factory.mktemp("built") / "sets"
    inputs = [str(data / name) for name in ("da_news_test.tsv", "wikiann-de-train", "eng.testa")]
    assert build(["--input", *inputs, "--output", str(output)]) == 0
    return output


@pytest.mark.parametrize("form", ["conll", "json", "iobes", "bmes", "hf"])
def test_command_writes_every_split(built, tmp_path, capsys, form):
    assert main([str(built), "--to", form, "--output", str(tmp_path / "out")]) == 0

    names = {path.stem for path in (tmp_path / "out").iterdir()} - {"README"}
    assert names == {"train", "validation" if form == "hf" else "dev", "test"}
    assert "2 sentences" in capsys.readouterr().out


def test_hugging_face_opens_the_folder_with_class_labels(built, tmp_path, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    main([str(built), "--to", "hf", "--output", str(tmp_path / "out")])

    opened = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))

    feature = opened["test"].features["ner_tags"].feature
    assert set(opened) == {"train", "validation", "test"}
    assert feature.names == [
        "O",
        *(f"{p}-{x}" for x in ("LOC", "LOCderiv", "ORG", "PER") for p in "BI"),
    ]
    shown = [feature.int2str(tag) for tag in opened["test"][0]["ner_tags"]]
    assert shown == ["B-ORG", "I-ORG", "O"]
    assert opened["test"].features["inner_ner_tags"].feature.names == feature.names
    assert opened["train"][0]["inner_ner_tags"] is None


def test_what_datasets_writes_is_read(tmp_path):
    import datasets

    datasets.disable_progress_bars()
    names = ["O", "B-LOC", "I-LOC"]
    features = datasets.Features(
        tokens=datasets.List(datasets.Value("string")),
        ner_tags=datasets.List(datasets.ClassLabel(names=names)),
    )
    rows = {"tokens": [["Jena", "blüht"]], "ner_tags": [[1, 0]]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "test.parquet")

    [back] = read(tmp_path / "test.parquet")

    assert (back["tokens"], back["tags"]) == (["Jena", "blüht"], ["B-LOC", "O"])
    assert back["id"] == "test.parquet#1"


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"tokens": [["a"]], "ner_tags": [[0]]}, "numbers without names"),
        ({"text": ["a"]}, "none of tokens"),
    ],
)
def test_parquet_without_tokens_and_names_of_tags_is_refused(tmp_path, columns, problem):
    import pyarrow.parquet as pq

    from corpora.errors import UsageError

    pq.write_table(pa.table(columns), tmp_path / "x.parquet")

    with pytest.raises(UsageError, match=problem):
        describe(tmp_path / "x.parquet", name="x.parquet", overrides=Overrides())


def test_parquet_row_with_fewer_tags_is_rejected(tmp_path):
    import pyarrow.parquet as pq

    table = pa.table({"tokens": [["a"], ["a", "b"], []], "tags": [["B-X"], ["O"], []]})
    pq.write_table(table, tmp_path / "x.parquet")
    layout = describe(tmp_path / "x.parquet", name="x", overrides=Overrides())

    [(found, _)] = read_file(tmp_path / "x.parquet", layout, name="x", part=FilePart())

    assert Counter(r.position for r in found.rejected) == Counter(["sentence 2", "sentence 3"])
    assert found.tokens.to_pylist() == ["a"]


def test_splits_that_another_program_made_are_not_overwritten(built, tmp_path, capsys):
    (tmp_path / "test.parquet").write_bytes(b"mine")

    assert main([str(built), "--to", "hf", "--output", str(tmp_path)]) == 2

    assert f"{tmp_path / 'test.parquet'}: is there already" in capsys.readouterr().err
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"mine"]


def test_a_card_that_somebody_edited_is_not_overwritten(built, tmp_path, capsys):
    command = [str(built), "--to", "hf", "--output", str(tmp_path)]
    assert main(command) == main(command) == 0  # a card of its own is replaced
    card = tmp_path / "README.md"
    card.write_text(card.read_text() + "\nThe letters of Ada Lem.\n")
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}

    assert main(command) == 2

    assert f"{card}: is there already" in capsys.readouterr().err
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


@pytest.mark.parametrize("form", ["conll", "json"])
def test_a_file_of_other_origin_is_not_overwritten(built, tmp_path, capsys, form):
    command = [str(built), "--to", form, "--output", str(tmp_path)]
    assert main(command) == main(command) == 0  # files of the same bytes are no conflict
    (tmp_path / f"train.{form}").unlink()
    (tmp_path / f"test.{form}").write_text("mine\n")
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}

    assert main(command) == 2

    assert f"test.{form}: is there already" in capsys.readouterr().err
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_no_dataset_ends_with_status_one(tmp_path, capsys):
    assert main([str(tmp_path), "--to", "conll"]) == 1
    assert "no dataset" in capsys.readouterr().err


def test_json_of_rows_with_inner_tags_has_three_of_each(tmp_path):
    write_json(opener([row(["a"], ["B-X"], ["B-Y"]), row(["b"], ["O"])]), tmp_path / "x.json")

    assert json.loads((tmp_path / "x.json").read_text()) == [[["a", "B-X", "B-Y"]], [["b", "O"]]]
