"""The DAG for encoders: trains them on new corpora, and publishes them if taggers stay as good."""

import json
from collections.abc import Set
from pathlib import Path
from typing import TypedDict

from airflow.sdk import task_group
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from onoma_refresh.job import MODEL, DagTask, given, step
from onoma_refresh.results import write_json
from onoma_refresh.schedule import (
    CORPORA,
    ENCODERS,
    JOB,
    TAGGERS,
    TRAIN,
    TRAINING,
    check_version,
    chosen,
    names_of,
    refresh_dag,
)
from onoma_refresh.settings import ModelEntry, RefreshSettings

DOC = """\
For each `[[model]]` of the settings whose examples are new since it was last trained, by their
fingerprint; by hand, for all models or those named. **evaluate** compares the tagger of the model's
`edition` with the current one, paired, on the same test set: where it is worse, and not by chance,
the task fails and **neither is published**. Without an `edition`, or as long as it has no NER data,
an encoder is published unjudged. See `docs/airflow.md`.
"""


class ModelPlan(TypedDict):
    """The plan of a model."""

    model: str
    version: str
    work: str
    examples: str
    """The folder of the examples; empty: those that are current when training begins."""
    init_from: str
    """The folder of the encoder to begin with; empty: training begins from scratch."""


@step()
def models(job: DagTask) -> list[str]:
    """List the models that this run looks at."""
    return chosen(job.settings.models, job.params["models"], table="model")


@step()
def plan(job: DagTask, name: str) -> ModelPlan:
    """Make the plan of a model; skip it where there is nothing new to learn from.

    A plan that cannot be made stops no other model.
    """
    settings = job.settings
    events = (job.context["triggering_asset_events"] or {}).get(CORPORA, [])
    wikis = {event.extra.get("wiki") for event in events}
    run = job.context["dag_run"].run_id
    is_by_wiki = wikis and None not in wikis  # an event that somebody made by hand has no wiki
    if is_by_wiki and not _is_due(settings, name, wikis=wikis, run=run):
        raise AirflowSkipException(f"{name}: does not learn from {', '.join(sorted(wikis))}.")
    if is_by_wiki and _has_learned(settings, name, run=run):
        raise AirflowSkipException(f"{name}: has learned from these examples (same fingerprint).")
    version = job.version("%Y%m%dT%H%M")
    check_version(settings, [f"{name}-encoder"], version)
    made = _plan(settings, settings.models[name], version)
    begun = {"examples": made["examples"], "run": run, "fingerprint": _fingerprint(settings, name)}
    write_json(_begun(settings, name), begun)
    return made


def _is_due(settings: RefreshSettings, name: str, *, wikis: Set[str], run: str) -> bool:
    """Tell whether a model learns from one of the wikis, or from examples that it has not seen.

    Of several events that come while the DAG runs, Airflow hands only the first to the next run.
    """
    wiki, begun = settings.models[name].wiki, _begun(settings, name)
    if wiki in wikis:
        return True
    examples = settings.current(f"{wiki}-examples")
    if not examples or not begun.is_file():
        return bool(examples) and not settings.current(f"{name}-encoder")
    last: dict[str, str] = json.loads(begun.read_text(encoding="utf-8"))
    return last["run"] == run or last["examples"] != str(examples)


def _has_learned(settings: RefreshSettings, name: str, *, run: str) -> bool:
    """Tell whether an encoder is published, and the examples are those of its last training."""
    begun = _begun(settings, name)
    if not begun.is_file() or not settings.current(f"{name}-encoder"):
        return False
    last: dict[str, str] = json.loads(begun.read_text(encoding="utf-8"))
    fingerprint = _fingerprint(settings, name)
    return last["run"] != run and fingerprint != "" and last.get("fingerprint") == fingerprint


def _fingerprint(settings: RefreshSettings, name: str) -> str:
    """Return the fingerprint of the current examples of a model; empty where there is none."""
    examples = settings.current(f"{settings.models[name].wiki}-examples")
    try:
        published = json.loads((examples / "run.json").read_text("utf-8")) if examples else {}
    except ValueError:
        return ""
    return str(published.get("fingerprint", ""))


def _begun(settings: RefreshSettings, model: str) -> Path:
    """Return the file that names the examples, and the run, of the last training of a model."""
    return settings.work / "models" / f"{model}.json"


def _plan(settings: RefreshSettings, model: ModelEntry, version: str) -> ModelPlan:
    encoder = settings.current(f"{model.name}-encoder")
    init_from = encoder / "final" if encoder else model.init_from
    return {
        "model": model.name,
        "version": version,
        "work": str(settings.work / f"{model.name}-model" / version),
        "examples": str(settings.current(f"{model.wiki}-examples") or ""),
        "init_from": str(init_from or ""),
    }


@step(TRAIN, pool=TRAINING)
def pretrain(job: DagTask, plan: ModelPlan) -> str:
    """Train an encoder further; a retry resumes from the last checkpoint."""
    model = job.settings.models[plan["model"]]
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
    name = job.settings.models[plan["model"]].edition
    current = job.settings.current(f"{name}-ner") if name else None
    if not current:
        return None
    output, ner = Path(plan["work"]) / "tagger" / current.name, str(current / "ner")
    tagger = job.finetune(job.settings.editions[name], output, ner=ner, encoder=encoder)
    return {"tagger": tagger, "ner": ner}


@step(JOB, pool=TRAINING)
def evaluate(job: DagTask, plan: ModelPlan, trained: dict[str, str] | None) -> None:
    """Score the tagger; stop where it is worse than the current one."""
    if trained:
        edition = job.settings.models[plan["model"]].edition
        job.evaluate(job.settings.editions[edition], **trained)


@step(outlets=[ENCODERS])
def publish_encoder(job: DagTask, plan: ModelPlan, encoder: str) -> None:
    """Verify and publish the encoder; add an event to the asset."""
    published = job.publish(encoder, f"{plan['model']}-encoder", plan["version"], by=MODEL)
    job.add_event(ENCODERS, model=plan["model"], **published)


@step(outlets=[TAGGERS])
def publish_tagger(job: DagTask, plan: ModelPlan, trained: dict[str, str] | None) -> None:
    """Verify and publish the tagger that the encoder was judged by; add an event to the asset."""
    if not trained:
        raise AirflowSkipException(f"{plan['model']}: no edition with NER data.")
    edition = job.settings.models[plan["model"]].edition
    published = job.publish(trained["tagger"], f"{edition}-tagger", plan["version"], by=MODEL)
    job.add_event(TAGGERS, edition=edition, **published)


@step(trigger_rule="none_failed_min_one_success")
def tidy(job: DagTask, plan: ModelPlan) -> None:
    """Remove what nobody needs, and the work folder of this run."""
    edition = job.settings.models[plan["model"]].edition
    job.prune(f"{plan['model']}-encoder", *([f"{edition}-tagger"] if edition else []))
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


@refresh_dag(
    DOC,
    schedule=[CORPORA],
    params={"models": names_of("models")},
    is_paused_upon_creation=False,  # without a [[model]] in the settings it does nothing
)
def model_refresh() -> None:
    """Train encoder and tagger for each model whose corpus is new."""
    refresh.expand(name=models())


model_refresh()
