"""The DAG for encoders: trains them on new corpora, and publishes them if taggers stay as good."""

from collections.abc import Mapping, Set
from pathlib import Path

from airflow.sdk import task_group
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from onoma_refresh.job import (
    JOB,
    MODEL,
    TRAIN,
    TRAINING,
    DagTask,
    LimitPassedError,
    RefreshPlan,
    given,
    step,
)
from onoma_refresh.results import read_json, write_json
from onoma_refresh.schedule import CORPORA, ENCODERS, TAGGERS, check_version, refresh_dag
from onoma_refresh.settings import ModelEntry, RefreshSettings

DOC = """\
For each `[[model]]` of the settings whose examples are new since it was last published or refused,
by their fingerprint; by hand, for all models or those named. **evaluate** compares the tagger of
the model's `edition` with the current one, paired, on the same test set: where it is worse, and not
by chance, the task fails and **neither is published**. Without an `edition`, or as long as it has
no NER data, an encoder is published unjudged. See `docs/airflow.md`.
"""


class ModelPlan(RefreshPlan):
    """The plan of a model."""

    examples: str
    """The folder of the examples; empty: those that are current when training begins."""
    fingerprint: str | None
    """The fingerprint of the examples."""
    init_from: str
    """The folder of the encoder to begin with; empty: training begins from scratch."""


@step()
def plan(job: DagTask, name: str) -> ModelPlan:
    """Make the plan of a model; skip it where there is nothing new to learn from.

    A plan that cannot be made stops no other model.
    """
    settings, run = job.settings, job.context["dag_run"].run_id
    model = settings.models[name]
    events = (job.context["triggering_asset_events"] or {}).get(CORPORA, [])
    wikis = {event.extra.get("wiki") for event in events}
    examples = settings.current(f"{model.wiki}-examples")
    begun = {
        "examples": str(examples or ""),
        "run": run,
        "fingerprint": read_json(examples / "run.json").get("fingerprint") if examples else None,
    }
    if wikis and None not in wikis:  # an event that somebody made by hand has no wiki
        last = read_json(_note_of(settings, name))
        _check_due(settings, model, wikis=wikis, begun=begun, last=last)
    version = job.version("%Y%m%dT%H%M")
    check_version(settings, [f"{name}-encoder"], version)
    encoder = settings.current(f"{name}-encoder")
    return {
        "name": name,
        "version": version,
        "work": str(settings.work / f"{name}-model" / version),
        "examples": begun["examples"],
        "fingerprint": begun["fingerprint"],
        "init_from": str((encoder / "final" if encoder else model.init_from) or ""),
    }


def _check_due(
    settings: RefreshSettings,
    model: ModelEntry,
    *,
    wikis: Set[str],
    begun: Mapping[str, str | None],
    last: Mapping[str, str | None],
) -> None:
    """Skip a model that learns from none of the wikis, or has learned from the same examples.

    ``begun`` describes this training, ``last`` the last that was published or refused. Of several
    events that come while the DAG runs, Airflow hands only the first to the next run, so a model is
    also due that has not seen the examples that are current.
    """
    name, is_again = model.name, last.get("run") == begun["run"]
    has_encoder = bool(settings.current(f"{name}-encoder"))
    is_unseen = last.get("examples") != begun["examples"]
    is_due = model.wiki in wikis or (begun["examples"] and (is_again or is_unseen))
    if not is_due:
        raise AirflowSkipException(f"{name}: does not learn from {', '.join(sorted(wikis))}.")
    is_same = begun["fingerprint"] and last.get("fingerprint") == begun["fingerprint"]
    if has_encoder and is_same and not is_again:
        raise AirflowSkipException(f"{name}: has learned from these examples (same fingerprint).")


def _mark_learned(job: DagTask, plan: ModelPlan) -> None:
    """Note what a model was trained on, so that the same examples do not train it again.

    A training that failed notes nothing.
    """
    learned = {
        "examples": plan["examples"],
        "run": job.context["dag_run"].run_id,
        "fingerprint": plan["fingerprint"],
    }
    write_json(_note_of(job.settings, plan["name"]), learned)


