"""Wikipedia: a new dump each month, its documents, entity vocabulary and examples."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.sdk import Param, dag, task, task_group
from airflow.sdk.exceptions import AirflowSkipException

from onoma_refresh.commands import StoppedError, run
from onoma_refresh.results import describe_version
from onoma_refresh.schedule import (
    CORPORA,
    DEFAULTS,
    JOB,
    SETTINGS,
    check_version,
    checked,
    chosen,
    load_settings,
    names_of,
    version_of,
    whole,
)
from onoma_refresh.settings import NAME, shelves_of_wiki
from onoma_refresh.tidying import prune, remove_dumps, remove_work

NEWEST = "latest-complete"
"""A date of a dump."""
DATE = rf"{NEWEST}|[0-9]{{8}}"
DOC = """\
### For each `[[wiki]]` of the settings

`plan` → `download` → `documents` → `compare` → `vocabulary`, `tokenizer` → `examples` → `publish`
→ `tidy`

* **plan** gives the run's date as the version, and keeps the versions that are current now.
* **documents** takes over pages that are as they were in the current version (`--reuse`).
* **compare** stops before anything is published where documents, links or rejects moved further
  than `limits` allow (`diff.html` in the folder of the run says what). Look, change `limits` in the
  settings, and clear `compare`; or trigger a run with `accept_drift`. Where nothing changed at all,
  the rest is skipped.
* **vocabulary** keeps the ids of the current one, and so does the **tokenizer**: models go on.
* **publish** verifies, switches each `current` in one step, and tells the asset `onoma_corpora`:
  its event has version, fingerprint and totals. `model_refresh` waits for it.

