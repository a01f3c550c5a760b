"""TEI editions: when one has changed, its NER data and its tagger are made anew."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.sdk import Param, dag, task, task_group
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from onoma_refresh import changes, tagging
from onoma_refresh.commands import StoppedError, run
from onoma_refresh.results import describe_version
from onoma_refresh.schedule import (
    DEFAULTS,
    EDITIONS,
    JOB,
    SETTINGS,
    TAGGERS,
    TRAIN,
    TRAINING,
    chosen,
    load_settings,
    names_of,
    version_of,
)
from onoma_refresh.settings import Settings
from onoma_refresh.tidying import prune, remove_work

DOC = """\
### For each `[[edition]]` of the settings

`look` → `ner` → `finetune` → `evaluate` → `publish_ner`, `publish_tagger` → `tidy`

* **look** pulls the git checkout, where there is one, and hashes all files. Where nothing changed
  since an edition was published or refused, the rest is skipped (`force` does not skip).
* **evaluate** scores the new tagger and the current one on the new test set, with a paired
  bootstrap. Where strict F1 is lower and the whole 95 % interval of the difference is below 0, the
  task fails, and **nothing is published**; the report is in the folder of the run. Clear it to
  decide again, or mark it as a success to publish in spite of it.
* **publish** verifies, switches `current` in one step, and tells `onoma_editions` and
  `onoma_taggers`, with version, fingerprint, totals and F1.

The version is the date and the beginning of the hash. See `docs/airflow.md`.
"""


@task
def editions(*, params: dict[str, Any]) -> list[str]:
    """Which editions are looked at."""
    settings = load_settings(params)
    return chosen(settings.editions, params["editions"], table="edition")


@task
def look(name: str, *, params: dict[str, Any], dag_run: Any) -> dict[str, Any]:
    """Say what is made anew of an edition; skip it where it has not changed."""
    settings = load_settings(params)
    edition = settings.editions[name]
    if edition.checkout:
        changes.pull(edition.checkout)
    state = changes.state_of(settings, edition)
    if changes.was_seen(settings, name, state) and not params["force"]:
        raise AirflowSkipException(f"{name}: has not changed.")
    return {
        "edition": name,
        "state": state,
        "version": f"{version_of(dag_run)}-{state[:8]}",
        "work": str(settings.work / f"{name}-edition" / state[:12]),
        "encoder": _encoder(settings, edition.model),
    }


def _encoder(settings: Settings, model: str) -> str:
    """The folder of an encoder: what [[model]] published last, or a folder; may be none."""
    if model not in settings.models:
        return str(settings.folder / model) if model else ""
    current = settings.current(f"{model}-encoder")
    if not current:
        raise AirflowException(f"[[model]] {model}: nothing published. Run model_refresh first.")
    return str(current)


@task(execution_timeout=JOB)
def ner(plan: dict[str, Any], *, params: dict[str, Any]) -> str:
    """Make NER data of the TEI files."""
    settings = load_settings(params)
    edition = settings.editions[plan["edition"]]
    output = Path(plan["work"]) / edition.name
    run(
        settings,
        "pipelines.tei_to_ner",
        *("--input", *edition.input, "--edition", edition.edition, "--output", output),
        *edition.ner,
        output=output,
    )
    return str(output)


@task(pool=TRAINING, execution_timeout=TRAIN)
def finetune(plan: dict[str, Any], ner: str, *, params: dict[str, Any]) -> str:
    """Train a tagger; none, where the settings name no model."""
    settings = load_settings(params)
    if not plan["encoder"]:
        return ""
    output = Path(plan["work"]) / "tagger"
    edition = settings.editions[plan["edition"]]
    tagging.finetune(settings, edition, ner=f"{ner}/ner", encoder=plan["encoder"], output=output)
    return str(output)


@task(pool=TRAINING, execution_timeout=JOB)
def evaluate(plan: dict[str, Any], ner: str, tagger: str, *, params: dict[str, Any]) -> None:
    """Score it; stop where it is worse than the current one."""
    if not tagger:
        return
    settings = load_settings(params)
    edition = settings.editions[plan["edition"]]
    try:
        tagging.evaluate(settings, edition, ner=f"{ner}/ner", tagger=tagger)
    except StoppedError:
        changes.mark_seen(settings, edition.name, plan["state"], outcome="refused")
        raise


@task(outlets=[EDITIONS])
def publish_ner(
    plan: dict[str, Any], ner: str, *, params: dict[str, Any], outlet_events: Any
) -> None:
    """Verify and publish the NER data; tell the asset."""
    settings = load_settings(params)
    shelf = settings.shelf(f"{plan['edition']}-ner")
    run(settings, "corpora.store", "publish", ner, shelf, "--version", plan["version"])
    told = describe_version(shelf / plan["version"])
    outlet_events[EDITIONS].extra = {"edition": plan["edition"], **told}


@task(outlets=[TAGGERS])
def publish_tagger(
    plan: dict[str, Any], tagger: str, *, params: dict[str, Any], outlet_events: Any
) -> None:
    """Verify and publish the tagger with its scores; tell the asset."""
    if not tagger:
        raise AirflowSkipException(f"{plan['edition']}: the settings name no model.")
    settings = load_settings(params)
    shelf = f"{plan['edition']}-tagger"
    told = tagging.publish_model(settings, tagger, shelf, version=plan["version"])
    outlet_events[TAGGERS].extra = {"edition": plan["edition"], **told}


@task(trigger_rule="none_failed_min_one_success")
def tidy(plan: dict[str, Any], *, params: dict[str, Any]) -> None:
    """Note that this state is published; remove what nobody needs."""
    settings = load_settings(params)
    changes.mark_seen(settings, plan["edition"], plan["state"], outcome="published")
    prune(settings, [f"{plan['edition']}-ner", f"{plan['edition']}-tagger"])
    remove_work(settings, Path(plan["work"]))


@task_group
def refresh(name: str) -> None:
    """All that is made of one edition."""
    plan = look(name)
    made = ner(plan)
    tagger = finetune(plan, made)
    scored = evaluate(plan, made, tagger)
    published = [publish_ner(plan, made), publish_tagger(plan, tagger)]
    scored >> published >> tidy(plan)


@dag(
    schedule="@hourly",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
    doc_md=DOC,
    tags=["onoma"],
    params={
        "editions": names_of("editions"),
        "force": Param(default=False, type="boolean", description="also where nothing has changed"),
        "settings": SETTINGS,
    },
)
def editions_refresh() -> None:
    """TEI to NER to tagger, for each edition that has changed."""
    refresh.expand(name=editions())


editions_refresh()
