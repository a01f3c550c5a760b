"""What a NER data set is worth: counts, leaks, contradictions, and what a list of names scores.

    python -m corpora.health --train train.conll --dev dev.conll --test test.conll --output card

Sources are opened two or three times and streamed. What grows is: 20 bytes for each sentence (four
times that while they are compared), and the distinct mention forms with a counter for each of
their labels. Measured: 100 MB of CoNLL with 770,000 sentences took 116 MB of memory and 26 s.
"""

import argparse
import hashlib
import itertools
import json
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.card import (
    AmbiguousForm,
    Conflict,
    Conflicts,
    GazetteerFloor,
    Health,
    Leak,
    Seen,
    SplitCounts,
    list_findings,
    to_json,
    to_markdown,
)
from corpora.document import Sentence
from corpora.errors import CorpusError, UsageError
from corpora.matching import LEVELS, Form, learn_names, score_names
from corpora.ner.conll import read_conll
from corpora.ner.json import read_json
from corpora.tagging import count_stray, from_iob2, join_touching

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SentenceSource = Callable[[], Iterator[Sentence]]
"""Opens the sentences of a split from the start, as often as it is called."""

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
    if not splits:
        raise UsageError("no splits. Give at least one source of sentences.")
    tallies = {split: _tally(source) for split, source in splits.items()}
    compared = [split for split in tallies if split != "train" and "train" in tallies]
    return Health(
        splits={split: tally.count() for split, tally in tallies.items()},
        leaks=tuple(
            _find_leak(tallies["train"], tallies[split], split=split, min_tokens=min_tokens)
            for split in compared
            for min_tokens in MIN_TOKENS
        ),
        seen=tuple(_find_seen(tallies["train"], tallies[split], split=split) for split in compared),
        gazetteer=_score_gazetteer(tallies["train"].forms, splits) if compared else None,
        conflicts=_find_conflicts(tallies, splits),
        spellings=_group_spellings({label for tally in tallies.values() for label in tally.labels}),
        ambiguous=_find_ambiguous(tallies),
    )


@dataclass(slots=True)
class _Tally:
    """What is kept of a split: a row for each sentence, and the mention forms."""

    tags: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    stray: int = 0
    touching: int = 0
    text_hashes: "array[int]" = field(default_factory=partial(array, "Q"))
    labelled_hashes: "array[int]" = field(default_factory=partial(array, "Q"))
    lengths: "array[int]" = field(default_factory=partial(array, "I"))
    forms: defaultdict[Form, Counter[str]] = field(
        default_factory=partial(defaultdict[Form, Counter[str]], Counter)
    )

    def add(self, sentence: Sentence) -> None:
        """Count a sentence."""
        text_hash, labelled_hash = _hash(sentence)
        self.text_hashes.append(text_hash)
        self.labelled_hashes.append(labelled_hash)
        self.lengths.append(len(sentence.tokens))
        self.tags.update(sentence.tags)
        n_tagged = len(sentence.tags) - sentence.tags.count("O")
        if n_tagged:
            self._add_spans(sentence, n_tagged)

    def _add_spans(self, sentence: Sentence, n_tagged: int) -> None:
        spans = from_iob2(sentence.tags)
        runs = join_touching(spans)
        self.touching += len(spans) - len(runs)
        for run in runs:
            self.runs[run.label] += 1
        for span in spans:
            self.forms[sentence.tokens[span.start : span.end]][span.label] += 1
            n_tagged -= span.end - span.start
        if n_tagged:  # some are in no span
            self.stray += count_stray(sentence.tags)

    @property
    def labels(self) -> set[str]:
        """The classes that occur."""
        return {tag[2:] for tag in self.tags if tag != "O"}

    def count(self) -> SplitCounts:
        """Freeze the numbers that go into the card."""
        return SplitCounts(
            sentences=len(self.lengths),
            tokens=sum(self.lengths),
            not_tagged=self.tags["O"],
            entities={label: self.tags[f"B-{label}"] for label in sorted(self.labels)},
            runs={label: self.runs[label] for label in sorted(self.labels)},
            touching=self.touching,
            stray=self.stray,
            one_token=self.lengths.count(1),
            longest=max(self.lengths, default=0),
        )


def _tally(source: SentenceSource) -> _Tally:
    tally = _Tally()
    for sentence in source():
        tally.add(sentence)
    return tally


def _hash(sentence: Sentence) -> tuple[int, int]:
    """Return 64 bits for the tokens, and 64 bits for tokens and tags."""
    digest = hashlib.blake2b("\0".join(sentence.tokens).encode(), digest_size=8)
    text_hash = digest.digest()
    digest.update(("\0\0" + "\0".join(sentence.tags)).encode())
    return int.from_bytes(text_hash, "big"), int.from_bytes(digest.digest(), "big")