Tasks may be killed at any moment; what is tried again goes on. See `docs/airflow.md`.
"""


@task
def plan(*, params: dict[str, Any], dag_run: Any) -> list[dict[str, Any]]:
    """Say what is made of which wiki: one plan for each."""
    settings = load_settings(params)
    version = checked(params, "version", NAME) or version_of(dag_run)
    names = chosen(settings.wikis, params["wikis"], table="wiki")
    for name in names:
        check_version(settings, list(shelves_of_wiki(name).values()), version)
    return [
        {
            "wiki": name,
            "version": version,
            "work": str(settings.work / name / version),
            "previous": {
                part: str(current)
                for part, shelf in shelves_of_wiki(name).items()
                if (current := settings.current(shelf))
            },
        }
        for name in names
    ]


@task(execution_timeout=JOB)
def download(plan: dict[str, Any], *, params: dict[str, Any]) -> list[str]:
    """Fetch the newest complete dump, or that of a date; returns its files.

    Which one it was is written down: the same run never takes a newer one.
    """
    settings = load_settings(params)
    wiki = settings.wikis[plan["wiki"]]
    dumps = settings.work / "dumps"
    pin = settings.work / "pins" / f"{plan['wiki']}-{plan['version']}.json"
    date = checked(params, "date", DATE)
    if date == NEWEST and pin.exists():
        date = json.loads(pin.read_text(encoding="utf-8"))["date"]
    mirror = ["--mirror", wiki.mirror] if wiki.mirror else []
    lines = run(
        settings,
        "corpora.wikipedia.download",
        *(wiki.name, "--output", dumps, "--contact", wiki.contact, "--date", date),
        *(*mirror, *wiki.download),
    )
    [made] = [line for line in lines if line.startswith("made  ")]
    lock = Path(made.removeprefix("made  ").partition(".lock.json")[0] + ".lock.json")
    about = json.loads(lock.read_text(encoding="utf-8"))
    pin.parent.mkdir(parents=True, exist_ok=True)
    pin.write_text(json.dumps({"date": about["date"]}), encoding="utf-8")
    return [str(dumps / file["name"]) for file in about["files"]]


@task(execution_timeout=JOB)
def documents(plan: dict[str, Any], files: list[str], *, params: dict[str, Any]) -> str:
    """Make documents of the dump."""
    settings = load_settings(params)
    output = Path(plan["work"]) / "documents"
    previous = plan["previous"].get("documents")
    has_hashes = previous and (Path(previous) / "reuse").is_dir()
    run(
        settings,
        "pipelines.wikipedia_to_documents",
        *("--input", *files, "--output", output, *settings.wikis[plan["wiki"]].documents),
        *(("--reuse", previous) if has_hashes else ()),
        output=output,
    )
    return str(output)


@task(execution_timeout=JOB)
def compare(plan: dict[str, Any], documents: str, *, params: dict[str, Any]) -> str:
    """Compare with the current version; stop where it moved too far, or not at all."""
    settings = load_settings(params)
    previous = plan["previous"].get("documents")
    if not previous:
        return documents
    if _is_same(plan, documents) and not params["rebuild"]:
        remove_work(settings, Path(plan["work"]))
        raise AirflowSkipException(f"{documents}: the same as {previous}, which is current.")
    work = Path(plan["work"])
    limits = settings.wikis[plan["wiki"]].limits
    try:
        run(
            settings,
            "corpora.diff",
            *(previous, documents, "--html", work / "diff.html", "--json", work / "diff.json"),
            *(("--fail-if", *limits) if limits else ()),
        )
    except StoppedError:
        if not params["accept_drift"]:
            raise
    return documents


def _is_same(plan: dict[str, Any], documents: str) -> bool:
    """Whether these documents are current, and so is all that was made of them."""
    current = [plan["previous"].get(part) for part in ("documents", "vocabulary", "examples")]
    if not all(current) or len({Path(folder).name for folder in current}) > 1:
        return False
    runs = [json.loads((Path(f) / "run.json").read_bytes()) for f in (current[0], documents)]
    return all(runs[0][key] == runs[1][key] for key in ("fingerprint", "files"))


@task(execution_timeout=JOB)
def vocabulary(plan: dict[str, Any], documents: str, *, params: dict[str, Any]) -> str:
    """Count entities; those that were known keep their ids."""
    settings = load_settings(params)
    output = Path(plan["work"]) / "vocabulary"
    previous = plan["previous"].get("vocabulary")
    run(
        settings,
        "pipelines.documents_to_entity_vocab",
        *("--input", Path(documents) / "documents", "--output", output),
        *(("--previous", previous) if previous else ()),
        *settings.wikis[plan["wiki"]].vocabulary,
        output=output,
    )
    return str(output)


@task(execution_timeout=JOB)
def tokenizer(plan: dict[str, Any], documents: str, *, params: dict[str, Any]) -> str:
    """The tokenizer of the settings, or the current one; or else learn one."""
    settings = load_settings(params)
    wiki = settings.wikis[plan["wiki"]]
    if wiki.tokenizer:
        return str(wiki.tokenizer)
    if "tokenizer" in plan["previous"]:
        return str(plan["previous"]["tokenizer"])
    output = Path(plan["work"]) / "tokenizer"
    run(
        settings,
        "pipelines.documents_to_tokenizer",
        *("--input", Path(documents) / "documents", "--output", output, *wiki.learn_tokenizer),
        output=output,
    )
    return str(output)


@task(execution_timeout=JOB)
def examples(
    plan: dict[str, Any],
    documents: str,
    *,
    tokenizer: str,
    vocabulary: str,
    params: dict[str, Any],
) -> str:
    """Make the examples that encoders learn from."""
    settings = load_settings(params)
    output = Path(plan["work"]) / "examples"
    run(
        settings,
        "pipelines.documents_to_examples",
        *("--input", Path(documents) / "documents", "--output", output),
        *("--tokenizer", tokenizer, "--entity-vocab", vocabulary),
        *settings.wikis[plan["wiki"]].examples,
        output=output,
    )
    return str(output)


@task(outlets=[CORPORA], execution_timeout=JOB)
def publish(
    plan: dict[str, Any],
    made: dict[str, str],
    *,
    params: dict[str, Any],
    outlet_events: Any,
) -> dict[str, Any]:
    """Verify and publish, the examples last; tell the asset."""
    settings = load_settings(params)
    shelves = shelves_of_wiki(plan["wiki"])
    told = {}
    for part in ("documents", "tokenizer", "vocabulary", "examples"):
        if Path(made[part]).parent != Path(plan["work"]):
            continue  # a tokenizer that was there before
        shelf = settings.shelf(shelves[part])
        run(
            settings,
            "corpora.store",
            "publish",
            made[part],
            shelf,
            "--version",
            plan["version"],
        )
        told[part] = describe_version(shelf / plan["version"])
    outlet_events[CORPORA].extra = {"wiki": plan["wiki"], **told}
    return told


@task
def tidy(plan: dict[str, Any], *, params: dict[str, Any]) -> None:
    """Remove versions and dumps that nobody needs, and the folder of this run."""
    settings = load_settings(params)
    prune(settings, list(shelves_of_wiki(plan["wiki"]).values()))
    remove_dumps(settings, plan["wiki"])
    remove_work(settings, Path(plan["work"]))


@task_group
def refresh(plan: dict[str, Any]) -> None:
    """All that is made of one wiki."""
    made = documents(plan, download(plan))
    compared = compare(plan, made)
    vocab = vocabulary(plan, compared)
    pieces = tokenizer(plan, compared)
    packed = examples(plan, compared, tokenizer=pieces, vocabulary=vocab)
    published = publish(
        plan,
        {"documents": made, "vocabulary": vocab, "tokenizer": pieces, "examples": packed},
    )
    published >> tidy(plan)


@dag(
    schedule="0 3 8 * *",  # by then most runs that began on the 1st are done
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
    doc_md=DOC,
    tags=["onoma"],
    params={
        "wikis": names_of("wikis"),
        "date": Param(
            NEWEST,
            type="string",
            pattern=whole(DATE),
            description="of the dump, as 20261101",
        ),
        "version": Param(
            default=None,
            type=["null", "string"],
            pattern=whole(NAME),
            description="of what is published, if not the date of the run",
        ),
        "accept_drift": Param(
            default=False, type="boolean", description="publish however far it moved"
        ),
        "rebuild": Param(
            default=False, type="boolean", description="go on though the documents have not changed"
        ),
        "settings": SETTINGS,
    },
)
def corpus_refresh() -> None:
    """Dump to documents to examples, for each wiki."""
    refresh.expand(plan=plan())


corpus_refresh()
