"""Documents of short texts, a story, and the lexicons made of them."""

import re
from pathlib import Path

from corpora.build import hold
from corpora.document import Document, Span
from corpora.shards import open_dataset
from pipelines import documents_to_lexicon as pipeline
from pipelines.run import _tasks
from pipelines.work import do_merge, do_unit

NAME = "pipelines.documents_to_lexicon"
STORY = Path(__file__).parents[1] / "data" / "text" / "wulingzhen.txt"


def documents(texts, lang="zh"):
    """Documents of (group, text)."""
    made = []
    for number, (group, text) in enumerate(texts):
        lines = re.finditer(r"[^\n]*\S[^\n]*", text)
        sentences = tuple(Span(*line.span()) for line in lines)
        scalars = {"id": f"{group}#{number}", "group": group, "source": "test", "lang": lang}
        made.append(Document(text=text, sentences=sentences, **scalars))
    return made


def build(output, *inputs, reverse=False, **options):
    """Run it in this process; the units of each stage in the other order if ``reverse``."""
    options = {"known": "none", **options}
    plan = pipeline.plan(pipeline.Options(input=tuple(map(str, inputs)), output=output, **options))
    with hold(output, plan) as work:
        work.prepare()
        for tasks, merged in _tasks(NAME, work.pending(), build=work):
            for task in reversed(tasks) if reverse else tasks:
                do_unit(task)
            if merged:
                do_merge(merged)
        work.publish(pipeline.write_side_files)
    return output


def rows_of(output):
    return list(open_dataset(output).rows())
