import json
import logging
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from corpora.system.imports import hidden

ROOT = Path(__file__).parents[3]


def test_hidden_packages_seem_not_installed_until_the_end_of_the_block(caplog):
    finders = list(sys.meta_path)

    with hidden("cgitb", "json"):
        with pytest.raises(ModuleNotFoundError, match="cgitb"):
            import_module("cgitb")
        assert import_module("json") is json  # it is loaded already
        logging.getLogger("beam").warning("cgitb is missing")

    assert sys.meta_path == finders
    assert not caplog.records
    logging.getLogger("beam").warning("heard again")
    assert len(caplog.records) == 1


def test_pyarrow_loads_no_pandas_but_still_makes_data_frames():
    code = """if True:
        import sys
        from corpora.system.imports import hide_pandas_from_pyarrow
        hide_pandas_from_pyarrow()
        import pyarrow as pa
        table = pa.table({"a": ["x", "y"]})
        assert "pandas" not in sys.modules
        print(table.to_pandas()["a"].tolist())
    """
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "['x', 'y']\n"
