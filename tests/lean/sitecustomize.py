"""Hide libraries from Beam and pyarrow that these load only because they are installed.

``PYTHONPATH`` leads here (``tests/conftest.py``), so commands that tests start load Beam in less
than half of the time, and those that read shards do not load pandas. Other tools of the tests bring
these libraries; Onoma needs none.
"""

import sys

NOT_NEEDED = {
    "apache_beam": {"apache_beam.io.gcp.bigquery", "boto3", "bson", "pandas", "pymongo"},
    "pyarrow": {"pandas"},
}
"""What is not needed, by the library that would load it."""


class NotThere:
    """A finder that is asked first; without Beam and pyarrow, everything is where it was."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # noqa: ARG004 - as importlib calls it
        if any(name in names and user in sys.modules for user, names in NOT_NEEDED.items()):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NotThere)
