"""Transforms: the next one takes what one gives, whatever stands between them; units stay whole."""

import gc
import runpy
import shutil
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import MethodType

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions, TypeOptions
from apache_beam.pvalue import PCollection
from apache_beam.transforms import core, userstate

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, open_dataset
from corpora.document import Document
from corpora.errors import CorpusError, UsageError
from corpora.runs.build import hold
from corpora.runs.plan import Unit, describe_file
from corpora.store.inspection import main as store
from pipelines import documents_to_entity_vocab, tei_to_ner, wikipedia_to_documents
from pipelines.engine import describe
from pipelines.failures import UnitFailedError
from pipelines.in_memory import InMemoryOptions, run_graph
from pipelines.outcomes import Filtered
from pipelines.transforms import elements, plain, shards
from pipelines.transforms.elements import EndOfUnit, InUnit
from pipelines.transforms.files import SourceFile
from pipelines.transforms.plain import WriteDocuments
from tests.datasets import document_to_row
from tests.killing import files_of
from tests.pipelines.test_news_to_documents import SAMPLES
from tests.pipelines.test_news_to_documents import run as run_pages
from tests.pipelines.test_record_errors import WORDS, run_ner, run_vocabulary
from tests.pipelines.test_tei_to_ner import LETTERS, OPTIONS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def n_put(monkeypatch):
    """Put a step that changes nothing behind each step of every graph; counts them."""
    apply, state = PCollection.__or__, Counter()

    def apply_and_put(pcoll, transform):
        state["depth"] += 1
        made = apply(pcoll, transform)
        state["depth"] -= 1
        if state["depth"] or not isinstance(made, PCollection):
            return made
        state["put"] += 1
        return apply(made, f"Nothing {state['put']}" >> beam.Map(lambda element: element))

    monkeypatch.setattr(PCollection, "__or__", apply_and_put)
    return lambda: state["put"]


def run_letters(_folder, output, _words):
    return tei_to_ner.main(["--input", str(LETTERS), *OPTIONS, "--output", str(output)])


def run_divided(folder, output, words):
    return run_ner(folder, output, words, "--split", "sentence")


def run_news(folder, output, _words):
    """Read pages, some of which an earlier dataset has; all runs of a test have the same one."""
    earlier = folder.parents[1] / "earlier"
    assert earlier.exists() or run_pages(earlier, html=SAMPLES / "museum.html") == 0
    return run_pages(output, "--previous", earlier, html=SAMPLES / "*.html")


GRAPHS = {
    "tei_to_ner": (run_letters, 4),
    "benchmark_to_ner": (run_divided, 3),
    "news_to_documents": (run_news, 2 * 14),
    "documents_to_entity_vocab": (run_vocabulary, 16),
}
"""How those with several steps, and with merges, are run, and the number of steps at least."""


@pytest.mark.parametrize("name", GRAPHS)
def test_steps_that_change_nothing_may_stand_anywhere(name, tmp_path, n_put, monkeypatch):
    run, n_steps = GRAPHS[name]
    assert run(tmp_path / "with" / "in", tmp_path / "with" / "out", WORDS) == 0
    assert n_put() >= n_steps
    monkeypatch.undo()

    assert run(tmp_path / "without" / "in", tmp_path / "without" / "out", WORDS) == 0

    assert files_of(tmp_path / "with" / "out") == files_of(tmp_path / "without" / "out")


def test_unit_that_a_runner_has_torn_fails(tmp_path):
    def torn(units, _, run):
        """End the bundle in the middle of each unit, as a shuffle does."""
        return (
            units
            | "Read" >> beam.FlatMap(lambda u: [InUnit(u, Filtered("b")), InUnit(u, EndOfUnit())])
            | "Tear" >> beam.Filter(lambda element: not isinstance(element.value, EndOfUnit))
            | run.write_shards()
        )

    options = tei_to_ner.Options(input=(str(LETTERS),), output=tmp_path)
    with hold(tmp_path, tei_to_ner.plan(options)) as build:
        run = describe(build, code="")

        with pytest.raises(UnitFailedError, match="ended a bundle in the middle"):
            run_graph(torn, build.pending(), run=run)

        assert build.pending()
        assert not list(tmp_path.rglob(".tmp-*"))


@pytest.mark.parametrize("function", [elements._ReadUnits, shards._WriteShards])
def test_beam_examines_the_methods_of_a_step_only_once(function, monkeypatch):
    one, other = function(None), function(None)
    methods = [name for name in dir(one) if isinstance(getattr(one, name), MethodType)]
    expected = {name: core.get_function_args_defaults(getattr(one, name)) for name in methods}
    assert userstate.get_dofn_specs(one) == (set(), set())

    monkeypatch.setattr(core, "get_function_args_defaults", None)

    assert userstate.get_dofn_specs(other) == (set(), set())
    assert {name: core.get_function_arguments(other, name) for name in methods} == expected


def test_a_step_may_have_a_name_that_only_its_objects_have(monkeypatch):
    class OfObjects:
        def __get__(self, one, kind):
            raise AttributeError  # as zope.interface, which crawls load, for ``__provides__``

    monkeypatch.setattr(beam.DoFn, "__provides__", OfObjects(), raising=False)

    class Step(elements.StepFunction):
        def process(self, element):
            yield element

    assert Step._inspect_process() == (["element"], [])


PAGES = (ROOT / "docs" / "pipelines.md").read_text("utf-8")
WIKI = ROOT / "tests" / "data" / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"


