"""Loading of a tagger by the options of a command line."""

from pathlib import Path

from corpora.ner.labels import label_map_path, load_label_map
from modeling.taggers.tagger import Tagger
from modeling.training.world import best_device


def load_tagger(path: Path, *, labels: str | None = None) -> Tagger:
    """Open a tagger; ``labels`` is a map of its labels."""
    tagger = Tagger.load(path, device=best_device())
    if labels:
        tagger.label_map = load_label_map(label_map_path(labels))
    return tagger
