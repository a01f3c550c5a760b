"""``python -m onoma``, the same as the command ``onoma``; also ``python`` and this folder."""

import sys
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    from onoma import run_command
except ImportError:
    if Path("onoma", "__init__.py").exists() or not Path("onoma").is_dir():
        raise
    sys.exit(
        f"error: {Path('onoma').absolute()}: this folder hides the package onoma. Start onoma "
        "instead of python -m onoma, rename the folder, or work in another."
    )

sys.exit(run_command())
