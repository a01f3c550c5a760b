"""News: what the sites have published since yesterday, as documents with mentions."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.sdk import dag, task, task_group
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from onoma_refresh.commands import run
from onoma_refresh.results import describe_version, rows_in
from onoma_refresh.schedule import (
    CRAWLS,
    DEFAULTS,
    JOB,
    NEWS,
    SETTINGS,
    check_version,
    chosen,
    load_settings,
    names_of,
    version_of,
)
from onoma_refresh.tidying import remove_work

DOC = """\
### For each `[[news]]` of the settings

`plan` → `documents` → `annotate` → `publish` → `tidy`

* **documents** first crawls the sites of one file, politely; one file at a time (pool
  `onoma_crawls`), so that no host is asked twice at once. What lies in the archive is not asked for
  again. Then it leaves out what earlier versions have, and near doubles of it: a version is what is
  new that day. All versions are kept, for the next day needs them. A day without news is skipped.
* **annotate** adds mentions of the entities of the current vocabulary of `wiki`.
* **publish** verifies, switches `current` in one step, and tells the asset `onoma_news`.

See `docs/airflow.md`.
"""


@task
def plan(*, params: dict[str, Any], dag_run: Any) -> list[dict[str, Any]]:
    """Say what is read, and what was read before: one plan for each."""
    settings = load_settings(params)
    version = version_of(dag_run, "%Y%m%dT%H%M")
    plans = []
    for name in chosen(settings.news, params["news"], table="news"):
        news = settings.news[name]
        vocabulary = settings.current(f"{news.wiki}-vocab") if news.wiki else None
        check_version(settings, [f"{name}-news", f"{name}-annotated"], version)
        shelf = settings.shelf(f"{name}-news")
        earlier = [file.parent for file in sorted(shelf.glob("[!.]*/run.json"))]
        plans.append(
            {
                "news": name,
                "version": version,
                "work": str(settings.work / f"{name}-news" / version),
                "archive": str(news.archive or settings.work / "archives" / name),
                "earlier": [str(path) for path in earlier if path.name < version],
                "vocabulary": str(vocabulary) if vocabulary else None,
            }
        )
    return plans


@task(pool=CRAWLS, execution_timeout=JOB)
def documents(plan: dict[str, Any], *, params: dict[str, Any]) -> str:
    """Crawl, and make documents of the articles that no earlier version has.

    A retry ends the crawl that was begun, and begins no other.
    """
    settings = load_settings(params)
    news = settings.news[plan["news"]]
    output = Path(plan["work"]) / "news"
    run(
        settings,
        "pipelines.news_to_documents",
        *(("--sites", news.sites, "--archive", plan["archive"]) if news.sites else ()),
        *("--output", output, *news.documents),
        *(("--previous", *plan["earlier"]) if plan["earlier"] else ()),
        output=output,
    )
    if not rows_in(output):
        remove_work(settings, Path(plan["work"]))
        raise AirflowSkipException(f"{news.name}: nothing new.")
    return str(output)


@task(execution_timeout=JOB)
def annotate(plan: dict[str, Any], documents: str, *, params: dict[str, Any]) -> str:
    """Add mentions of the entities of a vocabulary; none, where the settings name no wiki."""
    settings = load_settings(params)
    news = settings.news[plan["news"]]
    if not news.wiki:
        return ""
    vocabulary = plan["vocabulary"] or settings.current(f"{news.wiki}-vocab")
    if not vocabulary:
        raise AirflowException(f"{news.wiki}: no vocabulary. Run corpus_refresh first.")
    output = Path(plan["work"]) / "annotated"
    run(
        settings,
        "pipelines.augment_mentions",
        *("--input", documents, "--forms", vocabulary, "--output", output),
        *news.annotate,
        output=output,
    )
    return str(output)


@task(outlets=[NEWS])
def publish(
    plan: dict[str, Any],
    made: dict[str, str],
    *,
    params: dict[str, Any],
    outlet_events: Any,
) -> None:
    """Verify and publish; tell the asset."""
    settings = load_settings(params)
    told = {}
    for part, folder in made.items():
        if folder:
            shelf = settings.shelf(f"{plan['news']}-{part}")
            run(
                settings,
                "corpora.store",
                "publish",
                folder,
                shelf,
                "--version",
                plan["version"],
            )
            told[part] = describe_version(shelf / plan["version"])
    outlet_events[NEWS].extra = {"name": plan["news"], **told}


@task
def tidy(plan: dict[str, Any], *, params: dict[str, Any]) -> None:
    """Remove the folder of this run."""
    remove_work(load_settings(params), Path(plan["work"]))


@task_group
def refresh(plan: dict[str, Any]) -> None:
    """All that is made of one file of sites."""
    made = documents(plan)
    published = publish(plan, {"news": made, "annotated": annotate(plan, made)})
    published >> tidy(plan)


@dag(
    schedule="30 4 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args=DEFAULTS,
    doc_md=DOC,
    tags=["onoma"],
    params={"news": names_of("news"), "settings": SETTINGS},
)
def news_refresh() -> None:
    """Sites to annotated documents, for each file of sites."""
    refresh.expand(plan=plan())


news_refresh()
