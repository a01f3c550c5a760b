"""Names in messages as the user types them: ``onoma tei``, ``s3://BUCKET/…``.

Messages and help name commands by their modules, which always work. If the user runs ``onoma``, it
registers its own names here, and they replace those of the modules. So do the addresses of what was
copied from buckets replace the paths of the copies.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_PIPELINES: Final = "pipelines."
_END: Final = r"(?![\w/-]|\.\w)"
_typed: dict[str, str] = {}
_COPY: Final = re.compile(r"(?<=/)[0-9a-f]{32}(?=/)")

copied: dict[str, tuple[str, str]] = {}
"""The names of the folders of copies from buckets (``_COPY``), to the path of the folder, and the
address of the folder in which the original lies."""

own_process = False
"""Whether the user started this process as ``onoma``; its libraries serve nobody else."""


@contextmanager
def commands_named(names: Mapping[str, str]) -> Iterator[None]:
    """Name commands by ``names`` inside a ``with`` block.

    A key is a module with its first arguments: ``corpora.shards show`` becomes ``onoma show``.
    """
    _typed.update(names)
    try:
        yield
    finally:
        _typed.clear()


def as_typed(text: str) -> str:
    """Replace ``python -m MODULE`` in a text by the command that the user types, if it is known.

    Also replace the paths of copies by the addresses in buckets.
    """
    for name in set(_COPY.findall(text)) & copied.keys() if copied else ():
        text = text.replace(*copied[name])
    if not _typed or "python -m " not in text:
        return text
    return re.sub(rf"python -m ({_any_of(_typed)}){_END}", lambda match: _typed[match[1]], text)


def said_as_typed(text: str) -> str:
    """Replace names of commands in our own messages, also modules and pipelines that stand alone.

    ``modeling.finetune`` and ``tei_to_ner`` become ``onoma finetune`` and ``onoma tei``.
    """
    if not _typed:
        return as_typed(text)
    alone = _typed | {
        module.removeprefix(_PIPELINES): name
        for module, name in _typed.items()
        if module.startswith(_PIPELINES)
    }
    pattern = rf"(?<![\w./-])({_any_of(alone)}){_END}"
    return re.sub(pattern, lambda match: alone[match[1]], as_typed(text))


def _any_of(names: Mapping[str, str]) -> str:
    longest_first = sorted(names, key=len, reverse=True)
    return "|".join(map(re.escape, longest_first))
