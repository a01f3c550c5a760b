"""Rules of the code: which package may import which, what starts quickly, how docstrings begin."""

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import onoma
from corpora.system.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("corpora", "pipelines", "modeling", "dags")
FORBIDDEN = {
    "corpora": {"apache_beam", "torch", "airflow", "pipelines", "modeling", "dags"},
    "pipelines": {"torch", "airflow", "modeling", "dags"},
    "modeling": {"apache_beam", "airflow", "pipelines", "dags"},
    "dags": {"corpora", "pipelines", "modeling"},
}
READ_ARROW = {"corpora.ner.linked", "corpora.shards", "corpora.store.catalogue"}
"""Commands in a module that reads datasets."""
SAY_NOTHING = {"Any", "JsonObject"}
MODULES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))


@dataclass
class Contents:
    """What the rules ask of a module. Whole trees, if kept, would slow down later tests."""

    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    types_only: set[int] = field(default_factory=set)
    """The lines of imports that only a type checker sees."""
    types: list[tuple[str, int]] = field(default_factory=list)
    """Where types that say nothing stand: name and line."""
    weak_names: Counter[str] = field(default_factory=Counter)
    """How often the names of ``MOST_WEAK`` are given to a variable or a parameter."""
    classes: list[str] = field(default_factory=list)
    """The public classes."""
    about: str = ""
    """The first line of the docstring."""
    wrong: list[str] = field(default_factory=list)
    """Functions with a docstring that is not imperative; tests say what is promised."""


