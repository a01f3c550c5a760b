"""Tokenizers that cut text into subwords with offsets: WordPiece, byte-level BPE, Unigram.

A tokenizer is a folder with ``tokenizer.json``, as ``transformers`` writes and reads it. Words are
those of its pre-tokenizer: for BERT, each punctuation mark and each Chinese character is a word.
"""

import base64
import hashlib
import json
import math
import os
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from corpora.errors import CorpusError
from corpora.system.parsing import JsonObject, parse_json
from corpora.tokenization.subwords import Subwords, SubwordTable, clear_errors, cut_all

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

__all__ = ["CLS", "MASK", "PAD", "SEP", "SPECIALS", "UNK", "Special", "Subwords", "Tokenizer"]

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIALS = (PAD, UNK, CLS, SEP, MASK)
"""The special tokens, in the order of their ids in the vocabularies that Onoma learns."""
_NAMES = {
    "pad": (PAD, "<pad>"),
    "unk": (UNK, "<unk>"),
    "cls": (CLS, "<s>"),
    "sep": (SEP, "</s>"),
    "mask": (MASK, "<mask>"),
}
_FILES = ("tokenizer.json", "vocab.txt")
_LIKE_BERT = ("Bert", "ConvBert", "DistilBert", "Electra", "Funnel", "MPNet", "MobileBert")
_LIKE_ROBERTA = ("Bart", "Deberta", "GPT2", "Longformer", "Luke", "Roberta")


class _Switches(NamedTuple):
    """Settings in ``tokenizer_config.json`` that change a part of ``tokenizer.json``."""

    part: str
    kind: str
    """The type of the part."""
    classes: tuple[str, ...]
    """The classes of transformers that read the settings, without ``Tokenizer`` and ``Fast``."""
    names: Mapping[str, str]
    """The name of each setting, and its name in the part."""

    def are_read_by(self, kind: object) -> bool:
        """Tell whether a class reads the settings; None: the class is that of the model."""
        name = str(kind).removesuffix("Fast").removesuffix("Tokenizer")
        return kind is None or name in self.classes


_OF_BERT = _Switches(
    "normalizer",
    "BertNormalizer",
    _LIKE_BERT,
    {
        "do_lower_case": "lowercase",
        "strip_accents": "strip_accents",
        "tokenize_chinese_chars": "handle_chinese_chars",
    },
)
_OF_ROBERTA = _Switches(
    "pre_tokenizer", "ByteLevel", _LIKE_ROBERTA, {"add_prefix_space": "add_prefix_space"}
)
PREFIX = "##"
MAX_WORD = 100  # characters; for BERT, a longer word is unknown

# Onoma's workers are processes with one thread each. The library would start a thread for each
# core, and would warn in every process that is forked after that.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class Special(NamedTuple):
    """The ids of the special tokens."""

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int