def test_pipeline_of_a_stranger_runs_as_the_docs_have_it(tmp_path, monkeypatch):
    shutil.copy(WIKI, tmp_path)
    monkeypatch.chdir(tmp_path)
    for module, options in (
        (wikipedia_to_documents, ["--input", WIKI.name, "--output", "build/wiki"]),
        (documents_to_entity_vocab, ["--input", "build/wiki/documents", "--output", "build/vocab"]),
    ):
        assert module.main(options) == 0
    program = PAGES.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "mine.py").write_text(program, "utf-8")

    monkeypatch.setattr(sys, "argv", ["mine.py"])
    runpy.run_path("mine.py")

    ours = {each.id: each for each in open_dataset("build/wiki/documents").records()}
    theirs = list(open_dataset("build/mine").records())
    assert [each.id for each in theirs] == [id for id in ours if len(ours[id].text) > 300]
    assert all(each.text == ours[each.id].text and each.url is None for each in theirs)
    assert {"link", "title_match"} <= {m.origin for each in theirs for m in each.mentions}
    assert store(["verify", "build/mine"]) == 0


@pytest.mark.parametrize("change", ["more", ""])
def test_a_file_that_changes_while_it_is_read_fails_its_unit(tmp_path, change):
    path = tmp_path / "a.txt"
    path.write_text("Ein Satz.", "utf-8")

    def read_slowly(unit):
        unit.inputs[0].check()
        yield Filtered("read")
        path.write_text(change, "utf-8")

    unit = Unit(0, (describe_file("a.txt", path),))
    *_, last = elements._ReadUnits(read_slowly).process(unit)

    assert isinstance(last.value, elements.Failed)
    assert "has changed since the run began" in last.value.message


def write(ids, output):
    made = [Document(id=id, group="mine", source="a program", text=f"Text {id}.") for id in ids]
    with beam.Pipeline(argv=[]) as p:
        _ = p | beam.Create(made) | WriteDocuments(output=str(output))


def test_a_strangers_pipeline_that_fails_leaves_no_dataset_and_runs_again(tmp_path):
    for other in (".mine.old", f".mine.more.{'0' * 32}"):
        (tmp_path / other).mkdir()
    with pytest.raises(CorpusError, match=r"mine: the id 'a' is met twice"):
        write("aba", tmp_path / "mine")
    failed = {path.name for path in tmp_path.iterdir()}

    write("ab", tmp_path / "mine")

    assert "mine" not in failed
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"mine", ".mine.old", f".mine.more.{'0' * 32}"}
    assert [each.id for each in open_dataset(tmp_path / "mine").records()] == ["a", "b"]


def test_a_runner_may_try_the_last_step_of_a_strangers_pipeline_again(tmp_path):
    work, output = tmp_path / ".mine", tmp_path / "mine"
    work.mkdir()
    for name in ("shard-0.arrow", "shard-1.arrow"):  # the second of a bundle that was tried again
        with ShardWriter(work / name, SCHEMAS["documents"]) as writer:
            writer.write(document_to_row(Document(id="a", group="g", source="s", text="Text.")))
    shards = [("a", replace(writer.shard, name="shard-0.arrow"))]

    counts = [plain._publish((1, shards), str(work), str(output)) for _ in range(2)]

    assert counts == [1, 1]
    assert sorted(path.name for path in output.iterdir()) == [
        "dataset.json", "rejected.jsonl", "shard-0.arrow",
    ]  # fmt: skip


def test_a_runner_that_does_not_end_its_bundles_publishes_nothing(tmp_path, monkeypatch):
    finish = plain._WriteBundle.finish_bundle
    lost = []  # as with Dask's runner
    monkeypatch.setattr(plain._WriteBundle, "finish_bundle", lambda s: lost.extend(finish(s)))

    with pytest.raises(CorpusError, match=r"hold 0 of 2 documents: this runner does not end"):
        write("ab", tmp_path / "mine")

    [left] = tmp_path.iterdir()
    assert left.name.startswith(".tmp-")
    assert left.name.endswith("-mine")
    assert list(left.iterdir())


def test_the_garbage_collector_is_on_in_steps_of_others(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Ein Satz.", "utf-8")
    inside = []

    def read(unit):
        for number in range(len(unit.inputs) + 1):
            inside.append(gc.isenabled())
            yield SourceFile(str(number), b"")

    def double(record):
        inside.append(gc.isenabled())
        yield record

    unit = Unit(0, (describe_file("a.txt", path),))
    doubled = elements._PerRecord(double, (SourceFile, False))

    outside = [
        gc.isenabled()
        for element in elements._ReadUnits(read).process(unit)
        for _ in doubled.process(element)
    ]

    assert inside == [False] * 4
    assert outside == [True] * 3


@pytest.mark.parametrize(
    ("output", "why"), [("s3://bucket/mine", "must be a folder of this"), (".", "is there already")]
)
def test_a_strangers_pipeline_refuses_an_output_before_it_runs(output, why):
    with pytest.raises(UsageError, match=why):
        WriteDocuments(output=output).expand(None)


def test_options_are_parsed_once_and_all_their_kinds_share_their_values():
    options = InMemoryOptions()
    types = options.view_as(TypeOptions)

    types.pipeline_type_check = False

    assert options.view_as(TypeOptions) is types
    assert options.view_as(PipelineOptions).get_all_options()["pipeline_type_check"] is False
    assert options.view_as(StandardOptions).runner == "FnApiRunner"
    assert InMemoryOptions().view_as(TypeOptions).pipeline_type_check
