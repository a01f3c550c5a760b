"""The export of a model with its card: for transformers, as ONNX, or as an archive."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from corpora.entities.exports import tokenizer_vocabulary
from corpora.system.arguments import Summary
from corpora.system.writing import appearing, write_json
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import ConfigError
from modeling.data.tagger_inputs import GAZETTEER
from modeling.export import usage
from modeling.export.card import (
    FILE,
    MANIFEST,
    CardContent,
    read_evaluations,
    read_manifest,
    write_card,
)
from modeling.export.onnx_model import (
    ExportedScorer,
    decoder_settings,
    export_onnx,
    scorer_of,
    to_int8,
)
from modeling.export.trimming import with_layers, with_subwords_of
from modeling.heads.tagging_heads import TokenHead
from modeling.huggingface.classifiers import read_classifier
from modeling.huggingface.exporting import (
    depends_on_spaces,
    export,
    export_tagger,
    save_tokenizer,
    without_lone_spaces,
)
from modeling.huggingface.importing import read_pretrained
from modeling.models.onnx_tagging import save_beside
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.archive import files_in, pack
from modeling.taggers.folders import (
    CONFIG,
    Base,
    TaggerFolder,
    find_model,
    find_tagger,
    has_tagger,
    open_tokenizer,
)
from modeling.tagging_config import FinetuneConfig
from modeling.training.records import Manifest
from modeling.training.run_folder import versions
from modeling.training.sources import ENTITIES, read_names

if TYPE_CHECKING:
    from modeling.export.__main__ import Options

_PARENTS = 3  # how many folders above a tagger may be the folder of its run


def run(options: "Options") -> Iterator[str | Summary]:
    """Write the folder or the archive; yield lines that report it, and the summary last.

    Raises ``ConfigError`` for options that do not go together.
    """
    if options.without_heads and (options.archive or options.to == "onnx"):
        raise ConfigError("--without-heads is for --to huggingface; ONNX is the encoder alone.")
    if (options.trim_vocabulary or options.keep_layers) and (
        options.archive or options.to == "onnx" or has_tagger(options.model)
    ):
        raise ConfigError("--trim-vocabulary and --keep-layers are for encoders, --to huggingface.")
    if options.without_heads and has_tagger(options.model):
        raise ConfigError("--without-heads is for runs of onoma pretrain.")
    if options.archive and options.to == "onnx":
        raise ConfigError("--to onnx is for --output, a folder. Name one in place of --archive.")
    if options.int8 and options.to != "onnx":
        raise ConfigError("--int8 is for --to onnx.")
    write = _export_tagger if has_tagger(options.model) else _export_pretrained
    if options.to == "tagger":
        _check_to_tagger(options)
        write = _import_classifier
    if options.archive is not None:
        yield from _write_archive(options)
        yield Summary({"archive": str(options.archive), "bytes": options.archive.stat().st_size})
    elif options.output is not None:
        with appearing(options.output) as folder:
            lines = write(options, folder, options.output)
        yield f"made  {options.output}"
        yield from lines
        files = {name: path.stat().st_size for name, path in files_in(options.output).items()}
        yield Summary({"output": str(options.output), "for": options.to, "files": files})


def _export_tagger(options: "Options", folder: Path, output: Path) -> list[str]:
    tagger = find_tagger(options.model)
    model = TaggingModel.load(tagger.path).eval()
    config, path, name = model.config, str(output), output.name
    original = open_tokenizer(tagger.path, config.encoder)
    tokenizer = without_lone_spaces(original)
    if options.to == "onnx":
        scorer = scorer_of(model)
        worst = export_onnx(scorer, folder, decoder_settings(model))
        save_tokenizer(tokenizer, folder)
        _keep_for_us(model, tagger.path, folder)
        code = usage.of_onnx(name, with_words="words" in scorer.inputs)
        notes, library = usage.notes_on_onnx(worst), "onnx"
        if options.int8:
            notes.append(usage.INT8.format(worst=to_int8(folder, scorer)))
        loads = f"onnxruntime.InferenceSession({str(output / 'model.onnx')!r})"
    else:
        architecture = export_tagger(model, folder, tokenizer)
        code, notes = usage.of_transformers(name, config.head)
        library, loads = "transformers", f"transformers.{architecture}.from_pretrained({path!r})"
    if depends_on_spaces(folder):
        notes = [*notes, usage.SPACES]
    if original.blanks.any() and tokenizer is original:
        notes = [*notes, usage.LONE_SPACES]
    if config.data.context != "none":
        notes = [*notes, usage.WITHOUT_CONTEXT]
    card = _card_of_tagger(options, model, tagger, code=code, library=library, notes=notes)
    write_card(card, options, folder)
    return [f"next  {loads}"]


def _check_to_tagger(options: "Options") -> None:
    """Raise ``ConfigError`` for options that do not go with ``--to tagger``."""
    if has_tagger(options.model):
        raise ConfigError(f"--to tagger: {options.model} is one already.")
    others = {
        "archive": "the folder that is made can be packed",
        "trim_vocabulary": "trim its encoder, and train a tagger on it",
        "keep_layers": "trim its encoder, and train a tagger on it",
        "without_heads": "its head is what makes it a tagger",
    }
    for name, advice in others.items():
        if getattr(options, name):
            raise ConfigError(f"--to tagger does not go with --{name.replace('_', '-')}: {advice}.")


def _import_classifier(options: "Options", folder: Path, output: Path) -> list[str]:
    """Write a token classifier of transformers as a tagger."""
    base = Base.open(options.model)
    model = read_classifier(base.folder)
    model.save(folder)
    base.tokenizer.save(folder)
    of = model.config
    manifest = {
        "recipe": "",
        "setting": "",
        "fold": None,
        "config": FinetuneConfig(head=of.head, data=of.data).to_json(),
        "examples": [],
        "init_from": base.identity,
        "versions": versions(),
        "dev": {},
        "data": {"ner": base.identity["name"], "labels": list(of.labels)},
    }
    write_json(folder / MANIFEST, manifest)
    code = usage.ARCHIVED_TAGGER.format(path=output.name)
    card = _card_of_tagger(options, model, TaggerFolder(folder, ""), code=code, library="onoma")
    of_training: Manifest = {"init_from": base.identity}  # how it was trained is unknown
    write_card(replace(card, manifest=of_training), options, folder)
    return [f"next  onoma predict {output} --text FILE"]


def _keep_for_us(model: TaggingModel, source: Path, folder: Path) -> None:
    """Write what ``Tagger.load`` needs beside ``model.onnx``; nothing for a tagger of spans."""
    if not isinstance(model.head, TokenHead):
        return
    save_beside(model, folder)
    shutil.copyfile(source / MANIFEST, folder / MANIFEST)
    if (source / GAZETTEER).is_dir():
        shutil.copytree(source / GAZETTEER, folder / GAZETTEER)


def _card_of_tagger(
    options: "Options",
    model: TaggingModel,
    found: TaggerFolder,
    *,
    code: str,
    library: str,
    notes: Sequence[str] = (),
) -> CardContent:
    manifest, config = read_manifest(found.path), model.config
    begun = (manifest.get("init_from") or {}).get("name")
    encoder = f"the encoder {begun}" if begun else "an encoder"
    shape = f"{config.encoder.n_layers} layers, {config.encoder.width} wide"
    return CardContent(
        what=f"Finds names in text: a {config.head.kind} head on {encoder} ({shape}, "
        f"{config.encoder.attention} attention).",
        usage=code.splitlines(),
        n_parameters=_count(model),
        manifest=manifest,
        labels=config.labels,
        evaluations=read_evaluations(_run_of(options.model), found.name, manifest),
        library=library,
        notes=notes,
    )


def _run_of(path: Path) -> Path:
    """Find the folder with ``evaluation``: the path, or one of the ``_PARENTS`` folders above it.

    Returns the path itself if there is none.
    """
    resolved = path.resolve()
    above = [resolved, *resolved.parents][: _PARENTS + 1]
    return next((folder for folder in above if (folder / "evaluation").is_dir()), path)


def _export_pretrained(options: "Options", folder: Path, output: Path) -> list[str]:
    source = find_model(options.model)
    given = read_pretrained(source)
    tokenizer = open_tokenizer(source, given.config.encoder)
    if options.to == "onnx":
        scorer = ExportedScorer(given.build().eval().encoder, None, n_features=0)
        export_onnx(scorer, folder)
        notes = [usage.INT8.format(worst=to_int8(folder, scorer))] if options.int8 else []
        save_tokenizer(tokenizer, folder)
        code = usage.of_onnx(output.name, with_words="words" in scorer.inputs)
        write_card(_card_of_encoder(source, scorer, code, "onnx"), options, folder)
        return [*notes, f"next  onnxruntime.InferenceSession({str(output / 'model.onnx')!r})"]
    notes = []
    if options.keep_layers:
        given = with_layers(options.keep_layers, given)
    if options.trim_vocabulary:
        given, tokenizer = with_subwords_of(options.trim_vocabulary, given, tokenizer)
        notes = [f"kept {tokenizer.size:,} subwords"]
    model, has_heads = given.build(), not options.without_heads
    export(model, folder, tokenizer, has_heads=has_heads)
    if model.config.encoder.n_entities and (names := read_names(source)):
        write_json(folder / "entity_vocab.json", tokenizer_vocabulary(names))
    loader = "AutoModelForMaskedLM" if has_heads else "AutoModel"
    load = f"transformers.{loader}.from_pretrained"
    code = f"import transformers\n\nmodel = {load}({output.name!r})"
    write_card(_card_of_encoder(source, model, code, "transformers"), options, folder)
    return [*notes, f"next  {load}({str(output)!r})"]


def _card_of_encoder(source: Path, model: nn.Module, *how: str) -> CardContent:
    code, library = how
    return CardContent(
        what="An encoder of text.",
        usage=code.splitlines(),
        n_parameters=_count(model),
        manifest=read_manifest(source),
        library=library,
    )


def _count(model: nn.Module) -> int:
    """Count the parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