@cache
def contents_of(file: Path) -> Contents:
    """Parse a module, once for all tests."""
    found, tree = Contents(), ast.parse(file.read_text(encoding="utf-8"))
    found.about = (ast.get_docstring(tree) or "").partition("\n")[0]
    found.classes = [c.name for c in tree.body if isinstance(c, ast.ClassDef) and c.name[0] != "_"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imports.append(node)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.types_only.update(line.lineno for line in node.body)
        elif isinstance(node, ast.Name) and node.id in SAY_NOTHING:
            found.types.append((node.id, node.lineno))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.weak_names[node.id] += node.id in MOST_WEAK
        elif isinstance(node, ast.arg):
            found.weak_names[node.arg] += node.arg in MOST_WEAK
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test_") and ROOT / "tests" in file.parents:
                continue
            docstring = ast.get_docstring(node)
            if docstring and not describes_itself(node) and not is_imperative(docstring):
                where = f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
                found.wrong.append(f"{where}: {docstring.splitlines()[0]}")
    return found


def imported(file: Path) -> set[str]:
    names = set()
    for node in contents_of(file).imports:
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def test_imports_keep_their_direction():
    names = [file.relative_to(ROOT) for file in MODULES]

    wrong = {str(name): imported(ROOT / name) & FORBIDDEN[name.parts[0]] for name in names}

    assert not {name: forbidden for name, forbidden in wrong.items() if forbidden}


def test_every_library_is_of_the_core_or_names_its_extra():
    core = {"icu4py", "jinja2", "msgspec", "numpy", "pyarrow", "rapidgzip"}
    no_extra = {"_typeshed", "threadpoolctl", "triton", "umap"}  # types; beside others; asked for
    no_extra.add("compression")  # of Python since 3.14
    known = {*sys.stdlib_module_names, *PACKAGES, "onoma", *core, *EXTRAS, *no_extra}
    files = [file for file in MODULES if file.relative_to(ROOT).parts[0] != "dags"]

    unknown = {name: str(file) for file in files for name in imported(file) - known}

    assert not unknown


def test_modules_say_what_is_in_them():
    """A noun phrase or, of commands, an imperative; the name of a file alone is no answer."""
    first = {file: contents_of(file).about for file in MODULES}

    riddles = {
        f"{file.relative_to(ROOT)}: {about}"
        for file, about in first.items()
        if not about.endswith((".", ":")) or re.match(r"(?:What|How|Who|Whom|Where|Which)\b", about)
    }

    assert not riddles


ROOMS = (
    *("errors", "reports", "system", "document", "hashing", "tagging", "segmentation", "warc"),
    *(
        "datasets",
        "runs",
        "evidence",
        "matching",
        "diff",
        "store",
        "tei",
        "registers",
        "text",
        "wikipedia",
        "entities",
        "concordance",
        "ner",
        "news",
    ),
    *("crawl", "lexicon", "tokenization", "examples", "samples"),
)
"""Rooms of ``corpora``: each imports only from those before it."""
COMMANDS = {"shards"}  # what they start lies in a room


MODELING_ROOMS = (
    *("config", "tagging_config", "data", "layers", "heads", "decoding", "models", "recipes"),
    "huggingface",
)
"""Rooms of ``modeling`` that models are made of: each imports only from those before it."""
MODELING_COMMANDS = (
    *("command", "http", "pages", "bootstrap", "training", "pretrain"),
    *("taggers", "link", "predict", "finetune"),
    *("evaluate", "inspect", "report", "export", "publish", "spacy_component", "serve"),
    "workbench",
)
"""Rooms of ``modeling`` that train and use models: each imports only from those before it, and from
``MODELING_ROOMS``."""


def rooms_imported(file: Path, package: str = "corpora") -> set[str]:
    """Return the rooms of a package that a module of it imports, at its top or in its functions."""
    names = set()
    for node in contents_of(file).imports:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif node.module == package:
            names.update(f"{package}.{alias.name}" for alias in node.names)
        elif node.module:
            names.add(node.module)
    parts = (name.split(".") for name in names)
    return {found[1] for found in parts if found[0] == package and len(found) > 1}


CIRCLES = {
    "modeling.models.foreign"  # a child of TextEncoder, which is built where settings name it
}
"""Modules that are in a circle of imports, with the reason."""


def modules_imported(file: Path, modules: Mapping[str, Path]) -> set[str]:
    """Return our modules that a file imports when it runs, also in its functions."""
    names = set()
    contents = contents_of(file)
    for node in (node for node in contents.imports if node.lineno not in contents.types_only):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names & modules.keys()


def test_no_circles_of_files():
    files = {file for file in MODULES if file.name != "__init__.py"}
    modules = {".".join(f.relative_to(ROOT).with_suffix("").parts): f for f in files}
    graph = {
        name: modules_imported(file, modules) - CIRCLES
        for name, file in modules.items()
        if name not in CIRCLES
    }

    order = list(TopologicalSorter(graph).static_order())  # raises CycleError

    assert {*order} >= {*graph}


@pytest.mark.parametrize(
    ("package", "rooms"), [("corpora", ROOMS), ("modeling", (*MODELING_ROOMS, *MODELING_COMMANDS))]
)
def test_rooms_import_only_from_rooms_before_them(package, rooms):
    upward = {}
    for file in sorted((ROOT / package).rglob("*.py")):
        room = file.relative_to(ROOT / package).parts[0].removesuffix(".py")
        if room == "__init__" or (package == "corpora" and room in COMMANDS):
            continue
        allowed = {*rooms[: rooms.index(room) + 1], "__version__"}
        if wrong := rooms_imported(file, package) - allowed:
            upward[file.relative_to(ROOT).as_posix()] = wrong

    assert not upward


def test_the_tables_of_rooms_have_the_order_of_imports():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    for package, rooms in (
        ("corpora", [*ROOMS, *sorted(COMMANDS)]),
        ("modeling", [*MODELING_ROOMS, *MODELING_COMMANDS]),
    ):
        table = text.partition(f"| room of `{package}/` |")[2].partition("\n\n")[0]
        first = "".join(line.split("|")[1] for line in table.splitlines()[2:])
        assert re.findall(r"`(\w+)/?`", first) == rooms


def test_a_large_room_says_in_which_order_to_read_all_its_modules():
    for package in ("corpora", "modeling"):
        for room in {file.parent for file in (ROOT / package).rglob("*.py")}:
            modules = {file.stem for file in room.glob("*.py")} - {"__init__", "__main__"}
            docstring = (
                ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""
            )

            assert len(modules) < 8 or modules <= {*re.findall(r"``(\w+)``", docstring)}, room


def test_beam_is_loaded_only_where_graphs_are_made_and_run():
    meets = {f.relative_to(ROOT).as_posix() for f in MODULES if "apache_beam" in imported(f)}

    assert meets == {
        *(f"pipelines/{name}.py" for name in ("in_memory", "on_beam", "options")),
        # The others give the functions of phases, which the launcher lists before Beam is loaded.
        *(f"pipelines/transforms/{name}.py" for name in ("common_keys", "elements", "plain")),
        *(f"pipelines/transforms/{name}.py" for name in ("shards", "units")),
    }


def test_options_are_fields_of_dataclasses():
    """Elsewhere, argparse gives no more than types, a kind of error, and the options of Beam."""
    there = {f.relative_to(ROOT).as_posix() for f in MODULES if "argparse" in imported(f)}

    assert there == {
        *("corpora/system/arguments.py", "modeling/command.py", "pipelines/options.py")
    }


MAINS = sorted({command.module for command in onoma.commands()})
# Each help is printed by a process of its own, which begins with what parses options of them all.
HELPING = """
import json, os, runpy, sys
import corpora.system.arguments
for module in sys.argv[1:]:
    if not os.fork():
        sys.argv, sys.stdout = [module, "--help"], open(f"{module}.help", "w")
        status = 0
        try: runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as end: status = end.code
        sys.stdout.close()
        with open(f"{module}.json", "w") as file:
            json.dump([status, [name for name in sys.modules if "." not in name]], file)
        os._exit(0)
    os.wait()
"""


def test_help_loads_nothing_heavy(tmp_path):
    heavy = {"apache_beam", "torch", "icu4py", "datasets", "tokenizers", "transformers"}
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    command = [sys.executable, "-c", HELPING, *MAINS]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)

    for module in MAINS:
        status, loaded = json.loads((tmp_path / f"{module}.json").read_text("utf-8"))
        slow = set() if module in READ_ARROW else {"numpy", "pyarrow"}  # a tenth of a second each
        assert (status or 0, (heavy | slow) & {*loaded}) == (0, set()), module
        assert (tmp_path / f"{module}.help").read_text("utf-8").startswith("usage: onoma"), module


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("modeling.models.pretraining_model", {"torch._dynamo", "transformers", "sklearn"}),
        ("modeling.taggers.folders", {"torch", "transformers"}),  # publishing only copies files
        ("modeling.predict.commands", {"torch", "transformers"}),  # lists are applied without
        ("modeling.workbench.learning", {"torch", "transformers"}),  # a process of its own trains
    ],
)
def test_opening_a_model_loads_no_more_than_it_needs(module, heavy):
    code = f"import sys, {module}\nprint(sorted(set(sys.modules) & {heavy!r}))"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


