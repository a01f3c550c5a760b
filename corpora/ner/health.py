"""What a NER data set is worth: counts, leaks, contradictions, and what a list of names scores.

    python -m corpora.health --train train.conll --dev dev.conll --test test.conll --output card

Sources are opened two or three times and streamed, some thousand sentences at once. What grows is:
17 bytes for each sentence, and about 100 for each distinct mention form and label.
"""

import argparse
import itertools
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.document import Sentence
from corpora.errors import CorpusError, UsageError
from corpora.matching.sequences import LEVELS
from corpora.ner.card import (
    AmbiguousForm,
    Conflict,
    Conflicts,
    GazetteerFloor,
    Health,
    Leak,
    Seen,
    list_findings,
    to_json,
    to_markdown,
)
from corpora.ner.conll import read_conll
from corpora.ner.json import read_json
from corpora.system.arguments import ArgumentParser

if TYPE_CHECKING:
    from corpora.hashing.tokens import Hashes
    from corpora.ner.columns import SentenceColumns
    from corpora.ner.tally import Labels, Tally

SentenceSource = Callable[[], Iterator[Sentence]]
"""Opens the sentences of a split from the start, as often as it is called."""

ColumnSource = Callable[[], "Iterator[SentenceColumns]"]
"""The same, as columns of some thousand sentences each."""

Tags = tuple[str, ...]

ALIASES = {
    "loc": "place", "location": "place", "locations": "place", "places": "place",
    "per": "person", "pers": "person", "persons": "person",
    "org": "organization", "organisation": "organization", "organizations": "organization",
    "organisations": "organization", "dates": "date", "misc": "miscellaneous",
}  # fmt: skip
"""Other spellings of a label, casefolded and without punctuation."""

MIN_TOKENS = (1, 4, 6)
"""Leaks are counted over all sentences, those of at least four, of more than five tokens."""

N_EXAMPLES = 5


def examine(splits: Mapping[str, SentenceSource]) -> Health:
    """Read the splits and say how healthy they are; what is compared is compared with ``train``."""
    from corpora.ner.columns import to_columns

    def open_columns(source: SentenceSource) -> "Iterator[SentenceColumns]":
        return to_columns(source())

    return examine_columns(
        {split: partial(open_columns, source) for split, source in splits.items()}
    )


def examine_columns(splits: Mapping[str, ColumnSource]) -> Health:
    """The same for sentences that are columns already."""
    from corpora.ner.tally import Labels, tally

    if not splits:
        raise UsageError("no splits. Give at least one source of sentences.")
    labels = Labels()
    tallies = {split: tally(source(), labels) for split, source in splits.items()}
    compared = [split for split in tallies if split != "train" and "train" in tallies]
    return Health(
        splits={split: tally.count() for split, tally in tallies.items()},
        leaks=tuple(leak for split in compared for leak in _find_leaks(tallies, split)),
        seen=tuple(_find_seen(tallies["train"], tallies[split], split=split) for split in compared),
        gazetteer=_score_gazetteer(tallies["train"], splits, labels) if compared else None,
        conflicts=_find_conflicts(tallies, splits),
        spellings=_group_spellings({label for tally in tallies.values() for label in tally.labels}),
        ambiguous=_find_ambiguous(tallies.values(), labels),
    )


def _find_leaks(tallies: "Mapping[str, Tally]", split: str) -> Iterator[Leak]:
    from corpora.ner.sentence_hashes import find_leaks

    train, other = tallies["train"].sentences, tallies[split].sentences
    found = find_leaks(train, other, min_tokens=MIN_TOKENS)
    for least, (n, leaked, with_tags) in zip(MIN_TOKENS, found, strict=True):
        yield Leak(
            split=split,
            min_tokens=least,
            sentences=n,
            leaked=leaked,
            leaked_with_tags=with_tags,
        )


