"""The commands of ``onoma link``; each function yields the lines that it prints."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from corpora.datasets.shards import open_dataset, read_documents, read_tagged
from corpora.entities.lookup import EntityLookup, pairs_of, write_lookup
from corpora.errors import UsageError
from corpora.registers.references import Usage, usages_of, usual
from corpora.registers.register import open_registers
from corpora.reports import counted
from corpora.runs.dataset_inputs import check_hashes, check_shared, find_documents, find_shards
from corpora.runs.named_files import write_named
from corpora.system.arguments import Summary
from corpora.system.parsing import read_json
from corpora.system.writing import output_folder
from modeling.huggingface.hub import local_folder
from modeling.link.candidates import KnownEntity
from modeling.link.contexts import WindowReader
from modeling.link.datasets import link_dataset, link_sentences
from modeling.link.evaluation import cross_validate, judge
from modeling.link.linker import (
    LEAST_LINKED,
    PRIOR,
    Linker,
    LinkerTraining,
    count_linked,
    linked_labels,
)
from modeling.link.records import LinkRecord, MentionWindow, record_of
from modeling.link.report import write_report
from modeling.link.scores import compare, describe, measure

if TYPE_CHECKING:
    from modeling.link.__main__ import (
        ApplyOptions,
        EvaluateOptions,
        IndexOptions,
        ScoreOptions,
        TrainOptions,
    )


def train(options: "TrainOptions") -> Iterator[str | Summary]:
    """Train a linker, and yield lines on what it learned from."""
    with output_folder(options.output, mark="linker.json"):
        records, hashes, styles = _read(options.documents, with_text=options.encoder is not None)
        register = read_register(options.register, records, space=options.space)
        settings: dict[str, object] = {
            "documents": hashes,
            "register": len(register),
            "max_wrong": options.max_wrong,
            "nil": options.nil,
        }
        settings["references"] = usual(styles)
        if options.vocabulary is not None:
            settings["vocabulary"] = str(options.vocabulary.resolve())
        if options.encoder is not None:
            settings["encoder"] = str(local_folder(options.encoder).resolve())
        vocabulary = EntityLookup(options.vocabulary) if options.vocabulary else None
        training = LinkerTraining(records, register, vocabulary, **_learning(options, register))
        linker = training.train(settings=settings)
        linker.save(options.output)
        n = sum(case.entity is not None for record in records for case in record.cases)
        n_without = sum(len(record.cases) for record in records) - n
        yield f"read  {counted(len(records), 'document')}, {counted(n, 'name')} with an id" + (
            f", {n_without:,} without" if n_without else ""
        )
        yield f"knows {counted(len(linker.knowledge.counts.documents), 'entity')} of documents" + (
            f", {len(register):,} of the register" if register else ""
        )
        yield from _left_out(records)
        if linker.threshold > 1:
            yield (
                "note  no link is sure enough to be written: too few names, or --max-wrong too "
                "small"
            )
        else:
            yield f"made  {options.output}: links are written from {linker.threshold:.3f} on"
        yield f"next  onoma link apply {options.output} --documents … --output …"
        summary = {"output": str(options.output), "documents": len(records), "names": n}
        summary["entities"] = len(linker.knowledge.counts.documents)
        yield Summary(summary | {"register": len(register), "threshold": linker.threshold})


def evaluate(options: "EvaluateOptions") -> Iterator[str | Summary]:
    """Evaluate a linker by cross-validation or on ``--test``, and write the report."""
    with output_folder(options.output, mark="names.tsv", others="report.*"):
        with_text = options.encoder is not None
        records, *_ = _read(options.documents, with_text=with_text)
        register = read_register(options.register, records, space=options.space)
        vocabulary = EntityLookup(options.vocabulary) if options.vocabulary else None
        learning = _learning(options, register)
        if options.test:
            training = LinkerTraining(records, register, vocabulary, **learning)
            test, *_ = _read(options.test, with_text=with_text, option="--test")
            _check_others(records, test)
            prior, linker = training.fit_plain(PRIOR), training.train()
            labels = linked_labels(records) | linked_labels(test)
            outcomes = judge(test, linker, prior=prior, labels=labels, nil=options.nil)
        else:
            outcomes = cross_validate(
                records,
                register,
                vocabulary=vocabulary,
                folds=options.folds,
                log=lambda line: sys.stderr.write(f"  {line}\n"),
                **learning,
            )
        yield from _left_out(records)
        names = ", ".join(_name_of(path) for path in options.test or options.documents)
        yield write_report(
            outcomes, options.output, title=f"Links: {names}", nil=options.nil
        ).rstrip()
        yield f"made  {options.output}: report.md, report.json, names.tsv (each name)"
        scores = read_json(options.output / "report.json")
        yield from _shortfalls(scores)
        yield Summary({"output": str(options.output), "names": len(outcomes), "scores": scores})


def _shortfalls(scores: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Say if a linker writes nothing, or is right less often than a table of forms."""
    linker, table = (scores[f"accuracy, {way}"] for way in ("all features", "baseline"))
    if linker["part"] < table["part"]:
        yield (
            f"warning: right in {linker['part']:,} of {linker['whole']:,} names with an id, where "
            f"the most frequent entity of the form is in {table['part']:,}: train on more "
            "documents, or give --register"
        )
    if not scores["written"]["part"]:
        yield "warning: no link is sure enough to be written: train on more documents"


