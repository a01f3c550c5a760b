"""``python -m onoma``, the same as the command ``onoma``; also ``python`` and this folder."""

import sys
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from onoma import run_command

sys.exit(run_command())
