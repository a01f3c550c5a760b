"""The card of a NER data set: its numbers, as JSON, and in plain English as Markdown."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeVar

from corpora.tagging import Score

MAX_ROWS = 10
"""The most forms that the Markdown lists; the JSON has all."""
_NOTHING = "Not measured: there is no train, or nothing beside it."


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCounts:
    """The counts of a split."""

    sentences: int
    tokens: int
    not_tagged: int
    """The number of tokens with the tag O."""
    entities: Mapping[str, int]
    """The number of B- tags by label; each begins a span of strict IOB2."""
    runs: Mapping[str, int]
    """The number of spans by label, with adjacent spans of one label joined."""
    adjacent: int
    """The number of B- tags directly after a span of the same label."""
    orphans: int
    """The number of orphan I- tags, which are illegal in IOB2."""
    one_token: int
    """The number of sentences of one token."""
    longest: int
    """The number of tokens in the longest sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Sentences of a split that also occur in train, among those of at least ``min_tokens``."""

    split: str
    min_tokens: int
    sentences: int
    leaked: int
    """The number of sentences with the same tokens as one of train, whatever the tags."""
    leaked_with_tags: int
    """The number of sentences with the same tokens and the same tags as one of train."""

    @property
    def ratio(self) -> float:
        """The ratio of the sentences that are leaked."""
        return _ratio(self.leaked, self.sentences)

    @property
    def ratio_with_tags(self) -> float:
        """The ratio of the sentences that are leaked with their tags."""
        return _ratio(self.leaked_with_tags, self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Mentions of a split whose tokens also occur as a mention in train."""

    split: str
    mentions: int
    seen: int
    seen_with_label: int
    """The number of mentions whose tokens also occur in train as a mention with the same label."""

    @property
    def ratio(self) -> float:
        """The ratio of the mentions whose form was seen."""
        return _ratio(self.seen, self.mentions)

    @property
    def ratio_with_label(self) -> float:
        """The ratio of the mentions whose form was seen with their label."""
        return _ratio(self.seen_with_label, self.mentions)


