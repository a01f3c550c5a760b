"""The card of a NER data set: its numbers, as JSON, and in plain English as Markdown."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from corpora.matching.sequences import Score

MAX_ROWS = 10
"""Forms that the Markdown lists; the JSON has all."""

NOTHING_TO_COMPARE = "Not measured: there is no train, or nothing beside it."


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCounts:
    """What there is in a split."""

    sentences: int
    tokens: int
    not_tagged: int
    """Tokens with the tag O."""
    entities: Mapping[str, int]
    """B- tags, which is strict IOB2 spans, by class."""
    runs: Mapping[str, int]
    """The same with touching spans of one class joined."""
    touching: int
    """B- tags directly after a token of the same class."""
    stray: int
    """I- tags that go on with nothing: illegal in IOB2."""
    one_token: int
    """Sentences of one token."""
    longest: int
    """Tokens of the longest sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Sentences of a split that stand in train, among those of at least ``min_tokens``."""

    split: str
    min_tokens: int
    sentences: int
    leaked: int
    """With the same tokens, whatever the tags."""
    leaked_with_tags: int
    """With the same tokens and the same tags."""

    @property
    def share(self) -> float:
        """Share of the sentences that are leaked."""
        return _divide(self.leaked, self.sentences)

    @property
    def share_with_tags(self) -> float:
        """Share of the sentences that are leaked with their tags."""
        return _divide(self.leaked_with_tags, self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Mentions of a split whose tokens are those of a mention of train."""

    split: str
    mentions: int
    seen: int
    seen_with_label: int
    """… of a mention of train with the same label."""

    @property
    def share(self) -> float:
        """Share of the mentions whose form was seen."""
        return _divide(self.seen, self.mentions)

    @property
    def share_with_label(self) -> float:
        """Share of the mentions whose form was seen with their label."""
        return _divide(self.seen_with_label, self.mentions)