MOST_ANY = {
    "corpora": {"Any": 25, "JsonObject": 43},
    "pipelines": {"Any": 2, "JsonObject": 2},
    "modeling": {"Any": 11, "JsonObject": 0},
    "dags": {"Any": 6, "JsonObject": 0},
}
"""How often a package has these for a type; who takes some away lowers it."""
MOST_WEAK = {
    "found": 438,
    "one": 226,
    "own": 156,
    "place": 160,
    "what": 111,
    "of": 102,
    "kept": 96,
    "each": 89,
    "made": 64,
    "given": 90,
    "about": 66,
    "said": 54,
}
"""How often a name that says nothing is given to a variable; who takes some away lowers it."""
MOST_SAME_MODULES = 165
"""How many modules have the name of another one, in another room; who takes some away lowers it."""
ENGINE = ("pipelines/run.py", "pipelines/processes.py", "pipelines/transforms", "corpora/runs")
REASON = re.compile(r"\bAny: \S")


def types_named(name: str, folder: str) -> list[tuple[Path, int]]:
    """Return where a name stands in the files of a folder; imports and prose do not count."""
    path = ROOT / folder
    return [
        (file, line)
        for file in sorted([path] if path.is_file() else path.rglob("*.py"))
        for found, line in contents_of(file).types
        if found == name
    ]


