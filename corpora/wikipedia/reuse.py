"""A refresh: rows of an earlier dataset are taken over where reading the page again makes the same.

A row of ``documents`` follows from

- the XML of its page, the options, the tables of data, the code and the libraries: of the page
  title, id, revision, time and text are in the row, and nothing else is read with it;
- the name of the dump's file (column ``source``), which is replaced;
- the redirects, but only through the titles that its links name: these are resolved, and the
  resolved ones are matched in the page's text (see ``reuse_links.py``);
- that no page before it in the dump has its id: duplicates are sought among all rows, taken over or
  not, as ever.

The rows of its ``blocks`` are taken over with it. Their links are resolved again in any case. With
``--expand-templates`` it shows what the dump's own templates say: it is taken over if the
definitions of all those that it asks for, found or not, have the hash of then.

Which namespace a title is in, and what a link's prefix means, follows from ``<siteinfo>``, which is
among the parameters of the plan. Rejected pages, redirects, pages of other namespaces and those
that have no text are read in every run. The counters are sums over pages; those of a page stand in
the dataset ``reuse``, beside the hash of its XML. Side files are made from the finished datasets.

So a page whose XML has the hash of a row in the earlier dataset is not read: between the stages its
place there stands among the rows of the range, in order, in the batches that they would have in any
case, and the shard it lies in is kept with the run (``reuse_shards.py``): the earlier dataset may
go while a run is interrupted. Whether a link leads elsewhere now is asked when all redirects are
known; of such a row the mentions are made again. Rows of both kinds are brought into one form
before they are written (``corpora/datasets/canonical.py``): the bytes are those of a full rebuild.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.datasets.shards import read_description, sha256_of
from corpora.errors import UsageError
from corpora.runs.journal import read_run
from corpora.runs.plan import Plan, Unit
from corpora.system.parsing import JsonObject, read_json
from corpora.system.staging import url_of
from corpora.wikipedia.reuse_shards import BLOCKS, DOCUMENTS, NOTES

TAKEN, AGAIN, DAMAGED = "taken over", "resolved again", "damaged: "
"""What ``run.json`` says under ``reused``."""
_ANY = {"fingerprint", "inputs", "units", "units of define", "units of extract"}
"""What of a plan may be another: which pages there are, and how they are cut into units."""
_ANY_PARAMETERS = {"limit", "exclude", "forgotten"}
_ANY_FILES = {"page_props"}
"""What it says is put into the rows last, taken over or not."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run whose rows may be taken over; made by ``find_earlier``."""

    folder: Path
    plan: JsonObject
    """As its ``dataset.json`` has it."""


def find_earlier(folder: Path, *, output: Path) -> EarlierRun:
    """Check an earlier run; raises ``UsageError`` if it is missing or has no hashes of pages."""
    if folder.resolve() == output.resolve():
        raise UsageError(f"--reuse {folder}: is the --output. Choose another --output.")
    run = read_run(folder)
    if run.get("pipeline") != "wikipedia_to_documents":
        raise UsageError(
            f"--reuse {folder}: no complete run of wikipedia_to_documents is there (run.json is "
            "missing, damaged, or of another). Leave --reuse out, or name another."
        )
    if not (folder / NOTES / "dataset.json").exists():
        raise UsageError(
            f"--reuse {folder}: it keeps no hashes of its pages ({NOTES}/ is missing), for it was "
            "made by an older version. Build once without --reuse; the next run can use that."
        )
    blocks = [BLOCKS] if f"{BLOCKS}/dataset.json" in run["files"] else []
    for name in (DOCUMENTS, NOTES, *blocks):
        file = folder / name / "dataset.json"
        if not file.is_file() or sha256_of(file) != run["files"].get(f"{name}/dataset.json"):
            raise UsageError(
                f"--reuse {file}: is damaged, or not of one run with run.json. Leave --reuse out, "
                "or name another."
            )
    return EarlierRun(folder, read_description(folder / DOCUMENTS)["plan"])


def with_earlier(plan: Plan, earlier: EarlierRun, *, is_elsewhere: bool = False) -> Plan:
    """Return the plan with units that take rows from an earlier run.

    The fingerprint stays the same. For workers on other machines (``is_elsewhere``), an earlier run
    in a bucket is named by its address. If code, options or tables differ, nothing is taken over,
    and a warning lists the differences.
    """
    differences = list(_differences(earlier.plan, plan.description))
    if differences:
        _log.warning(
            "--reuse %s: nothing is taken over, every page is read again. "
            "Others than then are: %s.",
            earlier.folder,
            "; ".join(differences),
        )
        return plan
    folder, fingerprint = str(earlier.folder.absolute()), earlier.plan["fingerprint"]
    if is_elsewhere:
        folder = address_of(earlier.folder) or folder
    setting = {"earlier": {"folder": folder, "fingerprint": fingerprint}}

    def with_setting(units: Iterable[Unit]) -> tuple[Unit, ...]:
        return tuple(replace(unit, settings={**unit.settings, **setting}) for unit in units)

    stages = tuple(replace(stage, units=with_setting(stage.units)) for stage in plan.stages)
    return replace(plan, units=with_setting(plan.units), stages=stages)


def address_of(folder: Path) -> str:
    """Return the bucket address from which an earlier run was fetched; empty if from none."""
    return url_of(folder / "run.json").rpartition("/")[0]


def _differences(earlier: JsonObject, plan: JsonObject) -> Iterator[str]:
    """Name the settings that two plans must share, but do not."""
    plan = json.loads(json.dumps(plan))  # turns tuples into lists, as in the earlier plan
    for key in sorted((earlier.keys() | plan.keys()) - _ANY):
        before, after = earlier.get(key), plan.get(key)
        if not (isinstance(before, dict) and isinstance(after, dict)):
            if before != after:
                yield key
            continue
        names = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
        if key == "parameters":
            names -= _ANY_PARAMETERS
        if key == "auxiliary":
            names -= _ANY_FILES
        if names:
            yield f"{key} ({', '.join(sorted(names))})"


def say_reused(output: Path) -> Iterator[str]:
    """Describe what a run took over, from its ``run.json``; yields nothing if it took nothing."""
    reused = read_json(output / "run.json").get("reused", {})
    if (n := reused.get(TAKEN)) is not None:
        again = reused.get(AGAIN, 0)
        yield f"reuse {n:,} documents taken over; in {again:,} of them links lead elsewhere now"
    damaged = [name.removeprefix(DAMAGED) for name in reused if name.startswith(DAMAGED)]
    if damaged:
        yield (
            f"WARNING of the earlier run, not used because they are damaged: {', '.join(damaged)}; "
            "their pages were read again"
        )
