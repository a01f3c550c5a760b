"""A run of a wiki with one dump in it, and what a folder holds."""

import hashlib
import random

NAME = "klwiki-20261101-pages-articles-multistream.xml.bz2"
PATH = f"/klwiki/20261101/{NAME}"
DATA = random.Random(1).randbytes(300_000)
SHA1 = hashlib.sha1(DATA, usedforsecurity=False).hexdigest()
INDEX = "klwiki-20261101-pages-articles-multistream-index.txt.bz2"


def names(folder):
    return {path.name for path in folder.iterdir()} - {".lock"}