def _note_of(settings: RefreshSettings, name: str) -> Path:
    return settings.work / "models" / f"{name}.json"


@step(TRAIN, pool=TRAINING)
def pretrain(job: DagTask, plan: ModelPlan) -> str:
    """Train an encoder further; a retry resumes from the last checkpoint."""
    model = job.settings.models[plan["name"]]
    examples = plan["examples"] or job.settings.current(f"{model.wiki}-examples")
    if not examples:
        raise AirflowException(f"{model.wiki}: no examples. Run corpus_refresh first.")
    options = ("--examples", examples, *given("--init-from", plan["init_from"]), *model.pretrain)
    return job.make("modeling.pretrain", f"{plan['work']}/{model.name}", model.recipe, *options)


@step(TRAIN, pool=TRAINING)
def finetune(job: DagTask, plan: ModelPlan, encoder: str) -> dict[str, str] | None:
    """Train a tagger of the edition on its NER data; return None where it has none.

    Uses the data that is current now, because pre-training may have taken days. Returns the folders
    of the tagger and the NER data.
    """
    name = job.settings.models[plan["name"]].edition
    current = job.settings.current(f"{name}-ner") if name else None
    if not current:
        return None
    output, ner = Path(plan["work"]) / "tagger" / current.name, str(current / "ner")
    tagger = job.finetune(job.settings.editions[name], output, ner=ner, encoder=encoder)
    return {"tagger": tagger, "ner": ner}


@step(JOB, pool=TRAINING)
def evaluate(job: DagTask, plan: ModelPlan, trained: dict[str, str] | None) -> None:
    """Score the tagger; stop where it is worse than the current one."""
    if not trained:
        return
    edition = job.settings.models[plan["name"]].edition
    try:
        job.evaluate(job.settings.editions[edition], **trained)
    except LimitPassedError:
        _mark_learned(job, plan)
        raise


@step(outlets=[ENCODERS])
def publish_encoder(job: DagTask, plan: ModelPlan, encoder: str) -> None:
    """Verify and publish the encoder; add an event to the asset."""
    published = job.publish(encoder, f"{plan['name']}-encoder", plan, by=MODEL)
    _mark_learned(job, plan)
    job.add_event(ENCODERS, model=plan["name"], **published)


@step(outlets=[TAGGERS])
def publish_tagger(job: DagTask, plan: ModelPlan, trained: dict[str, str] | None) -> None:
    """Verify and publish the tagger that the encoder was judged by; add an event to the asset."""
    if not trained:
        raise AirflowSkipException(f"{plan['name']}: no edition with NER data.")
    edition = job.settings.models[plan["name"]].edition
    published = job.publish(trained["tagger"], f"{edition}-tagger", plan, by=MODEL)
    job.add_event(TAGGERS, edition=edition, **published)


@step(trigger_rule="none_failed_min_one_success")
def tidy(job: DagTask, plan: ModelPlan) -> None:
    """Remove what nobody needs, and the work folder of this run."""
    edition = job.settings.models[plan["name"]].edition
    job.prune(f"{plan['name']}-encoder", *([f"{edition}-tagger"] if edition else []))
    job.remove_work(plan["work"])


@task_group
def refresh(name: str) -> None:
    """Make and publish everything for one model."""
    planned = plan(name)
    encoder = pretrain(planned)
    trained = finetune(planned, encoder)
    scored = evaluate(planned, trained)
    published = [publish_encoder(planned, encoder), publish_tagger(planned, trained)]
    scored >> published >> tidy(planned)


refresh_dag(
    "model_refresh",
    DOC,
    refresh.expand,
    table="models",
    schedule=[CORPORA],
    is_paused_upon_creation=False,  # without a [[model]] in the settings it does nothing
)
