"""Items are found by place as they are by comparing each with all (small texts, by chance)."""

from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Document, Mention, Paragraph, without_crossing
from corpora.errors import UsageError
from corpora.tei.decisions import DecidedName, Decision
from modeling.workbench.names import DocumentNames, Item, id_of, open_item

TEXT = "abcdefghijklmnop"


class Compared(DocumentNames):
    """The same, but each question compares with all items."""

    def _at(self, span):
        place = (span.start, span.end)
        found = [item for item in self._items.values() if place in places_of(item)]
        return max(found, key=lambda item: item.status != "open", default=None)

    def items(self):
        decided = [item for item in self._items.values() if item.status != "open"]
        names = [item for item in decided if item.status == "accepted"]
        shown = [
            item
            for item in self._items.values()
            if item.status == "open"
            and not any(n.start < item.end and item.start < n.end for n in names)
        ]
        return sorted([*decided, *shown], key=lambda item: (item.start, -item.end, item.status))

    def check(self, item, *, instead_of):
        own = {item.id, instead_of.id if instead_of else ""}
        others = [o for o in self._items.values() if o.status == "accepted" and o.id not in own]
        for other in [*others, *(m for m in self.document.mentions)]:
            same = (other.start, other.end) == (item.start, item.end)
            if same or crosses(other, item):
                raise UsageError("in the way")

    def change(self, _, change):
        old, new = change.old, change.new
        if old is not None:
            self._items.pop(old.id, None)
        if new is None:
            return
        if new.status != "open":
            for other in [item for item in self._items.values() if item.status != "open"]:
                if places_of(new) & places_of(other):
                    del self._items[other.id]
                    if (again := open_item(other)) and other.id != new.id:
                        self._items[again.id] = again
        self._items[new.id] = new


def places_of(item):
    return {(one.start, one.end) for one in (item, item.suggestion) if one}


def crosses(one, other):
    first, second = sorted([one, other], key=lambda span: (span.start, -span.end))
    return first.start < second.start < first.end < second.end


@st.composite
def mentions(draw):
    start = draw(st.integers(0, len(TEXT) - 1))
    end = min(len(TEXT), start + draw(st.integers(1, 5)))
    return Mention(start, end, label=draw(st.sampled_from("ab")), origin="prediction")


VERDICTS = st.sampled_from(["accepted", "corrected", "rejected", "added", "withdrawn"])
DECISIONS = st.lists(st.tuples(VERDICTS, mentions(), st.none() | mentions()), max_size=10)


@given(st.lists(mentions(), max_size=3), st.lists(mentions(), max_size=6), DECISIONS, mentions())
def test_items_are_those_that_comparing_each_with_all_gives(there, suggested, made, asked):
    kept, _ = without_crossing(there)
    document = Document(
        id="a", group="g", source="a", text=TEXT, mentions=tuple(kept),
        paragraphs=(Paragraph(0, len(TEXT)),),
    )  # fmt: skip
    quick, slow = DocumentNames(document, suggested), Compared(document, suggested)

    for index, (verdict, mention, was) in enumerate(made):
        before = DecidedName.of(TEXT, was) if was else None
        of = {"reviewer": "r", "file": "a", "document": "a", "time": "t"}
        name = DecidedName.of(TEXT, mention)
        decision = Decision(verdict=verdict, name=name, was=before, **of)
        for names in (quick, slow):
            names.replay(index, decision)

        assert decided_on(quick) == decided_on(slow)
        assert all(quick.get(item.id) == item for item in decided_on(slow))
    place = {"id": id_of(asked), "start": asked.start, "end": asked.end}
    item = Item(**place, label="a", status="accepted")
    assert refuses(quick, item) == refuses(slow, item)


def decided_on(names):
    return [item for item in names.items() if not item.is_own]


def refuses(names, item):
    try:
        names.check(item, instead_of=None)
    except UsageError:
        return True
    return False
