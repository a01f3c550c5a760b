"""Describe datasets for catalogues and hubs: a Croissant file, and a card (README.md).

Examples:
  onoma card build/letters --license CC0-1.0 --facts title="Letters of K. Ahlensteg"
  onoma card build/letters --parquet build/letters-hub
  hf upload USER/letters build/letters-hub . --repo-type dataset

Both files are written beside the datasets and are no part of them: no hash of a run changes.
mlcroissant and the viewers of hubs read the rows only as Parquet (--parquet).
"""

import hashlib
import json
import re
import shlex
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.shards import Dataset, datasets_in, open_dataset, refuse_versions
from corpora.errors import CorpusError, UsageError
from corpora.reports import counted
from corpora.segmentation.language_tags import primary_language
from corpora.system.arguments import (
    SUMMARY,
    Summary,
    execute,
    named_texts,
    option,
    option_table,
    parse,
)
from corpora.system.files import sha256_of
from corpora.system.staging import beside
from corpora.system.writing import remove_leftovers, write_json, write_text

CROISSANT, CARD = "croissant.json", "README.md"
ARROW, PARQUET = "application/vnd.apache.arrow.file", "application/x-parquet"
_FACTS = ("title", "about", "creator", "url", "published", "cite")
_MARK = "Made by `onoma card`"
_SEAL = re.compile(r"<!-- sha256:([0-9a-f]{64}) -->\n?")
"""The last line of a card: a hash of all others."""
_CREATIVE_COMMONS = re.compile(r"creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)/(\d\.\d)")


@option_table
class Options:
    """Options of the command."""

    path: Path = option("folder of a dataset, or of several", positional=True, metavar="DIR")
    parquet: Path | None = option(
        "new folder to write the rows to as Parquet, with the card and the Croissant file"
    )
    license: str | None = option(
        "SPDX identifier of the licence of the data (default: that of its documents, if they have "
        "the same)",
        metavar="SPDX",
    )
    facts: tuple[str, ...] = option(
        "title of the data, a sentence about it, its creator, the url of a page, the date when it "
        "was published, such as 2026-11-22, and how to cite it: title='Letters' about=… creator=… "
        "url=… published=… cite=…",
        metavar="NAME=TEXT",
    )
    json: bool = option(SUMMARY)


@dataclass(frozen=True, slots=True)
class CataloguedDataset:
    """A dataset to describe, and its files."""

    name: str
    dataset: Dataset
    files: Mapping[str, str]
    """Path of each file, relative to the described folder, to its SHA-256."""
    pattern: str
    format: str

    @property
    def columns(self) -> pa.Schema:
        """The columns of the files; an earlier version may have fewer than the schema."""
        for shard in self.dataset.shards:
            with pa.memory_map(str(self.dataset.path / shard.name)) as file:
                return pa.ipc.open_file(file).schema
        return self.dataset.schema.columns

    @property
    def row(self) -> str:
        """A noun phrase that describes a row."""
        return self.about.get("row", "a row")

    @property
    def about(self) -> Mapping[str, str]:
        """The descriptions of a row (under ``row``) and of the columns, by name."""
        return _texts().get(self.dataset.schema.name, {})


def describe(options: Options) -> Iterator[str | Summary]:
    """Write the card and the Croissant file of a folder; yield the lines to print."""
    found = _datasets(options.path)
    folder = options.parquet or beside(options.path, option="parquet")
    facts = named_texts(options.facts, _FACTS)
    facts["title"] = facts["title"] or options.path.resolve().name
    check_own(folder)
    remove_leftovers(folder)
    if options.parquet is not None:
        parts = [write_parquet(name, dataset, folder) for name, dataset in found.items()]
    else:
        parts = [_as_it_lies(name, dataset, folder) for name, dataset in found.items()]
    license = options.license or _license_of(parts)
    write_json(folder / CROISSANT, to_croissant(parts, facts, license=license))
    lines = to_card(parts, facts, license=license)
    text = "".join(f"{line}\n" for line in lines)
    write_text(folder / CARD, [text, f"<!-- sha256:{_hash(text)} -->\n"])
    yield f"made  {folder / CARD}, {folder / CROISSANT}: {', '.join(part.name for part in parts)}"
    if license is None:
        yield "WARNING no licence: name it with --license, or nobody may use the data"
    upload = f"hf upload USER/NAME {shlex.quote(str(folder))} . --repo-type dataset"
    # A run has its working files in hidden ones (.build/, .lock), which `hf` uploads unless told.
    yield f"next  {upload}" + (" --exclude '.*'" if options.parquet is None else "")
    files = [str(folder / name) for name in (CARD, CROISSANT)]
    yield Summary({"files": files, "datasets": [part.name for part in parts], "license": license})


def _datasets(folder: Path) -> dict[str, Dataset]:
    """Open the dataset of a folder, or the datasets inside it, by name."""
    refuse_versions(folder)
    found = list(map(open_dataset, datasets_in(folder)))
    if not found:
        raise CorpusError(f"{folder}: no dataset, nor a folder with datasets. Check the path.")
    is_one = found[0].path == folder
    return {each.schema.name if is_one else each.path.name: each for each in found}


