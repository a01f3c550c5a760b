"""List the pipelines: ``python -m pipelines``."""

import ast
import sys
from pathlib import Path


def main() -> int:
    """Print each pipeline with the first line of its docstring."""
    for file in sorted(Path(__file__).parent.glob("*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"))
        names = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        if "plan" in names:
            about = ast.get_docstring(module) or ""
            sys.stdout.write(f"python -m pipelines.{file.stem:<26} {about.splitlines()[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
