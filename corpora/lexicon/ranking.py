"""Ranking of scored strings to a lexicon: strings that are known or no words are flagged first."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.lexicon import MARKS
from corpora.lexicon.counting import Flags, Floats
from corpora.lexicon.known import function_words
from corpora.lexicon.phrases import Phrases
from corpora.lexicon.scores import LogRatios, ties_at_cuts, ties_of
from corpora.lexicon.streams import DOTS, SPOKEN_PARTS, TSHEG, Ints, Kind, is_tibetan, is_unspaced
from corpora.lexicon.tables import CHUNK, Strings, SymbolVocabulary
from corpora.matching.arrays import run_begins

FLAGS = ("known", "inner", "compound", "function", "low", "name", "phrase")
"""The flags of candidates; the bit of each flag is its index here.

- ``known``: a known word.
- ``inner``: a part of one longer string: always preceded, or always followed, by the same symbol;
  or with a dot at an end.
- ``compound``: can be cut in two so that each part is a function word, a known word, a name, a
  compound, or a candidate with a higher score; or so that one part is such, and the other a single
  symbol that is hardly tied to it (below ``LOOSE``). Two parts of several symbols that are firmly
  tied (``FIRM``) are no compound.
- ``function``: begins or ends with a function word.
- ``low``: ranked, but not in the best fraction.
- ``phrase``: a piece of sentences rather than one name or term, as ``phrases.py`` says; only
  candidates that no other flag but ``known`` and ``name`` excludes are judged.
- ``name``: on a list of names, and then with no other flag but ``low``; or a known word that is a
  name or a noun in the dictionary, and much more frequent in the texts than in general.
"""
DEMOTION = 0.5
"""The factor by which a score is multiplied, once for each flag that demotes."""
LOOSE = 0.4
"""The tie below which a single symbol and the part before or after it are a compound (张小凡 and
身). A tie is mutual information as a ratio of what it would be if the parts stood nowhere else."""
FIRM = 0.65
"""The tie from which on two parts are a name or a term (南海 and 观音, 动物 and 防疫法)."""
SUFFIXES = ("儿", "兒")
"""Function words that may also end names (田灵儿)."""
BOUND = 0.9
"""The least ratio of a string's occurrences that a suffix follows for it to be part of the name."""


def bits(flags: Collection[str]) -> int:
    """Return the bit mask of some flags."""
    return sum(1 << FLAGS.index(flag) for flag in flags)


@dataclass(frozen=True)
class Spelling:
    """The spelling of strings: their symbols, with spaces or tshegs where they are needed."""

    strings: Strings
    vocabulary: SymbolVocabulary

    @cached_property
    def _symbols(self) -> pa.Array:
        """All symbols by number (0 is empty), then the same after a space, then after a tsheg."""
        plain = pa.array(["", *self.vocabulary.symbols], pa.string())
        marks = (" ", TSHEG) if (self._needs > 1).any() else (" ",)
        after = (pc.binary_join_element_wise("", plain, mark) for mark in marks)
        return pa.concat_arrays([plain, *after])

    @cached_property
    def _needs(self) -> Ints:
        """(symbols, start and end) what each needs there: 0: nothing, 1: a space, 3: a tsheg."""
        symbols = ["", *self.vocabulary.symbols]
        edges = np.array([[symbol[:1] or "x", symbol[-1:] or "x"] for symbol in symbols])
        codes = edges.view(np.uint32).reshape(edges.shape)
        is_apart = ~is_unspaced(codes) & ~np.isin(edges, [*DOTS])
        return is_apart + 2 * is_tibetan(codes).astype(np.int64)

    @cached_property
    def _parts_of_numbers(self) -> list[npt.NDArray[np.bool_]]:
        """Tell which symbols are the first digit of a number that is a word, and which the rest."""
        symbols = ["", *self.vocabulary.symbols]
        return [np.array([bool(part.fullmatch(s)) for s in symbols]) for part in SPOKEN_PARTS]

    def spell(self, rows: Ints, *, length: int) -> pa.Array:
        """Return the forms of strings, all of the same length."""
        is_first, is_rest = self._parts_of_numbers
        columns = self.strings.symbols(rows, length=length)
        at_begin, at_end = self._needs.T
        pieces = [self._symbols.take(pa.array(columns[0]))]
        for before, symbols in pairwise(columns):
            mark = np.minimum(at_end[before] & at_begin[symbols], 2)  # nothing, space, tsheg
            mark[is_first[before] & is_rest[symbols]] = 0
            pieces.append(self._symbols.take(pa.array(symbols + mark * len(at_begin))))
        return pc.binary_join_element_wise(*pieces, "")


