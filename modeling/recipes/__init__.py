"""Known-good settings: ``python -m modeling.pretrain --list``.

Each function returns the settings of a run. Those with the name of a published system have its
numbers (ids such as N-T6 are those of the design notes) and follow what its paper says where the
code that was released differs. ``*_small`` are for a laptop: 4 layers, 128 wide, minutes.
"""

# Each lists its recipes as it is loaded, and so they are listed in this order.
from modeling.recipes import neiss as neiss  # isort: skip
from modeling.recipes import bert as bert  # isort: skip
from modeling.recipes import entity_bert as entity_bert  # isort: skip
from modeling.recipes import small as small  # isort: skip
from modeling.recipes.registry import RECIPES, Recipe, about, change, recipe

__all__ = ["RECIPES", "Recipe", "about", "change", "recipe"]
