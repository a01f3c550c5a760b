"""Attacks with absurd values in Onoma's own files: deeply nested JSON, very long integers."""

from benchmarks.attacks.bounded import Try, attack
from benchmarks.attacks.folders import LETTERS, OPTIONS, build, state_of

_DEPTH = 100_000


def absurd(one: Try) -> str:
    """Draw JSON that no program writes."""
    return one.rng.choice([
        "[" * _DEPTH + "]" * _DEPTH,
        '{"files":' * _DEPTH + "1" + "}" * _DEPTH,
        '{"files": {"x": ' + "[" * 50_000 + "]" * 50_000 + "}}",
        "9" * _DEPTH,
        '{"version": ' + "9" * _DEPTH + "}",
        '{"files": 1, "shards": 2}',
        '{"files": {"a": null}, "fingerprint": {}}',
        "null",
        '"x"',
        "NaN",
        "-Infinity",
        "\ufeff{}",
        "",
        "\0\0\0\0",
        '{"a": "\\ud800"}',
        '{"shards": [{"name": null, "rows": -1, "bytes": 1e999, "sha256": []}]}',
    ])  # fmt: skip


@attack("values", "absurd JSON instead of a file of a run: the same command again", tries=25)
def file_of_run(one: Try) -> str:
    """Fail if the next run does not make the same data, or ends with a traceback."""
    output = build(one)
    made = {name: data for name, data in state_of(output).items() if not name.startswith(".")}
    paths = [output / "run.json", output / "documents" / "dataset.json"]
    build_folder = output / ".build"
    paths += [build_folder / "published.json", *build_folder.glob("*/plan.json")]
    paths += [*build_folder.glob("*/receipts/*.json"), *build_folder.glob("*/shards.json")]
    path = one.rng.choice(paths)
    path.write_text(absurd(one), "utf-8", "surrogatepass")
    outcome = one.command("pipelines.tei_to_ner", *OPTIONS, "--output", output)
    if fault := outcome.fault(0):
        return f"{path.name}: {fault}"
    again = {name: data for name, data in state_of(output).items() if not name.startswith(".")}
    return "" if again == made else f"{path.name}: other data"


@attack("values", "absurd JSON instead of a file of a run: commands that read it", tries=25)
def file_that_is_read(one: Try) -> str:
    """Fail if a command ends with a traceback, or by a signal."""
    output = build(one)
    path = one.rng.choice([output / "run.json", output / "documents" / "dataset.json"])
    path.write_text(absurd(one), "utf-8", "surrogatepass")
    for module, argv in (
        ("corpora.store.inspection", ("verify", output)),
        ("corpora.store.inspection", ("show", output / "documents")),
        ("corpora.store", ("publish", output, one.folder / "store" / "x")),
    ):
        if fault := one.command(module, *argv).fault():
            return f"{path.name}: {module} {argv[0]}: {fault}"
    return ""


@attack("values", "absurd JSON in a store: history, current, manifests of models", tries=15)
def store(one: Try) -> str:
    """Fail if a command ends with a traceback, or removes the current version."""
    output, shelf = build(one), one.folder / "store" / "x"
    assert one.command("corpora.store", "publish", output, shelf).status == 0
    model = one.folder / "model"
    model.mkdir()
    (model / "settings.json").write_text("{}")
    [version] = [path for path in shelf.iterdir() if path.is_dir()]
    path = one.rng.choice([shelf / "history.json", shelf / "current", model / "settings.json"])
    path.write_text(absurd(one), "utf-8", "surrogatepass")
    for argv in (("list", shelf), ("prune", shelf, "--keep", "1", "--keep-for", model)):
        if fault := one.command("corpora.store", *argv).fault():
            return f"{path.name}: {argv[0]}: {fault}"
    return "" if version.is_dir() else f"{path.name}: the version is gone"


@attack("values", "absurd settings in TOML: editions", tries=12)
def toml(one: Try) -> str:
    """Fail if the command ends with another status than 1 or 2, or without a clear message."""
    lines = [
        "x = " + "9" * one.rng.choice([5_000, 100_000]),
        "x = " + "[" * _DEPTH + "]" * _DEPTH,
        "name = '" + "x" * 1_000_000 + "'",
        "a" + ".a" * 5_000 + " = 1",
        "name = 9e999",
        "\0",
        "name = 2026-13-45",
    ]
    path = one.folder / "edition.toml"
    path.write_text((LETTERS / "edition.toml").read_text() + "\n" + one.rng.choice(lines) + "\n")
    options = ("--input", f"{LETTERS}/01.xml", "--edition", path, "--output", one.folder / "out")
    return one.command("pipelines.tei_to_ner", *options).fault(1, 2)


@attack("values", "tokenizers that are none, or panic", tries=12)
def tokenizer(one: Try) -> str:
    """Fail if loading the tokenizer ends in anything but success or a ``CorpusError``."""
    from corpora.errors import CorpusError
    from corpora.tokenization.tokenizers import Tokenizer

    folder = one.folder / "tokenizer"
    folder.mkdir()
    model = one.rng.choice([
        '{"type":"WordPiece","vocab":{"a":18446744073709551615},"unk_token":"[UNK]"}',
        '{"type":"WordPiece","vocab":{},"unk_token":"x"}',
        '{"type":"BPE","vocab":{"a":0},"merges":[["a","b"]]}',
        '{"type":"Unigram","vocab":[],"unk_id":99}',
        '{"type":"Unigram","vocab":[["a",NaN]],"unk_id":0}',
        '{"type":"WordLevel","vocab":{"a":-1},"unk_token":"a"}',
        "[" * _DEPTH + "]" * _DEPTH,
    ])  # fmt: skip
    rest = '"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null'
    text = one.rng.choice([f'{{{rest},"model":{model}}}'] * 2 + [absurd(one)])
    (folder / "tokenizer.json").write_text(text, "utf-8", "replace")

    def load() -> int:
        try:
            Tokenizer.open(folder).encode(["a b"])
        except CorpusError:
            return 1
        return 0

    return one.call(load).fault(0, 1)
