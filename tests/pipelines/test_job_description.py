"""What a service such as Dataflow is handed: small, and without anything of this machine."""

import base64
import bz2
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from apache_beam import __file__ as beam

from corpora.runs.build import hold
from pipelines import tei_to_ner, text_to_documents, wikipedia_to_documents
from pipelines.engine import describe, jobs_of
from pipelines.on_beam import make_job
from tests.pipelines.test_tei_to_ner import LETTERS

ROOT = Path(__file__).resolve().parents[2]
WIKI = ROOT / "tests" / "data" / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
STORY = ROOT / "tests" / "data" / "text" / "wulingzhen.txt"
DATAFLOW = (
    *("--runner=DataflowRunner", "--project=onoma-project", "--region=europe-west4"),
    *("--temp_location=gs://onoma-bucket/t", "--staging_location=gs://onoma-bucket/s"),
)


def description(
    pipeline: Any, input: Path, output: Path, *, n_units: int, forgotten: Sequence[str] = ()
) -> bytes:
    """Describe the job of a run whose phases have ``n_units`` each; nothing is run."""
    options = pipeline.Options(input=(str(input),), output=output, beam=DATAFLOW)
    with hold(output, pipeline.plan(options)) as build:
        run = replace(describe(build, code="of a test"), forgotten=forgotten)
        jobs = [
            (graph, [replace(units[0], inputs=(), settings={})] * n_units)
            for graph, units in jobs_of(pipeline.phases(), build)
        ]
        job: bytes = make_job(jobs, options, run).to_runner_api().SerializeToString()
        return job


def opened(job: bytes) -> bytes:
    """Add the pickled functions of a job, as they are before Beam packs them."""
    packed = re.findall(rb"QlpoO[A-Za-z0-9+/]+=*", job)  # "BZh9" in base64
    assert packed
    return b"\0".join([job, *(bz2.decompress(base64.b64decode(each)) for each in packed)])


def paths_of_this_machine(job: bytes) -> Iterator[Path]:
    for found in set(re.findall(rb"(?:/[\w.+-]+){2,}", job)):
        if os.path.exists(found):  # noqa: PTH110 - Path.exists() refuses what is too long
            yield Path(found.decode())


def test_job_is_as_small_with_10000_units_as_with_one(tmp_path):
    one = description(wikipedia_to_documents, WIKI, tmp_path / "one", n_units=1)
    many = description(wikipedia_to_documents, WIKI, tmp_path / "many", n_units=10_000)

    assert abs(len(many) - len(one)) < 2_000
    assert len(many) < 500_000  # Dataflow takes 10 MB


def test_job_has_what_is_to_be_forgotten_once(tmp_path):
    hashes = [sha256(b"%d" % n).hexdigest() for n in range(10_000)]

    none = description(wikipedia_to_documents, WIKI, tmp_path / "none", n_units=1)
    all_of_them = description(
        wikipedia_to_documents, WIKI, tmp_path / "all", n_units=1, forgotten=hashes
    )

    assert len(all_of_them) - len(none) < len("".join(hashes))


@pytest.mark.parametrize(
    ("pipeline", "input"),
    [(tei_to_ner, LETTERS), (text_to_documents, STORY), (wikipedia_to_documents, WIKI)],
    ids=["tei_to_ner", "text_to_documents", "wikipedia_to_documents"],
)
def test_job_names_nothing_of_this_machine_but_the_folder_of_the_run(pipeline, input, tmp_path):
    job = opened(description(pipeline, input, tmp_path / "out", n_units=2))

    paths = [*paths_of_this_machine(job)]

    ours = [path for path in paths if path.is_relative_to(tmp_path / "out")]
    beams = [path for path in paths if path.is_relative_to(Path(beam).parent)]  # of tracebacks
    assert ours
    assert sorted(paths) == sorted(ours + beams)
