"""Small TEI files, names found in them, and what is written."""

import re
from pathlib import Path

from corpora.document import Mention
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.writer import WriteOptions, write_predictions

ROOT = Path(__file__).resolve().parents[4]
MODEL = Model(id="onoma-1", name="tagger", version="3", sha256="ab12", desc="letters")
HEADER = "<teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc></teiHeader>"


def tei(body, *, header=HEADER):
    namespace = "http://www.tei-c.org/ns/1.0"
    return f'<TEI xmlns="{namespace}">{header}<text><body>{body}</body></text></TEI>'.encode()


def find(data, edition, name, **fields):
    """Return a mention at the first place of a name in the text; line ends do not count."""
    [text] = read_tei(data, edition, name="x.xml")
    found = re.search(r"\n?".join(map(re.escape, name)), text.document.text)
    return Mention(*found.span(), **({"label": "person"} | fields))


def write(data, edition, *mentions, **options):
    return write_predictions(
        data,
        edition,
        {"x.xml": mentions},
        name="x.xml",
        model=MODEL,
        options=WriteOptions(**options),
    )


def body(written):
    """Return the body without the attribute that every name has."""
    found = re.search("<body>(.*)</body>", written.data.decode(), re.DOTALL)
    return found[1].replace(' resp="#onoma-1"', "")


def reasons(written):
    return [skipped.reason for skipped in written.skipped]