def _find_seen(train: "Tally", other: "Tally", *, split: str) -> Seen:
    import numpy as np

    from corpora.ner.sentence_hashes import is_in

    known, table = train.forms.table(), other.forms.table()
    seen = is_in(table.hashes, known.hashes)
    pairs, known_pairs = (np.rec.fromarrays([rows.hashes, rows.labels]) for rows in (table, known))
    with_label = np.isin(pairs[seen], known_pairs)
    return Seen(
        split=split,
        mentions=int(table.counts.sum()),
        seen=int(table.counts[seen].sum()),
        seen_with_label=int(table.counts[seen][with_label].sum()),
    )


def _score_gazetteer(
    train: "Tally", splits: Mapping[str, ColumnSource], labels: "Labels"
) -> GazetteerFloor:
    """Learn from train, choose the threshold on dev (ties: the smaller), score on all but train."""
    from corpora.ner.gazetteer import learn, score

    names = learn(train.forms.table(), splits["train"](), labels)
    scores = {
        split: score(names, source(), labels)
        for split, source in splits.items()
        if split != "train"
    }
    level = 0
    has_dev = "dev" in scores and scores["dev"][0].gold > 0
    if has_dev:
        level = max(range(LEVELS + 1), key=lambda level: (scores["dev"][level].f1, -level))
    return GazetteerFloor(
        forms=len(names),
        threshold=level / LEVELS if has_dev else None,
        scores={split: by_level[level] for split, by_level in scores.items()},
        scores_of_all_names={split: by_level[0] for split, by_level in scores.items()},
    )


def _find_conflicts(
    tallies: "Mapping[str, Tally]", splits: Mapping[str, ColumnSource]
) -> Conflicts:
    import numpy as np

    from corpora.ner.sentence_hashes import count_in, find_conflicting

    within = {split: find_conflicting([tally.sentences]) for split, tally in tallies.items()}
    anywhere = find_conflicting([tally.sentences for tally in tallies.values()])
    return Conflicts(
        sentences=len(anywhere),
        copies=sum(count_in(tally.sentences, anywhere) for tally in tallies.values()),
        within={split: len(hashes) for split, hashes in within.items()},
        only_across=len(np.setdiff1d(anywhere, np.concatenate(list(within.values())))),
        examples=_show_conflicts(anywhere, tallies, splits) if len(anywhere) else (),
    )


def _show_conflicts(
    conflicting: "Hashes", tallies: "Mapping[str, Tally]", splits: Mapping[str, ColumnSource]
) -> tuple[Conflict, ...]:
    """Show the first few in reading order; those of four tokens or more come first."""
    from corpora.ner.sentence_hashes import is_in

    shown: dict[bool, list[int]] = {True: [], False: []}  # hashes, by: is long
    found: dict[int, dict[Tags, Counter[str]]] = {}
    texts: dict[int, Tags] = {}
    for split, source in splits.items():
        for sentences, hashes in zip(source(), tallies[split].sentences.batches(), strict=True):
            for number in is_in(hashes, conflicting).nonzero()[0].tolist():
                text_hash = int(hashes[number])
                if text_hash not in found:
                    length = int(sentences.begins[number + 1] - sentences.begins[number])
                    if len(shown[length >= 4]) == N_EXAMPLES:
                        continue
                    texts[text_hash] = sentences.tokens_of(number)
                    shown[length >= 4].append(text_hash)
                    found[text_hash] = {}
                tags = sentences.tags_of(number)
                found[text_hash].setdefault(tags, Counter())[split] += 1
    return tuple(
        _show_conflict(texts[text_hash], found[text_hash])
        for text_hash in (shown[True] + shown[False])[:N_EXAMPLES]
    )


def _show_conflict(tokens: Tags, labellings: Mapping[Tags, Mapping[str, int]]) -> Conflict:
    columns = list(zip(*labellings, strict=True))
    differing = [position for position, column in enumerate(columns) if len(set(column)) > 1]
    return Conflict(
        sentence=" ".join(tokens),
        differing=tuple(tokens[position] for position in differing),
        ways={
            " ".join(tags[position] for position in differing): dict(counts)
            for tags, counts in labellings.items()
        },
    )


