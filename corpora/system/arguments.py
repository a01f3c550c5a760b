"""What all commands ask of their arguments."""

import argparse
import sys
from typing import Any

from corpora.errors import UsageError
from corpora.system.files import check_utf8


class ArgumentParser(argparse.ArgumentParser):
    """A parser that refuses paths that are no UTF-8, with exit status 2."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and look at all arguments and the current folder."""
        found = super().parse_known_args(args, namespace)
        try:
            check_utf8(sys.argv[1:] if args is None else args)
        except UsageError as error:
            self.error(str(error))
        return found
