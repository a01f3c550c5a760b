"""``python -m corpora.health``: examine a NER data set."""

import sys

from corpora.ner.health import main

if __name__ == "__main__":
    sys.exit(main())
