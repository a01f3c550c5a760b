"""The forms of a register, found in text: names with the entries that they mean.

The names that are tagged in the same documents tell which forms are worth matching. A form that may
mean several entries is only taken if nearly all of its tagged names mean one of them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from corpora.document import Document, Mention, reading_order
from corpora.errors import UsageError
from corpora.matching.composition import composed
from corpora.matching.form_table import SurfaceMatcher
from corpora.registers.entry import Entry, FormKind, kind_of_label
from corpora.registers.references import Referrer
from corpora.registers.register import Register
from corpora.tei.edition import Edition
from corpora.tei.style import template

MIN_TAGGED = 0.5
"""The least ratio of tagged places of a form of one word, if any of its places is tagged."""
MIN_PRIOR = 0.9
"""The least ratio of a form's mentions that must mean the entry."""
MIN_SEEN = 10
"""The least number of places of a form of one word, in documents with names of its kind, that show
that it is no name if none of them is tagged (*Herr*)."""
_TAKEN: tuple[FormKind, ...] = ("canonical", "variant", "full", "with_role", "surname")
_OF_ONE_WORD = {"person", "place", "organization"}
"""The kinds whose forms of one word are taken though none is tagged, unless they end with a period,
as titles and initials do (*Mrs.*); a work may be called *Autumn*."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    entry: str
    score: float | None
    """The probability that a place of the form is a name of the entry; None if no place is
    tagged."""


class RegisterDictionary:
    """A finder of a register's entries in the documents of an edition."""

    def __init__(
        self,
        register: Register,
        edition: Edition,
        referrer: Referrer,
        *,
        documents: Sequence[Document],
    ) -> None:
        """Learn forms from the register and from ``documents``, those of the edition.

        Raises ``UsageError`` for an edition without labels for entries.
        """
        self._register, self._referrer = register, referrer
        referrer.learn(documents, register)
        self.labels = labels_of(edition)
        if not self.labels:
            raise UsageError(
                f"edition {edition.name}: none of its labels is one of persons, places, "
                "organizations, works or events. Name them so in [labels]."
            )
        self.counters: Counter[str] = Counter()
        """The number of forms that are taken, and of those that are not, by reason."""
        forms = self._possible()
        lang = next((document.lang for document in documents if document.lang), None)
        self._meanings = dict(self._choose(forms, documents, lang))
        self._forms = list(self._meanings)
        self._matcher = SurfaceMatcher(self._forms, lang=lang, ignore_case=False)

    def _possible(self) -> dict[str, set[str]]:
        """Collect the forms that begin with no small letter, with all entries that each may mean.

        These are forms of the register, and initials with the surname (*F. Marc*), composed.
        """
        meant: defaultdict[str, set[str]] = defaultdict(set)
        taken: set[str] = set()
        for entry in self._register.entries.values():
            for form in entry.forms:
                text = composed(form.text)
                meant[text].add(entry.id)
                is_name = len(text) > 1 and not text[0].islower()
                if entry.kind == "person" and "," in text:
                    continue  # *Marc, Franz* occurs in lists, and where Franz follows Marc
                if is_name and form.kind in _TAKEN and entry.kind in self.labels:
                    taken.add(text)
            for text in initials_of(entry) if entry.kind in self.labels else ():
                meant[text].add(entry.id)
                taken.add(text)
        return {form: meant[form] for form in sorted(taken)}

    def _choose(
        self, forms: dict[str, set[str]], documents: Sequence[Document], lang: str | None
    ) -> Iterator[tuple[str, _Meaning]]:
        """Yield the forms that are worth matching, with their meaning."""
        names: defaultdict[str, Counter[str]] = defaultdict(Counter)
        untagged: Counter[str] = Counter()
        passed_over: Counter[str] = Counter()
        listed, register = list(forms), self._register.entries
        kinds = {form: {register[entry].kind for entry in forms[form]} for form in listed}
        matcher = SurfaceMatcher(listed, lang=lang, ignore_case=False)
        for document in documents:
            for mention in document.mentions:
                form = composed(document.text[mention.start : mention.end])
                if form in forms:
                    entry = self._register.find(mention.entity) if mention.entity else None
                    names[form][entry.id if entry else ""] += 1
            occupied = [(mention.start, mention.end) for mention in document.mentions]
            found = matcher.find(document.text, occupied, composes=True)
            counts = Counter(listed[index] for _, _, index in found)
            untagged += counts
            tagged = {kind_of_label(mention.label) for mention in document.mentions}
            passed_over.update({form: n for form, n in counts.items() if kinds[form] & tagged})
        for form, entries in forms.items():
            if not names[form] and " " not in form and passed_over[form] >= MIN_SEEN:
                self.counters["forms not taken: a word that is never tagged"] += 1
                continue
            meaning = self._meaning(form, entries, names=names[form], untagged=untagged[form])
            if isinstance(meaning, str):
                self.counters[f"forms not taken: {meaning}"] += 1
            else:
                self.counters["forms taken"] += 1
                yield form, meaning

    def _meaning(
        self, form: str, entries: set[str], *, names: Counter[str], untagged: int
    ) -> _Meaning | str:
        """Return the meaning of a form, or the reason why it is not used."""
        n_names = names.total()
        if not n_names:
            if len(entries) > 1:
                return "several entries"
            [entry] = entries
            is_doubtful = form.endswith(".") or (
                self._register.entries[entry].kind not in _OF_ONE_WORD
            )
            is_word = " " not in form and is_doubtful
            return "one word, tagged nowhere" if is_word else _Meaning(entry, None)
        [(entry, n)] = names.most_common(1)
        if not entry or n < MIN_PRIOR * n_names:
            return "several entries"
        if n_names < MIN_TAGGED * (n_names + untagged) and " " not in form:
            return "a word that is seldom tagged"
        return _Meaning(entry, n / (n_names + untagged))

    def annotate(self, document: Document) -> Document:
        """Return a document with the names that are found outside its mentions.

        The result has only these names, not the document's mentions.
        """
        occupied = [(mention.start, mention.end) for mention in document.mentions]
        found: list[Mention] = []
        for start, end, index in self._matcher.find(document.text, occupied, composes=True):
            meaning = self._meanings[self._forms[index]]
            entry = self._register.entries[meaning.entry]
            if label := self.labels.get(entry.kind):
                mention = Mention(start, end, None, label, "lexicon", meaning.score)
                found.append(self._referrer.refer(mention, entry))
        return replace(document, mentions=tuple(sorted(found, key=reading_order)))

    def annotate_all(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Annotate many documents."""
        return map(self.annotate, documents)

    def identify(self, document: Document) -> Document:
        """Fill in the entity of mentions that have none.

        It is the entry of the mention's form, if the form means one entry, of the mention's kind.
        """
        mentions = []
        for mention in document.mentions:
            meaning = self._meanings.get(composed(document.text[mention.start : mention.end]))
            if meaning is not None and mention.entity is None:
                entry = self._register.entries[meaning.entry]
                if kind_of_label(mention.label) == entry.kind:
                    mention = self._referrer.refer(mention, entry)  # noqa: PLW2901
            mentions.append(mention)
        return replace(document, mentions=tuple(mentions))


def initials_of(entry: Entry) -> Iterator[str]:
    """Yield the names of a person with initials instead of forenames (*F. Marc*), composed."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for form in entry.forms:
        by_kind[form.kind].append(composed(form.text))
    texts = set(map(composed, entry.texts()))
    for surname, forename in product(by_kind["surname"], by_kind["forename"]):
        if entry.kind == "person" and f"{forename} {surname}" in texts:
            letters = [f"{name[0]}." for name in forename.split() if name[0].isupper()]
            if letters:
                yield f"{' '.join(letters)} {surname}"


def labels_of(edition: Edition) -> dict[str, str]:
    """Return for each kind of entry the label that an edition can write; the first by name."""
    found: dict[str, str] = {}
    for label in edition.labels:
        kind = kind_of_label(label)
        if kind is None or kind in found:
            continue
        try:
            template(edition, label)
        except UsageError:
            continue
        found[kind] = label
    return found
