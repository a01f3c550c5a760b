"""Hide libraries from Beam that it loads only because they are installed.

``PYTHONPATH`` leads here (``tests/conftest.py``), so commands that tests start load Beam in a bit
more than half of the time. Other tools of the tests bring these libraries; Onoma needs none.
"""

import sys

NOT_NEEDED = {"boto3", "pandas", "pymongo"}


class NotThere:
    """A finder that is asked first; without Beam, everything is where it was."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # noqa: ARG004 - as importlib calls it
        if name in NOT_NEEDED and "apache_beam" in sys.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NotThere)
