"""Encoders: when a corpus is new they go on learning, and are published if taggers stay as good."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.sdk import dag, task, task_group
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from onoma_refresh import tagging
from onoma_refresh.commands import run
from onoma_refresh.schedule import (
    CORPORA,
    DEFAULTS,
    ENCODERS,
    JOB,
    SETTINGS,
    TAGGERS,
    TRAIN,
    TRAINING,
    check_version,
    chosen,
    load_settings,
    names_of,
    version_of,
)
from onoma_refresh.settings import Model, Settings
from onoma_refresh.tidying import prune, remove_work

DOC = """\
### For each `[[model]]` of the settings whose corpus is new

`plan` → `pretrain` → `finetune` → `evaluate` → `publish_encoder`, `publish_tagger` → `tidy`

Started by the asset `onoma_corpora`; by hand, for all models or those named.

* **pretrain** begins with the current encoder (the first time with `init_from`) and goes on with
  the new examples: entities keep their ids, and those of the same name their rows.
* **finetune** trains a tagger of the model's `edition` on its NER data, and **evaluate** compares
  it with the edition's tagger, paired, on the same test set: those that are current by then. Where
  it is worse, and not by chance, the task fails and **neither is published**.
* Without an `edition`, or as long as it has no NER data, an encoder is published unjudged.

See `docs/airflow.md`.
"""


@task
def plan(
    *, params: dict[str, Any], dag_run: Any, triggering_asset_events: Any
) -> list[dict[str, Any]]:
    """Say which models go on learning: one plan for each."""
    settings = load_settings(params)
    events = triggering_asset_events.get(CORPORA, []) if triggering_asset_events else []
    wikis = {event.extra.get("wiki") for event in events}
    names = [
        name
        for name in chosen(settings.models, params["models"], table="model")
        if not wikis or settings.models[name].wiki in wikis
    ]
    if not names:
        raise AirflowSkipException(f"no [[model]] learns from {', '.join(sorted(wikis))}.")
    version = version_of(dag_run, "%Y%m%dT%H%M")
    for name in names:
        check_version(settings, [f"{name}-encoder"], version)
    return [_plan(settings, settings.models[name], version) for name in names]


def _plan(settings: Settings, model: Model, version: str) -> dict[str, Any]:
    examples = settings.current(f"{model.wiki}-examples")
    encoder = settings.current(f"{model.name}-encoder")
    init_from = encoder / "final" if encoder else model.init_from
    return {
        "model": model.name,
        "version": version,
        "work": str(settings.work / f"{model.name}-model" / version),
        "examples": str(examples) if examples else None,
        "init_from": str(init_from) if init_from else None,
    }


@task(pool=TRAINING, execution_timeout=TRAIN)
def pretrain(plan: dict[str, Any], *, params: dict[str, Any]) -> str:
    """Go on learning; a retry goes on from the last checkpoint."""
    settings = load_settings(params)
    model = settings.models[plan["model"]]
    examples = plan["examples"] or settings.current(f"{model.wiki}-examples")
    if not examples:
        raise AirflowException(f"{model.wiki}: no examples. Run corpus_refresh first.")
    output = Path(plan["work"]) / model.name
    run(
        settings,
        "modeling.pretrain",
        *(model.recipe, "--examples", examples, "--output", output),
        *(("--init-from", plan["init_from"]) if plan["init_from"] else ()),
        *model.pretrain,
    )
    return str(output)


@task(pool=TRAINING, execution_timeout=TRAIN)
def finetune(
    plan: dict[str, Any], encoder: str, *, params: dict[str, Any]
) -> dict[str, str] | None:
    """Train a tagger of the edition; none, where it has no NER data.

    On what is current now: pre-training may have taken days. Returns the folders of both.
    """
    settings = load_settings(params)
    name = settings.models[plan["model"]].edition
    ner = settings.current(f"{name}-ner") if name else None
    if not ner:
        return None
    output = Path(plan["work"]) / "tagger" / ner.name
    edition = settings.editions[name]
    tagging.finetune(settings, edition, ner=str(ner / "ner"), encoder=encoder, output=output)
    return {"tagger": str(output), "ner": str(ner / "ner")}


@task(pool=TRAINING, execution_timeout=JOB)
def evaluate(
    plan: dict[str, Any], trained: dict[str, str] | None, *, params: dict[str, Any]
) -> None:
    """Score it; stop where it is worse than the current one."""
    if not trained:
        return
    settings = load_settings(params)
    edition = settings.editions[settings.models[plan["model"]].edition]
    tagging.evaluate(settings, edition, **trained)


@task(outlets=[ENCODERS])
def publish_encoder(
    plan: dict[str, Any], encoder: str, *, params: dict[str, Any], outlet_events: Any
) -> None:
    """Verify and publish the encoder; tell the asset."""
    settings = load_settings(params)
    shelf = f"{plan['model']}-encoder"
    told = tagging.publish_model(settings, encoder, shelf, version=plan["version"])
    outlet_events[ENCODERS].extra = {"model": plan["model"], **told}


@task(outlets=[TAGGERS])
def publish_tagger(
    plan: dict[str, Any],
    trained: dict[str, str] | None,
    *,
    params: dict[str, Any],
    outlet_events: Any,
) -> None:
    """Verify and publish the tagger that judged it; tell the asset."""
    if not trained:
        raise AirflowSkipException(f"{plan['model']}: no edition with NER data.")
    settings = load_settings(params)
    edition = settings.models[plan["model"]].edition
    shelf = f"{edition}-tagger"
    told = tagging.publish_model(settings, trained["tagger"], shelf, version=plan["version"])
    outlet_events[TAGGERS].extra = {"edition": edition, **told}


@task(trigger_rule="none_failed_min_one_success")
def tidy(plan: dict[str, Any], *, params: dict[str, Any]) -> None:
    """Remove what nobody needs, and the folder of this run."""
    settings = load_settings(params)
    edition = settings.models[plan["model"]].edition
    prune(settings, [f"{plan['model']}-encoder", *([f"{edition}-tagger"] if edition else [])])
    remove_work(settings, Path(plan["work"]))


@task_group
def refresh(plan: dict[str, Any]) -> None:
    """All that is made of one model."""
    encoder = pretrain(plan)
    trained = finetune(plan, encoder)
    scored = evaluate(plan, trained)
    published = [publish_encoder(plan, encoder), publish_tagger(plan, trained)]
    scored >> published >> tidy(plan)


@dag(
    schedule=[CORPORA],
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,  # without a [[model]] it does nothing
    default_args=DEFAULTS,
    doc_md=DOC,
    tags=["onoma"],
    params={"models": names_of("models"), "settings": SETTINGS},
)
def model_refresh() -> None:
    """Examples to encoder to tagger, for each model whose corpus is new."""
    refresh.expand(plan=plan())


model_refresh()