def _left_out(records: Iterable[LinkRecord]) -> Iterator[str]:
    """Yield a note on each class that has ids, but too few for its mentions to be linked."""
    for label, count in count_linked(records).items():
        if count.linked and not count.suffices:
            yield (
                f"note  {label or 'names without a class'}: {count.linked:,} of {count.names:,} "
                f"have an id, fewer than {LEAST_LINKED:.0%}; they are not linked"
            )


def _learning(
    options: "TrainOptions | EvaluateOptions", register: Mapping[str, KnownEntity]
) -> dict[str, Any]:  # Any: arguments of ``LinkerTraining``, of many types
    """Return the settings of a ``LinkerTraining``.

    Raises ``UsageError`` for descriptions without an encoder.
    """
    learning: dict[str, Any] = {  # Any: as above
        "max_wrong": options.max_wrong,
        "nil": options.nil,
    }
    if options.encoder is not None:
        described = {known.entity: describe_entry(known) for known in register.values()}
        if options.descriptions is not None:
            described |= dict(read_descriptions(options.descriptions))
        reader = WindowReader(local_folder(options.encoder), keeps=True)
        learning |= {"reader": reader, "descriptions": described}
    elif options.descriptions is not None:
        raise UsageError("--descriptions is for --encoder, which reads them. Name a model, too.")
    return learning


def describe_entry(known: KnownEntity) -> MentionWindow:
    """Make the text of a register entry for an encoder: name, other forms, class, description."""
    name, *others = known.forms or (known.entity.partition(":")[2],)
    facts = [*others, *([known.kind] if known.kind else []), known.description]
    return MentionWindow("", name, ": " + "; ".join(fact for fact in facts if fact))


def read_descriptions(vocabulary: Path) -> Iterator[tuple[str, MentionWindow]]:
    """Read the first sentences of entities' articles; yield (entity, text)."""
    columns = ("entity", "title", "description")
    for batch in open_dataset(vocabulary, "entities").batches(columns):
        for row in batch.to_pylist():
            if row["description"]:
                yield row["entity"], MentionWindow("", row["title"], f": {row['description']}")


def _check_others(train: Iterable[LinkRecord], test: Iterable[LinkRecord]) -> None:
    """Raise ``UsageError`` for documents that are both trained on and linked as a test."""
    known = {record for record in train if record.cases}
    if both := [record.id for record in test if record in known]:
        raise UsageError(
            f"--test: {len(both):,} of its documents are among those that teach ({both[0]} …). "
            "Name others, or leave --test out: each part is then linked by what the others teach."
        )


def _name_of(folder: Path) -> str:
    """Return the name of a dataset's folder, or of the folder around it if it is ``documents``."""
    path = folder.resolve()
    return path.parent.name if path.name == "documents" else path.name