class Tokenizer:
    """A tokenizer that cuts text unchanged: it never truncates, pads, or adds subwords.

    Special tokens in a text, such as ``[SEP]``, are read as ordinary text.
    """

    def __init__(
        self,
        backend: "Backend",
        *,
        name: str,
        declared: Mapping[str, str] | None = None,
        parts: JsonObject | None = None,
    ) -> None:
        """Take a ``tokenizers.Tokenizer``; ``declared`` names special tokens (``cls`` …).

        ``parts`` is the content of the ``tokenizer.json`` that it was read from: the library reads
        the numbers of Unigram a little off, so writing them again would change them each time.
        """
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True
        self.backend: Any = backend  # Any: there, a token that has an id may be None
        self.name = name
        self.parts: JsonObject = {
            **(parts or parse_json(backend.to_str())),
            "truncation": None,
            "padding": None,
        }
        """The content of ``tokenizer.json``."""
        self.special = _find_special(backend, dict(declared or {}), name=name)

    @classmethod
    def open(cls, path: Path | str, *, cased: bool | None = None) -> Self:
        """Open a folder, a ``tokenizer.json``, or a ``vocab.txt`` of BERT.

        ``cased`` is for ``vocab.txt``, which does not say it; without it, ``tokenizer_config.json``
        beside it decides, or whether its subwords have capitals. Whether accents are stripped is
        found likewise. Where ``tokenizer_config.json`` and ``tokenizer.json`` differ in such
        settings, the former counts, as in transformers. Raises ``CorpusError`` where nothing
        is found, or no tokenizer with the special tokens that an encoder needs.
        """
        path = Path(path)
        file = _find_file(path)
        config = _read_config(file)
        parts = None
        if file.suffix == ".json":
            parts = _read_json(file)
            parts = {**parts, **_changed(parts, config)}
            backend = _read_backend(file, parts, cased=cased)
        else:
            backend = _read_vocab(file, config, cased=cased)
        name = path.resolve().name if path.is_dir() else file.stem
        tokenizer = cls(backend, name=name, declared=_declared(config), parts=parts)
        if tokenizer.size > _MOST_IDS:
            raise CorpusError(
                f"{file}: a subword has the id {tokenizer.size - 1:,}, more than any tokenizer "
                "needs. Get the tokenizer again."
            )
        return tokenizer

    @cached_property
    def size(self) -> int:
        """The number of ids: the largest, plus one."""
        vocab: dict[str, int] = self.backend.get_vocab(with_added_tokens=True)
        return 1 + max(vocab.values())

    @cached_property
    def sha256(self) -> str:
        """The identity: the hash of ``parts`` as JSON without spaces, with its keys sorted."""
        text = json.dumps(self.parts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def specials(self) -> frozenset[int]:
        """The ids of all special tokens, including added ones."""
        added = self.backend.get_added_tokens_decoder()
        return frozenset(self.special) | {id for id, token in added.items() if token.special}

    @cached_property
    def continuations(self) -> NDArray[np.bool_]:
        """A flag for each id: whether it continues a word (``##…``); only in WordPiece any does."""
        continuing = np.zeros(self.size, np.bool_)
        if self._is_wordpiece:
            prefix = self.backend.model.continuing_subword_prefix
            vocab = self.backend.get_vocab(with_added_tokens=True)
            continuing[[id for subword, id in vocab.items() if subword.startswith(prefix)]] = True
            continuing[list(self.specials)] = False
        return continuing

    @cached_property
    def blanks(self) -> NDArray[np.bool_]:
        """A flag for each id: whether it is spaces alone (``▁``, or ``Ġ`` in byte-level BPE)."""
        blanks = np.zeros(self.size, np.bool_)
        if not self._is_wordpiece:  # in WordPiece, these signs are ordinary characters
            sign = "Ġ" if "'ByteLevel'" in str(self.parts.get("pre_tokenizer")) else "▁"
            vocab = self.backend.get_vocab(with_added_tokens=False)
            blanks[[id for subword, id in vocab.items() if subword and not subword.strip(sign)]] = (
                True
            )
        return blanks

    @cached_property
    def _is_wordpiece(self) -> bool:
        return type(self.backend.model).__name__ == "WordPiece"

    def encode(self, texts: Sequence[str]) -> list[Subwords]:
        """Cut texts into subwords; many at once are faster. Not safe for threads.

        Raises ``UnicodeError`` where a text has half a surrogate pair.
        """
        try:
            return self._table.cut(texts) if self._table else cut_all(self.backend, texts)
        except TypeError:  # raised by the library for lone surrogates
            for text in texts:
                text.encode()
            raise

    @cached_property
    def _table(self) -> SubwordTable | None:
        """The table for a tokenizer like BERT's, whose subwords depend on nothing beyond a space.

        None for other tokenizers.
        """
        if not self._is_bert or not self.backend.normalizer.handle_chinese_chars:
            return None
        return SubwordTable(self.backend, ~self.continuations)

    @property
    def _is_bert(self) -> bool:
        parts = self.parts
        kinds = [(parts.get(name) or {}).get("type") for name in ("normalizer", "pre_tokenizer")]
        is_plain = all(token["special"] for token in parts.get("added_tokens") or ())
        is_bert = self._is_wordpiece and kinds == ["BertNormalizer", "BertPreTokenizer"]
        return is_bert and is_plain and self.backend.model.continuing_subword_prefix == PREFIX

    def save(self, folder: Path | str) -> None:
        """Write what ``transformers.AutoTokenizer`` reads; WordPiece with ``vocab.txt``."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in self.files().items():
            with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)

    def files(self) -> dict[str, Iterable[str]]:
        """Return the files that ``save`` writes: name to text in parts."""
        names = {f"{name}_token": self.backend.id_to_token(id) for name, id in self.special_items}
        config = self._settings | names
        contents = {
            "tokenizer": self.parts,
            "tokenizer_config": config,
            "special_tokens_map": names,
        }
        files: dict[str, Iterable[str]] = {
            f"{name}.json": [json.dumps(content, ensure_ascii=False, indent=1), "\n"]
            for name, content in contents.items()
        }
        if self._is_wordpiece:
            vocab = self.backend.get_vocab(with_added_tokens=True)
            files["vocab.txt"] = [
                f"{subword}\n" for subword in sorted(vocab, key=vocab.__getitem__)
            ]
        return files

    @property
    def _settings(self) -> dict[str, object]:
        """The settings that ``transformers``, and ``open`` of a ``vocab.txt``, need."""
        if not self._is_bert:
            return {"tokenizer_class": "PreTrainedTokenizerFast"}
        normalizer = self.backend.normalizer
        return {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": normalizer.lowercase,
            "strip_accents": normalizer.strip_accents,
            "tokenize_chinese_chars": normalizer.handle_chinese_chars,
        }

    @property
    def special_items(self) -> Iterable[tuple[str, int]]:
        """The kind (``cls`` …) and the id of each special token."""
        return self.special._asdict().items()


def wordpiece(
    subwords: Sequence[str], *, cased: bool, strip_accents: bool | None = False
) -> "Backend":
    """Make a ``tokenizers.Tokenizer`` like BERT's from subwords in the order of their ids.

    ``strip_accents``: None strips them unless ``cased``, as BERT does.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    vocab = {subword: id for id, subword in enumerate(subwords)}
    backend = Backend(
        models.WordPiece(
            vocab,
            unk_token=UNK,
            continuing_subword_prefix=PREFIX,
            max_input_chars_per_word=MAX_WORD,
        )
    )
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=strip_accents, lowercase=not cased
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix=PREFIX)
    if CLS in vocab and SEP in vocab:
        backend.post_processor = processors.TemplateProcessing(
            single=f"{CLS} $A {SEP}",
            pair=f"{CLS} $A {SEP} $B:1 {SEP}:1",
            special_tokens=[(CLS, vocab[CLS]), (SEP, vocab[SEP])],
        )
    backend.add_special_tokens([subword for subword in SPECIALS if subword in vocab])
    return backend