@dataclass(frozen=True, slots=True, kw_only=True)
class GazetteerFloor:
    """What is scored by looking up the mentions of train, with no model at all."""

    forms: int
    """Distinct forms in train."""
    threshold: float | None
    """A form is used if it is a mention in at least this share of its occurrences in train."""
    scores: Mapping[str, Score]
    """By split, with this threshold; with all forms where dev has no mention to choose it on."""
    scores_of_all_names: Mapping[str, Score]
    """By split, with all forms (threshold 0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A sentence that is tagged in more than one way."""

    sentence: str
    differing: tuple[str, ...]
    """The tokens whose tags differ."""
    ways: Mapping[str, Mapping[str, int]]
    """Their tags in each of the ways, and how often in which split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Sentences with the same tokens but other tags."""

    sentences: int
    """Distinct ones."""
    copies: int
    """All copies of these."""
    within: Mapping[str, int]
    """Distinct ones that contradict themselves inside a split."""
    only_across: int
    """Distinct ones that each split tags in one way, but not the same."""
    examples: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AmbiguousForm:
    """A mention form that has more than one label, with their counts."""

    form: str
    labels: Mapping[str, int]

    @property
    def minority(self) -> int:
        """Mentions that do not have the most frequent label."""
        return sum(self.labels.values()) - max(self.labels.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """All that the card says."""

    splits: Mapping[str, SplitCounts]
    leaks: tuple[Leak, ...]
    seen: tuple[Seen, ...]
    gazetteer: GazetteerFloor | None
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


def to_json(value: Any) -> Any:
    """Return dataclasses as dicts of fields and properties, unrounded; tuples as lists."""
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        names += [name for name, each in vars(type(value)).items() if isinstance(each, property)]
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value


def list_findings(health: Health) -> list[str]:
    """Say what a user must know, the most important first."""
    leaks = [leak for leak in health.leaks if leak.min_tokens == 4 and leak.leaked]
    seen = [row for row in health.seen if row.seen]
    return [
        *_find_broken(health),
        *_find_floor(health),
        *_find_shares(leaks, "sentences of four tokens or more stand verbatim in train."),
        *_find_contradictions(health),
        *_find_shares(seen, "mentions are names that train has too."),
    ]


def _find_broken(health: Health) -> Iterator[str]:
    for split, row in health.splits.items():
        if not row.sentences:
            yield f"The split {split} is empty."
    stray = sum(row.stray for row in health.splits.values())
    if stray:
        yield f"Tags that are illegal in IOB2 (I- that goes on with nothing): {stray:,}."
    for group in health.spellings:
        yield f"The labels {', '.join(group)} seem to be one label, written in several ways."


def _find_floor(health: Health) -> Iterator[str]:
    scores = health.gazetteer.scores if health.gazetteer is not None else {}
    for split in [split for split in _order(scores) if scores[split].gold][:1]:
        yield (
            f"Looking up the names of train scores {scores[split].f1:.3f} F1 on {split}: a model "
            "that scores below has learned nothing about new names."
        )


def _find_shares(rows: Sequence[Any], what: str) -> Iterator[str]:
    shares = (f"{_percent(row.share)} of the {row.split}" for row in _by_split(rows))
    if rows:
        yield f"{' and '.join(shares)} {what}"


def _find_contradictions(health: Health) -> Iterator[str]:
    if health.conflicts.sentences:
        yield (
            f"Distinct sentences that are tagged in more than one way: "
            f"{health.conflicts.sentences:,} ({health.conflicts.copies:,} copies)."
        )
    touching = sum(row.touching for row in health.splits.values())
    if touching:
        yield (
            f"Entities directly after one of the same class: {touching:,}. Where one name was cut "
            "in two, this inflates the counts."
        )


def to_markdown(
    health: Health, *, title: str, notes: Mapping[str, str] | Sequence[str] = ()
) -> str:
    """Write the card; ``notes`` (source, licence, …) stand under the title."""
    sections = [
        [f"# {title}", *_show_notes(notes)],
        ["## In short", _bullets(list_findings(health) or ["Nothing stands out."])],
        ["## Counts", *_show_counts(health)],
        ["## Leaks", *_show_leaks(health.leaks)],
        ["## Names that train has seen", *_show_seen(health.seen)],
        ["## What a list of names scores", *_show_gazetteer(health.gazetteer)],
        ["## One sentence, several taggings", *_show_conflicts(health.conflicts)],
        ["## One name, several labels", *_show_ambiguous(health.ambiguous)],
        ["## Labels and tags", *_show_tags(health)],
    ]
    return "\n\n".join(block for section in sections for block in section) + "\n"


def _show_notes(notes: Mapping[str, str] | Sequence[str]) -> list[str]:
    if isinstance(notes, Mapping):
        return [_bullets(f"**{name}:** {note}" for name, note in notes.items())] if notes else []
    return list(notes)


def _show_counts(health: Health) -> list[str]:
    columns = _order(health.splits)
    rows = [health.splits[column] for column in columns]
    lines: list[list[object]] = []
    for name in health.classes:
        n_entities = [row.entities.get(name, 0) for row in rows]
        n_runs = sum(row.runs.get(name, 0) for row in rows)
        lines.append([_code(name), sum(n_entities), *n_entities, n_runs])
    for name in ("not_tagged", "sentences", "tokens"):
        numbers = [getattr(row, name) for row in rows]
        lines.append([name.replace("_", " "), sum(numbers), *numbers, ""])
    about = (
        "An entity is a `B-` tag, which is a span of strict IOB2; the last column counts touching "
        "spans of one class as one. *Not tagged* are tokens with the tag `O`."
    )
    return [about, _table(["", "all", *columns, "all, touching joined"], lines)]


def _show_leaks(leaks: Sequence[Leak]) -> list[str]:
    about = (
        "Sentences that stand token by token in train. A model can have learned them by heart: "
        "score the others separately. Short ones (headings, dates, greetings) recur by nature."
    )
    head = ["split", "sentences of", "number", "in train", "share", "with the same tags", "share"]
    rows = []
    for leak in _by_split(leaks):
        size = "any length" if leak.min_tokens <= 1 else f"{leak.min_tokens} tokens or more"
        row = [leak.split, size, leak.sentences, leak.leaked, _percent(leak.share)]
        rows.append([*row, leak.leaked_with_tags, _percent(leak.share_with_tags)])
    return [about, _table(head, rows)] if rows else [NOTHING_TO_COMPARE]


def _show_seen(rows: Sequence[Seen]) -> list[str]:
    about = (
        "Mentions whose tokens are exactly those of some mention in train. The higher the share, "
        "the less a score says about names that are new."
    )
    head = ["split", "mentions", "seen in train", "share", "with the same label", "share"]
    lines = []
    for row in _by_split(rows):
        shares = _percent(row.share), _percent(row.share_with_label)
        lines.append([row.split, row.mentions, row.seen, shares[0], row.seen_with_label, shares[1]])
    return [about, _table(head, lines)] if rows else [NOTHING_TO_COMPARE]


def _show_gazetteer(gazetteer: GazetteerFloor | None) -> list[str]:
    if gazetteer is None:
        return [NOTHING_TO_COMPARE]
    used = {"all names": gazetteer.scores_of_all_names}
    if gazetteer.threshold is not None:
        chosen = f"names in at least {gazetteer.threshold:.2f} of their occurrences (best on dev)"
        used[chosen] = gazetteer.scores
    about = (
        f"The {gazetteer.forms:,} mention forms of train, each with its most frequent label, are "
        "looked up from left to right, the longest first. A model that scores below this has "
        "learned nothing about new names. Scores are strict (both ends and the label), micro."
    )
    rows = [
        [name, split, *(f"{x:.4f}" for x in (score.precision, score.recall, score.f1))]
        for name, scores in used.items()
        for split, score in ((split, scores[split]) for split in _order(scores))
    ]
    return [about, _table(["used", "split", "precision", "recall", "F1"], rows)]


def _show_conflicts(conflicts: Conflicts) -> list[str]:
    if not conflicts.sentences:
        return ["None: sentences with the same tokens have the same tags."]
    within = (f"{conflicts.within[split]:,} inside {split}" for split in _order(conflicts.within))
    about = (
        f"Distinct sentences that are tagged in more than one way: {conflicts.sentences:,} "
        f"({conflicts.copies:,} copies). Of these, {', '.join(within)}, and "
        f"{conflicts.only_across:,} only between splits. From the sentence alone no model can "
        "tell which way was meant. For example:"
    )
    return [about, _bullets(_show_conflict(example) for example in conflicts.examples)]


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
    about = (
        f"Mention forms with more than one label: {len(forms):,}. Mentions that do not have the "
        f"most frequent label of their form: {sum(form.minority for form in forms):,}. Some are "
        "truly ambiguous, some are slips."
    )
    rows = (
        f"{_code(form.form)}: " + ", ".join(f"{label} {n}" for label, n in form.labels.items())
        for form in forms[:MAX_ROWS]
    )
    return [about, _bullets(rows)]


def _show_tags(health: Health) -> list[str]:
    rows = [(name, health.splits[name]) for name in _order(health.splits)]
    spellings = [", ".join(_code(label) for label in group) for group in health.spellings]
    about = (
        "*Illegal* is an `I-` tag that goes on with nothing: strict IOB2 reads no span there. "
        "*Touching* is a `B-` directly after a token of its class: two names side by side, or one "
        "that was cut in two and now counts twice."
    )
    head = ["split", "illegal", "touching", "sentences of one token", "tokens of the longest"]
    lines = [[name, row.stray, row.touching, row.one_token, row.longest] for name, row in rows]
    same = f"Labels that seem to be one: {'; '.join(spellings) or 'none'}."
    return [about, _table(head, lines), same]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", r"\|") for cell in line) + " |" for line in lines
    )


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _code(text: str, *, limit: int = 120) -> str:
    """Set text of the corpus so that Markdown leaves it alone."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return "`" + shown.replace("`", "'") + "`"


def _order(splits: Iterable[str]) -> list[str]:
    """Sort as in published tables: train, test, dev, then others as they come."""
    known = ("train", "test", "dev")
    names = list(splits)
    return [name for name in known if name in names] + [n for n in names if n not in known]


def _by_split(rows: Sequence[Any]) -> list[Any]:
    order = _order(dict.fromkeys(row.split for row in rows))
    return sorted(rows, key=lambda row: order.index(row.split))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _divide(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
