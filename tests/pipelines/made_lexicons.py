"""Documents of short texts, a story, and the lexicons made of them."""

import re
from pathlib import Path

from corpora.datasets.shards import open_dataset
from corpora.document import Document, Span
from pipelines import documents_to_lexicon as pipeline
from tests.pipelines.graph_runs import run_here

STORY = Path(__file__).parents[1] / "data" / "text" / "wulingzhen.txt"


def documents(texts, lang="zh"):
    """Make documents of (group, text)."""
    made = []
    for number, (group, text) in enumerate(texts):
        lines = re.finditer(r"[^\n]*\S[^\n]*", text)
        sentences = tuple(Span(*line.span()) for line in lines)
        scalars = {"id": f"{group}#{number}", "group": group, "source": "test", "lang": lang}
        made.append(Document(text=text, sentences=sentences, **scalars))
    return made


def build(output, *inputs, reverse=False, **options):
    """Run it in this process; the units of each stage in the other order if ``reverse``."""
    return run_here(pipeline, output, inputs, reverse=reverse, **{"known": "none", **options})


def rows_of(output):
    return list(open_dataset(output).rows())