def _find_leak(train: _Tally, other: _Tally, *, split: str, min_tokens: int) -> Leak:
    import numpy as np

    long = _to_numpy(other.lengths) >= min_tokens
    texts, labelled = _to_numpy(other.text_hashes)[long], _to_numpy(other.labelled_hashes)[long]
    return Leak(
        split=split,
        min_tokens=min_tokens,
        sentences=int(long.sum()),
        leaked=int(np.isin(texts, _to_numpy(train.text_hashes)).sum()),
        leaked_with_tags=int(np.isin(labelled, _to_numpy(train.labelled_hashes)).sum()),
    )


def _find_seen(train: _Tally, other: _Tally, *, split: str) -> Seen:
    mentions = seen = seen_with_label = 0
    for form, labels in other.forms.items():
        known = train.forms.get(form, Counter())
        mentions += labels.total()
        seen += labels.total() if known else 0
        seen_with_label += sum(n for label, n in labels.items() if label in known)
    return Seen(split=split, mentions=mentions, seen=seen, seen_with_label=seen_with_label)


def _score_gazetteer(
    forms: Mapping[Form, Counter[str]], splits: Mapping[str, SentenceSource]
) -> GazetteerFloor:
    """Learn from train, choose the threshold on dev (ties: the smaller), score on all but train."""
    names = learn_names(forms, splits["train"]())
    scores = {
        split: score_names(names, source()) for split, source in splits.items() if split != "train"
    }
    level = 0
    has_dev = "dev" in scores and scores["dev"][0].gold > 0
    if has_dev:
        level = max(range(LEVELS + 1), key=lambda level: (scores["dev"][level].f1, -level))
    return GazetteerFloor(
        forms=len(forms),
        threshold=level / LEVELS if has_dev else None,
        scores={split: by_level[level] for split, by_level in scores.items()},
        scores_of_all_names={split: by_level[0] for split, by_level in scores.items()},
    )


def _find_conflicts(
    tallies: Mapping[str, _Tally], splits: Mapping[str, SentenceSource]
) -> Conflicts:
    import numpy as np

    within = {split: _list_conflicting([tally]) for split, tally in tallies.items()}
    anywhere = _list_conflicting(list(tallies.values()))
    return Conflicts(
        sentences=len(anywhere),
        copies=sum(
            int(np.isin(_to_numpy(tally.text_hashes), anywhere).sum()) for tally in tallies.values()
        ),
        within={split: len(hashes) for split, hashes in within.items()},
        only_across=len(np.setdiff1d(anywhere, np.concatenate(list(within.values())))),
        examples=_show_conflicts({int(text) for text in anywhere}, tallies, splits)
        if len(anywhere)
        else (),
    )


def _list_conflicting(tallies: Sequence[_Tally]) -> "NDArray[np.uint64]":
    """Return the hashes of the sentences that have more than one sequence of tags, sorted."""
    import numpy as np

    texts = np.concatenate([_to_numpy(tally.text_hashes) for tally in tallies])
    labelled = np.concatenate([_to_numpy(tally.labelled_hashes) for tally in tallies])
    _, first = np.unique(labelled, return_index=True)
    conflicting, n_labellings = np.unique(texts[first], return_counts=True)
    return conflicting[n_labellings > 1]


def _show_conflicts(
    conflicting: set[int], tallies: Mapping[str, _Tally], splits: Mapping[str, SentenceSource]
) -> tuple[Conflict, ...]:
    """Show the first few in reading order; those of four tokens or more come first."""
    shown: dict[bool, list[Form]] = {True: [], False: []}  # by: is long
    found: defaultdict[Form, dict[tuple[str, ...], Counter[str]]] = defaultdict(dict)
    for split, source in splits.items():
        for sentence, text_hash in zip(source(), tallies[split].text_hashes, strict=True):
            tokens = sentence.tokens
            if text_hash not in conflicting:
                continue
            if tokens not in found:
                if len(shown[len(tokens) >= 4]) == N_EXAMPLES:
                    continue
                shown[len(tokens) >= 4].append(tokens)
            found[tokens].setdefault(sentence.tags, Counter())[split] += 1
    return tuple(
        _show_conflict(tokens, found[tokens])
        for tokens in (shown[True] + shown[False])[:N_EXAMPLES]
    )


def _show_conflict(
    tokens: Form, labellings: Mapping[tuple[str, ...], Mapping[str, int]]
) -> Conflict:
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


def _find_ambiguous(tallies: Mapping[str, _Tally]) -> tuple[AmbiguousForm, ...]:
    """List the forms with more than one label; first those with the most mentions off the rule."""
    total: defaultdict[Form, Counter[str]] = defaultdict(Counter)
    for tally in tallies.values():
        for form, labels in tally.forms.items():
            total[form] += labels
    ambiguous = [
        AmbiguousForm(form=" ".join(form), labels=dict(labels.most_common()))
        for form, labels in total.items()
        if len(labels) > 1
    ]
    return tuple(sorted(ambiguous, key=lambda form: (-form.minority, form.form)))


def _to_numpy(values: "array[int]") -> "NDArray[np.uint64]":
    """View the values without a copy."""
    import numpy as np

    return np.asarray(values)


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
    parser = argparse.ArgumentParser(
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


if __name__ == "__main__":
    sys.exit(main())
