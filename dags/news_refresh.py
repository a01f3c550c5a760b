"""The DAG for news: each day, documents with mentions of what news sites have newly published."""

from pathlib import Path

from airflow.sdk import task_group
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from onoma_refresh.job import CRAWLS, JOB, DagTask, RefreshPlan, given, step
from onoma_refresh.results import rows_in
from onoma_refresh.schedule import NEWS, check_version, refresh_dag
from onoma_refresh.settings import News, RefreshSettings

DOC = """\
For each `[[news]]` of the settings. **documents** first crawls, one file of sites at a time (pool
`onoma_crawls`), and leaves out what earlier versions have: a version is what is new that day, and
all are kept. **annotate** adds mentions of the current vocabulary of `wiki`. See `docs/airflow.md`.
"""


class NewsPlan(RefreshPlan):
    """The plan of a ``[[news]]`` entry."""

    archive: str
    earlier: list[str]
    """Folders of all other versions, whose articles are not taken again."""
    vocabulary: str
    """The folder of the entity vocabulary; empty: none is current, or none is wanted."""


@step()
def plan(job: DagTask, name: str) -> NewsPlan:
    """Make the plan of a file of sites; one that cannot be made stops no other."""
    return _plan(job.settings, job.settings.news[name], job.version("%Y%m%dT%H%M"))


def _plan(settings: RefreshSettings, news: News, version: str) -> NewsPlan:
    name = news.name
    vocabulary = settings.current(f"{news.wiki}-vocab") if news.wiki else None
    check_version(settings, [f"{name}-news", f"{name}-annotated"], version)
    earlier = sorted(settings.shelf(f"{name}-news").glob("[!.]*/run.json"))
    return {
        "name": name,
        "version": version,
        "work": str(settings.work / f"{name}-news" / version),
        "archive": str(news.archive or settings.work / "archives" / name),
        "earlier": [str(file.parent) for file in earlier if file.parent.name != version],
        "vocabulary": str(vocabulary or ""),
    }


@step(JOB, pool=CRAWLS)
def documents(job: DagTask, plan: NewsPlan) -> str:
    """Crawl, and make documents of the articles that no earlier version has.

    A retry finishes the crawl that was begun, and begins no other.
    """
    news = job.settings.news[plan["name"]]
    output = job.make(
        "pipelines.news_to_documents",
        f"{plan['work']}/news",
        *(("--sites", news.sites, "--archive", plan["archive"]) if news.sites else ()),
        *news.documents,
        *given("--previous", *plan["earlier"]),
    )
    if not rows_in(Path(output)):
        job.remove_work(plan["work"])
        raise AirflowSkipException(f"{news.name}: nothing new.")
    return output


@step(JOB)
def annotate(job: DagTask, plan: NewsPlan, documents: str) -> str:
    """Add mentions of a vocabulary's entities; return an empty string where there is no wiki."""
    news = job.settings.news[plan["name"]]
    if not news.wiki:
        return ""
    vocabulary = plan["vocabulary"] or job.settings.current(f"{news.wiki}-vocab")
    if not vocabulary:
        raise AirflowException(f"{news.wiki}: no vocabulary. Run corpus_refresh first.")
    options = ("--input", documents, "--forms", vocabulary, *news.annotate)
    return job.make("pipelines.augment_mentions", f"{plan['work']}/annotated", *options)


@step(outlets=[NEWS])
def publish(job: DagTask, plan: NewsPlan, made: dict[str, str]) -> None:
    """Verify and publish; add an event to the asset."""
    published = {
        part: job.publish(folder, f"{plan['name']}-{part}", plan)
        for part, folder in made.items()
        if folder
    }
    job.add_event(NEWS, name=plan["name"], **published)


@step()
def tidy(job: DagTask, plan: NewsPlan) -> None:
    """Remove the work folder of this run."""
    job.remove_work(plan["work"])


@task_group
def refresh(name: str) -> None:
    """Make and publish everything for one file of sites."""
    planned = plan(name)
    made = documents(planned)
    published = publish(planned, {"news": made, "annotated": annotate(planned, made)})
    published >> tidy(planned)


refresh_dag("news_refresh", DOC, refresh.expand, table="news", schedule="30 4 * * *")
