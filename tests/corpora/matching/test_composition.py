"""Composed letters, and where they were in the text."""

from hypothesis import given
from hypothesis import strategies as st

from corpora.matching.composition import composed, composed_with_offsets

# letters and marks of which some are composed, reordered, or taken apart by NFC
TEXTS = st.text(
    "aeo \n\u00a0é\u0301\u0323\u0344ড\u09bc\u09dc\u09c7\u09be한\u1112\u1161\u11abΩ\u2126😀"
)


@given(TEXTS, TEXTS)
def test_offsets_lead_back_to_the_text(before, after):
    text = f"{before}\n{after}"

    made, offsets = composed_with_offsets(text)

    assert made == composed(text)
    offsets = range(len(text) + 1) if offsets is None else offsets.tolist()
    assert len(offsets) == len(made) + 1
    assert offsets == sorted(offsets) or isinstance(offsets, range)
    for number, character in enumerate(made):
        if character == "\n":
            assert composed(text[: offsets[number]]) == made[:number]
            assert text[offsets[number]] == "\n"


def test_text_that_is_composed_stays():
    assert composed_with_offsets("Müller 😀 \n") == ("Müller 😀 \n", None)
    assert composed_with_offsets("Louis\u00a0XIV") == ("Louis XIV", None)


@given(TEXTS.filter(lambda text: not text.isascii() and len(text.split()) == 1))
def test_words_that_are_too_long_to_be_remembered_are_composed_alike(word):
    word = f"o{word.strip()}"  # so that no mark stands behind the x
    n_times = 65 // len(word) + 1  # one more than 64 characters

    short, at = composed_with_offsets(f"{word}\n" * n_times)
    long, at_long = composed_with_offsets(f"{word}x" * n_times)

    assert long.replace("x", "\n") == short
    assert (at is None) == (at_long is None)
    assert at is None or at_long is None or at.tolist() == at_long.tolist()
