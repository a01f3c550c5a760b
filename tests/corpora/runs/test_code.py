"""The code of a pipeline: all that a run loads, and nothing of what it never sees."""

import ast
import io
import json
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from corpora.runs.code import _DRIVERS, code_alone, code_hash, code_of

ROOT = Path(__file__).resolve().parents[3]
RUNS = {
    "tei_to_ner": ["tests/data/letters", "--edition", "tests/data/letters/edition.toml"],
    "wikipedia_to_documents": ["tests/data/wikipedia/kleinwiki-20261101-pages-articles.xml"],
    "text_to_documents": ["tests/data/text/wulingzhen.txt", "--lang", "zh"],
}
# Beam, which is not ours, is loaded once; each run is a process of its own.
PROGRAM = """
import importlib, json, os, sys
import apache_beam
for name, command in json.loads(sys.argv[1]).items():
    if not os.fork():
        status = importlib.import_module(f"pipelines.{name}").main(command)
        ours = ("corpora", "pipelines")
        loaded = [m.__file__ for name, m in sys.modules.items() if name.split(".")[0] in ours]
        with open(f"{command[-1]}.loaded", "w") as file:
            json.dump(loaded, file)
        os._exit(status)
    assert os.wait()[1] == 0
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Run pipelines; returns the modules of ours that each has loaded."""
    folder = tmp_path_factory.mktemp("runs")
    commands = {
        name: ["--input", *options, "--output", str(folder / name)]
        for name, options in RUNS.items()
    }
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return {
        name: [file for file in json.loads((folder / f"{name}.loaded").read_text()) if file]
        for name in RUNS
    }


def names_of(pipeline):
    return {file.relative_to(ROOT).as_posix() for file in code_of(pipeline)}


@pytest.mark.parametrize("pipeline", RUNS)
def test_all_that_a_run_loads_counts(pipeline, loaded):
    files = {Path(file).relative_to(ROOT).as_posix() for file in loaded[pipeline]}

    assert f"pipelines/{pipeline}.py" in files
    assert files - names_of(pipeline) <= _DRIVERS


def test_tables_of_data_count():
    assert "corpora/segmentation/languages/de.toml" in names_of("tei_to_ner")
    assert "corpora/tei/editions/sturm.toml" in names_of("tei_to_ner")
    assert "corpora/wikipedia/templates/en.toml" in names_of("wikipedia_to_documents")


def test_a_dump_is_not_made_again_for_a_change_of_the_crawler():
    others = ("corpora/crawl/", "corpora/news/", "corpora/tei/", "corpora/store")

    assert not [name for name in names_of("wikipedia_to_documents") if name.startswith(others)]


def test_each_pipeline_has_a_hash_of_its_own():
    pipelines = ("tei_to_ner", "wikipedia_to_documents", "news_to_documents", "")

    assert len({code_hash(name) for name in pipelines}) == len(pipelines)


def test_a_plan_of_somebody_else_has_the_hash_of_all():
    assert code_hash("a pipeline of theirs") == code_hash()


def tokens_of(source, *, dropped=frozenset()):
    """Return the tokens of a source text, without comments and those that begin at a position."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [t.string for t in tokens if t.type not in layout and t.start not in dropped]


def statements_that_are_strings(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            start = (node.lineno, len(source.splitlines()[node.lineno - 1][: node.col_offset]))
            if source.splitlines()[start[0] - 1][start[1]] in "\"'":  # r"""…""" counts as code
                yield start


def test_comments_and_docstrings_are_dropped_and_nothing_else():
    for file in sorted([*ROOT.glob("corpora/**/*.py"), *ROOT.glob("pipelines/**/*.py")])[::5]:
        source = file.read_text("utf-8")

        kept = code_alone(source)

        expected = tokens_of(source, dropped=set(statements_that_are_strings(source)))
        assert tokens_of(kept) == expected, file
        assert code_alone(kept) == kept


@pytest.mark.parametrize(
    "source",
    [
        'x = 1\n"""About x."""\n# more\n\n\ny = f(  # why\n    2,\n)  \n',
        "x = 1\ny = f(\n    2,\n)\n",
    ],
)
def test_a_file_that_only_says_more_has_the_same_code(source):
    assert code_alone(source) == "x = 1\ny = f(\n    2,\n)\n"


def test_strings_keep_their_signs_and_empty_lines():
    source = 'f(\n    """a # b\n\n\nc""",\n    "#",\n)\nx = \\\n    "d"\n'

    assert code_alone(source) == source
