"""Where recipes are listed: by name, each with a line about it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from modeling.config import ConfigError, PretrainConfig

Recipe = Callable[[], PretrainConfig]
RECIPES: dict[str, Recipe] = {}
"""By name."""
_ABOUT: dict[str, str] = {}


def recipe(name: str) -> PretrainConfig:
    """The settings of this name; ``ConfigError`` that lists the names there are."""
    if name not in RECIPES:
        raise ConfigError(f"No recipe {name!r}; there are {', '.join(RECIPES)}.")
    return RECIPES[name]()


def about(name: str) -> str:
    """What a recipe is, in a line."""
    return _ABOUT[name]


def listed(function: Recipe) -> Recipe:
    """List a recipe by the name of its function, with the first line of its docstring."""
    line = (function.__doc__ or "").partition("\n")[0].strip()
    list_recipe(function.__name__, function, about=line)
    return function


def list_recipe(name: str, function: Recipe, *, about: str) -> None:
    """List a recipe."""
    RECIPES[name], _ABOUT[name] = function, about


def change(config: PretrainConfig, **parts: dict[str, Any]) -> PretrainConfig:
    """Settings with some of a part's settings changed: ``change(c, encoder={"width": 128})``."""
    changed = {name: replace(getattr(config, name), **values) for name, values in parts.items()}
    return replace(config, **changed)
