"""`onoma`: one command for all, and a library for notebooks that loads when it is used."""

import json
import logging
import os
import random
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import onoma
from corpora.system.arguments import paint
from corpora.system.extras import EXTRAS, missing_extra
from corpora.system.licenses import kind_of, needed_by

ROOT = Path(__file__).resolve().parent.parent
LETTERS = ROOT / "tests" / "data" / "letters"
COMMANDS = {command.name: command for command in onoma.commands()}
NO_COMMANDS = {"corpora.system.sandbox", "corpora.tei.inspection", "pipelines", "pipelines.run"}
"""With a `main`, but for processes, or called by another command."""


def licences_said():
    """Return of each extra the libraries that the documentation says are not permissive."""
    text = (ROOT / "docs" / "commands.md").read_text("utf-8").partition("## Licences")[2]
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", text, re.MULTILINE)
    names = re.compile("`(.+?)`")
    return {one: {*names.findall(what)} for some, what in rows for one in names.findall(some)}


def run(*command, folder=ROOT, **environment):
    """Run Python with Onoma of this checkout, as if it were installed."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    output = folder / "letters"
    for name in ("corpora", "pipelines", "modeling"):  # what a user may have, too
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise SystemExit('the package of the user')")
    options = ["--input", str(LETTERS / "*.xml"), "--edition", str(LETTERS / "edition.toml")]
    done = run("-m", "onoma", "tei", *options, "--output", output, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return output, json.loads(done.stdout)


def test_summary_is_json_for_programs_and_packages_of_the_user_are_left_alone(letters):
    output, summary = letters

    assert summary["output"] == str(output)
    assert summary["read"] == summary["written"] == 8
    assert summary["rejected"] == {}
    assert not summary["was_complete"]


def test_every_command_that_comes_to_an_end_has_a_summary_for_programs():
    endless = {"serve", "workbench"}
    scripts = {"completion"}

    without = set()
    for command in COMMANDS.values():
        parsers = command.parsers()
        inside = parsers[-1]._subparsers
        parsers += inside._group_actions[0].choices.values() if inside else []
        if not any("--json" in one._option_string_actions for one in parsers):
            without.add(command.name)

    assert without == endless | scripts


def test_data_commands_print_one_object_and_all_else_beside_it(letters, tmp_path, capsys):
    output, _ = letters

    def summary(*command):
        assert onoma.main([*map(str, command), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert "01.xml" in summary("sample", "tei", tmp_path / "sample")["files"]
    found = summary("concordance", output, "--output", tmp_path / "pages")
    assert found["mentions"]
    assert {*found["pages"]} <= {path.name for path in (tmp_path / "pages").iterdir()}
    found = summary("convert", output, "--to", "conll", "--output", tmp_path / "conll")
    train = tmp_path / "conll" / "train.conll"
    assert train.name in found["files"]
    found = summary("card", output, "--parquet", tmp_path / "hub")
    assert {*found["datasets"]} == {"documents", "ner"}
    (tmp_path / "links.tsv").write_text(
        "TOKEN\tNE-COARSE-LIT\tNE-COARSE-METO\tNE-FINE-LIT\tNE-FINE-METO\tNE-FINE-COMP\t"
        "NE-NESTED\tNEL-LIT\tNEL-METO\tMISC\n# hipe2022:document_id = a\n"
        "Ulm\tB-loc\tO\tB-loc\tO\tO\tO\tQ3012\t_\t_\n"
    )
    found = summary("linked", tmp_path / "links.tsv", "--output", tmp_path / "linked")
    assert (found["read"], found["written"]) == (1, 1)


def test_datasets_and_versions_are_listed_as_json(letters, tmp_path, capsys):
    output, _ = letters
    shelf = tmp_path / "store" / "letters"

    def run(*command):
        assert onoma.main([str(part) for part in command]) == 0
        return capsys.readouterr().out

    run("store", "publish", output, shelf, "--version", "v1")
    [version] = json.loads(run("store", "list", shelf, "--json"))
    row = json.loads(run("show", output / "documents", "--limit", "1", "--json"))

    assert (version["version"], version["current"]) == ("v1", True)
    assert row["id"] == "01.xml"
    found = json.loads(run("verify", output, "--json"))
    assert found["sound"]
    assert {one["schema"] for one in found["datasets"]} >= {"documents", "ner"}


def test_every_command_of_the_packages_is_one_of_onoma():
    found = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for package in onoma.PACKAGES
        for file in (ROOT / package).rglob("*.py")
        if re.search(r"^(?:def main\(|main = )", file.read_text("utf-8"), re.MULTILINE)
    }

    modules = {command.module for command in COMMANDS.values()}
    assert found - {"corpora.store.inspection"} - NO_COMMANDS <= modules


def test_help_names_every_command_in_groups_and_loads_nothing_heavy():
    code = (
        "import onoma, sys; assert onoma.main(['--help']) == 0\n"
        "print({'numpy', 'pyarrow', 'argparse.__main__', 'torch', 'apache_beam'} & {*sys.modules})"
    )

    done = run("-c", code)

    assert done.stdout.strip().endswith("set()"), done.stderr
    for title, commands in onoma.COMMANDS.items():
        assert f"\n{title}\n" in done.stdout
        for command in commands:
            assert f"\n  {command.name} " in done.stdout


def test_import_loads_nothing_but_what_finds_packages():
    done = run("-c", "import sys, onoma; print(sorted({*sys.modules} & {'corpora', 'pyarrow'}))")

    assert done.stdout == "[]\n"


def test_names_that_completion_offers_are_the_api():
    assert dir(onoma) == sorted(onoma.__all__)


def test_help_of_a_command_calls_commands_as_they_were_typed(capsys):
    with pytest.raises(SystemExit, match="0"):
        onoma.main(["tei", "--help"])

    said = capsys.readouterr().out
    assert said.startswith("usage: onoma tei ")
    assert "  onoma tei --input 'letters/*.xml' --edition sturm --output build/sturm\n" in said
    assert "python -m" not in said


def test_version_and_unknown_commands(capsys):
    assert onoma.main(["--version"]) == 0
    assert onoma.main(["verfy"]) == 2

    said = capsys.readouterr()
    assert said.out == f"onoma {onoma.__version__}\n"
    assert (
        said.err
        == "error: verfy: no such command (did you mean verify?). onoma --help lists them.\n"
    )


@pytest.mark.parametrize("given", [["--help"], ["predict", "--help"]])
def test_help_is_printed_where_the_terminal_lacks_characters(given):
    done = run("-m", "onoma", *given, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2026" in done.stdout


@pytest.mark.parametrize(
    ("to", "status", "said"),
    [
        ("/dev/full", 1, "error: standard output: No space left on device. What was printed"),
        ("pipe", 0, ""),
    ],
)
@pytest.mark.parametrize("given", [["--help"], ["publish", "--help"], ["show", "DATASET"]])
def test_output_that_cannot_be_written_is_named(given, to, status, said, letters):
    dataset = str(letters[0] / "documents")
    command = [sys.executable, "-m", "onoma", *(dataset if w == "DATASET" else w for w in given)]
    if to == "pipe":
        reads, writes = os.pipe()
        os.close(reads)
    else:
        writes = os.open(to, os.O_WRONLY)
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdout=writes, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writes)

    assert done.returncode == status
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)


@pytest.mark.parametrize(
    ("given", "closed", "status"),
    [
        ("--help", ">&-", 0),
        ("show DATASET", ">&- 2>&-", 0),
        ("show DATASET/missing", "2>&-", 1),
        ("nonsense", "2>&-", 2),
    ],
)
def test_command_whose_streams_are_closed_does_its_work(given, closed, status, letters):
    command = f"{sys.executable} -m onoma {given} {closed}"
    command = command.replace("DATASET", str(letters[0] / "documents"))

    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (status, "")


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    assert paint("error:", "1;31", sys.stderr) == "error:"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert paint("error:", "1;31", Terminal()) == "\033[1;31merror:\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("error:", "1;31", Terminal()) == "error:"


def test_missing_library_names_its_extra():
    error = ModuleNotFoundError("No module named 'apache_beam.io'", name="apache_beam.io")

    assert "pip install 'onoma[pipelines]'" in str(missing_extra(error))
    assert missing_extra(ModuleNotFoundError("x", name="x")) is None


def test_every_extra_brings_the_library_that_is_said_to_need_it():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    named = {
        "backports": "backports-zstd",
        "cassis": "dkpro-cassis",
        "h11": "uvicorn",  # which brings it, as others of these do
        "huggingface_hub": "transformers",
        "newsplease": "news-please",
        "pydantic": "fastapi",
        "pydantic_core": "fastapi",
        "readability": "readability-lxml",
        "regex": "transformers",
        "sklearn": "scikit-learn",
        "starlette": "fastapi",
    }
    for module, extra in EXTRAS.items():
        name = named.get(module, module.replace("_", "-"))
        assert name in {re.match(r"[\w-]+", line)[0] for line in extras[extra]}


@pytest.mark.parametrize(
    ("license", "kind"),
    [
        ("Apache-2.0 AND BSD-3-Clause", "permissive"),
        ("MPL-1.1 OR GPL-2.0-only OR MIT", "permissive"),
        ("GNU Lesser General Public License v2 or later (LGPLv2+)", "weak copyleft"),
        ("GNU Affero General Public License v3 or later (AGPLv3+)", "copyleft"),
        ("LicenseRef-NVIDIA-Proprietary", "proprietary"),
        ("not said", "unknown"),
    ],
)
def test_licence_is_of_a_kind(license, kind):
    assert kind_of(license) == kind


def test_what_is_not_permissive_is_named_with_its_extra():
    said = licences_said()
    core = {one.name: one.kind for one in needed_by("onoma", ())}

    assert {*core.values()} == {"permissive"}
    for extra, named in said.items():
        kinds = {one.name: one.kind for one in needed_by("onoma", [extra])}
        found = {name for name, kind in kinds.items() if kind not in {"permissive", "proprietary"}}
        assert found <= named, extra  # a CPU build of torch brings less
    assert [extra for extra, named in said.items() if "wikiextractor" in named] == ["wikiextractor"]


def test_extras_that_a_library_asks_for_count(tmp_path, monkeypatch):
    for name, lines in {
        "a": ["B-b[one, two]>=1", "never; extra == 'c'"],
        "b.b": [
            "d; extra == 'one'",
            "e; extra == 'other'",
            "f (>2); python_version > '3' and extra=='two'",
        ],
        **dict.fromkeys(("d", "e", "f", "never"), ()),
    }.items():
        about = tmp_path / f"{name}-1.dist-info"
        about.mkdir()
        needs = "".join(f"Requires-Dist: {line}\n" for line in lines)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{needs}")
    monkeypatch.syspath_prepend(tmp_path)

    assert [one.name for one in needed_by("a", ())] == ["b-b", "d", "f"]


def test_what_is_not_needed_is_not_read(tmp_path, monkeypatch):
    for name, about in {"a": b"Name: a\nVersion: 1\nRequires-Dist: d\n", "other": b"\xff"}.items():
        (tmp_path / f"{name}-1.dist-info").mkdir()
        (tmp_path / f"{name}-1.dist-info" / "METADATA").write_bytes(about)
    monkeypatch.syspath_prepend(tmp_path)

    assert needed_by("a", ()) == []


def test_completion_offers_commands_options_and_choices(tmp_path, capsys):
    scripts = {}
    for shell in ("bash", "zsh", "fish"):
        assert onoma.main(["completion", shell]) == 0
        scripts[shell] = capsys.readouterr().out
        assert "max-reject-rate" in scripts[shell]
    script = tmp_path / "onoma.bash"
    script.write_text(scripts["bash"])

    def complete(*words):
        code = (
            f'. {script}; COMP_WORDS=({" ".join(words)} ""); COMP_CWORD={len(words)}; _onoma; '
            'echo "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            [shutil.which("bash"), "-c", code], capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert {*COMMANDS} < {*complete("onoma")}
    assert {"--edition", "--json", "--inspect"} < {*complete("onoma", "tei")}
    assert complete("onoma", "tei", "--nested") == ["outer", "inner", "all"]
    assert {"publish", "prune", "--keep"} < {*complete("onoma", "store")}
    assert "--rows" in complete("onoma", "verify")
    assert "verify" not in complete("onoma", "verify")


def test_examples_of_the_documentation_print_what_stands_there(letters, monkeypatch, capsys):
    output, _ = letters
    monkeypatch.chdir(output.parent)
    Path("build").symlink_to(".")
    text = (ROOT / "docs" / "library.md").read_text("utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)

    names = {"onoma": onoma}
    for code, expected in examples:
        exec(compile(code, "library.md", "exec"), names)  # noqa: S102 - our own page
        assert capsys.readouterr().out == expected

    assert len(examples) == 4


def test_ten_lines_of_the_library(letters):
    output, _ = letters
    documents = onoma.open_dataset(output / "documents")

    letter = documents["01.xml"]

    assert len(documents) == 8
    assert letter in [*documents]
    assert letter in documents
    assert "01.xml" in documents
    assert "99.xml" not in documents
    assert letter.text[slice(letter.mentions[0].start, letter.mentions[0].end)] == "Jena"
    assert onoma.mark(letter).startswith("[Jena|place|letters:o1], den [14. März 1897|date].")
    assert hash(documents) == hash(onoma.open_dataset(output / "documents"))
    for number in (0, -1, slice(2)):
        with pytest.raises(TypeError, match=r"is no id\. .* itertools\.islice"):
            documents[number]
    sentences = onoma.open_dataset(output / "ner")
    first = next(iter(sentences))
    assert sentences[first.id] == first
    with pytest.raises(KeyError, match=r"99\.xml"):
        documents["99.xml"]


def test_a_program_may_change_its_folder_after_a_dataset_is_open(letters, tmp_path, monkeypatch):
    output, _ = letters
    monkeypatch.chdir(output)
    documents = onoma.open_dataset("documents")

    monkeypatch.chdir(tmp_path)

    assert len(list(documents)) == 8
    assert repr(documents) == f"Dataset('{output / 'documents'}', documents, 8 rows)"


def test_tei_text_becomes_a_document():
    xml = "<TEI><text><body><p>An <persName ref='#p1'>Ada</persName>.</p></body></text></TEI>"

    document = onoma.read_tei(xml)

    assert document.text == "An Ada."
    assert onoma.mark(document) == "An [Ada|person|tei:p1]."
    with pytest.raises(onoma.CorpusError, match="0 texts"):
        onoma.read_tei("<TEI><text/></TEI>")


def test_tei_file_is_read_by_its_path_and_a_path_that_is_a_string_is_named(tmp_path):
    file = tmp_path / "a.xml"
    file.write_text("<TEI><text><body><p>Ada</p></body></text></TEI>")

    assert onoma.read_tei(file).id == "a.xml"
    with pytest.raises(onoma.CorpusError, match=r"a\.xml' is no XML\. .* Path\(…\)"):
        onoma.read_tei(str(file))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("declared", ["ISO-8859-1", "UTF-16", "UTF-8"])
def test_tei_string_has_the_characters_that_it_has_whatever_it_declares(declared, mark):
    xml = "<TEI><text><body><p>Ärger in <placeName>Łódź</placeName></p></body></text></TEI>"

    document = onoma.read_tei(f"{mark}<?xml version='1.0' encoding='{declared}'?>\n{xml}")

    assert onoma.mark(document) == "Ärger in [Łódź|place]"
    with pytest.raises(onoma.CorpusError, match="character 22 is half a surrogate pair"):
        onoma.read_tei(xml.replace("rger", "\ud800"))


def test_wikitext_becomes_a_document():
    source = "'''Jena''' ist eine Stadt in [[Thüringen]]. Die [[Saale#Lauf|Saale]] fließt durch."

    document = onoma.parse_wikitext(source, wiki="dewiki", title="Jena")

    assert onoma.mark(document) == (
        "Jena ist eine Stadt in [Thüringen|dewiki:Thüringen]. Die [Saale|dewiki:Saale] fließt "
        "durch."
    )
    assert document.mentions[1].attributes == {"section": "Lauf"}
    assert len(document.sentences) == 2
    assert onoma.parse_wikitext("#REDIRECT [[Berlin]]").text == ""


@pytest.mark.parametrize("wiki", ["de", "", "wiki", "de.wikipedia.org"])
def test_wikitext_of_a_wiki_without_a_language_is_refused(wiki):
    with pytest.raises(onoma.UsageError, match=r"is no name of a wiki\. .*: dewiki, "):
        onoma.parse_wikitext("Jena liegt in [[Thüringen]].", wiki=wiki)


def test_command_runs_in_a_program_which_gets_its_summary_and_its_errors(letters, tmp_path, capfd):
    output, _ = letters
    handlers, state = list(logging.root.handlers), random.getstate()

    made = onoma.run("convert", output, "--to", "conll", "--output", tmp_path / "conll")
    shown = onoma.run_lines("show", output / "documents", "--limit", 2)

    assert "train.conll" in made["files"]
    assert [row["id"] for row in shown] == ["01.xml", "02.xml"]
    assert capfd.readouterr().out == ""
    for command, error, message in (
        (("convert", output, "--nope"), onoma.UsageError, "--nope: no such option"),
        (("convret",), onoma.UsageError, "did you mean convert"),
        (("finetune", "crf"), onoma.UsageError, "--ner is needed"),
        (("tei", "--input", "nope", "--output", tmp_path / "x"), onoma.UsageError, "no file"),
        (("show", tmp_path / "nope"), onoma.CorpusError, "no such folder"),
        (("serve", tmp_path), onoma.UsageError, "--json: no such option"),
    ):
        with pytest.raises(error, match=message):
            onoma.run(*command)
    assert (logging.root.handlers, random.getstate()) == (handlers, state)
    assert capfd.readouterr().err == ""
    assert onoma.run("convert", "--help") == {}
    assert capfd.readouterr().err.startswith("usage: onoma convert")


def test_package_of_the_user_that_is_loaded_is_named(tmp_path):
    (tmp_path / "modeling.py").write_text("")

    done = run("-c", "import modeling; import onoma", folder=tmp_path)

    assert f"modeling is loaded already, from {tmp_path}/modeling.py: Onoma has" in done.stderr


def test_notebook_beside_packages_of_the_user_finds_onomas(tmp_path):
    (tmp_path / "corpora.py").write_text("raise SystemExit('the package of the user')")

    done = run(
        "-c", "import onoma; print(onoma.read_tei.__name__, onoma.Span(0, 2))", folder=tmp_path
    )

    assert done.stdout == "read_tei Span(start=0, end=2)\n", done.stderr


def test_a_folder_that_hides_the_package_is_named(tmp_path):
    (tmp_path / "onoma").mkdir()

    command = [sys.executable, "-m", "onoma", "--version"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert process.returncode == 1
    assert process.stderr.startswith(f"error: {tmp_path / 'onoma'}: this folder hides the package")