def _write_archive(options: "Options") -> Iterator[str]:
    assert options.archive is not None  # noqa: S101 - or nobody asks
    archive = options.archive
    if has_tagger(options.model):
        found = find_tagger(options.model)
        files = files_in(found.path)
        tagger = TaggingModel.load(found.path)
        code = usage.ARCHIVED_TAGGER.format(path=f"{options.on_card['name']}.onoma")
        card, who = _card_of_tagger(options, tagger, found, code=code, library="onoma"), "Tagger"
    else:
        folder = find_model(options.model)
        files, who = _files_of_encoder(folder), "Encoder"
        code = usage.ARCHIVED_ENCODER.format(path=f"{options.on_card['name']}.onoma")
        card = _card_of_encoder(folder, read_pretrained(folder).build(), code, "onoma")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        write_card(card, options, Path(temporary))
        pack({**files, FILE: Path(temporary) / FILE}, archive)
    yield f"made  {archive} ({archive.stat().st_size:,} bytes)"
    yield f"next  modeling.{who}.load({str(archive)!r})"


def _files_of_encoder(folder: Path) -> dict[str, Path]:
    """Map names to the files that an encoder is loaded from, without those for resuming a run."""
    names: set[str] = {CONFIG, MANIFEST, ENTITIES, *Tokenizer.open(folder).files()}
    patterns = ("model*.safetensors*", "pytorch_model*.bin*", "vocab.*", "merges.txt")
    names |= {file.name for pattern in patterns for file in folder.glob(pattern)}
    return {name: folder / name for name in names if (folder / name).is_file()}