def mark(
    strings: Strings, vocabulary: SymbolVocabulary, *, kind: Kind, known: pa.Table, names: pa.Table
) -> dict[str, int]:
    """Fill in the flags that do not depend on ranks; return how many candidates have each.

    Known words and names are as in ``known.read_known``; names have no other flag.
    """
    forms = Spelling(strings, vocabulary)
    known_words, listed = (words.column("word").combine_chunks() for words in (known, names))
    least = np.append(np.asarray(known.column("ratio")), np.inf)
    is_function = _symbols_among(vocabulary, function_words(has_letters=kind == "words"))
    phrases = Phrases(known)
    suffixes = _symbols_among(vocabulary, pa.array(SUFFIXES))
    is_dot = _symbols_among(vocabulary, pa.array([*DOTS]))
    ratios = LogRatios.of_totals(strings, vocabulary.totals)
    counters = dict.fromkeys(MARKS, 0)
    for length, rows in strings.chunks():
        symbols = strings.symbols(rows, length=length)
        is_named = _end_in_their_suffix(strings, rows, symbols, suffixes=suffixes)
        spelled = forms.spell(rows, length=length)
        is_listed = np.asarray(pc.is_in(spelled, listed))
        places = np.asarray(pc.index_in(spelled, known_words).fill_null(-1))
        fractions = (
            strings["counts"][rows] / vocabulary.totals[strings.scopes(rows, length=length), 0]
        )
        is_marked = {
            "known": places >= 0,
            "inner": strings["inner"][rows] | is_dot[symbols[0]] | is_dot[symbols[-1]],
            "function": is_function[symbols[0]] | (is_function[symbols[-1]] & ~is_named),
            "compound": _are_compounds(
                ratios, rows, symbols, is_function=is_function, is_dot=is_dot
            ),
        }
        is_marked = {name: flag & ~is_listed for name, flag in is_marked.items()}
        is_marked["name"] = is_listed | (fractions >= least[places])
        is_judged = np.flatnonzero(
            ~is_listed
            & (is_marked["name"] | ~is_marked["known"])
            & ~(is_marked["inner"] | is_marked["function"] | is_marked["compound"])
        )
        judged = spelled.take(pa.array(is_judged)).to_pylist()
        ties = ties_of(ratios, rows[is_judged], length=length)
        is_marked["phrase"] = np.zeros(len(rows), np.bool_)
        is_marked["phrase"][is_judged] = phrases.among(judged, ties)
        flags = sum(flag.astype(np.uint8) * bits([name]) for name, flag in is_marked.items())
        strings["flags"][rows] = flags
        for name, flag in is_marked.items():
            counters[name] += int(np.count_nonzero(flag))
    return {f"candidates.{name}": count for name, count in counters.items()}


def _symbols_among(vocabulary: SymbolVocabulary, words: pa.Array) -> Flags:
    """Tell which symbols are among these words; the index is the number of the symbol."""
    places = pc.index_in(words, pa.array(vocabulary.symbols, pa.string()))
    found = np.zeros(len(vocabulary.symbols) + 1, np.bool_)
    found[np.asarray(places.drop_null()) + 1] = True
    return found


def _end_in_their_suffix(strings: Strings, rows: Ints, symbols: Ints, *, suffixes: Flags) -> Flags:
    """Tell which strings hardly occur without the suffix at their end, as 田灵 without 儿."""
    counts = strings["counts"]
    is_bound = counts[rows] >= BOUND * counts[strings.parents(rows)]
    return np.asarray(suffixes[symbols[-1]] & is_bound & (len(symbols) > 2))


def _are_compounds(
    ratios: LogRatios, rows: Ints, symbols: Ints, *, is_function: Flags, is_dot: Flags
) -> Flags:
    """Tell which strings are compounds; shorter strings must be marked already.

    No string is cut at a dot.
    """
    length, strings = len(symbols), ratios.strings
    ties = ties_at_cuts(ratios, rows, length=length)
    scores = np.asarray(strings["score"][rows])
    heads, tails = strings.heads(rows, length=length), strings.tails(rows, length=length)
    first, last = is_function[symbols[0]], is_function[symbols[-1]]
    found = np.zeros(len(rows), np.bool_)
    for cut in range(1, length):
        before = first if cut == 1 else _are_parts(strings, heads[cut], scores)
        after = last if cut == length - 1 else _are_parts(strings, tails[length - cut], scores)
        is_found = before & after
        if length > 2 and cut in {1, length - 1}:
            is_found |= (after if cut == 1 else before) & (ties[cut - 1] < LOOSE)
        elif 1 < cut < length - 1:
            is_found &= ties[cut - 1] < FIRM
        found |= is_found & ~(is_dot[symbols[cut - 1]] | is_dot[symbols[cut]])
    return found


def _are_parts(strings: Strings, rows: Ints, scores: Floats) -> Flags:
    """Tell which candidates may be parts of compounds that have these scores."""
    is_marked = (strings["flags"][rows] & bits(["known", "compound", "name"])) != 0
    return np.asarray(is_marked | (strings["score"][rows] > scores))


