"""Measure how many links set by authors a dictionary of surface forms finds again, and how fast.

    python -m benchmarks.augment --input build/enwiki/documents

Hides one link in ten (by hash), learns priors and link probabilities from the others, and matches
the forms of all policies in the texts. ``--learn other`` learns from half of the documents (by
hash) and hides links in the other half. A hidden link is found where a mention is added with the
same span; right if it has the same entity, too.

    forms      that are matched, after the gate
    added      mentions
    touching   of these, those that overlap a hidden link
    span       hidden links with a mention of the same span
    right      hidden links with a mention of the same span and entity
    precision  right of touching
    recall     right of hidden
    at least   right of added: a lower bound of the precision in all the text, since authors link
               only the first of several places
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pyarrow as pa

from benchmarks.inputs import existing
from corpora.datasets.columns import Mentions
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from corpora.hashing.sampling import ratio
from corpora.matching.form_dictionary import MEANINGS, Gate, choose_forms
from corpora.matching.form_table import SurfaceMatcher

HIDDEN_RATIO = 0.1
Link = tuple[int, int, str]


@dataclass(slots=True)
class Text:
    """A document, its links, the hidden ones, and whether it is used to learn and to score."""

    text: str
    links: list[Link]
    hidden: set[Link]
    is_learnt: bool
    is_scored: bool

    @property
    def visible(self) -> list[Link]:
        """The links that are not hidden."""
        return [link for link in self.links if link not in self.hidden]


def read(path: Path, learn: str) -> Iterator[Text]:
    """Read the documents, and hide some of their links."""
    columns = ("id", "text", "mentions")
    for shard in open_dataset(path, "documents").shards:
        for batch in read_batches(path / shard.name, SCHEMAS["documents"], columns=columns):
            mentions = Mentions.of(batch)
            entities, origins = (
                mentions.structs.field(name).to_pylist() for name in ("entity", "origin")
            )
            starts, ends = (mentions.numbers(name).tolist() for name in ("start", "end"))
            ids, texts = (batch.column(name).to_pylist() for name in ("id", "text"))
            for row, (id, text) in enumerate(zip(ids, texts, strict=True)):
                links = [
                    (starts[i], ends[i], entities[i])
                    for i in range(mentions.ends[row], mentions.ends[row + 1])
                    if origins[i] == "link" and entities[i] is not None
                ]
                is_scored = learn == "same" or ratio(id) < 0.5
                hidden = {k for k in links if is_scored and ratio(f"{id}:{k[0]}") < HIDDEN_RATIO}
                is_learnt = learn == "same" or not is_scored
                yield Text(text, links, hidden, is_learnt, is_scored)


def learn_meanings(path: Path, learn: str) -> pa.Table:
    """Count links by form and entity, and places where forms stand unlinked, case as written."""
    counts: Counter[tuple[str, str]] = Counter()
    for text in read(path, learn):
        if text.is_learnt:
            counts.update((text.text[s:e], entity) for s, e, entity in text.visible)
    linked: Counter[str] = Counter()
    for (form, _), count in counts.items():
        linked[form] += count
    forms = list(linked)
    matcher = SurfaceMatcher(forms, lang=None, ignore_case=False)
    places = Counter(linked)
    for text in read(path, learn):
        if text.is_learnt:
            occupied = [link[:2] for link in text.links]  # hidden ones, too: they count as nothing
            places.update(forms[n] for _, _, n in matcher.find(text.text, occupied))
    rows = [
        {
            "form": form,
            "entity": entity,
            "count": count,
            "prior": count / linked[form],
            "link_probability": linked[form] / places[form],
        }
        for (form, entity), count in counts.items()
    ]
    return pa.Table.from_pylist(rows, schema=MEANINGS)


@dataclass(slots=True)
class Score:
    """Counts of hidden links, and of mentions that were added."""

    hidden: int = 0
    added: int = 0
    touching: int = 0
    span: int = 0
    right: int = 0

    def add(self, found: list[Link], hidden: set[Link]) -> None:
        """Count a document."""
        spans = {link[:2] for link in hidden}
        ordered = sorted(spans)
        self.hidden += len(hidden)
        self.added += len(found)
        self.span += sum(link[:2] in spans for link in found)
        self.right += sum(link in hidden for link in found)
        place = 0
        for start, end, _ in found:
            while place < len(ordered) and ordered[place][1] <= start:
                place += 1
            self.touching += place < len(ordered) and ordered[place][0] < end

    def ratios(self) -> str:
        """Show precision, recall, and the lower bound of precision."""
        pairs = ((self.right, of) for of in (self.touching, self.hidden, self.added))
        return "".join(f"{part / of:10.1%}" if of else f"{'–':>10}" for part, of in pairs)


def score(path: Path, learn: str, chosen: pa.Table, *, ignore_case: bool) -> tuple[Score, str]:
    """Match the chosen forms, and say how fast and in how much memory."""
    before, begin = memory(), time.perf_counter()
    entities = chosen.column("entity").to_pylist()
    forms = chosen.column("form").to_pylist()
    matcher = SurfaceMatcher(forms, lang=None, ignore_case=ignore_case)
    built, size = time.perf_counter() - begin, memory() - before
    result, seconds, n_characters = Score(), 0.0, 0
    for text in read(path, learn):
        if text.is_scored:
            begin = time.perf_counter()
            matches = matcher.find(text.text, [link[:2] for link in text.visible])
            seconds += time.perf_counter() - begin
            n_characters += len(text.text)
            result.add([(s, e, entities[n]) for s, e, n in matches], text.hidden)
    speed = n_characters / 1e6 / max(seconds, 1e-9)
    return result, f"made in {built:.1f} s, {size:.0f} MB; {speed:.1f} M characters/s"


def memory() -> float:
    """Return the memory of this process, in MB."""
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1e3
    return 0.0


def main() -> None:
    """Learn, match by each policy, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--input", type=existing, required=True, help="documents of a Wikipedia")
    parser.add_argument("--learn", choices=("same", "other"), default="same")
    parser.add_argument("--min-link-prob", type=float, default=0.05)
    parser.add_argument("--min-prior", type=float, default=0.5)
    arguments = parser.parse_args()
    meanings = learn_meanings(arguments.input, arguments.learn)
    gate = Gate(min_link_probability=arguments.min_link_prob, min_prior=arguments.min_prior)
    print(f"{len(meanings)} pairs of form and entity; gate {gate}")
    names = [field.name for field in fields(Score)] + ["precision", "recall", "at least"]
    print(f"{'policy':<24}{'forms':>8}" + "".join(f"{name:>10}" for name in names))
    for ignore_case in (True, False):
        for policy in ("all", "gated"):
            chosen, _ = choose_forms(
                meanings,
                gate=gate if policy == "gated" else None,
                ignore_case=ignore_case,
                lang=None,
            )
            found, how = score(arguments.input, arguments.learn, chosen, ignore_case=ignore_case)
            name = policy + (", case ignored" if ignore_case else ", case matched")
            counts = "".join(f"{getattr(found, field.name):10}" for field in fields(Score))
            print(f"{name:<24}{len(chosen):8}{counts}{found.ratios()}   {how}")


if __name__ == "__main__":
    main()
