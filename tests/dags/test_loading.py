"""Every DAG file loads, quickly, and asks nothing of the system; what it runs has limits."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dags.conftest import AIRFLOW

DAGS = Path(__file__).resolve().parents[2] / "dags"
FILES = sorted(DAGS.glob("*.py"))
SHARED = sorted(DAGS.glob("onoma_refresh/*.py"))
NAMES = {"corpus_refresh", "editions_refresh", "model_refresh", "news_refresh"}
MAX_CPU_S = 2.0


# Runs code that lines of JSON bring, each in a copy of a process that has loaded the DAGs.
COPIES = """
import json, os, sys, traceback
sys.path.append({dags!r})
import corpus_refresh, editions_refresh, model_refresh, news_refresh
for line in sys.stdin:
    code, os.environ["ONOMA_SETTINGS"], output = json.loads(line)
    if not (copy := os.fork()):
        log = os.open(output, os.O_CREAT | os.O_WRONLY)
        os.dup2(log, 1), os.dup2(log, 2)
        try:
            exec(code, dict(__name__="code"))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    print("ended", os.waitpid(copy, 0)[1], flush=True)
"""


@pytest.fixture(scope="module")
def run_code(make_airflow, tmp_path_factory):
    """Return a function that runs code in Airflow's Python, and returns its output."""
    airflow, output = make_airflow("none"), tmp_path_factory.mktemp("code") / "output.log"
    code = COPIES.format(dags=str(DAGS))
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    def run(code, settings):
        output.unlink(missing_ok=True)
        process.stdin.write(json.dumps([code, str(settings), str(output)]) + "\n")
        process.stdin.flush()
        status = next((line for line in process.stdout if line.startswith("ended ")), "no answer")
        assert status == "ended 0\n", output.read_text()[-3000:]
        return output.read_text()

    with subprocess.Popen([AIRFLOW, "-c", code], env=airflow.environment, **streams) as process:
        yield run
        process.stdin.close()


@pytest.fixture(scope="module")
def loaded(make_airflow):
    airflow = make_airflow("none")
    script = Path(__file__).with_name("load_dags.py")
    process = airflow.start(script)
    assert process.wait() == 0, (airflow.home / "output.log").read_text()[-3000:]
    return json.loads((airflow.home / "output.log").read_text().splitlines()[-1])


@pytest.mark.parametrize("file", [*FILES, *SHARED], ids=lambda file: file.name)
def test_a_file_imports_airflow_and_what_it_brings_alone(file):
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            names.add(node.module.partition(".")[0])

    brought = {"airflow", "pydantic", "pydantic_core"}
    assert names <= {*sys.stdlib_module_names, *brought, "onoma_refresh"}


