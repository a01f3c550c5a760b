"""The DAG for Wikipedia: each month, documents, an entity vocabulary and examples of a new dump."""

from pathlib import Path

from airflow.sdk import Param, task_group
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from onoma_refresh.job import JOB, DagTask, RefreshPlan, given, log, step
from onoma_refresh.results import date_of_dump, read_json, write_json
from onoma_refresh.schedule import (
    CORPORA,
    check_unchanged,
    check_version,
    checked,
    refresh_dag,
    whole,
)
from onoma_refresh.settings import NAME, RefreshSettings, shelves_of_wiki

NEWEST = "latest-complete"
"""The value of ``date`` that stands for the newest complete dump."""
DATE = rf"{NEWEST}|[0-9]{{8}}"
DOC = """\
For each `[[wiki]]` of the settings. **compare** stops before anything is published where documents,
links or rejects moved further than `limits` allow (`diff.html` in the folder of the run says what):
look, change `limits`, and clear `compare`; or trigger a run with `accept_drift`. Where nothing
changed at all, the rest is skipped. Ids of entities and the tokenizer are kept: models stay valid.
See `docs/airflow.md`.
"""


class CorpusPlan(RefreshPlan):
    """The plan of a wiki."""

    previous: dict[str, str]
    """Part (``documents``, …) to the folder of the version that was current when the run began."""


@step()
def plan(job: DagTask, name: str) -> CorpusPlan:
    """Make the plan of a wiki; one that cannot be made stops no other wiki."""
    settings = job.settings
    version = checked(job.params, "version", NAME) or job.version()
    check_version(settings, list(shelves_of_wiki(name).values()), version)
    return {
        "name": name,
        "version": version,
        "work": str(settings.work / name / version),
        "previous": _previous(settings, name),
    }


def _previous(settings: RefreshSettings, wiki: str) -> dict[str, str]:
    """Return the current version of each part; stops where one that models depend on has gone."""
    shelves = shelves_of_wiki(wiki)
    found = {part: settings.current(shelf) for part, shelf in shelves.items()}
    for part in ("documents", "vocabulary"):
        if found["examples"] and not found[part]:  # examples are published last
            raise AirflowFailException(
                f"{settings.shelf(shelves[part])}: nothing is published there, but "
                f"{found['examples']} was made from it. Bring it back from a backup. To begin "
                f"again, with other ids of entities, move {found['examples'].parent} away."
            )
    return {part: str(version) for part, version in found.items() if version}


@step(JOB)
def download(job: DagTask, plan: CorpusPlan) -> list[str]:
    """Download the newest complete dump, or the dump of a date; return its files.

    The date is written down, and stands in what the run has published, so that the same run never
    takes a newer dump. A dump that is older than that of the current version is an error, unless a
    parameter names its date.
    """
    wiki, work = job.settings.wikis[plan["name"]], job.settings.work
    pin = Path(plan["work"]) / "dump.json"
    date, oldest = checked(job.params, "date", DATE), ""
    if date == NEWEST:
        if documents := plan["previous"].get("documents"):
            oldest = date_of_dump(Path(documents), wiki.name)
        published = job.settings.shelf(shelves_of_wiki(wiki.name)["documents"]) / plan["version"]
        date = read_json(pin).get("date") or date_of_dump(published, wiki.name) or date
    lines = job.run(
        "corpora.wikipedia.download",
        *(wiki.name, "--output", work / "dumps", "--contact", wiki.contact, "--date", date),
        *(*given("--not-before", oldest), *given("--mirror", wiki.mirror), *wiki.download),
    )
    [made] = [line for line in lines if line.startswith("made  ")]
    lock = Path(made.removeprefix("made  ").partition(".lock.json")[0] + ".lock.json")
    about = read_json(lock)
    write_json(pin, {"date": about["date"]})
    return [str(work / "dumps" / file["name"]) for file in about["files"]]


@step(JOB)
def documents(job: DagTask, plan: CorpusPlan, files: list[str]) -> str:
    """Make documents from the dump; pages that have not changed are taken over."""
    previous = plan["previous"].get("documents")
    has_hashes = previous and (Path(previous) / "reuse").is_dir()
    return job.make(
        "pipelines.wikipedia_to_documents",
        f"{plan['work']}/documents",
        *("--input", *files, *job.settings.wikis[plan["name"]].documents),
        *given("--reuse", previous if has_hashes else None),
    )


