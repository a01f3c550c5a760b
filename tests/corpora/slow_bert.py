"""BERT's tokenizer in the slow obvious way, one character after the other."""

import unicodedata

from corpora.tokenization.tokenizers import UNK


def characters_of(text, *, cased, strip):
    """Return each normalised character with the place it comes from."""
    places = []
    for at, character in enumerate(text):
        category = unicodedata.category(character)
        if character in "\t\n\r" or (category[0] != "C" and character.isspace()):
            places.append((" ", at))
        elif category[0] != "C" and character != "\ufffd":
            places.append((character, at))
    if strip:
        places = decomposed(places)
    if not cased:
        places = [(low, at) for character, at in places for low in character.lower()]
    return places


def decomposed(places):
    """Decompose characters (NFD, which may reorder marks), and drop marks without width."""
    parts = [(c, at) for whole, at in places for c in unicodedata.normalize("NFD", whole)]
    return [(c, at) for c, at in parts if unicodedata.category(c) != "Mn"]


def is_alone(character):
    code = ord(character)
    is_ascii_mark = 33 <= code < 127 and not character.isalnum()
    is_chinese = any(
        first <= code <= last
        for first, last in [
            (0x4E00, 0x9FFF),
            (0x3400, 0x4DBF),
            (0x20000, 0x2A6DF),
            (0xF900, 0xFAFF),
        ]
    )
    return is_ascii_mark or is_chinese or unicodedata.category(character)[0] == "P"


def words_of(places):
    word = []
    for character, at in places:
        if word and (character == " " or is_alone(character) or is_alone(word[0][0])):
            yield word
            word = []
        if character != " ":
            word.append((character, at))
    if word:
        yield word


def slow_encode(text, vocab, *, cased, strip):
    """Tokenize as BERT's paper has it, one character after the other.

    Returns (id, start, end, whether it begins a word) of each subword.
    """
    found = []
    for word in words_of(characters_of(text, cased=cased, strip=strip)):
        pieces, begin = [], 0
        string = "".join(character for character, _ in word)
        while begin < len(word) <= 100:
            prefix = "##" if begin else ""
            ends = range(len(word), begin, -1)
            end = next((end for end in ends if prefix + string[begin:end] in vocab), None)
            if end is None:
                break
            id = vocab[prefix + string[begin:end]]
            pieces.append((id, word[begin][1], word[end - 1][1] + 1, not begin))
            begin = end
        if begin < len(word):
            pieces = [(vocab[UNK], word[0][1], word[-1][1] + 1, True)]
        found += pieces
    return found
