"""List the pipelines: ``python -m pipelines``."""

import ast
import sys
from pathlib import Path

_HELPERS = {"__init__", "__main__", "options", "progress", "run"}


def main() -> int:
    """Print each pipeline with the first line of its docstring."""
    for file in sorted(Path(__file__).parent.glob("*.py")):
        if file.stem not in _HELPERS:
            about = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            sys.stdout.write(f"python -m pipelines.{file.stem:<24} {about.splitlines()[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
