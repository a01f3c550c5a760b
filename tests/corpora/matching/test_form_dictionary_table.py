"""A dictionary with a table of groups on disk adds what one in memory adds."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document, Mention, without_crossing
from corpora.matching import form_dictionary, form_table
from corpora.matching.form_dictionary import (
    CHOSEN,
    MEANINGS,
    FormDictionary,
    FormsByGroup,
    Matching,
    build_table,
    choose_forms,
    parts_of,
)
from tests.datasets import document_to_row

# Latin, Greek and Turkish cases; Chinese, Korean, Thai with its vowels; combining marks.
LETTERS = "aAbBéÉßİıΣσς1 .-\n漢字한글กำ\u0301\u200d\x02"
COLUMNS = SCHEMAS["documents"].columns


@st.composite
def documents(draw, forms):
    parts = [st.text(LETTERS, max_size=8), *([st.sampled_from(forms)] if forms else [])]
    text = "".join(draw(st.lists(st.one_of(parts), max_size=8)))
    spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=5)
    mentions = [Mention(s, s + n, entity="e") for s, n in draw(spans) if s + n <= len(text)]
    return Document(
        id=draw(st.uuids()).hex,
        group="g",
        source="s",
        text=text,
        mentions=tuple(without_crossing(mentions)[0]),
    )


def shard_of(path, rows, *, size=2):
    """Write a shard of ``chosen_forms``, with a few rows in each batch; returns the table."""
    table = pa.Table.from_pylist(rows, schema=CHOSEN)
    with ShardWriter(path, SCHEMAS["chosen_forms"], is_lasting=False) as writer:
        for batch in table.to_batches(max_chunksize=size):
            writer.write_batch(batch)
    return table


@settings(max_examples=60)
@given(
    st.data(),
    st.lists(st.text(LETTERS, max_size=6), max_size=10, unique=True),
    st.sampled_from(["de", "tr", "ko", "th", None]),
    st.booleans(),
    st.sampled_from([{}, {"right": "prefix"}]),
    st.sampled_from([None, "group"]),
)
def test_both_ways_make_the_same_documents(
    tmp_path_factory, data, forms, lang, ignore_case, options, column
):
    folder = tmp_path_factory.getbasetemp() / "both"
    folder.mkdir(exist_ok=True)
    rows = [{"form": f, "entity": f"e:{f}", "score": n / 10} for n, f in enumerate(forms)]
    chosen = shard_of(folder / "chosen.arrow", rows)
    matching = Matching(lang=lang, ignore_case=ignore_case, **options)
    groups = [{"group": "g", "end": len(rows)}] if column else []
    given_documents = data.draw(st.lists(documents(forms), max_size=4))
    batch = pa.RecordBatch.from_pylist(
        [document_to_row(document) for document in given_documents], schema=COLUMNS
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form_table, "WINDOW", data.draw(st.sampled_from([4, 1 << 16])))
        by_group = opened(folder, groups, matching=matching, column=column)
        parts = by_group.dictionaries_for(batch)
        made = [dictionary.add_to(part, origin="lexicon") for dictionary, part in parts]

    in_memory = FormDictionary(chosen, matching)
    assert made == [in_memory.add_to(batch, origin="lexicon")] * len(made)
    assert len(made) == (column is None or len(given_documents) > 0)


def opened(folder, groups, *, matching, column):
    path = folder / "groups.arrow"
    with ShardWriter(path, SCHEMAS["chosen_groups"], is_lasting=False) as writer:
        for row in groups:
            writer.write(row)
    chosen, table = folder / "chosen.arrow", folder / "table"
    build_table(table, chosen, path, matching=matching)
    return FormsByGroup(chosen, table, matching=matching, column=column)


MEANT = st.tuples(
    st.text("aAbBéÉİ漢", min_size=1, max_size=3),
    st.sampled_from(["X", "Y", None]),
    st.integers(1, 9),
    st.sampled_from([None, 0.25, 0.5]),
)


@settings(deadline=None)
@given(st.lists(MEANT, max_size=20, unique_by=lambda row: row[:2]), st.booleans())
def test_forms_that_are_chosen_in_parts_are_those_that_are_chosen_at_once(rows, ignore_case):
    linked = {form: sum(n for other, _, n, _ in rows if other == form) for form, *_ in rows}
    ratios = {form: p for form, _, _, p in rows}
    table = pa.Table.from_pylist(
        [
            {
                "form": form,
                "entity": entity,
                "count": n,
                "prior": n / linked[form],
                "link_probability": ratios[form],
            }
            for form, entity, n, _ in rows
        ],
        schema=MEANINGS,
    )
    options = {"ignore_case": ignore_case, "lang": None}
    chosen = with_counts(*choose_forms(table, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form_dictionary, "_PART_ROWS", 3)
        patch.setattr(form_dictionary, "_ROWS", 2)
        in_parts = with_counts(*choose_forms(table, **options))

    assert in_parts.sort_by("form") == chosen.sort_by("form")


def with_counts(chosen, counts):
    return pa.table([*chosen.columns, *counts.columns], names=[*chosen.schema.names, *"abc"])


def test_beyond_a_million_rows_forms_are_chosen_in_parts():
    n_rows = (1 << 20) + 5
    numbers = np.arange(n_rows)
    forms = pc.binary_join_element_wise("f", pa.array(numbers // 4).cast(pa.string()), "")
    columns = {
        "form": forms,
        "entity": pc.binary_join_element_wise("e", pa.array(numbers % 4).cast(pa.string()), ""),
        "count": pa.array(1 + numbers % 4, MEANINGS.field("count").type),
        "prior": pa.array((1 + numbers % 4) / 10, MEANINGS.field("prior").type),
        "link_probability": pa.nulls(n_rows, MEANINGS.field("link_probability").type),
    }
    table = pa.table(columns, schema=MEANINGS)
    parts = [len(part) for part in parts_of(table, ignore_case=False, lang=None)]

    chosen, counts = choose_forms(table, ignore_case=False, lang=None)

    assert len(parts) == 2
    assert sum(parts) == n_rows
    assert len(counts) == len(chosen)
    means = dict(zip(chosen["form"].to_pylist(), chosen["entity"].to_pylist(), strict=True))
    n_whole = n_rows // 4
    assert all(means[f"f{number}"] == "e3" for number in range(n_whole))  # most often meant
    assert means[f"f{n_whole}"] == "e0"  # the last has one row
