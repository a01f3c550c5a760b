"""Models of text: layers, heads, training, evaluation, and the classes ``Tagger`` and ``Encoder``.

Importing this package does not load torch, which is loaded when one of the classes is first used.
"""

from typing import TYPE_CHECKING

from corpora.system.interrupts import end_quietly_while_loading

if TYPE_CHECKING:
    from modeling.taggers.encoder import Encoder
    from modeling.taggers.tagger import Tagger

__all__ = ["Encoder", "Tagger"]
_MODULES = {"Encoder": "modeling.taggers.encoder", "Tagger": "modeling.taggers.tagger"}


if not TYPE_CHECKING:  # a name that is misspelt would have a type

    def __getattr__(name: str) -> object:
        """Load ``Encoder`` or ``Tagger`` when it is first asked for (PEP 562)."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as little as can be

        return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


end_quietly_while_loading()
