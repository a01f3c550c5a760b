"""The vocabulary counted in the slow obvious way, and documents by chance to count."""

from collections import Counter, defaultdict

import numpy as np
from hypothesis import strategies as st

from corpora.document import Document, Mention
from corpora.entities.vocabulary import SPECIAL

ENTITIES = ("xwiki:A", "xwiki:B", "xwiki:Ab", "ywiki:A", "gnd:1", None)
ORIGINS = ("link", "link", "title_match")
TEXTS = st.text("ab A.\n\u00a0ö𝔸", min_size=1, max_size=30)


@st.composite
def many_documents(draw):
    documents = []
    for number in range(draw(st.integers(1, 5))):
        text = draw(TEXTS)
        mentions, at = [], 0
        while at < len(text) and draw(st.booleans()):
            start = draw(st.integers(at, len(text) - 1))
            at = draw(st.integers(start + 1, len(text)))
            for _ in range(draw(st.sampled_from([1, 1, 2]))):  # two in the same place, too
                entity, origin = draw(st.sampled_from(ENTITIES)), draw(st.sampled_from(ORIGINS))
                mentions.append(Mention(start, at, entity, origin=origin))
        documents.append(
            Document(
                id=f"xwiki:{number}",
                group="xwiki",
                source="",
                text=text,
                title=draw(st.sampled_from(("A", "B", None))),
                mentions=tuple(mentions),
            )
        )
    return documents


def find_naively(text, forms):
    """Find forms leftmost-longest, between word boundaries: (start, end) of each."""
    at = 0
    while at < len(text):
        ends = [at + len(form) for form in forms if text.startswith(form, at)]
        ends = [end for end in ends if end == len(text) or not text[end].isalnum()]
        if ends and (at == 0 or not text[at - 1].isalnum()):
            yield at, max(ends)
            at = max(ends)
        else:
            at += 1


def count_naively(documents, min_count, max_size):
    """Return the rows that the vocabulary must have."""
    counted = [
        (d, m, " ".join(d.text[m.start : m.end].split()))
        for d in documents
        for m in d.mentions
        if m.entity
    ]
    links = [(m.entity, form) for _, m, form in counted if m.origin == "link"]
    origins = Counter((m.entity, m.origin) for _, m, _ in counted)
    pages = defaultdict(list)
    for each in documents:
        if each.title:
            pages[f"{each.group}:{each.title}"].append(each.id)
    counts = Counter(entity for entity, _ in links)
    known = {e.partition(":")[0] for e, _ in origins if e in pages}
    kept = [e for e, n in counts.items() if n >= min_count]
    kept = [e for e in kept if e in pages or e.partition(":")[0] not in known]
    kept.sort(key=lambda e: (-counts[e], e.partition(":")[2], e))
    kept = kept[:max_size]
    forms = {form for entity, form in links if entity in kept and form}
    linked = Counter(form for _, form in links)
    places = Counter()
    for each in documents:
        spans = {(m.start, m.end) for m in each.mentions if m.entity and m.origin == "link"}
        text = each.text.replace("\u00a0", " ")
        found = set(find_naively(text, forms)) - spans
        places.update(text[start:end] for start, end in found)
    return [
        {
            "id": id,
            "entity": entity,
            "title": entity.partition(":")[2],
            "page_id": min(pages[entity], default=None),
            "count": counts[entity],
            "counts": [
                {"key": origin, "value": n}
                for (of, origin), n in sorted(origins.items())
                if of == entity
            ],
            "aliases": [
                {
                    "form": form,
                    "count": n,
                    "prior": np.float32(n / linked[form]),
                    "link_probability": np.float32(linked[form] / (linked[form] + places[form])),
                    "langs": None,
                }
                for (of, form), n in sorted(
                    Counter(links).items(), key=lambda item: (-item[1], item[0][1])
                )
                if of == entity and form
            ],
            "retired": False,
            **dict.fromkeys(("names", "ids", "type", "description")),
        }
        for id, entity in enumerate(kept, len(SPECIAL))
    ]