@dataclass(frozen=True, slots=True)
class RankedWords:
    """Candidates in the order of the lexicon."""

    rows: Ints
    ranks: Ints
    """The rank in the scope, from 1; 0 for candidates without a rank."""
    counters: Mapping[str, int]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``lexicon_ranks``, an intermediate dataset."""
        columns = SCHEMAS["lexicon_ranks"].columns
        table = pa.table([self.rows, self.ranks], schema=columns)
        yield from table.to_batches(max_chunksize=CHUNK)


def rank(
    strings: Strings, *, drop: Collection[str], demote: Collection[str], top: float
) -> RankedWords:
    """Rank the candidates of each scope by score; dropped candidates come last, unranked.

    A known word that is a name is not dropped as ``known``. Scores are multiplied with ``DEMOTION``
    for each flag of ``demote``. Ties go to the shorter candidate, then to the first by symbols.
    Ranked candidates beyond the best fraction ``top`` are marked as ``low``. Holds 50 bytes for
    each candidate.
    """
    first = strings.starts[1]
    scopes = np.concatenate([strings.scopes(rows, length=n) for n, rows in strings.chunks()])
    scores = np.array(strings["score"][first:])
    for flag in demote:
        scores[(strings["flags"][first:] & bits([flag])) != 0] *= DEMOTION
    strings["score"][first:] = scores
    flags = np.array(strings["flags"][first:])
    flags[(flags & bits(["name"])) != 0] &= ~np.uint8(bits(["known"]))
    is_dropped = (flags & bits(drop)) != 0
    order = np.argsort(-scores, kind="stable")
    groups = 2 * scopes + is_dropped
    order = order[np.argsort(groups[order], kind="stable")]
    groups = groups[order]
    begins = run_begins(groups)
    sizes = np.diff(begins, append=len(groups))
    ranks = np.arange(1, len(groups) + 1) - np.repeat(begins, sizes)
    n_words = np.ceil(np.round(top * sizes, 6))  # in floats, 0.55 * 100 > 55
    is_low = ranks > np.repeat(n_words, sizes)
    is_ranked = groups % 2 == 0
    low = first + order[is_low & is_ranked]
    strings["flags"][low] |= bits(["low"])
    n_ranked = int(np.count_nonzero(is_ranked))
    counters = {
        "candidates": len(order),
        "candidates.ranked": n_ranked,
        "words": n_ranked - len(low),
        "lexicons": len(np.unique(scopes)),
    }
    return RankedWords(first + order, np.where(is_ranked, ranks, 0), counters)


@dataclass(frozen=True, slots=True)
class RankedRows:
    """Some adjacent candidates in the order of the lexicon."""

    first: int
    """The id of the first candidate."""
    batch: pa.RecordBatch
    """The rows of ``lexicon_ranks``."""


def read_ranks(ranks: Path, *, part: tuple[int, int], n_rows: int) -> Iterator[RankedRows]:
    """Read a part of the candidates; ``part`` is its index, and the number of parts.

    ``n_rows`` is the number of candidates of all parts.
    """
    begin, end = (n_rows * number // part[1] for number in (part[0], part[0] + 1))
    at = 0
    for batch in read_batches(ranks, SCHEMAS["lexicon_ranks"]):
        first, last = max(begin, at), min(end, at + batch.num_rows)
        if first < last:
            yield RankedRows(first, batch.slice(first - at, last - first))
        at += batch.num_rows


def lexicon_rows(forms: Spelling, ranked: RankedRows, *, has_groups: bool) -> pa.RecordBatch:
    """Make the rows of the lexicon of some candidates."""
    strings = forms.strings
    rows, ranks = (column.to_numpy() for column in ranked.batch.columns)
    lengths = np.searchsorted(np.array(strings.starts), rows, side="right")
    spelled: list[pa.Array] = []
    scopes = np.empty(len(rows), np.int64)
    by_length = []
    for length in range(2, strings.longest + 1):
        places = np.flatnonzero(lengths == length)
        by_length.append(places)
        spelled.append(forms.spell(rows[places], length=length))
        scopes[places] = strings.scopes(rows[places], length=length)
    back = np.argsort(np.concatenate(by_length))
    groups = pa.array(forms.vocabulary.scopes, pa.string()).take(pa.array(scopes))
    columns = {
        "id": np.arange(ranked.first, ranked.first + len(rows)),
        "form": pa.concat_arrays(spelled).take(pa.array(back)),
        "group": groups if has_groups else pa.nulls(len(rows), pa.string()),
        "count": strings["counts"][rows],
        "mi": strings["mi"][rows],
        "left_entropy": strings["left"][rows],
        "right_entropy": strings["right"][rows],
        "score": strings["score"][rows],
        "rank": pa.array(ranks, mask=ranks == 0),
        "flags": _flag_lists(strings["flags"][rows]),
    }
    schema = SCHEMAS["lexicon"].columns
    return pa.table(columns).cast(schema).combine_chunks().to_batches()[0]


def _flag_lists(flags: npt.NDArray[np.uint8]) -> pa.ListArray:
    has = np.unpackbits(flags[:, None], axis=1, count=len(FLAGS), bitorder="little").astype(bool)
    ends = np.append(0, np.cumsum(has.sum(axis=1)))
    names = np.tile(np.arange(len(FLAGS)), (len(flags), 1))[has]
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.array(FLAGS).take(pa.array(names))
    )
