"""``python -m corpora.shards``: verify datasets and show what is in them."""

import sys

from corpora.store.inspection import main

if __name__ == "__main__":
    sys.exit(main())
