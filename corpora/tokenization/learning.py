"""Learning of a WordPiece vocabulary from counts of words, the same in every run on every machine.

The library ``tokenizers`` learns by merging the most frequent pair of subwords (BPE). By itself, it
breaks ties by the order of a hash table, in which it also adds subwords like ``##e``. Here, the
characters are chosen before, by count and then by code point, and all single characters are given
to the library in a fixed order. Its choices then depend on counts and the order of subwords alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpora.datasets.schemas import SCHEMAS
from corpora.errors import CorpusError
from corpora.tokenization.subwords import cut_all
from corpora.tokenization.tokenizers import MAX_WORD, PREFIX, SPECIALS, UNK, Tokenizer, wordpiece
from corpora.tokenization.word_counts import N_CODES, CharacterCounts, Ints, WordTable

N_LISTED = 50
"""The most unknown characters that the report lists."""
COVERAGE = 0.99999
"""The fraction of all characters that subwords must cover; the rarest become unknown."""
MAX_WORDS = 2_000_000
"""The most distinct words that are learned from; the library takes 1.5 kB for each."""
_ALWAYS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LINE = 1 << 16  # characters of words that are passed to the library at once
_REPEATS = 1 << 12


@dataclass(frozen=True, kw_only=True)
class VocabularyLimits:
    """The limits of a vocabulary that is learned."""

    size: int
    """The most subwords, special ones included; 0: by the words of the text (``size_for``)."""
    cased: bool
    characters: bool
    """Whether every subword is one character."""
    min_count: int
    """The least count of a word that is learned from."""


def learn(table: WordTable, counts: CharacterCounts, rules: VocabularyLimits) -> list[str]:
    """Learn the subwords, in the order of their ids; fewer than ``size`` if there are no more.

    Raises ``CorpusError`` where there are no words.
    """
    if not counts.first.any():
        if any(words.words for words in table.batches()):
            raise CorpusError(
                f"All words of the documents are longer than {MAX_WORD} characters, and so unknown "
                "to BERT. Choose an --input with spaces between words."
            )
        raise CorpusError("The documents have no words. Choose an --input with text.")
    if rules.characters:
        return [*SPECIALS, *_choose_subwords(counts, rules)]
    characters = _choose_characters(counts, rules)
    always = _always(rules)
    continuing = [c for c in characters if counts.rest[ord(c)] or c in always]
    return _merge_pairs(table, sorted(characters), sorted(continuing), rules=rules)


_SMALLEST, _LARGEST, _WORDS_OF_SUBWORD = 1_000, 30_000, 4


def size_for(n_distinct: int) -> int:
    """Choose the size of a vocabulary: a quarter of the distinct words, from 1,000 to 30,000.

    With more, most words of a small text would be subwords that are seen once or twice.
    """
    return min(max(n_distinct // _WORDS_OF_SUBWORD, _SMALLEST), _LARGEST)


def limited(rules: VocabularyLimits, table: WordTable) -> VocabularyLimits:
    """Choose the size if it is 0, and a ``min_count`` that leaves at most ``MAX_WORDS`` words.

    Words that are seen equally often are all learned from, or none of them; the most frequent words
    are always learned from.
    """
    n_words: Counter[int] = Counter()
    for words in table.batches():
        counts, n_of_each = np.unique(words.counts, return_counts=True)
        n_words.update(dict(zip(counts.tolist(), n_of_each.tolist(), strict=True)))
    least, n_left = max(n_words, default=1), 0
    for count in sorted(n_words, reverse=True):
        n_left += n_words[count]
        if n_left > MAX_WORDS:
            break
        least = count
    else:
        least = 1
    size = rules.size or (_LARGEST if rules.characters else size_for(n_words.total()))
    return replace(rules, size=size, min_count=max(rules.min_count, least))


def _always(rules: VocabularyLimits) -> set[str]:
    """Return the letters and digits that any text may have: they always have subwords."""
    return {*_ALWAYS, *(_ALWAYS.upper() if rules.cased else "")}


def _ranked(counts: Ints) -> list[str]:
    """List the characters that occur, the most frequent first; then by code point."""
    codes = np.flatnonzero(counts)
    return [chr(code) for code in codes[np.argsort(-counts[codes], kind="stable")].tolist()]


def _choose_characters(counts: CharacterCounts, rules: VocabularyLimits) -> list[str]:
    """Choose the fewest characters that cover enough, and fill half of the vocabulary at most."""
    always = _always(rules)
    wanted = COVERAGE * int(counts.all.sum())
    room = (rules.size - len(SPECIALS)) // 2
    chosen, n_covered = sorted(always), sum(int(counts.all[ord(c)]) for c in always)
    n_subwords = 2 * len(chosen)
    for character in _ranked(counts.all):
        if character in always:
            continue
        n_subwords += 1 + bool(counts.rest[ord(character)])
        if n_covered >= wanted or n_subwords > room:
            break
        chosen.append(character)
        n_covered += int(counts.all[ord(character)])
    return chosen


def _choose_subwords(counts: CharacterCounts, rules: VocabularyLimits) -> list[str]:
    """Choose the most frequent characters as subwords.

    A character that begins a word and one that continues a word are different subwords.
    """
    found = {
        prefix + chr(code): int(of[code])
        for prefix, of in _places(counts)
        for code in np.flatnonzero(of).tolist()
    }
    always = {prefix + c for c in _always(rules) for prefix in ("", PREFIX)}
    others = sorted(found.keys() - always, key=lambda subword: (-found[subword], subword))
    kept = [*always, *others[: rules.size - len(SPECIALS) - len(always)]]
    return sorted(kept, key=lambda subword: (-found.get(subword, 0), subword))


def _merge_pairs(
    table: WordTable,
    characters: Sequence[str],
    continuing: Sequence[str],
    *,
    rules: VocabularyLimits,
) -> list[str]:
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers, trainers

    backend = Backend(models.WordPiece(unk_token=UNK))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=rules.size,
        special_tokens=[*SPECIALS, *(PREFIX + character for character in continuing)],
        initial_alphabet=list(characters),
        limit_alphabet=len(characters),
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    is_kept = np.zeros(N_CODES, np.bool_)
    is_kept[[ord(character) for character in characters]] = True
    backend.train_from_iterator(_lines(table, is_kept, min_count=rules.min_count), trainer)
    vocab: dict[str, int] = backend.get_vocab()
    return sorted(vocab, key=vocab.__getitem__)


def _lines(table: WordTable, is_kept: NDArray[np.bool_], *, min_count: int) -> Iterator[str]:
    """Yield each word as often as it was counted, for the library takes no counts.

    Words that will be unknown as a whole are left out: nothing can be learned from them.
    """
    line: list[str] = []
    n_characters = 0
    for words in table.batches():
        learned = words.consist_of(is_kept) & (words.lengths <= MAX_WORD)
        learned &= words.counts >= min_count
        for number in np.flatnonzero(learned).tolist():
            word, count = f"{words.words[number]} ", int(words.counts[number])
            while count:
                n = min(count, _REPEATS)
                line.append(word * n)
                n_characters += len(word) * n
                count -= n
                if n_characters >= _LINE:
                    yield "".join(line)
                    line, n_characters = [], 0
    yield "".join(line)


def measure(
    table: WordTable,
    characters: CharacterCounts,
    subwords: Sequence[str],
    *,
    rules: VocabularyLimits,
) -> tuple[Ints, dict[str, int]]:
    """Cut all counted words; return how often each subword occurs, by id, and counters."""
    tokenizer = _words_alone(subwords)
    counts = np.zeros(len(subwords), np.int64)
    total: Counter[str] = Counter()
    for words in table.batches():
        [cut] = cut_all(tokenizer.backend, [" ".join(words.words)], ~tokenizer.continuations)
        n_subwords = np.diff(cut.word_starts, append=len(cut))
        is_unknown = cut.ids[cut.word_starts] == tokenizer.special.unk
        repeated = np.repeat(words.counts, n_subwords)
        counts += np.bincount(cut.ids, repeated, minlength=len(subwords)).astype(np.int64)
        total["words"] += int(words.counts.sum())
        total["words.distinct"] += len(words.words)
        total["words.rare"] += int((words.counts < rules.min_count).sum())
        total["words.too_long"] += int(words.counts[words.lengths > MAX_WORD].sum())
        total["words.subwords"] += int(repeated.sum())
        total["words.unknown"] += int(words.counts[is_unknown].sum())
        total["words.whole"] += int(words.counts[(n_subwords == 1) & ~is_unknown].sum())
    limits = {"subwords": len(subwords), "words.min_count": rules.min_count}
    return counts, {**limits, **total, **_unknown(characters, subwords)}


def _words_alone(subwords: Sequence[str]) -> Tokenizer:
    """Make a tokenizer of words that are normalised and cut already, with spaces between."""
    from tokenizers import normalizers, pre_tokenizers

    backend = wordpiece(subwords, cased=True)
    backend.normalizer = normalizers.Sequence([])
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return Tokenizer(backend, name="words")


def _unknown(characters: CharacterCounts, subwords: Sequence[str]) -> dict[str, int]:
    """Count the characters without a subword at their place in words; list the most frequent."""
    unknown = {prefix: of.copy() for prefix, of in _places(characters)}
    for subword in subwords:
        prefix = PREFIX if subword.startswith(PREFIX) else ""
        if len(subword) == len(prefix) + 1:
            unknown[prefix][ord(subword[-1])] = 0
    counts = sum(unknown.values(), np.zeros(N_CODES, np.int64))
    listed = {f"unknown/U+{ord(c):04X}": int(counts[ord(c)]) for c in _ranked(counts)[:N_LISTED]}
    return {
        "characters": int(characters.all.sum()),
        "characters.distinct": int(np.count_nonzero(characters.all)),
        "characters.unknown": int(counts.sum()),
        "characters.unknown_distinct": int(np.count_nonzero(counts)),
        **listed,
    }


def _places(characters: CharacterCounts) -> list[tuple[str, Ints]]:
    return [("", characters.first), (PREFIX, characters.rest)]


def subword_rows(subwords: Sequence[str], counts: Ints) -> pa.RecordBatch:
    """Make the rows of a ``subwords`` dataset, one for each id."""
    columns = [np.arange(len(subwords), dtype=np.int32), pa.array(subwords, pa.string()), counts]
    return pa.RecordBatch.from_arrays(
        [pa.array(column) for column in columns], schema=SCHEMAS["subwords"].columns
    )
