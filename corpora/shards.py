"""The command ``python -m corpora.shards``, which verifies and shows datasets."""

import sys

from corpora.store.inspection import main

if __name__ == "__main__":
    sys.exit(main())
