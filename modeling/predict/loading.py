"""Loading of a tagger by the options of a command line."""

from pathlib import Path

from corpora.ner.labels import label_map_path, load_label_map
from modeling.taggers.tagger import Tagger
from modeling.tagging_config import check_decoder
from modeling.training.world import best_device


def load_tagger(path: Path, *, labels: str | None = None, decoder: str | None = None) -> Tagger:
    """Open a tagger; ``labels`` is a map of labels, ``decoder`` replaces the tagger's own."""
    tagger = Tagger.load(path, device=best_device())
    if decoder:
        check_decoder(tagger.model.config.head.kind, decoder)
        tagger.decoder = decoder
    if labels:
        tagger.label_map = load_label_map(label_map_path(labels))
    return tagger
