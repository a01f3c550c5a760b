"""Prediction for a dataset of documents: predicted mentions are added to those of each row."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import tee
from pathlib import Path

import torch

from corpora.document import Document, Mention, SpanIndex, index_of, without_crossing
from modeling.data.documents import change_dataset
from modeling.taggers.archive import files_in
from modeling.taggers.tagger import Tagger
from modeling.training.run_folder import versions


def annotate_dataset(
    source: Path, output: Path, *, tagger: Tagger, threshold: float = 0.0
) -> tuple[int, Mapping[str, int]]:
    """Tag every document; return how many there are, and the counters.

    Mentions of other origins stay; earlier predictions are replaced. A prediction that would cross
    a mention that stays is left out and counted. Documents whose text is not cut into sentences are
    counted; nothing is looked for in them. Raises ``CorpusError`` for what is no dataset of
    documents.
    """
    if tagger.folder is None:
        raise ValueError("Only a tagger that was loaded from a folder can be named in a plan.")
    labels = tagger.label_map
    computing = versions() | {"device": next(tagger.model.parameters()).device.type}
    computing["threads"] = str(torch.get_num_threads())

    def tag(documents: Iterator[Document], counters: Counter[str]) -> Iterator[Document]:
        documents, tagged = tee(documents)  # a shard may be large
        found = tagger.annotate_all(tagged, threshold=threshold)
        for document, annotated in zip(documents, found, strict=True):
            is_uncut = bool(document.text.strip()) and not document.sentences
            counters["documents.without_sentences"] += is_uncut
            yield _together(document, annotated, counters)

    return change_dataset(
        source,
        output,
        tag,
        pipeline="predict",
        parameters={
            "threshold": threshold,
            "decoder": tagger.decoder_used,
            "labels": None if labels is None else [labels.other, *labels.labels.items()],
            "computing": computing,
        },
        models=files_in(tagger.folder),
    )


def _together(document: Document, annotated: Document, counters: Counter[str]) -> Document:
    stay = [mention for mention in document.mentions if mention.origin != "prediction"]
    counters["mentions.before"] += len(stay)
    counters["predictions.replaced"] += len(document.mentions) - len(stay)
    index = index_of(stay)
    fitting = [mention for mention in annotated.mentions if not _crosses_any(mention, index)]
    counters["predictions.crossing"] += len(annotated.mentions) - len(fitting)
    counters["predictions"] += len(fitting)
    kept, dropped = without_crossing([*stay, *fitting])
    if dropped:
        raise AssertionError(f"{document.id}: mentions that stay cross each other")
    return replace(document, mentions=tuple(kept))


def _crosses_any(mention: Mention, others: SpanIndex[Mention]) -> bool:
    return any(
        mention.start < other.start < mention.end < other.end
        or other.start < mention.start < other.end < mention.end
        for other in others.touching(mention.start, mention.end)
    )
