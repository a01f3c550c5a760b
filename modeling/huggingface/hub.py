"""Models on a hub, named ``hub:NAME[@REVISION]`` in place of a folder.

They are fetched into the cache of huggingface_hub, which other programs share; if
``HF_HUB_OFFLINE`` is set, only models in the cache are found. Settings, tokenizer and weights are
fetched: safetensors, or, if there are none, pickles, of which only tensors are read. Code is never
fetched.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypedDict

from corpora.errors import CorpusError

PREFIX: Final = "hub:"
_NAME: Final = re.compile(r"hub:(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")
_CACHED: Final = re.compile(r"models--(?P<name>[^/]+)/snapshots/(?P<revision>[^/]+)$")
_SETTINGS: Final = (
    "*config.json",
    "tokenizer.json",
    "special_tokens_map.json",
    "vocab.*",
    "merges.txt",
    "entity_vocab.json",
)
_WEIGHTS: Final = ("model*.safetensors", "model*.safetensors.index.json")
_PICKLED: Final = ("pytorch_model*.bin", "pytorch_model*.bin.index.json")


def local_folder(path: Path) -> Path:
    """Return a path as it is, or for ``hub:NAME[@REVISION]`` the folder of the fetched files.

    Raises ``CorpusError`` if the hub has no such model or does not answer.
    """
    if not str(path).startswith(PREFIX):
        return path
    if not (match := _NAME.fullmatch(str(path))):
        raise CorpusError(f"{path}: no name on a hub. Expected hub:NAME or hub:NAME@REVISION.")
    name, revision = match["name"], match["revision"]
    folder = _fetch(name, revision, (*_SETTINGS, *_WEIGHTS))
    if not any(folder.glob("*.safetensors")):
        folder = _fetch(name, revision, (*_SETTINGS, *_PICKLED))
    return folder


def _fetch(name: str, revision: str | None, patterns: Sequence[str]) -> Path:
    """Fetch the files of a model into the cache; return their folder."""
    from huggingface_hub import constants, errors, snapshot_download  # noqa: PLC0415 - half a second

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(patterns)))
    except errors.RepositoryNotFoundError as error:
        why = "there is none of this name, or it needs a login (hf auth login)"
        raise CorpusError(f"hub:{name}: {why}, at {constants.ENDPOINT}.") from error
    except errors.RevisionNotFoundError as error:
        raise CorpusError(f"hub:{name}: has no revision {revision!r}.") from error
    except (errors.HFValidationError, errors.LocalEntryNotFoundError, OSError) as error:
        is_offline = constants.HF_HUB_OFFLINE
        why = "HF_HUB_OFFLINE is set, and it is not in the cache" if is_offline else str(error)
        at, wanted = (f"@{revision}", f" --revision {revision}") if revision else ("", "")
        raise CorpusError(
            f"hub:{name}{at}: not fetched ({why}). Fetch it where there is a network, by hf "
            f"download {name}{wanted}, and copy the cache, or name a folder."
        ) from error


class HubModel(TypedDict, total=False):
    """The name of a model on a hub, and its commit."""

    name: str
    revision: str


def origin(folder: Path) -> HubModel:
    """Return ``name`` and ``revision`` (the commit) of a folder of a hub's model, else nothing."""
    match = _CACHED.search(folder.absolute().as_posix())
    if match is None:
        return {}
    return {"name": match["name"].replace("--", "/", 1), "revision": match["revision"]}
