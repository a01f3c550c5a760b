"""A tagger as a component of spaCy: ``nlp.add_pipe("onoma", config={"model": "runs/sturm"})``.

``doc.spans["onoma"]`` has all names that are found. ``doc.ents`` must not overlap, so it has only
those that do not overlap existing entities or each other. See docs/spacy.md.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup

from corpora.document import Mention
from modeling.taggers.tagger import Tagger, document_of

KEY = "onoma"
"""The default key of the names in ``doc.spans``."""


class NamesComponent:
    """A component that finds names with a tagger, made by ``nlp.add_pipe("onoma", config={…})``."""

    def __init__(
        self, tagger: Tagger, *, lang: str | None, threshold: float, key: str, sets_ents: bool
    ) -> None:
        self.tagger, self.lang, self.threshold = tagger, lang, threshold
        self.key, self.sets_ents = key, sets_ents

    def __call__(self, doc: Doc) -> Doc:
        """Find the names in a document."""
        [done] = self.pipe([doc])
        return done

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 64) -> Iterator[Doc]:
        """Find the names in documents, ``batch_size`` at once; yield these in their order."""
        waiting = iter(stream)
        while docs := list(islice(waiting, batch_size)):
            texts = (document_of(doc.text, lang=self.lang) for doc in docs)
            found = self.tagger.annotate_all(texts, threshold=self.threshold)
            for doc, document in zip(docs, found, strict=True):
                add_mentions(doc, document.mentions, key=self.key, sets_ents=self.sets_ents)
                yield doc


def add_mentions(
    doc: Doc, mentions: Sequence[Mention], *, key: str = KEY, sets_ents: bool = True
) -> None:
    """Put all mentions into ``doc.spans[key]``, and those that fit into ``doc.ents``.

    A spaCy span consists of whole tokens: if a mention ends inside a token, its span is widened.
    The attributes of the span group hold the exact characters of the mentions (``offsets``) and
    their probabilities (``scores``), in the order of the spans. Of overlapping mentions, the outer
    one becomes an entity; a mention that overlaps an existing entity becomes none.
    """
    spans = [_span_of(doc, mention) for mention in mentions]
    about = {
        "offsets": [(mention.start, mention.end) for mention in mentions],
        "scores": [mention.score for mention in mentions],
    }
    doc.spans[key] = SpanGroup(doc, name=key, attrs=about, spans=spans)
    if sets_ents:
        taken = {token for span in doc.ents for token in range(span.start, span.end)}
        entities = list(doc.ents)
        for span in spans:
            tokens = set(range(span.start, span.end))
            if not tokens & taken:
                entities.append(span)
                taken |= tokens
        doc.ents = entities


def _span_of(doc: Doc, mention: Mention) -> Span:
    label, entity = mention.label or "", mention.entity or ""
    at = (mention.start, mention.end)
    span = doc.char_span(*at, label=label, kb_id=entity, alignment_mode="expand")
    if span is None:
        raise AssertionError(f"{at}: outside of the text")
    return span


@Language.factory(
    "onoma",
    default_config={"lang": None, "threshold": 0.0, "spans_key": KEY, "sets_ents": True},
    assigns=["doc.spans", "doc.ents"],
)
def make_component(  # noqa: PLR0917 - spaCy gives them by name
    nlp: Language,
    name: str,  # noqa: ARG001 - that of the component, which spaCy gives
    model: str,
    lang: str | None,
    threshold: float,
    spans_key: str,
    sets_ents: bool,  # noqa: FBT001 - spaCy's own
) -> NamesComponent:
    """Make the component; ``lang`` defaults to the language of the pipeline."""
    return NamesComponent(
        Tagger.load(Path(model)),
        lang=lang or nlp.lang,
        threshold=threshold,
        key=spans_key,
        sets_ents=sets_ents,
    )
