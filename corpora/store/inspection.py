"""Look at datasets on disk: ``onoma verify DIR`` and ``show DIR``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path

from corpora.datasets.repeated_ids import find_repeated
from corpora.datasets.rows import FROM_ROW
from corpora.datasets.shards import (
    Dataset,
    datasets_in,
    open_dataset,
    read_batches,
    read_description,
)
from corpora.document import Document, Sentence
from corpora.errors import DamagedDatasetError
from corpora.reports import counted
from corpora.runs.journal import is_whole
from corpora.runs.plan import fingerprint_of
from corpora.runs.receipts import Accounting
from corpora.system.arguments import (
    Subcommand,
    execute,
    is_read,
    option,
    option_table,
    parse_subcommand,
)
from corpora.system.files import check_plain, sha256_of
from corpora.system.parsing import parse_json

_AGAIN = "Run the pipeline again."
ABOUT = """\
Check and show datasets.

examples:
  onoma verify build/sturm
  onoma show build/sturm/documents --limit 2
"""


def verify(path: Path, *, rows: bool = False) -> list[str]:
    """Check a dataset, or a run with all its datasets and files; return a line for each.

    Every hash is computed again, the accounting must add up, ids must be unique, and there must be
    no shard that ``dataset.json`` does not list. With ``rows``, every row is checked as well.
    Raises ``CorpusError`` at the first error.
    """
    if not (path / "run.json").exists():
        return [_verify_dataset(path, rows=rows)]
    fingerprint, files = _read_run(path / "run.json")
    for name, sha256 in files.items():
        _check_hash(path / name, sha256)
    folders = sorted({Path(name).parent for name in files if Path(name).name == "dataset.json"})
    for folder in folders:
        _check_listed(path, folder, files)
    lines = [_verify_dataset(path / folder, rows=rows) for folder in folders]
    for folder in folders:
        if read_description(path / folder)["plan"].get("fingerprint") != fingerprint:
            raise DamagedDatasetError(f"{path / folder}: is not of the run in run.json. {_AGAIN}")
    return [*lines, f"{path}: {len(files)} files have the hashes of run.json"]


def _check_listed(path: Path, folder: Path, files: Mapping[str, str]) -> None:
    """Raise where ``run.json`` lacks a file of a dataset, or another dataset of its plan."""
    about = read_description(path / folder)
    names = [*(shard["name"] for shard in about["shards"]), "rejected.jsonl"]
    of_plan = (Path(name) / "dataset.json" for name in about["plan"].get("schemas", ()))
    for name in [*((folder / name).as_posix() for name in names), *map(Path.as_posix, of_plan)]:
        if name not in files:
            raise DamagedDatasetError(f"{path / 'run.json'}: does not list {name}. {_AGAIN}")


def _read_run(file: Path) -> tuple[str, dict[str, str]]:
    try:
        run = parse_json(file.read_text(encoding="utf-8"))
        fingerprint, files = str(run["fingerprint"]), dict(run["files"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedDatasetError(f"{file}: damaged ({error}). {_AGAIN}") from error
    for name in files:
        check_plain(name, where=file)
    if not is_whole(run):
        raise DamagedDatasetError(f"{file}: damaged (other bytes than were written). {_AGAIN}")
    has_dataset = any(Path(name).name == "dataset.json" for name in files)
    if not has_dataset and run.get("kind") != "model":  # which onoma publish writes
        raise DamagedDatasetError(f"{file}: damaged (it lists no dataset). {_AGAIN}")
    return fingerprint, files


def _check_hash(path: Path, sha256: str) -> None:
    if not path.exists():
        raise DamagedDatasetError(f"{path}: is missing. Run the pipeline again.")
    if sha256_of(path) != sha256:
        raise DamagedDatasetError(
            f"{path}: damaged (other bytes than were written). Run the pipeline again: "
            "it rebuilds what is damaged."
        )


def _verify_dataset(path: Path, *, rows: bool) -> str:
    dataset = open_dataset(path)
    known = {shard.name for shard in dataset.shards}
    for file in path.glob("shard-*.arrow"):
        if file.name not in known:
            raise DamagedDatasetError(f"{file}: unknown to dataset.json. Take it away.")
    for shard in dataset.shards:
        _check_hash(path / shard.name, shard.sha256)
    _check_ids(dataset)
    _check_plan(dataset)
    try:
        account = Accounting(**dataset.description["accounting"])
    except TypeError as error:
        file = path / "dataset.json"
        raise DamagedDatasetError(f"{file}: damaged accounting ({error}). {_AGAIN}") from error
    _check_accounting(dataset, account)
    if rows:
        for _ in dataset.records() if dataset.schema.name in FROM_ROW else dataset.rows():
            pass
    return (
        f"{path}: {dataset.schema.name} version {dataset.version}, "
        f"{counted(dataset.n_rows, 'row')} in {counted(len(dataset.shards), 'shard')}; "
        f"read {account.read:,} = written {account.written:,} "
        f"+ filtered {account.n_filtered:,} + rejected {account.n_rejected:,}"
    )


def _check_ids(dataset: Dataset) -> None:
    """Check that shards are readable and ids unique."""
    paths = [dataset.path / shard.name for shard in dataset.shards]
    for shard, path in zip(dataset.shards, paths, strict=True):
        n_rows = sum(map(len, read_batches(path, dataset.schema)))
        if n_rows != shard.rows:
            raise DamagedDatasetError(
                f"{path}: {counted(n_rows, 'row')}, but dataset.json says {shard.rows}. {_AGAIN}"
            )
    if found := find_repeated(paths, dataset.schema):
        id, path = found
        raise DamagedDatasetError(
            f"{path}: the id {id!r} is met twice. Make the dataset again without one of the two."
        )


def _check_plan(dataset: Dataset) -> None:
    """Hash the plan again, and raise where the fingerprint differs."""
    plan = dict(dataset.description["plan"])
    if plan.pop("fingerprint", None) != fingerprint_of(plan):
        raise DamagedDatasetError(f"{dataset.path / 'dataset.json'}: damaged plan. {_AGAIN}")


def _check_accounting(dataset: Dataset, account: Accounting) -> None:
    if not account.adds_up:
        raise DamagedDatasetError(f"{dataset.path}: the accounting does not add up: {account}.")
    try:
        with (dataset.path / "rejected.jsonl").open("rb") as file:
            n_lines = sum(1 for _ in file)
    except FileNotFoundError:
        raise DamagedDatasetError(
            f"{dataset.path / 'rejected.jsonl'}: is missing. Copy all files of the dataset."
        ) from None
    if n_lines != account.n_rejected:
        raise DamagedDatasetError(
            f"{dataset.path / 'rejected.jsonl'}: {counted(n_lines, 'line')}, but "
            f"{account.n_rejected} records were rejected. Run the pipeline again."
        )


def mark(document: Document) -> str:
    """Write a text with its mentions in brackets: ``[Walden|pers|sturm:P.0000001]``."""
    closing: dict[int, list[str]] = {}
    opening: dict[int, int] = {}
    for mention in document.mentions:
        opening[mention.start] = opening.get(mention.start, 0) + 1
        about = [part for part in (mention.label, mention.entity) if part]
        closing.setdefault(mention.end, []).insert(0, "|".join(["", *about]) + "]")
    pieces, last = [], 0
    for position in sorted(opening.keys() | closing.keys()):
        pieces.append(document.text[last:position])
        pieces.extend(closing.get(position, ()))
        pieces.append("[" * opening.get(position, 0))
        last = position
    return "".join(pieces) + document.text[last:]


def summary_of(path: Path) -> dict[str, object]:
    """Summarize a dataset, or a run, for JSON."""
    datasets = [
        {"path": str(dataset.path), "schema": dataset.schema.name, "rows": len(dataset)}
        for dataset in map(open_dataset, datasets_in(path) or [path])
    ]
    return {"path": str(path), "sound": True, "datasets": datasets}


def show(path: Path, *, limit: int | None = None, as_json: bool = False) -> Iterator[str]:
    """Yield the rows of a dataset as readable text, or as JSON Lines."""
    dataset = open_dataset(path)
    for shard in dataset.shards:
        _check_hash(path / shard.name, shard.sha256)
    if as_json or dataset.schema.name not in FROM_ROW:
        for row in islice(dataset.rows(), limit):
            yield json.dumps(row, ensure_ascii=False)
        return
    for record in islice(dataset.records(), limit):
        yield _show_document(record) if isinstance(record, Document) else _show_sentence(record)


def _show_document(document: Document) -> str:
    about = [document.lang, document.title, document.url, document.license]
    head = f"── {document.id} · " + " · ".join(part for part in about if part)
    return f"{head}\n{mark(document)}\n"


def _show_sentence(sentence: Sentence) -> str:
    inner = sentence.inner_tags or [""] * len(sentence.tokens)
    rows = zip(sentence.tokens, sentence.tags, inner, strict=True)
    lines = (f"{token}\t{tag}\t{second}".rstrip() for token, tag, second in rows)
    return "\n".join([f"── {sentence.id} ({sentence.split})", *lines, ""])


@option_table
class VerifyOptions:
    """A dataset or a run to check."""

    path: Path = option("folder of a dataset, or of a run (with run.json)", positional=True)
    rows: bool = option("check the content of each row, too")
    json: bool = option("print JSON instead of text, for programs")


@option_table
class ShowOptions:
    """A dataset to print."""

    path: Path = option("folder of a dataset", positional=True)
    limit: int | None = option("number of rows to print (default: all)", at_least=0)
    json: bool = option("print JSON instead of text, for programs")


def _verify(options: VerifyOptions) -> list[str]:
    lines = verify(options.path, rows=options.rows)
    return [json.dumps(summary_of(options.path))] if options.json else lines


def _show(options: ShowOptions) -> Iterator[str]:
    rows = show(options.path, limit=options.limit, as_json=options.json)
    return takewhile(lambda _: is_read(), rows)


_COMMANDS = {
    "verify": Subcommand(
        VerifyOptions,
        _verify,
        "check that a dataset or a run is undamaged",
        "Check that a dataset or a run is undamaged: hashes, ids, and numbers of rows.",
    ),
    "show": Subcommand(
        ShowOptions,
        _show,
        "print the rows of a dataset",
        "Print the rows of a dataset, documents with their mentions in brackets.",
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    options, work = parse_subcommand(_COMMANDS, argv, name="", about=ABOUT)
    return execute(work, path=options.path)
