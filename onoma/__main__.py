"""``python -m onoma``, the same as the command ``onoma``."""

import sys

from onoma import run_command

sys.exit(run_command())
