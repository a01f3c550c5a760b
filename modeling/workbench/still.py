"""The workbench as one HTML file that needs no server.

The file holds the letters and the modules of the page, loads nothing from elsewhere, and exports
the decisions as a list for ``onoma predict --apply``.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Final

from corpora.document import Mention
from corpora.errors import CorpusError
from corpora.reports import counted
from corpora.system.files import open_own
from corpora.system.writing import write_json
from corpora.tei.fragments import content_rules
from corpora.tei.review import REVIEW, model_file
from corpora.tei.style import reference, template
from modeling.workbench.desk import Desk
from modeling.workbench.letters import Letter
from modeling.workbench.messages import DocumentView, ShownLetter
from modeling.workbench.routes import page_files
from modeling.workbench.view import tei_of_blocks

_MODULES: Final = (
    *("words.js", "text.js", "elements.js", "reading.js", "writing.js", "still.js"),
    *("inspector.js", "dialogs.js", "app.js"),
)
"""The modules of the page, each before those that import it."""
_IMPORT: Final = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)


def write_page(desk: Desk, path: Path) -> str:
    """Write the page, and beside it a file that names the model of the list that it exports.

    Returns a message with the files made and the next step. Raises ``CorpusError`` for a letter
    that cannot be read.
    """
    for letter in desk.letters.all:
        desk.suggest(letter)
        if letter.error:
            raise CorpusError(letter.error)
    exported = path.with_suffix(".tsv")
    page = _page(_data(desk, list_name=exported.name))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_own(path, "wb") as file:
        file.write(page)
    write_json(model_file(exported), asdict(desk.letters.suggester.model))
    n = len(desk.letters.all)
    return (
        f"made  {path} ({counted(n, 'letter')}), {model_file(exported)}\n"
        f"next  open it, decide, export {exported.name} beside it, and --apply {exported}\n"
    )


def _data(desk: Desk, *, list_name: str) -> Mapping[str, object]:
    letters = [_letter(desk, letter) for letter in desk.letters.all]
    digest = sha256("".join(letter["sha256"] for letter in letters).encode()).hexdigest()
    return {
        "id": f"onoma-{digest[:16]}-{list_name}",
        "list": list_name,
        "listing": {**desk.listing(), "letters": []},
        "letters": letters,
        "entries": desk.register.all(),
        "writing": _writing(desk),
    }


def _letter(desk: Desk, letter: Letter) -> ShownLetter:
    """Return a letter as the page shows it, with the TEI of its blocks."""
    shown = desk.letter(letter.number)
    documents = zip(shown["documents"], desk.letters.texts(letter), strict=True)
    with_tei: list[DocumentView] = [
        {**view, "tei": tei_of_blocks(*text)} for view, text in documents
    ]
    return {**shown, "documents": with_tei}


def _writing(desk: Desk) -> Mapping[str, object]:
    """Return what the page needs to write names into TEI.

    These are the elements of labels, the references of entities, the ids of the models that are
    responsible for names, and the elements that may not hold a name.
    """
    edition, content = desk.edition, content_rules()
    entities = {entry["entity"] for entry in desk.register.all()}
    for letter in desk.letters.all:
        entities |= {item.entity for names in letter.names for item in names.items()}
    mentions = (Mention(0, 1, entity=entity) for entity in sorted(entities) if entity)
    references = {mention.entity: reference(mention, edition) for mention in mentions}
    elements = {label: template(edition, label) for label in desk.labels}
    return {
        "elements": {
            label: (element.written_name, list(element.attributes.items()))
            for label, element in elements.items()
        },
        "references": {entity: found for entity, found in references.items() if found},
        "model": desk.letters.suggester.model.id,
        "review": REVIEW.id,
        "content": {"blocks": sorted(content.blocks), "noNameIn": sorted(content.no_name_in)},
    }


def _page(data: Mapping[str, object]) -> bytes:
    """Build the page from modules, style and data, with a CSP that has their hashes."""
    files = {name: content.decode("utf-8") for name, content in page_files().items()}
    script = "\n".join(_EXPORT.sub("", _IMPORT.sub("", files[name])) for name in _MODULES)
    style, icon = files["style.css"], base64.b64encode(files["icon.svg"].encode()).decode()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    page_data = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    scripts = (
        f'<script type="application/json" id="data">{page_data}</script>',
        f'<script type="module">{script}</script>',
    )
    page = files["index.html"]
    for old, new in (
        ('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}'),
        ('href="icon.svg"', f'href="data:image/svg+xml;base64,{icon}"'),
        ('<link rel="stylesheet" href="style.css">', f"<style>{style}</style>"),
        ('<script type="module" src="app.js"></script>', "\n".join(scripts)),
    ):
        assert old in page, old  # noqa: S101 - the page is ours
        page = page.replace(old, new)
    return page.encode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