@pytest.mark.parametrize("package", MOST_ANY)
def test_each_any_has_its_reason_beside_it(package):
    without = []
    for file, line in types_named("Any", package):
        lines = file.read_text(encoding="utf-8").splitlines()
        if not REASON.search("\n".join(lines[line - 1 : line + 4])):
            without.append(f"{file.relative_to(ROOT)}:{line}")

    assert not without


def test_what_was_made_and_what_comes_next_are_printed_in_one_column():
    files = [*MODULES, *(ROOT / "onoma").rglob("*.py")]
    narrow = re.compile(r"[\"'\n](?:made|next) \{")

    assert [file.name for file in files if narrow.search(file.read_text(encoding="utf-8"))] == []


def test_names_that_say_nothing_do_not_become_more():
    named = sum((contents_of(file).weak_names for file in MODULES), Counter[str]())

    assert {name: n for name, n in named.items() if n > MOST_WEAK[name]} == {}


def test_the_name_of_a_class_means_one_thing():
    files = [*MODULES, *(ROOT / "onoma").rglob("*.py")]
    named = Counter(name for file in files for name in contents_of(file).classes)

    assert {name for name, n in named.items() if n > 1} == {"Options"}  # one for each command


def test_modules_of_the_same_name_do_not_become_more():
    named = Counter(file.stem for file in MODULES if not file.stem.startswith("__"))

    assert sum(n for n in named.values() if n > 1) <= MOST_SAME_MODULES


@pytest.mark.parametrize("package", MOST_ANY)
def test_types_that_say_nothing_do_not_become_more(package):
    found = {name: len(types_named(name, package)) for name in MOST_ANY[package]}

    assert {name: n for name, n in found.items() if n > MOST_ANY[package][name]} == {}


def test_the_engine_is_typed_but_for_what_beam_takes():
    found = [file for part in ENGINE for file, _ in types_named("Any", part)]

    names = [file.relative_to(ROOT).as_posix() for file in found]
    assert names == ["pipelines/transforms/units.py"]


NO_VERBS = re.compile(
    r"(?:all|also|and|another|any?|as|at|both|but|by|each|either|every|few|for|from|here|how|if|in|"
    r"its?|least|less|many|more|most|much|neither|no|none|not|of|on|one|only|or|others?|our|own|"
    r"same|so|some|such|tha[nt]|the[mny]?|their|there|these|this|those|three|to|twice|two|wh\w+|"
    r"with\w*)$"
)
"""First words of docstrings that describe something instead of saying what a function does."""
VERBS = re.compile(r"(?:bring|embed|exceed|feed|need|proceed|ring|seed|shed|string|succeed|\w*ss)$")
"""Verbs that end as other forms do: *s*, *ed*, *ing*."""


def is_imperative(docstring: str) -> bool:
    first = re.match(r"[A-Z][a-z]+\b", docstring)
    word = first[0].lower() if first else "no"
    return not NO_VERBS.match(word) and (
        bool(VERBS.match(word)) or not word.endswith(("s", "ed", "ing"))
    )


def describes_itself(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a docstring describes the function instead.

    A property is what it is called. The first line of a recipe is what a list shows of it.
    """
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any(d.endswith(("property", ".setter", ".listed")) for d in decorators)


@pytest.mark.parametrize("package", [*PACKAGES, "benchmarks", "tests"])
def test_docstrings_of_functions_are_imperative(package):
    files = sorted((ROOT / package).rglob("*.py"))

    assert not [wrong for file in files for wrong in contents_of(file).wrong]
