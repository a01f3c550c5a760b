"""The health of a NER data set: counts, leaks, contradictions, and the scores of a gazetteer.

Sources are opened two or three times and streamed, some thousand sentences at once. The module
``corpora.ner.tally`` names the data whose size grows with the set.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from corpora.errors import UsageError
from corpora.hashing.tokens import Hashes
from corpora.ner.card import AmbiguousForm, Conflict, Conflicts, GazetteerScores, Health, Leak, Seen
from corpora.ner.columns import SentenceColumns
from corpora.ner.gazetteer import LEVELS, learn, score
from corpora.ner.tally import FormLabels, Labels, Tally, find_conflicting, find_leaks, is_in, tally

ColumnSource = Callable[[], Iterator[SentenceColumns]]
"""A function that opens the sentences of a split from the start, each time it is called: columns of
some thousand sentences each."""
Texts = tuple[str, ...]

ALIASES = {
    "loc": "place", "location": "place", "locations": "place", "places": "place",
    "per": "person", "pers": "person", "persons": "person",
    "org": "organization", "organisation": "organization", "organizations": "organization",
    "organisations": "organization", "dates": "date", "misc": "miscellaneous",
}  # fmt: skip
"""Other spellings of labels (casefolded, without punctuation), and the label that each stands
for."""

MIN_TOKENS = (1, 4, 6)
"""Leaks are counted over the sentences with at least so many tokens."""

N_EXAMPLES = 5


def examine_columns(splits: Mapping[str, ColumnSource]) -> Health:
    """Examine sentences in columns; raises ``UsageError`` if there are none."""
    if not splits:
        raise UsageError("no splits. Give at least one source of sentences.")
    labels = Labels()
    tallies = {split: tally(source(), labels) for split, source in splits.items()}
    compared = [split for split in tallies if split != "train" and "train" in tallies]
    return Health(
        splits={split: tally.count() for split, tally in tallies.items()},
        leaks=tuple(
            Leak(split=split, min_tokens=least, sentences=n, leaked=leaked, leaked_with_tags=tagged)
            for split in compared
            for least, (n, leaked, tagged) in zip(
                MIN_TOKENS,
                find_leaks(tallies["train"], tallies[split], min_tokens=MIN_TOKENS),
                strict=True,
            )
        ),
        seen=tuple(_find_seen(tallies["train"], tallies[split], split) for split in compared),
        gazetteer=_score_gazetteer(tallies["train"], splits, labels) if compared else None,
        conflicts=_find_conflicts(tallies, splits),
        spellings=_group_spellings({label for tally in tallies.values() for label in tally.labels}),
        ambiguous=_find_ambiguous(tallies.values(), labels),
    )


def _find_seen(train: Tally, other: Tally, split: str) -> Seen:
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
    train: Tally, splits: Mapping[str, ColumnSource], labels: Labels
) -> GazetteerScores:
    """Learn from train, and score on all other splits.

    The threshold is chosen on dev; of equal scores, the smaller threshold wins.
    """
    names = learn(train.forms.table(), splits["train"](), labels)
    scores = {
        split: score(names, source(), labels)
        for split, source in splits.items()
        if split != "train"
    }
    level, threshold = 0, None
    if "dev" in scores and scores["dev"][0].gold:
        level = max(range(LEVELS + 1), key=lambda level: (scores["dev"][level].f1, -level))
        threshold = level / LEVELS
    return GazetteerScores(
        forms=len(names),
        threshold=threshold,
        scores={split: by_level[level] for split, by_level in scores.items()},
        scores_of_all_names={split: by_level[0] for split, by_level in scores.items()},
    )


def _find_conflicts(tallies: Mapping[str, Tally], splits: Mapping[str, ColumnSource]) -> Conflicts:
    within = {split: find_conflicting([tally]) for split, tally in tallies.items()}
    anywhere = find_conflicting([*tallies.values()])
    batches = [texts for tally in tallies.values() for texts in tally.texts]
    return Conflicts(
        sentences=len(anywhere),
        copies=sum(int(np.count_nonzero(is_in(texts, anywhere))) for texts in batches),
        within={split: len(hashes) for split, hashes in within.items()},
        only_across=len(np.setdiff1d(anywhere, np.concatenate(list(within.values())))),
        examples=_show_conflicts(anywhere, tallies, splits) if len(anywhere) else (),
    )


def _show_conflicts(
    conflicting: Hashes, tallies: Mapping[str, Tally], splits: Mapping[str, ColumnSource]
) -> tuple[Conflict, ...]:
    """Select the first conflicts in reading order; sentences of four tokens or more come first."""
    long: dict[Texts, dict[Texts, Counter[str]]] = {}
    short: dict[Texts, dict[Texts, Counter[str]]] = {}
    for split, source in splits.items():
        for sentences, hashes in zip(source(), tallies[split].texts, strict=True):
            for index in is_in(hashes, conflicting).nonzero()[0].tolist():
                tokens = sentences.tokens_of(index)
                shown = long if len(tokens) >= 4 else short
                if tokens in shown or len(shown) < N_EXAMPLES:
                    ways = shown.setdefault(tokens, {})
                    ways.setdefault(sentences.tags_of(index), Counter())[split] += 1
    return tuple(_show_conflict(*each) for each in [*long.items(), *short.items()][:N_EXAMPLES])


def _show_conflict(tokens: Texts, labellings: Mapping[Texts, Mapping[str, int]]) -> Conflict:
    columns = zip(*labellings, strict=True)
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
    """Group labels that differ only in case, punctuation and known aliases."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for label in sorted(labels):
        plain = "".join(filter(str.isalnum, label.casefold())) or label
        groups[ALIASES.get(plain, plain)].append(label)
    return tuple(tuple(group) for _, group in sorted(groups.items()) if len(group) > 1)


def _find_ambiguous(tallies: Iterable[Tally], labels: Labels) -> tuple[AmbiguousForm, ...]:
    """List the forms with more than one label; those with most mentions of minor labels first."""
    table = FormLabels.merge([tally.forms.table() for tally in tallies])
    ambiguous = []
    for rows in table.ambiguous():
        names = (labels.names[label] for label in table.labels[rows])
        counts = zip(names, table.counts[rows].tolist(), strict=True)
        by_count = dict(sorted(counts, key=lambda item: (-item[1], item[0])))
        ambiguous.append(AmbiguousForm(form=table.texts[rows.start].as_py(), labels=by_count))
    return tuple(sorted(ambiguous, key=lambda form: (-form.minority, form.form)))