@dataclass(frozen=True, slots=True, kw_only=True)
class GazetteerScores:
    """The scores of the baseline that looks up the mentions of train, without a model."""

    forms: int
    """The number of distinct forms in train."""
    threshold: float | None
    """The least ratio of a form's occurrences in train that must be mentions; None if it could not
    be chosen on dev."""
    scores: Mapping[str, Score]
    """Scores by split, with this threshold; with all forms if dev has no mention to choose it
    on."""
    scores_of_all_names: Mapping[str, Score]
    """Scores by split, with all forms (threshold 0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A sentence that is tagged in more than one way."""

    sentence: str
    differing: tuple[str, ...]
    """The tokens whose tags differ."""
    ways: Mapping[str, Mapping[str, int]]
    """The tags of these tokens in each of the ways, with its number of sentences by split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Sentences with the same tokens but different tags."""

    sentences: int
    """The number of distinct sentences."""
    copies: int
    """The number of all copies of these sentences."""
    within: Mapping[str, int]
    """The number of distinct sentences with several ways inside a split, by split."""
    only_across: int
    """The number of distinct sentences that each split tags in one way, but not all in the same."""
    examples: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbiguousForm:
    """A mention form that has more than one label, with their counts."""

    form: str
    labels: Mapping[str, int]

    @property
    def minority(self) -> int:
        """The number of mentions that do not have the most frequent label."""
        return sum(self.labels.values()) - max(self.labels.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """All results that the card shows."""

    splits: Mapping[str, SplitCounts]
    leaks: tuple[Leak, ...]
    seen: tuple[Seen, ...]
    gazetteer: GazetteerScores | None
    conflicts: Conflicts
    spellings: tuple[tuple[str, ...], ...]
    """Labels that seem to be one label, written in several ways."""
    ambiguous: tuple[AmbiguousForm, ...]

    @property
    def classes(self) -> list[str]:
        """The labels, those with the most entities first."""
        total: Counter[str] = Counter()
        for counts in self.splits.values():
            total.update(counts.entities)
        return sorted(total, key=lambda name: (-total[name], name))


Row = TypeVar("Row", Leak, Seen)


def to_json(health: Health) -> dict[str, object]:
    """Return the card as dicts of fields and properties, unrounded; tuples as lists."""
    return {field.name: _to_json(getattr(health, field.name)) for field in fields(health)} | {
        "classes": health.classes
    }


def _to_json(value: object) -> object:
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        names += [name for name, each in vars(type(value)).items() if isinstance(each, property)]
        return {name: _to_json(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: _to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    return value


def list_findings(health: Health) -> Iterator[str]:
    """Yield what a user must know, the most important first."""
    rows = health.splits.values()
    yield from (f"The split {n} is empty." for n, row in health.splits.items() if not row.sentences)
    if n := sum(row.orphans for row in rows):
        yield f"Tags that are illegal in IOB2 (I- with nothing before it): {n:,}."
    for group in health.spellings:
        yield f"The labels {', '.join(group)} seem to be one label, written in several ways."
    scores = health.gazetteer.scores if health.gazetteer else {}
    for split in [split for split in _order(scores) if scores[split].gold][:1]:
        yield (
            f"Looking up the names of train scores {scores[split].f1:.3f} F1 on {split}: a model "
            "that scores below has learned nothing about new names."
        )
    if leaks := [leak for leak in health.leaks if leak.min_tokens == 4 and leak.leaked]:
        yield f"{_ratios(leaks)} sentences of four tokens or more stand verbatim in train."
    if n := health.conflicts.sentences:
        copies = health.conflicts.copies
        yield f"Distinct sentences that are tagged in more than one way: {n:,} ({copies:,} copies)."
    if n := sum(row.adjacent for row in rows):
        yield (
            f"Entities directly after one of the same class: {n:,}. Where one name was cut in two, "
            "this inflates the counts."
        )
    if seen := [row for row in health.seen if row.seen]:
        yield f"{_ratios(seen)} mentions are names that train has too."


def _ratios(rows: Sequence[Row]) -> str:
    return " and ".join(f"{_percent(row.ratio)} of the {row.split}" for row in _by_split(rows))


def to_markdown(
    health: Health,
    *,
    title: str,
    notes: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
    sections: Sequence[Sequence[str]] = (),
) -> str:
    """Write the card; ``notes`` (source, license, …) follow the title.

    ``warnings`` come first in the summary; ``sections`` come at the end.
    """
    notes_shown = [f"**{name}:** {note}" for name, note in (notes or {}).items()]
    findings = [f"**{text}**" for text in warnings] + [*list_findings(health)]
    blocks = [
        [f"# {title}", *([_bullets(notes_shown)] if notes_shown else [])],
        ["## In short", _bullets(findings or ["Nothing stands out."])],
        ["## Counts", *_show_counts(health)],
        ["## Leaks", *_show_leaks(health.leaks)],
        ["## Names that train has seen", *_show_seen(health.seen)],
        ["## What a gazetteer scores", *_show_gazetteer(health.gazetteer)],
        ["## One sentence, several taggings", *_show_conflicts(health.conflicts)],
        ["## One name, several labels", *_show_ambiguous(health.ambiguous)],
        ["## Labels and tags", *_show_tags(health)],
        *sections,
    ]
    return "\n\n".join(block for section in blocks for block in section) + "\n"


def _show_counts(health: Health) -> list[str]:
    columns = _order(health.splits)
    rows = [health.splits[column] for column in columns]
    lines: list[list[object]] = []
    for name in health.classes:
        counts = [row.entities.get(name, 0) for row in rows]
        n_runs = sum(row.runs.get(name, 0) for row in rows)
        lines.append([_code(name), sum(counts), *counts, n_runs])
    for name in ("not_tagged", "sentences", "tokens"):
        counts = [getattr(row, name) for row in rows]
        lines.append([name.replace("_", " "), sum(counts), *counts, ""])
    explanation = (
        "An entity is a `B-` tag, which is a span of strict IOB2; the last column counts adjacent "
        "spans of one class as one. *Not tagged* are tokens with the tag `O`."
    )
    return [explanation, table(["", "all", *columns, "all, adjacent joined"], lines)]


def _show_leaks(leaks: Sequence[Leak]) -> list[str]:
    explanation = (
        "Sentences that stand token by token in train. A model can have learned them by heart: "
        "score the others separately. Short ones (headings, dates, greetings) recur by nature."
    )
    head = ["split", "sentences of", "number", "in train", "ratio", "with the same tags", "ratio"]
    rows = [
        [
            leak.split,
            "any length" if leak.min_tokens <= 1 else f"{leak.min_tokens} tokens or more",
            leak.sentences,
            leak.leaked,
            _percent(leak.ratio),
            leak.leaked_with_tags,
            _percent(leak.ratio_with_tags),
        ]
        for leak in _by_split(leaks)
    ]
    return [explanation, table(head, rows)] if rows else [_NOTHING]


def _show_seen(seen: Sequence[Seen]) -> list[str]:
    explanation = (
        "Mentions whose tokens are exactly those of some mention in train. The higher the ratio, "
        "the less a score says about names that are new."
    )
    head = ["split", "mentions", "seen in train", "ratio", "with the same label", "ratio"]
    rows = [
        [
            row.split,
            row.mentions,
            row.seen,
            _percent(row.ratio),
            row.seen_with_label,
            _percent(row.ratio_with_label),
        ]
        for row in _by_split(seen)
    ]
    return [explanation, table(head, rows)] if rows else [_NOTHING]


def _show_gazetteer(gazetteer: GazetteerScores | None) -> list[str]:
    if gazetteer is None:
        return [_NOTHING]
    used = {"all names": gazetteer.scores_of_all_names}
    if gazetteer.threshold is not None:
        chosen = f"names in at least {gazetteer.threshold:.2f} of their occurrences (best on dev)"
        used[chosen] = gazetteer.scores
    explanation = (
        f"The {gazetteer.forms:,} mention forms of train, each with its most frequent label, are "
        "looked up from left to right, the longest first. A model that scores below this has "
        "learned nothing about new names. Scores are strict (both ends and the label), micro."
    )
    rows = [
        [name, split, *(f"{x:.4f}" for x in (s.precision, s.recall, s.f1))]
        for name, scores in used.items()
        for split, s in ((split, scores[split]) for split in _order(scores))
    ]
    return [explanation, table(["used", "split", "precision", "recall", "F1"], rows)]


def _show_conflicts(conflicts: Conflicts) -> list[str]:
    if not conflicts.sentences:
        return ["None: sentences with the same tokens have the same tags."]
    within = (f"{conflicts.within[split]:,} inside {split}" for split in _order(conflicts.within))
    explanation = (
        f"Distinct sentences that are tagged in more than one way: {conflicts.sentences:,} "
        f"({conflicts.copies:,} copies). Of these, {', '.join(within)}, and "
        f"{conflicts.only_across:,} only between splits. From the sentence alone no model can "
        "tell which way was meant. For example:"
    )
    return [explanation, _bullets(map(_show_conflict, conflicts.examples))]


def _show_conflict(conflict: Conflict) -> str:
    ways = (
        f"{_code(tags)} ({', '.join(f'{n} in {split}' for split, n in counts.items())})"
        for tags, counts in conflict.ways.items()
    )
    differing = _code(" ".join(conflict.differing))
    return f"{differing} is {' or '.join(ways)} in: {_code(conflict.sentence)}"


def _show_ambiguous(forms: Sequence[AmbiguousForm]) -> list[str]:
    if not forms:
        return ["None: every mention form has one label."]
    explanation = (
        f"Mention forms with more than one label: {len(forms):,}. Mentions that do not have the "
        f"most frequent label of their form: {sum(form.minority for form in forms):,}. Some are "
        "truly ambiguous, some are slips."
    )
    rows = (
        f"{_code(form.form)}: " + ", ".join(f"{label} {n}" for label, n in form.labels.items())
        for form in forms[:MAX_ROWS]
    )
    return [explanation, _bullets(rows)]


def _show_tags(health: Health) -> list[str]:
    explanation = (
        "*Illegal* is an orphan `I-` tag, with nothing of its class before it: strict IOB2 reads "
        "no span there. *Adjacent* is a `B-` directly after a token of its class: two names side "
        "by side, or one that was cut in two and now counts twice."
    )
    head = ["split", "illegal", "adjacent", "sentences of one token", "tokens of the longest"]
    rows = [(name, health.splits[name]) for name in _order(health.splits)]
    lines = [[name, r.orphans, r.adjacent, r.one_token, r.longest] for name, r in rows]
    spellings = [", ".join(map(_code, group)) for group in health.spellings]
    same = f"Labels that seem to be one: {'; '.join(spellings) or 'none'}."
    return [explanation, table(head, lines), same]


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, n_words: int = 1) -> str:
    """Write a table whose first ``n_words`` columns are left-aligned."""
    rule = ["---"] * n_words + ["---:"] * (len(head) - n_words)
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", r"\|") for cell in line) + " |"
        for line in (head, rule, *rows)
    )


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _code(text: str) -> str:
    """Quote text of the corpus so that Markdown shows it unchanged."""
    shown = text if len(text) <= 120 else f"{text[:119]}…"
    return "`" + shown.replace("`", "'") + "`"


def _order(splits: Iterable[str]) -> list[str]:
    """Sort splits as in published tables: train, test, dev, then others in their order."""
    known = ["train", "test", "dev"]
    return sorted(splits, key=lambda name: known.index(name) if name in known else len(known))


def _by_split(rows: Sequence[Row]) -> list[Row]:
    order = _order(dict.fromkeys(row.split for row in rows))
    return sorted(rows, key=lambda row: order.index(row.split))


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"
