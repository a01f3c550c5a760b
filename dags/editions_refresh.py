"""The DAG for TEI editions: makes the NER data and the tagger of each changed edition again."""

from pathlib import Path

from airflow.sdk import Param, task_group
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from onoma_refresh import changes
from onoma_refresh.job import (
    JOB,
    MODEL,
    TRAIN,
    TRAINING,
    DagTask,
    LimitPassedError,
    RefreshPlan,
    step,
)
from onoma_refresh.schedule import EDITIONS, TAGGERS, refresh_dag
from onoma_refresh.settings import RefreshSettings

DOC = """\
For each `[[edition]]` of the settings that has changed since it was published or refused (`force`:
for all). **evaluate** scores the new tagger and the current one on the new test set: where strict
F1 is lower and the whole 95 % interval of the difference is below 0, the task fails, and **nothing
is published**. Clear it to decide again, or mark it as a success to publish in spite of it. See
`docs/airflow.md`.
"""


class EditionPlan(RefreshPlan):
    """The plan of an edition."""

    state: str
    """A hash of the files and options of the edition."""
    encoder: str
    """The folder of the encoder to fine-tune; empty: no tagger is made."""


@step()
def look(job: DagTask, name: str) -> EditionPlan:
    """Make the plan of an edition; skip it where it has not changed."""
    settings = job.settings
    edition = settings.editions[name]
    if edition.checkout:
        changes.pull(edition.checkout)
    state = changes.state_of(settings, edition)
    if changes.was_seen(settings, name, state) and not job.params["force"]:
        raise AirflowSkipException(f"{name}: has not changed.")
    return {
        "name": name,
        "state": state,
        "version": f"{job.version('%Y%m%dT%H%M')}-{state[:8]}",
        "work": str(settings.work / f"{name}-edition" / state[:12]),
        "encoder": _encoder(settings, edition.model),
    }


def _encoder(settings: RefreshSettings, model: str) -> str:
    """Return the folder of an encoder: the current one of a [[model]], or a given folder.

    Returns an empty string where the edition names none.
    """
    if model not in settings.models:
        return str(settings.folder / model) if model else ""
    current = settings.current(f"{model}-encoder")
    if not current:
        raise AirflowException(f"[[model]] {model}: nothing published. Run model_refresh first.")
    return str(current)


@step(JOB)
def ner(job: DagTask, plan: EditionPlan) -> str:
    """Make NER data from the TEI files."""
    edition = job.settings.editions[plan["name"]]
    return job.make(
        "pipelines.tei_to_ner",
        f"{plan['work']}/{edition.name}",
        *("--input", *edition.input, "--edition", edition.edition, *edition.ner),
    )


@step(TRAIN, pool=TRAINING)
def finetune(job: DagTask, plan: EditionPlan, ner: str) -> str:
    """Train a tagger; return an empty string where the settings name no model."""
    if not plan["encoder"]:
        return ""
    edition, output = job.settings.editions[plan["name"]], Path(plan["work"]) / "tagger"
    return job.finetune(edition, output, ner=f"{ner}/ner", encoder=plan["encoder"])


@step(JOB, pool=TRAINING)
def evaluate(job: DagTask, plan: EditionPlan, *made: str) -> None:
    """Score a tagger on NER data; stop where it is worse than the current one."""
    ner, tagger = made
    if not tagger:
        return
    edition = job.settings.editions[plan["name"]]
    try:
        job.evaluate(edition, ner=f"{ner}/ner", tagger=tagger)
    except LimitPassedError:
        changes.mark_seen(job.settings, edition.name, plan["state"], outcome="refused")
        raise


@step(outlets=[EDITIONS])
def publish_ner(job: DagTask, plan: EditionPlan, ner: str) -> None:
    """Verify and publish the NER data; add an event to the asset."""
    published = job.publish(ner, f"{plan['name']}-ner", plan)
    job.add_event(EDITIONS, edition=plan["name"], **published)


@step(outlets=[TAGGERS])
def publish_tagger(job: DagTask, plan: EditionPlan, tagger: str) -> None:
    """Verify and publish the tagger with its scores; add an event to the asset."""
    if not tagger:
        raise AirflowSkipException(f"{plan['name']}: the settings name no model.")
    published = job.publish(tagger, f"{plan['name']}-tagger", plan, by=MODEL)
    job.add_event(TAGGERS, edition=plan["name"], **published)


@step(trigger_rule="none_failed_min_one_success")
def tidy(job: DagTask, plan: EditionPlan) -> None:
    """Note that this state is published; remove what nobody needs."""
    changes.mark_seen(job.settings, plan["name"], plan["state"], outcome="published")
    job.prune(f"{plan['name']}-ner", f"{plan['name']}-tagger")
    job.remove_work(plan["work"])


@task_group
def refresh(name: str) -> None:
    """Make and publish everything for one edition."""
    plan = look(name)
    made = ner(plan)
    tagger = finetune(plan, made)
    scored = evaluate(plan, made, tagger)
    published = [publish_ner(plan, made), publish_tagger(plan, tagger)]
    scored >> published >> tidy(plan)


refresh_dag(
    "editions_refresh",
    DOC,
    refresh.expand,
    table="editions",
    schedule="@hourly",
    params={
        "force": Param(default=False, type="boolean", description="also where nothing has changed")
    },
)