def test_each_file_has_one_dag_of_its_name_without_errors(loaded):
    assert [one["errors"] for one in loaded.values()] == [[]] * len(FILES)  # cycles are errors
    assert {name: list(one["dags"]) for name, one in loaded.items()} == {
        f"{name}.py": [name] for name in NAMES
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_loading_a_file_takes_little_and_does_nothing(loaded, file):
    assert loaded[file.name]["seconds"] < MAX_CPU_S
    assert loaded[file.name]["io"] == []


def dags(loaded):
    return {name: dag for one in loaded.values() for name, dag in one["dags"].items()}


def test_every_dag_says_what_it_does_and_runs_once_at_a_time(loaded):
    for name, dag in dags(loaded).items():
        assert (dag["doc_md"], dag["catchup"], dag["max_active_runs"]) == (True, False, 1), name


def test_every_parameter_has_a_type(loaded):
    params = {(n, p): s for n, dag in dags(loaded).items() for p, s in dag["params"].items()}

    assert all("type" in schema for schema in params.values())
    assert {p for name, p in params if name == "corpus_refresh"} >= {"wikis", "date", "settings"}


def test_a_parameter_matches_its_pattern_as_a_whole_and_in_ascii(loaded):
    params = dags(loaded)["corpus_refresh"]["params"]
    date, version = (params[name]["pattern"] for name in ("date", "version"))

    good = [(date, "20261101"), (date, "latest-complete"), (version, "2026-11")]
    assert all(re.search(pattern, value) for pattern, value in good)
    bad = [(date, "20261101\n"), (date, "٢٠٢٦١١٠١"), (date, "--help"), (version, "a\n")]
    bad += [(version, "../a"), (version, "a/b"), (version, "-a")]
    assert not any(re.search(pattern, value) for pattern, value in bad)


USE = """
import sys
from airflow.sdk.exceptions import AirflowFailException
from onoma_refresh.job import load_settings
from onoma_refresh.schedule import checked
from onoma_refresh.settings import SettingsError
uses = [lambda name=name: load_settings(dict(settings=name)) for name in {names!r}]
uses += [lambda: checked(dict(date="20261101\\n"), "date", "[0-9]{{8}}")]
for use in uses:
    try:
        use()
    except (AirflowFailException, SettingsError) as error:
        print("refused:", repr(str(error)))
assert load_settings(dict(settings="other.toml")).keep == 7
"""


def test_a_task_checks_its_parameters_again(run_code, tmp_path):
    (tmp_path / "owners").mkdir()
    names = ["owners.toml", "other.toml", "../outside.toml"]
    for name in names:
        text = 'work = "work"\nstore = "store"\nkeep = 7\n'
        (tmp_path / "owners" / name).write_text(text, encoding="utf-8")
    outside = ["../outside.toml", str(tmp_path / "outside.toml"), "other.toml\n", ".toml"]
    log = run_code(USE.format(names=outside), tmp_path / "owners" / "owners.toml")

    assert log.count("refused:") == len(outside) + 1


PLANS = """
import json, sys
from pathlib import Path
from news_refresh import _plan
from onoma_refresh.schedule import chosen
from onoma_refresh.settings import read
settings = read(Path({settings!r}))
earlier = _plan(settings, settings.news["portal"], "20261101T0430")["earlier"]
print(json.dumps([earlier, chosen(settings, "news", ["portal", "portal"])]))
"""


def test_a_plan_knows_all_other_versions_and_a_name_given_twice_is_one_plan(run_code, tmp_path):
    settings, shelf = tmp_path / "settings.toml", tmp_path / "store" / "portal-news"
    settings.write_text('work = "work"\nstore = "store"\n[[news]]\nname = "portal"\n')
    for version in ("20261031T0430", "20261101T0430", "20261102T0430", "first"):
        (shelf / version).mkdir(parents=True)
        (shelf / version / "run.json").touch()
    (shelf / "current").write_text("20261101T0430\n")

    log = run_code(PLANS.format(settings=str(settings)), settings)

    earlier, names = json.loads(log.splitlines()[-1])
    others = ("20261031T0430", "20261102T0430", "first")
    assert earlier == [str(shelf / version) for version in others]
    assert names == ["portal"]


LOOKS = """
import json, sys
from datetime import datetime
from types import SimpleNamespace
from editions_refresh import look
def version(hour):
    run = SimpleNamespace(logical_date=datetime(2026, 11, 22, hour))
    plan = look.function("letters", params=dict(settings=None, force=True), dag_run=run)
    return plan["version"]
print(json.dumps([version(10), version(11), version(11)]))
"""


def test_an_edition_that_is_as_it_was_earlier_that_day_is_another_version(run_code, tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text(
        'work = "work"\nstore = "store"\n[[edition]]\nname = "letters"\ninput = ["*.xml"]\n'
    )
    (tmp_path / "a.xml").touch()

    log = run_code(LOOKS, settings)

    first, second, again = json.loads(log.splitlines()[-1])
    assert first != second == again


MODELS = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from datetime import datetime
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from model_refresh import CORPORA, ENCODERS, evaluate, plan, publish_encoder
from onoma_refresh.job import DagTask, LimitPassedError
from onoma_refresh.schedule import entries
def refuse(*_, **__):
    raise LimitPassedError("worse")
DagTask.publish, DagTask.evaluate = (lambda *_, **__: dict()), refuse
def models(run, *events, is_trained=True, is_worse=False):
    due = SimpleNamespace(logical_date=None, run_after=datetime(2026, 11, 22), run_id=run)
    events = dict([(CORPORA, [SimpleNamespace(extra=extra) for extra in events])])
    context = dict(params=dict(settings=None, models=None), dag_run=due)
    found = []
    for name in entries("models").function(**context):
        try:
            planned = plan.function(name, **context, triggering_asset_events=events)
            found.append(planned["name"])
            if is_worse:
                evaluate.function(planned, dict(tagger="", ner=""), **context)
            elif is_trained:
                outlets = dict([(ENCODERS, SimpleNamespace())])
                publish_encoder.function(planned, "", **context, outlet_events=outlets)
        except (AirflowFailException, AirflowSkipException) as error:
            last = str(error)
    return found or last
def publish(wiki, version):
    Path({store!r}, wiki + "-examples", "current").write_text(version)
danish, swedish = dict(wiki="dawiki"), dict(wiki="svwiki")
found = [models("1", danish)]
publish("dawiki", "2")
publish("svwiki", "2")
found += [models("2", danish), models("2", danish), models("3", danish), models("4", dict())]
found += [models("5", dict(wiki="fiwiki"))]
for folder in ("dansk-encoder/3", "dawiki-examples/3", "dawiki-examples/4"):
    Path({store!r}, folder).mkdir(parents=True)
    Path({store!r}, folder, "run.json").write_text(json.dumps(dict(fingerprint="f")))
Path({store!r}, "dansk-encoder/current").write_text("3")
for version in ("3", "4"):
    publish("dawiki", version)
    found += [models("run " + version, danish)]
for run, outcome in (
    ("fails", dict(is_trained=False)),
    ("is refused", dict(is_worse=True)),
    ("comes late", dict()),
):
    Path({store!r}, "dawiki-examples/4/run.json").write_text(json.dumps(dict(fingerprint="g")))
    found += [models(run, danish, **outcome)]
for wiki in ("dawiki", "svwiki"):
    Path({store!r}, wiki + "-examples", "4").mkdir(exist_ok=True)
    Path({store!r}, wiki + "-examples", "4", "run.json").write_text(chr(123))
    publish(wiki, "4")
found += [models("5", danish, swedish)]
print(json.dumps(found))
"""


def test_models_whose_examples_are_new_are_trained_even_if_their_event_came_late(
    run_code, tmp_path
):
    settings, store = tmp_path / "settings.toml", tmp_path / "store"
    text = 'work = "work"\nstore = "store"\n[[edition]]\nname = "letters"\ninput = ["x"]\n'
    for wiki, model in (("dawiki", "dansk"), ("svwiki", "svensk")):
        text += f'[[wiki]]\nname = "{wiki}"\ncontact = "me@example.org"\n'
        text += f'[[model]]\nname = "{model}"\nwiki = "{wiki}"\nrecipe = "daluke"\n'
        text += 'edition = "letters"\n'
        for version in ("1", "2"):
            (store / f"{wiki}-examples" / version).mkdir(parents=True)
            (store / f"{wiki}-examples" / version / "run.json").write_text("{}")
        (store / f"{wiki}-examples" / "current").write_text("1")
    settings.write_text(text)

    log = run_code(MODELS.format(store=str(store)), settings)

    found = json.loads(log.splitlines()[-1])
    both = ["dansk", "svensk"]
    # "svensk" has no encoder yet; then new examples; a retry; nothing new; an event made by hand
    assert found[:6] == [both, both, both, ["dansk"], both, "svensk: does not learn from fiwiki."]
    # other examples; a new version of the same
    assert found[6:8] == [["dansk"], "svensk: does not learn from dawiki."]
    # a training that fails is repeated until the model has learned; one that was refused is not
    assert found[8:11] == [["dansk"], ["dansk"], "svensk: does not learn from dawiki."]
    assert found[11].startswith(f"{store}/svwiki-examples/4/run.json: damaged (")


TASKS = """
import json, shutil, sys
from pathlib import Path
from types import SimpleNamespace
from datetime import datetime
from airflow.sdk.exceptions import AirflowFailException
import corpus_refresh
from onoma_refresh.job import DagTask, load_settings
from onoma_refresh.schedule import entries, report_failure
params = dict(settings=None, wikis=None, version=None)
run = SimpleNamespace(logical_date=datetime(2026, 12, 8), run_id="1")
def told(task, *made):
    try:
        return task.function(*made, params=params, dag_run=run)
    except AirflowFailException as error:
        return str(error)
store, work = Path({folder!r}, "store"), Path({folder!r}, "work")
plan = told(corpus_refresh.plan, "dawiki")
accept = dict(params, accept_drift=True, rebuild=True)
found = [corpus_refresh.compare.function(plan, "new", params=accept, dag_run=run)]
task = SimpleNamespace(dag_id="a", task_id="b", map_index=-1, try_number=1)
report_failure(dict(task_instance=task, run_id="1", params=params))
(store / "dawiki/current").write_text("20261207")
found.append(told(corpus_refresh.publish, plan, dict()))
DagTask(load_settings(params), dict()).remove_dumps("dawiki")
found.append(sorted(file.name for file in (work / "dumps").iterdir()))
shutil.rmtree(store / "dawiki/20261207")
found.append(told(corpus_refresh.plan, "dawiki"))
found.append([told(entries("wikis")), told(corpus_refresh.plan, "fiwiki")["previous"]])
(store / "dawiki/current").unlink()
found.append(told(corpus_refresh.plan, "dawiki"))
(store / "dawiki/current").write_text("20261108")
(store / "dawiki-examples/20261108").mkdir(parents=True)
(store / "dawiki-examples/current").write_text("20261108")
found.append(told(corpus_refresh.plan, "dawiki"))
ran = []
def note(self, module, *arguments):
    ran.append(arguments)
    raise AirflowFailException("not run")
DagTask.run = note
repeated = dict(plan, version="20261108", work=plan["work"].replace("20261208", "20261108"))
repeated["previous"] = {{}}
for planned, params["date"] in (
    (plan, "latest-complete"), (plan, "20261001"), (repeated, "latest-complete")
):
    told(corpus_refresh.download, planned)
found += [[str(argument) for argument in arguments] for arguments in ran]
settings = Path({folder!r}, "settings.toml")
settings.write_text(settings.read_text().replace("dawiki", "svwiki"))
found.append(told(corpus_refresh.documents, plan, []))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def told(run_code, tmp_path_factory):
    """Let tasks of ``corpus_refresh`` meet what has changed since a run began."""
    folder = tmp_path_factory.mktemp("changed")
    settings, store = folder / "settings.toml", folder / "store"
    text = 'work = "work"\nstore = "store"\non_failure = ["no-such-command"]\n'
    for name in ("dawiki", "fiwiki"):
        text += f'[[wiki]]\nname = "{name}"\ncontact = "me@example.org"\n'
    settings.write_text(text)
    for version in ("20261108", "20261207"):
        (store / "dawiki" / version).mkdir(parents=True)
        (store / "dawiki" / version / "run.json").touch()
    inputs = [
        {"name": f"dawiki-NS{number}-20261101-ENTERPRISE-HTML.json.tar.gz"} for number in (0, 1)
    ]
    (store / "dawiki" / "20261108" / "documents").mkdir()
    (store / "dawiki" / "20261108" / "documents" / "dataset.json").write_text(
        json.dumps({"plan": {"inputs": inputs}})
    )
    (store / "dawiki" / "current").write_text("20261108\n")
    (store / "other").mkdir()
    (store / "other" / "current").write_text("1\n")
    (folder / "work" / "dumps").mkdir(parents=True)
    (folder / "work" / "dumps" / "dawiki-20261101.lock.json").write_text('{"files": []}')
    for name in ("20261001-pages.xml.bz2", "20261101-pages", "20261201-pages", "NS0-20261001-E"):
        (folder / "work" / "dumps" / f".dawiki-{name}.0123.partial").touch()
    *log, answers = run_code(TASKS.format(folder=str(folder)), settings).splitlines()
    names = (
        "accepted",
        "replaced",
        "dumps",
        "deleted",
        "others",
        "forgotten",
        "lost",
        "newest",
        "named",
        "repeated",
        "renamed",
    )
    return dict(zip(names, json.loads(answers), strict=True)) | {"log": "\n".join(log)}


def test_versions_that_cannot_be_compared_are_published_if_drift_is_accepted(told):
    assert told["accepted"] == "new"
    assert "accept_drift: continues, in spite of this. corpora.diff: exit status 1" in told["log"]


def test_a_command_for_reports_that_cannot_be_run_is_named(told):
    assert "no-such-command: cannot be run" in told["log"]
    assert "Check on_failure in the settings." in told["log"]


def test_a_run_does_not_replace_what_another_published_since_it_began(told):
    assert "dawiki/20261207: became current after this run was planned" in told["replaced"]


def test_what_has_come_of_a_dump_that_was_given_up_for_a_newer_one_is_removed(told):
    assert told["dumps"] == [
        ".dawiki-20261101-pages.0123.partial",
        ".dawiki-20261201-pages.0123.partial",
        "dawiki-20261101.lock.json",
    ]


@pytest.mark.parametrize(("name", "version"), [("deleted", "20261207"), ("forgotten", "none")])
def test_a_current_version_that_has_gone_stops_a_run_and_says_what_to_do(told, name, version):
    assert f"dawiki/current: names no version that is there ({version})" in told[name]
    assert "onoma store switch" in told[name]
    assert told[name].endswith("There are: 20261108.")


def test_a_wiki_whose_current_version_has_gone_does_not_stop_others(told):
    assert told["others"] == [["dawiki", "fiwiki"], {}]


def test_a_vocabulary_that_has_gone_is_not_begun_anew(told):
    assert "dawiki-vocab: nothing is published there, but" in told["lost"]
    assert "Bring it back from a backup." in told["lost"]


def test_no_older_dump_than_that_of_the_current_version_is_taken_unless_it_is_named(told):
    newest, named = " ".join(told["newest"]), " ".join(told["named"])

    assert "--date latest-complete --not-before 20261101" in newest
    assert "--date 20261001" in named
    assert "--not-before" not in named


def test_a_run_that_is_repeated_takes_the_dump_that_it_has_published(told):
    assert "--date 20261101" in " ".join(told["repeated"])


def test_an_entry_that_was_taken_out_of_the_settings_is_named(told):
    assert "dawiki is in the settings no more" in told["renamed"]


def test_every_task_ends_in_time_is_tried_again_and_has_a_pool(loaded):
    pools = json.loads((DAGS / "pools.json").read_text(encoding="utf-8"))
    tasks = {(n, t): task for n, dag in dags(loaded).items() for t, task in dag["tasks"].items()}

    for name, task in tasks.items():
        assert task["retries"] > 0, name
        assert task["backoff"] > 1, name
        assert task["timeout"] > 0, name
        assert task["has_callback"], name
        assert task["pool"] in pools, name
    of_crawls = [name for name, task in tasks.items() if task["pool"] == "onoma_crawls"]
    assert of_crawls == [("news_refresh", "refresh.documents")]
    assert pools["onoma_crawls"]["slots"] == 1


@pytest.fixture
def start(monkeypatch):
    monkeypatch.syspath_prepend(DAGS / "samples")
    return importlib.import_module("start")


def test_sample_dump_is_found_by_the_downloader(start, tmp_path):
    start.write_mirror(tmp_path / "mirror")
    with start.served(tmp_path / "mirror", 0) as port:
        command = [sys.executable, "-m", "corpora.wikipedia.download", "kleinwiki"]
        command += ["--mirror", f"http://127.0.0.1:{port}", "--contact", "me@example.org"]

        subprocess.run([*command, "--output", tmp_path / "dumps"], check=True, capture_output=True)

    [dump] = (tmp_path / "dumps").glob("*.xml")
    assert dump.read_bytes() == start.DUMP.read_bytes()