_MOST_IDS = 1 << 24
"""The most ids that are read: arrays have a place for each."""
_MOST_GROWTH = 1 << 16
"""How many times as long normalizers may make a character, if each replaces what the last wrote."""
_SAVED_AGAIN = (
    "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER), of transformers, adds a "
    "tokenizer.json to a folder with the files of most tokenizers (from a hub: hf download NAME "
    "--local-dir FOLDER); where it adds none, take another model."
)


def _find_file(path: Path) -> Path:
    if path.is_dir():
        for name in _FILES:
            if (path / name).is_file():
                return path / name
        raise CorpusError(
            f"{path}: no tokenizer; there is no tokenizer.json and no vocab.txt. {_SAVED_AGAIN}"
        )
    if path.is_file():
        return path
    raise CorpusError(f"{path}: no such file. Name a tokenizer's folder, or its tokenizer.json.")


def _read_config(file: Path) -> JsonObject:
    """Read the settings beside a file with a usual name; empty for any other file."""
    if file.name not in _FILES:
        return {}
    special, config = (
        _read_json(file.parent / f"{name}.json")
        for name in ("special_tokens_map", "tokenizer_config")
    )
    return {**special, **config}


def _read_json(path: Path) -> JsonObject:
    try:
        return dict(parse_json(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError) as error:
        raise CorpusError(f"{path}: damaged ({error}). Get the tokenizer again.") from error


def _read_backend(file: Path, parts: JsonObject, *, cased: bool | None) -> "Backend":
    """Read ``tokenizer.json``; refuse ``cased`` where it is not what the file says."""
    from tokenizers import Tokenizer as Backend

    with clear_errors(f"{file}: no tokenizer.json that can be read"):
        if _growth_of(parts.get("normalizer") or {}) > _MOST_GROWTH:
            raise ValueError("its normalizers make texts too long")
        backend = Backend.from_file(str(file))
    for switches in (_OF_BERT, _OF_ROBERTA):
        part = parts.get(switches.part) or {}
        for name in switches.names.values() if part.get("type") == switches.kind else ():
            setattr(getattr(backend, switches.part), name, part[name])
    is_cased = not (parts.get("normalizer") or {}).get("lowercase", False)
    if cased is not None and cased != is_cased:
        raise CorpusError(
            f"{file}: is {'cased' if is_cased else 'lower-cased'} and says so itself. Leave the "
            "choice out."
        )
    return backend


def _growth_of(normalizer: JsonObject) -> int:
    """Return how many times as long a normalizer may make a text.

    Raises ``ValueError`` for a map of characters that is cut off: the library takes the memory that
    its first bytes name, and ends the process where there is none.
    """
    characters = base64.b64decode(normalizer.get("precompiled_charsmap") or "")
    if int.from_bytes(characters[:4], "little") > len(characters):
        raise ValueError("its map of characters is cut off")
    growth = max(1, len(normalizer.get("content") or ""))
    return growth * math.prod(map(_growth_of, normalizer.get("normalizers") or ()))


def _changed(parts: Mapping[str, object], config: Mapping[str, object]) -> dict[str, object]:
    """Return the parts of ``tokenizer.json`` that ``tokenizer_config.json`` changes."""
    changed: dict[str, object] = {}
    for switches in (_OF_BERT, _OF_ROBERTA):
        part = parts.get(switches.part)
        is_read = switches.are_read_by(config.get("tokenizer_class"))
        if is_read and isinstance(part, dict) and part.get("type") == switches.kind:
            named = {ours: config.get(theirs) for theirs, ours in switches.names.items()}
            given = {name: value for name, value in named.items() if isinstance(value, bool)}
            changed[switches.part] = {**part, **given}
    return changed


def _read_vocab(file: Path, config: JsonObject, *, cased: bool | None) -> "Backend":
    kind = config.get("tokenizer_class")
    if kind != "PreTrainedTokenizerFast" and not _OF_BERT.are_read_by(kind):
        raise CorpusError(
            f"{file}: is for {kind}, which cuts text otherwise than BERT does. {_SAVED_AGAIN}"
        )
    subwords = _read_subwords(file)
    if cased is None and "do_lower_case" in config:
        cased = not config["do_lower_case"]
    if cased is None:
        cased = _has_capitals(subwords)
    strip_accents = config.get("strip_accents")
    if not cased and not config.keys() & {"do_lower_case", "strip_accents"}:
        strip_accents = False if _has_accents(subwords) else None
    backend = wordpiece(subwords, cased=cased, strip_accents=strip_accents)
    backend.normalizer.handle_chinese_chars = config.get("tokenize_chinese_chars", True)
    return backend


def _read_subwords(file: Path) -> list[str]:
    """Read the lines of ``vocab.txt``; raise ``CorpusError`` where it is invalid or repeats one."""
    advice = "Name a tokenizer's folder, its tokenizer.json, or a vocab.txt with a subword a line."
    try:
        subwords = file.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{file}: is no vocabulary: no UTF-8 ({error}). {advice}") from error
    while subwords and not subwords[-1]:
        subwords.pop()
    if UNK not in subwords:  # WordPiece needs it
        raise CorpusError(f"{file}: is no vocabulary: no line is {UNK}. {advice}")
    lines: dict[str, int] = {}
    for line, subword in enumerate(subwords, 1):
        if subword in lines:
            raise CorpusError(
                f"{file}:{line}: the subword {subword!r} stands on line {lines[subword]}, too. "
                "Get the tokenizer again."
            )
        lines[subword] = line
    return subwords


def _has_accents(subwords: Sequence[str]) -> bool:
    """Tell whether over 1 % of subwords could not be met in text stripped of accents."""
    n_changed = sum(not subword.isascii() and _stripped(subword) != subword for subword in subwords)
    return n_changed * 100 > len(subwords)


def _stripped(text: str) -> str:
    """Strip the accents of a text as BERT does."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


def _has_capitals(subwords: Sequence[str]) -> bool:
    """Tell whether over 1 % of subwords with letters have capitals, without ``[unused1]``.

    Lower-cased vocabularies have a few: BERT's Chinese one has ``<S>`` and ``<T>``.
    """
    plain = [subword for subword in subwords if subword[:1] + subword[-1:] != "[]"]
    capital = sum(subword != subword.lower() for subword in plain)
    return capital * 100 > sum(subword != subword.upper() for subword in plain) + capital


def _declared(config: Mapping[str, object]) -> dict[str, str]:
    """Return the special tokens that a configuration names, by kind (``cls`` …)."""
    declared = {}
    for name in _NAMES:
        token = config.get(f"{name}_token")
        if isinstance(token, dict):
            token = token.get("content")
        if isinstance(token, str):
            declared[name] = token
    return declared


def _find_special(backend: "Backend", declared: Mapping[str, str], *, name: str) -> Special:
    found = {}
    for role, names in _NAMES.items():
        candidates = [declared[role]] if role in declared else names
        ids = [backend.token_to_id(token) for token in candidates]
        found[role] = next((id for id in ids if id is not None), None)
    if missing := [f"{role} ({_NAMES[role][0]})" for role, id in found.items() if id is None]:
        raise CorpusError(
            f"{name}: has no token for {', '.join(missing)}. An encoder needs them; add them to "
            "the vocabulary, or choose a tokenizer of an encoder."
        )
    return Special(**found)  # type: ignore[arg-type]  # no id is None here