def check_own(folder: Path) -> None:
    """Raise ``UsageError`` where a card or a Croissant file exists that Onoma did not write.

    Also raises it for a card that was edited since.
    """
    for name, mark in ((CARD, _MARK), (CROISSANT, '"cr:RecordSet"')):
        file = folder / name
        if not file.exists():
            continue
        text = file.read_text("utf-8", errors="replace")
        if mark not in text:
            raise UsageError(f"{file}: is not ours. Move it away, or choose another folder.")
        if (seal := _SEAL.search(text)) and seal[1] != _hash(_SEAL.sub("", text)):
            raise UsageError(
                f"{file}: was edited since it was made. Move it away, or choose another folder."
            )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _as_it_lies(name: str, dataset: Dataset, folder: Path) -> CataloguedDataset:
    inside = "" if dataset.path == folder else f"{name}/"
    return CataloguedDataset(
        name,
        dataset,
        {f"{inside}{shard.name}": shard.sha256 for shard in dataset.shards},
        f"{inside}shard-*.arrow",
        ARROW,
    )


def write_parquet(name: str, dataset: Dataset, folder: Path) -> CataloguedDataset:
    """Write each shard of a dataset as a Parquet file; the same shard makes the same bytes.

    Raises ``UsageError`` where the folder holds other files.
    """
    import pyarrow.parquet as pq

    target = folder / name
    wanted = {shard.name.replace(".arrow", ".parquet") for shard in dataset.shards}
    if target.exists() and {file.name for file in target.iterdir()} - wanted:
        raise UsageError(f"{target}: holds other files. Choose another --parquet.")
    target.mkdir(parents=True, exist_ok=True)
    for shard in dataset.shards:
        file = target / shard.name.replace(".arrow", ".parquet")
        with pa.ipc.open_file(pa.memory_map(str(dataset.path / shard.name))) as reader:
            columns = reader.schema
            with pq.ParquetWriter(file, columns, compression="zstd") as writer:
                for number in range(reader.num_record_batches):
                    writer.write_batch(reader.get_batch(number))
    hashes = {f"{name}/{file}": sha256_of(target / file) for file in sorted(wanted)}
    return CataloguedDataset(name, dataset, hashes, f"{name}/*.parquet", PARQUET)


def _spdx(license: str | None) -> str | None:
    """Convert the address of a Creative Commons licence to its SPDX name; others stay."""
    match = _CREATIVE_COMMONS.search(license or "")
    if not match:
        return license
    name = "CC0" if match[1] == "zero" else f"CC-{match[1].upper()}"
    return f"{name}-{match[2]}"


def _license_of(parts: Sequence[CataloguedDataset]) -> str | None:
    """Return the licence of the documents, if all have the same one."""
    found: set[str | None] = set()
    for column in _columns(parts, "license"):
        found.update(map(_spdx, pc.unique(column).to_pylist()))
    return found.pop() if len(found) == 1 else None


def _columns(parts: Sequence[CataloguedDataset], name: str) -> Iterator[pa.Array]:
    """Yield a column, batch by batch, of all parts that have it."""
    for part in parts:
        if name in part.dataset.schema.columns.names:
            yield from (batch.column(name) for batch in part.dataset.batches())


# --- Croissant


def to_croissant(
    parts: Sequence[CataloguedDataset], facts: Mapping[str, str], *, license: str | None
) -> dict[str, object]:
    """Describe datasets in Croissant 1.0 (https://docs.mlcommons.org/croissant/)."""
    about: dict[str, object] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": facts["title"],
        "description": facts["about"] or _sentence(parts),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": f"{max(part.dataset.description['version'] for part in parts)}.0.0",
    }
    optional = {
        "license": license,
        "url": facts["url"],
        "datePublished": facts["published"],
        "citeAs": facts["cite"],
        "creator": facts["creator"] and {"@type": "sc:Person", "name": facts["creator"]},
    }
    about |= {name: value for name, value in optional.items() if value}
    about["distribution"] = [item for part in parts for item in _distribution(part)]
    about["recordSet"] = [
        {
            "@type": "cr:RecordSet",
            "@id": part.name,
            "name": part.name,
            "description": f"Each row is {part.row}.",
            "field": [_field(part, column) for column in part.columns],
        }
        for part in parts
    ]
    return about


def _sentence(parts: Sequence[CataloguedDataset]) -> str:
    return " ".join(f"{part.name}: each row is {part.row}." for part in parts)


def _distribution(part: CataloguedDataset) -> Iterator[dict[str, object]]:
    """Describe each file with its hash, and then the set of files that rows are read from."""
    for name, sha256 in part.files.items():
        yield {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "encodingFormat": part.format,
            "sha256": sha256,
        }
    yield {
        "@type": "cr:FileSet",
        "@id": f"{part.name}-files",
        "name": f"{part.name}-files",
        "encodingFormat": part.format,
        "includes": part.pattern,
    }


