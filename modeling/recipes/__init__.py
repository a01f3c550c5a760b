"""Recipes, which are known-good settings: ``--list`` of ``onoma pretrain`` and ``.finetune``.

Each function returns the settings of a run. A recipe with the name of a published system has its
numbers, and follows the paper where the released code differs. Recipes ``*_small`` are for a
laptop: 4 layers, 128 wide, minutes.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, TypeVar

from modeling.config import Config, ConfigError

C = TypeVar("C", bound=Config)


class Recipes(dict[str, Callable[[], C]], Generic[C]):
    """A mapping of names to functions that return settings, with a line that describes each."""

    def __init__(self) -> None:
        super().__init__()
        self.about: dict[str, str] = {}
        """The lines that describe the recipes, by name."""

    def add(self, name: str, function: Callable[[], C], *, about: str) -> None:
        """Add a recipe, with a line that describes it."""
        self[name], self.about[name] = function, about

    def listed(self, function: Callable[[], C]) -> Callable[[], C]:
        """Add a recipe under the name of its function, with the first line of its docstring."""
        self.add(function.__name__, function, about=(function.__doc__ or "").partition("\n")[0])
        return function

    def listing(self) -> str:
        """Return a line for each recipe: its name, and what it is."""
        width = max(map(len, self.about))
        return "".join(f"{name:<{width}}  {about}\n" for name, about in self.about.items())

    def recipe(self, name: str) -> C:
        """Return the settings of a recipe; for another name, ``ConfigError`` lists all names."""
        if name not in self:
            raise ConfigError(f"No recipe {name!r}; there are {', '.join(self)}.")
        return self[name]()


def change(config: C, **parts: Mapping[str, object]) -> C:
    """Return settings with values of parts replaced: ``change(c, encoder={"width": 128})``."""
    changed = {name: replace(getattr(config, name), **values) for name, values in parts.items()}
    return replace(config, **changed)
