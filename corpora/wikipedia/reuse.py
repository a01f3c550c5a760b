"""Refreshes: a row of an earlier dataset is taken over if reading its page again makes the same.

A row of ``documents`` depends on

- the XML of its page, the options, the tables of data, the code and the libraries; of the page, the
  row holds title, id, revision, time and text, and nothing is read besides the page;
- the name of the dump's file (column ``source``), which is replaced;
- the redirects, but only through the titles that the page's links name: these are resolved, and the
  resolved titles are matched in the page's text (see ``reuse_links.py``);
- the ids of the pages before it in the dump, none of which may be the same: duplicates are always
  searched for among all rows, whether taken over or read.

The rows of the page's ``blocks`` are taken over with it; their links are always resolved again.
With ``--expand-templates`` the text shows what the dump's own templates say: then the row is taken
over only if the definitions of all templates that were looked up, found or not, have the same hash.

The namespaces of titles and the meaning of link prefixes follow from ``<siteinfo>``, which is among
the parameters of the plan. Rejected pages, redirects, pages of other namespaces and pages without
text are read in every run. The counters are sums over pages; those of each page stand in the
dataset ``reuse``, beside the hash of its XML. Side files are made from the finished datasets.

So a page is not read if the earlier dataset has a row with the hash of its XML. Between the stages,
the place of that row stands among the rows of the range, in the usual order and batches. Its shard
is kept with the run (``reuse_shards.py``): the earlier dataset may be deleted while a run is
interrupted. When all redirects are known, each row is checked for links that lead elsewhere
now; the mentions of such a row are made again. Rows of both kinds are brought into one form before
they are written (``corpora/datasets/canonical.py``): the bytes are those of a full rebuild.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpora.datasets.shards import read_description, refuse_versions
from corpora.errors import UsageError
from corpora.reports import counted
from corpora.runs.journal import read_run
from corpora.runs.plan import Plan
from corpora.system.files import sha256_of
from corpora.system.parsing import JsonObject, read_json
from corpora.system.staging import url_of
from corpora.wikipedia.reuse_shards import BLOCKS, DOCUMENTS, NOTES

TAKEN, AGAIN, DAMAGED = "taken over", "resolved again", "damaged: "
"""The keys under ``reused`` in ``run.json``; ``DAMAGED`` is followed by the name of a file."""
_ANY = {"fingerprint", "inputs", "units", "units of define", "units of extract"}
"""The keys of a plan that may differ: which pages there are, and how they are cut into units."""
_ANY_PARAMETERS = {"limit", "exclude", "forgotten"}
_ANY_FILES = {"page_props"}
"""The auxiliary files that may differ: their content is put into the rows last, taken over or
not."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run whose rows may be taken over; made by ``find_earlier``."""

    folder: Path
    plan: JsonObject
    """The plan in the ``dataset.json`` of its documents."""


def find_earlier(folder: Path, *, output: Path) -> EarlierRun:
    """Check an earlier run; raises ``UsageError`` if it is missing or has no hashes of pages."""
    if folder.resolve() == output.resolve():
        raise UsageError(f"--reuse {folder}: is the --output. Choose another --output.")
    refuse_versions(folder, option="--reuse ")
    run = read_run(folder)
    if run.get("pipeline") != "wikipedia_to_documents":
        raise UsageError(
            f"--reuse {folder}: no complete run of onoma wikipedia is there (run.json is "
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


def place_of_earlier(
    earlier: EarlierRun, plan: Plan, *, is_elsewhere: bool
) -> dict[str, str] | None:
    """Return the folder and the fingerprint of an earlier run, for the units of a plan.

    For workers on other machines (``is_elsewhere``), an earlier run in a bucket is named by its
    address. If code, options or tables differ, returns None, and a warning lists the differences.
    """
    if differences := list(_differences(earlier.plan, plan.description)):
        _log.warning(
            "--reuse %s: nothing is taken over, every page is read again. "
            "Others than then are: %s.",
            earlier.folder,
            "; ".join(differences),
        )
        return None
    address = url_of(earlier.folder / "run.json").rpartition("/")[0] if is_elsewhere else ""
    folder = address or str(earlier.folder.absolute())
    return {"folder": folder, "fingerprint": earlier.plan["fingerprint"]}


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
        taken = counted(n, "document")
        yield f"reuse {taken} taken over; in {again:,} of them links lead elsewhere now"
    damaged = [name.removeprefix(DAMAGED) for name in reused if name.startswith(DAMAGED)]
    if damaged:
        yield (
            f"WARNING of the earlier run, not used because they are damaged: {', '.join(damaged)}; "
            "their pages were read again"
        )