def _field(part: CataloguedDataset, column: pa.Field) -> dict[str, object]:
    id = f"{part.name}/{column.name}"
    about: dict[str, object] = {"@type": "cr:Field", "@id": id, "name": column.name}
    if text := part.about.get(column.name):
        about["description"] = text
    kind = column.type
    if pa.types.is_list(kind):
        about["repeated"] = True
        kind = kind.value_type
    source = {"fileSet": {"@id": f"{part.name}-files"}, "extract": {"column": column.name}}
    if pa.types.is_struct(kind):
        # mlcroissant cannot read lists inside of lists, such as the attributes of mentions.
        flat = [inner for inner in kind if not pa.types.is_nested(inner.type)]
        return about | {"subField": [_inside(id, source, inner) for inner in flat]}
    return about | {"dataType": _type(kind), "source": source}


def _inside(id: str, source: Mapping[str, object], column: pa.Field) -> dict[str, object]:
    """Describe a field of the structs in a column."""
    about = {"@type": "cr:Field", "@id": f"{id}/{column.name}", "name": column.name}
    at = {**source, "transform": {"jsonPath": column.name}}
    return about | {"dataType": _type(column.type), "source": at}


def _type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind):
        return "sc:Float"
    return "sc:Boolean" if pa.types.is_boolean(kind) else "sc:Text"


# --- the card


def to_card(
    parts: Sequence[CataloguedDataset], facts: Mapping[str, str], *, license: str | None
) -> Iterator[str]:
    """Write a card in the form of the Hugging Face hub; ``load_dataset`` reads its YAML head."""
    title = facts["title"]
    yield from ("---", *_head(parts, title=title, license=license), "---", "", f"# {title}", "")
    yield from (facts["about"] or "Made by [Onoma](https://pypi.org/project/onoma/).", "")
    for part in parts:
        about = part.dataset.description
        yield from (f"## {part.name}", "")
        yield f"{counted(len(part.dataset), 'row')}; each is {part.row}."
        account = about["accounting"]
        read, written = (account.get(fate, 0) for fate in ("read", "written"))
        reasons = account.get("filtered", {}), account.get("rejected", {})
        filtered, rejected = (sum(counts.values()) for counts in reasons)
        yield (
            f"Of {read:,} inputs, {written:,} were written, {filtered:,} filtered, "
            f"{rejected:,} rejected. Plan `{about['plan'].get('fingerprint', '')[:12]}`."
        )
        yield from ("", "| column | type | |", "| --- | --- | --- |")
        for column in part.columns:
            yield f"| `{column.name}` | `{column.type}` | {part.about.get(column.name, '')} |"
        yield ""
    yield from ("## Use", "", "```python", "import datasets, onoma", "")
    first = parts[0].name
    yield f'datasets.load_dataset("FOLDER", "{first}", split="train")  # all rows'
    if parts[0].format == ARROW:
        inside = next(iter(parts[0].files), "").rpartition("/")[0]
        yield f'onoma.open_dataset("FOLDER{inside and "/" + inside}")'
    yield from ("```", "")
    if facts["cite"]:
        yield from ("## Citation", "", facts["cite"], "")
    yield f"{_MARK}; `{CROISSANT}` says the same for programs."


def _head(parts: Sequence[CataloguedDataset], *, title: str, license: str | None) -> Iterator[str]:
    """Write the YAML head; values are JSON, which is YAML, too, and needs no rules for quotes."""
    yield f"pretty_name: {json.dumps(title, ensure_ascii=False)}"
    if license:
        yield f"license: {json.dumps('other' if '/' in license else license.lower())}"
    if languages := _languages(parts):
        yield f"language: {json.dumps(languages)}"
    if any(part.dataset.schema.name == "ner" for part in parts):
        yield 'task_categories: ["token-classification"]'
    yield f"size_categories: [{json.dumps(_size(sum(len(part.dataset) for part in parts)))}]"
    yield "configs:"
    for part in parts:
        data = [{"split": "train", "path": part.pattern}]
        yield f"- config_name: {json.dumps(part.name)}"
        yield f"  data_files: {json.dumps(data)}"


def _languages(parts: Sequence[CataloguedDataset]) -> list[str]:
    found: Counter[str] = Counter()
    for column in _columns(parts, "lang"):
        for row in pc.value_counts(column).to_pylist():
            found[primary_language(row["values"])] += row["counts"]
    return [lang for lang, _ in sorted(found.items(), key=lambda item: (-item[1], item[0])) if lang]


def _size(n: int) -> str:
    if n < 1000:
        return "n<1K"
    if n >= 10**8:
        return "n>100M"
    names = ("1K", "10K", "100K", "1M", "10M", "100M")
    at = len(str(n)) - 4
    return f"{names[at]}<n<{names[at + 1]}"


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files("corpora") / "store" / "catalogue.toml").read_text("utf-8"))


_CONTEXT: Mapping[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty"),
            *("fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key"),
            *("md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
            *("replace", "samplingRate", "separator", "source", "subField", "transform"),
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Describe datasets; return the exit status."""
    options = parse(Options, argv, name="card", about=__doc__)
    return execute(lambda: describe(options), path=options.path, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