def apply(options: "ApplyOptions") -> Iterator[str | Summary]:
    """Link the mentions of a dataset."""
    linker = Linker.load(options.linker)
    if options.threshold is not None:
        linker.threshold = options.threshold
    if options.ner is not None:
        files = check_hashes(find_shards([str(options.ner)], "ner", option="--ner"))
        shards = [Path(file.path) for file in files]
        if options.output.resolve().is_relative_to(options.ner.resolve()):
            raise UsageError(
                f"--output {options.output}: lies in the dataset that is read. Name another place."
            )
        sentences = (sentence for shard in shards for sentence in read_tagged(shard))
        counters: Counter[str] = Counter()
        lines = link_sentences(sentences, linker, counters, n_candidates=options.candidates)
        write_named(options.output, (json.dumps(v, ensure_ascii=False) + "\n" for v in lines))
        counts: Mapping[str, int] = counters
    else:
        if options.candidates:
            raise UsageError("--candidates is for --ner: a dataset holds one entity a name.")
        assert options.documents is not None  # noqa: S101 - the command line asks for one
        counts = link_dataset(options.documents, options.output, linker, folder=options.linker)
    yield from (f"  {name}: {n:,}" for name, n in sorted(counts.items()))
    yield f"made  {options.output}"
    if options.ner is None:
        yield f"next  onoma show {options.output} --limit 1"
    yield Summary({"output": str(options.output), "counters": dict(counts)})


def index(options: "IndexOptions") -> Iterator[str | Summary]:
    """Write the forms of an entity vocabulary into files that are memory-mapped."""
    with output_folder(options.output, mark="names.bin"):
        n = write_lookup(options.output, pairs_of(options.vocabulary, space=options.wiki))
        yield f"made  {options.output} ({counted(n, 'entity')})"
        yield f"next  onoma link train DOCUMENTS --vocabulary {options.output} --output …"
        yield Summary({"output": str(options.output), "entities": n})


def score(options: "ScoreOptions") -> Iterator[str | Summary]:
    """Compare two datasets of the same documents."""
    gold, predicted = (
        list(open_dataset(path, "documents")) for path in (options.gold, options.predicted)
    )
    scores = measure(compare(gold, predicted, nil=options.nil))
    yield from describe(scores)
    yield Summary(scores)


class _Read(NamedTuple):
    """The documents of some datasets, as records."""

    records: list[LinkRecord]
    hashes: dict[str, str]
    """The SHA-256 of each dataset, by its folder."""
    styles: Counter[Usage]
    """How often mentions refer to entities in each way."""


def _read(folders: Sequence[Path], *, with_text: bool = False, option: str = "") -> _Read:
    """Read datasets; ``option`` is the one that names them, empty if their place does.

    Raises ``UsageError`` where two of them hold the same document.
    """
    read = _Read([], {}, Counter())
    shards = [check_hashes(find_documents([str(folder)], option=option)) for folder in folders]
    check_shared(shards, option=option)
    for folder, files in zip(folders, shards, strict=True):
        joined = " ".join(file.sha256 for file in files)
        read.hashes[folder.as_posix()] = hashlib.sha256(joined.encode()).hexdigest()
        for file in files:
            for document in read_documents(Path(file.path)):
                read.records.append(record_of(document, with_text=with_text))
                read.styles.update(usages_of(document.mentions))
    return read


def read_register(
    patterns: Sequence[str], records: Iterable[LinkRecord], *, space: str | None = None
) -> dict[str, KnownEntity]:
    """Read registers; their ids get the space of the documents' entities, or the one that is given.

    Raises ``UsageError`` if no space is given, and no document has an entity.
    """
    if not patterns:
        return {}
    if space is None:
        spaces = Counter(
            case.entity.partition(":")[0] for r in records for case in r.cases if case.entity
        )
        if not spaces:
            raise UsageError("--register: say with --space what its ids begin with.")
        space = min(spaces, key=lambda name: (-spaces[name], name))
    entities: dict[str, KnownEntity] = {}
    for entry in open_registers(patterns).entries.values():
        entities[f"{space}:{entry.id}"] = KnownEntity(
            entity=f"{space}:{entry.id}",
            forms=tuple(entry.texts()),
            kind=entry.kind,
            description=entry.description,
            born=entry.birth.first_year if entry.birth else None,
            dead=entry.death.last_year if entry.death else None,
        )
    return entities
