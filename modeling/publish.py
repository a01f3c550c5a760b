"""Publish a trained model as a new version in a store, and make it the current one.

Examples:
  onoma publish runs/sturm store/sturm-tagger --version 20261101
  onoma publish runs/first store/first-encoder --evaluation runs/sturm/evaluation
  onoma publish runs/sturm s3://BUCKET/store/sturm-tagger

STORE/NAME/VERSION/ then has final/ (of several taggers, the best on dev), evaluation/, and run.json
with the SHA-256 of each file. All commands that read a run also read such a version. For other work
on versions (current, switch, list, prune), see onoma store --help. To check first that
a new model is no worse than the current one, use onoma evaluate --against … --fail-if-worse.
"""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from corpora.errors import UsageError
from corpora.system.arguments import SUMMARY, Summary, not_empty, option, option_table, say
from corpora.system.buckets import is_url
from modeling.command import start

KIND = "model"
"""The ``kind`` in the ``run.json`` of a published model, which has no datasets."""


def publish(
    run: Path, shelf: Path | str, *, version: str | None = None, evaluation: Path | None = None
) -> Path | str:
    """Publish the model of a run with its evaluation; return the folder of the version.

    ``shelf`` is a folder ``STORE/NAME``, or its address (``str``) if it is in a bucket.

    ``version`` defaults to the start of a hash of all files. ``evaluation`` is a folder that
    ``onoma evaluate`` wrote (default: ``RUN/evaluation``, if there is one). Raises
    ``CorpusError`` if there is no finished model, if the version exists with other files, or if
    another process trains or publishes the run.
    """
    from corpora.runs.journal import sealed  # noqa: PLC0415
    from corpora.runs.plan import fingerprint_of  # noqa: PLC0415
    from corpora.store import on_bucket, versions  # noqa: PLC0415 - for --help
    from corpora.system.files import locked, sha256_of, take_away  # noqa: PLC0415
    from corpora.system.writing import link_or_copy, write_json  # noqa: PLC0415

    files = _files(run, evaluation)
    with locked(run / ".lock", busy=lambda _: f"{run}: another process works here. Wait for it."):
        hashes = {name: sha256_of(path) for name, path in files.items()}
        fingerprint = fingerprint_of(hashes)
        staged = run / ".publishing"
        take_away(staged)  # left by a run that was killed
        try:
            for name, path in files.items():
                (staged / name).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(path, staged / name)
            about = {"kind": KIND, "fingerprint": fingerprint, "files": hashes}
            write_json(staged / "run.json", sealed(about))
            version = version or fingerprint[:12]
            if isinstance(shelf, str):
                return on_bucket.publish(staged, shelf, version=version)
            return versions.publish(staged, shelf, version=version)
        finally:
            shutil.rmtree(staged, ignore_errors=True)


def _files(run: Path, evaluation: Path | None) -> Mapping[str, Path]:
    """Map the names of the files in the published version to their paths now."""
    from modeling.taggers.archive import files_in  # noqa: PLC0415 - for --help
    from modeling.taggers.folders import find_model, find_tagger, has_tagger  # noqa: PLC0415

    model = find_tagger(run).path if has_tagger(run) else find_model(run)
    if evaluation is not None and not evaluation.is_dir():
        raise UsageError(f"--evaluation {evaluation}: no such folder.")
    files = {f"final/{name}": path for name, path in files_in(model).items()}
    scores = evaluation or run / "evaluation"
    if scores.is_dir():
        files |= {f"evaluation/{name}": path for name, path in files_in(scores).items()}
    return files


@option_table
class Options:
    """Options of the command."""

    run: Path = option(
        "finished run of onoma pretrain or onoma finetune", positional=True, metavar="RUN"
    )
    shelf: str = option(
        "folder of the model's versions in the store, here or in a bucket (s3://, gs://, az://)",
        positional=True,
        type=not_empty,
        metavar="STORE/NAME",
    )
    version: str | None = option(
        "name of the version, such as 20261101 (default: made from the hashes of the files)"
    )
    evaluation: Path | None = option(
        "folder of reports to publish with the model (default: RUN/evaluation, if there is one)"
    )
    json: bool = option(SUMMARY)


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and publish; exit status 0, 1 for an error, 2 for a wrong command."""

    def work(options: Options) -> Summary:
        shelf = options.shelf if is_url(options.shelf) else Path(options.shelf)
        made = publish(options.run, shelf, version=options.version, evaluation=options.evaluation)
        say(f"{made} is current\n")
        return Summary({"output": str(made), "version": str(made).rpartition("/")[2]})

    return start(Options, argv, work, name="publish", about=__doc__)


if __name__ == "__main__":
    sys.exit(main())