@step(JOB)
def compare(job: DagTask, plan: CorpusPlan, documents: str) -> str:
    """Compare with the current version; stop where it moved too far, skip where nothing changed."""
    previous = plan["previous"].get("documents")
    if not previous:
        return documents
    work, limits = plan["work"], job.settings.wikis[plan["name"]].limits
    if _is_same(plan, documents) and not job.params["rebuild"]:
        job.remove_work(work)
        raise AirflowSkipException(f"{documents}: the same as {previous}, which is current.")
    files = ("--html", f"{work}/diff.html", "--json", f"{work}/diff.json")
    try:
        job.run("corpora.diff", previous, documents, *files, *given("--fail-if", *limits))
    except AirflowException as error:  # also where the versions cannot be compared at all
        if not job.params["accept_drift"]:
            raise
        log.warning("accept_drift: continues, in spite of this. %s", error)
    return documents


def _is_same(plan: CorpusPlan, documents: str) -> bool:
    """Tell whether these documents, and all that was made from them, are current."""
    current = [plan["previous"].get(part, "") for part in ("documents", "vocabulary", "examples")]
    if not all(current) or len({Path(folder).name for folder in current}) > 1:
        return False
    runs = [read_json(Path(folder) / "run.json") for folder in (current[0], documents)]
    return all(runs[0][key] == runs[1][key] for key in ("fingerprint", "files"))


@step(JOB)
def vocabulary(job: DagTask, plan: CorpusPlan, documents: str) -> str:
    """Count entities; known entities keep their ids."""
    return job.make(
        "pipelines.documents_to_entity_vocab",
        f"{plan['work']}/vocabulary",
        *("--input", f"{documents}/documents"),
        *given("--previous", plan["previous"].get("vocabulary")),
        *job.settings.wikis[plan["name"]].vocabulary,
    )


@step(JOB)
def tokenizer(job: DagTask, plan: CorpusPlan, documents: str) -> str:
    """Return the tokenizer of the settings, or the current one, or learn one."""
    wiki = job.settings.wikis[plan["name"]]
    if there := wiki.tokenizer or plan["previous"].get("tokenizer"):
        return str(there)
    return job.make(
        "pipelines.documents_to_tokenizer",
        f"{plan['work']}/tokenizer",
        *("--input", f"{documents}/documents", *wiki.learn_tokenizer),
    )


@step(JOB)
def examples(job: DagTask, plan: CorpusPlan, documents: str, *made: str) -> str:
    """Make the examples for pre-training; ``made`` are tokenizer and vocabulary."""
    tokenizer, vocabulary = made
    return job.make(
        "pipelines.documents_to_examples",
        f"{plan['work']}/examples",
        *("--input", f"{documents}/documents"),
        *("--tokenizer", tokenizer, "--entity-vocab", vocabulary),
        *job.settings.wikis[plan["name"]].examples,
    )


@step(JOB, outlets=[CORPORA])
def publish(job: DagTask, plan: CorpusPlan, made: dict[str, str]) -> dict[str, dict[str, object]]:
    """Verify and publish, the examples last; add an event to the asset."""
    shelves = shelves_of_wiki(plan["name"])
    for part, shelf in shelves.items():
        previous = plan["previous"].get(part)
        check_unchanged(job.settings, shelf, version=plan["version"], previous=previous)
    published = {
        part: job.publish(made[part], shelves[part], plan)
        for part in ("documents", "tokenizer", "vocabulary", "examples")
        if made[part].startswith(f"{plan['work']}/")  # not an earlier tokenizer
    }
    job.add_event(CORPORA, wiki=plan["name"], **published)
    return published


@step()
def tidy(job: DagTask, plan: CorpusPlan) -> None:
    """Remove versions and dumps that nobody needs, and the work folder of this run."""
    job.prune(*shelves_of_wiki(plan["name"]).values())
    job.remove_dumps(plan["name"])
    job.remove_work(plan["work"])


@task_group
def refresh(name: str) -> None:
    """Make and publish everything for one wiki."""
    planned = plan(name)
    made = documents(planned, download(planned))
    compared = compare(planned, made)
    vocab = vocabulary(planned, compared)
    learned = tokenizer(planned, compared)
    packed = examples(planned, compared, learned, vocab)
    published = publish(
        planned, {"documents": made, "vocabulary": vocab, "tokenizer": learned, "examples": packed}
    )
    published >> tidy(planned)


refresh_dag(
    "corpus_refresh",
    DOC,
    refresh.expand,
    table="wikis",
    schedule="0 3 8 * *",  # by then most dumps that were begun on the 1st are complete
    params={
        "date": Param(
            NEWEST, type="string", pattern=whole(DATE), description="of the dump, as 20261101"
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
            default=False, type="boolean", description="continue though nothing has changed"
        ),
    },
)