def _group_spellings(labels: set[str]) -> tuple[tuple[str, ...], ...]:
    """Group labels that are one label but for case, punctuation and known aliases."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted(labels):
        plain = "".join(filter(str.isalnum, label.casefold())) or label
        groups[ALIASES.get(plain, plain)].append(label)
    return tuple(tuple(group) for _, group in sorted(groups.items()) if len(group) > 1)


def _find_ambiguous(tallies: Iterable["Tally"], labels: "Labels") -> tuple[AmbiguousForm, ...]:
    """List the forms with more than one label; first those with the most mentions off the rule."""
    from corpora.ner.forms import merge_splits, several_labels

    table = merge_splits([tally.forms.table() for tally in tallies])
    ambiguous = []
    for rows in several_labels(table):
        order = sorted(range(rows.start, rows.stop), key=lambda row: int(table.first[row]))
        counts = Counter({labels.names[table.labels[row]]: int(table.counts[row]) for row in order})
        form = table.texts[rows.start].as_py()
        ambiguous.append(AmbiguousForm(form=form, labels=dict(counts.most_common())))
    return tuple(sorted(ambiguous, key=lambda form: (-form.minority, form.form)))


READERS = {".conll": read_conll, ".txt": read_conll, ".json": read_json}


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine the files of a data set, write ``card.md`` and ``card.json``; return the status."""
    options = _parse(arguments)
    paths = {split: getattr(options, split) for split in ("train", "dev", "test")}
    try:
        health = examine(
            {
                split: _open_source(path, split=split, limit=options.limit)
                for split, path in paths.items()
                if path is not None
            }
        )
        _write_card(health, options.output, title=options.title or options.train.stem)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except CorpusError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    read = ", ".join(f"{row.sentences:,} of {split}" for split, row in health.splits.items())
    sys.stdout.write(f"Read sentences: {read}. Rejected: none.\n")
    sys.stdout.writelines(f"- {finding}\n" for finding in list_findings(health)[:3])
    sys.stdout.write(f"Wrote {options.output / 'card.json'} and {options.output / 'card.md'}.\n")
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="python -m corpora.health",
        description="Examine a NER data set: counts, leaks, contradictions, a gazetteer's score.",
        epilog="example: python -m corpora.health --train train.conll --dev dev.conll "
        "--test test.conll --output card",
        allow_abbrev=False,
    )
    for split in ("train", "dev", "test"):
        parser.add_argument(
            f"--{split}",
            type=Path,
            required=split == "train",
            metavar="FILE",
            help="two-column CoNLL (.conll, .txt) or a JSON array (.json)",
        )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="for the card")
    parser.add_argument("--title", help="heading of the card; otherwise the name of --train")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sentences each")
    return parser.parse_args(arguments)


def _open_source(path: Path, *, split: str, limit: int | None) -> SentenceSource:
    """Return a source that reads the format that the suffix says; check what can be checked."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(
            f"{path}: unknown suffix {path.suffix!r}. Rename it to one of {', '.join(READERS)}."
        )
    if not path.is_file():
        raise UsageError(f"{path}: no such file. Check --{split}.")
    if limit is not None and limit < 1:
        raise UsageError(f"--limit {limit}: reads nothing. Give 1 or more.")
    return lambda: itertools.islice(reader(path, split=split), limit)


def _write_card(health: Health, folder: Path, *, title: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(to_json(health), ensure_ascii=False, indent=2)
        (folder / "card.json").write_text(text + "\n", encoding="utf-8")
        (folder / "card.md").write_text(to_markdown(health, title=title), encoding="utf-8")
    except OSError as error:
        raise CorpusError(
            f"{folder}: cannot write the card ({error.strerror}). Choose another --output."
        ) from error
