"""The formats of NER sets: one record for each, with all that is known of it.

A new format is a record here, its reader, and its row in docs/ner.md. Where ``begins`` does not
recognise its files, ``detection.py`` does. CONTRIBUTING.md names what else may know of it.
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial

SCHEMES = ("iob2", "iob1", "iobes")
"""The schemes of tags; IOB2 is BIO; IOBES is also BMES, BMESO, BIOES, BILOU."""
_COLUMNS = ("--tag-column", "--inner-column")
_FIRST_AND_LAST = (0, -1, None)


@dataclass(frozen=True, slots=True)
class Format:
    """The record of a format: its reader, its signs, and how its files are cut."""

    about: str
    reader: str
    """The function that reads the bytes of a file, after its module; imported when it is used."""
    _: KW_ONLY
    begins: str = ""
    """A regex of the beginning of each file; empty: more must be looked at."""
    options: tuple[str, ...] = ()
    """The options that say more of a file: its columns, the language of a text."""
    scheme: str | None = None
    """The scheme of formats that have no letters before their labels; None: it is detected."""
    table: tuple[int, int, int | None] | None = None
    """The columns of token, tag and inner tag in a table without a header; None: it is none."""
    is_cut: bool = False
    """Whether large files are cut at empty lines; not if a document is named once, above them."""
    is_json: bool = False
    id_mark: str = ":"
    """The sign in an id between the file's name and the number of the line or sentence."""


_lines = partial(Format, reader="corpora.ner.readers:read_columns", options=_COLUMNS)
_blocks = partial(_lines, is_cut=True)
_texts = partial(Format, options=("--lang",), scheme="iob2")
_tool_texts = partial(
    _texts, reader="corpora.ner.tool_texts:read_tool_texts", options=("--tag-column", "--lang")
)
_records = partial(Format, is_json=True)
FORMATS = {
    "conll": _blocks(
        "two or more columns, the token first and its tag last; -DOCSTART-, # comments",
        table=_FIRST_AND_LAST,
    ),
    "germeval": _blocks(
        "number, token, outer and inner tag; # source and date before each sentence",
        table=(1, 2, 3),
    ),
    "danplus": _blocks("token, outer and inner tag", table=(0, 1, 2)),
    "uner": _lines("number, word, tag, …; # sent_id, # text, # newdoc id", table=(1, 2, None)),
    "conllu": _lines(
        "CoNLL-U with a key of MISC for names: name=B-PER; # newdoc id", options=("--tag-column",)
    ),
    "conllup": _lines("CoNLL-U Plus: # global.columns = FORM … names its columns, NER among them"),
    "hipe": _lines(
        "a header TOKEN NE-COARSE-LIT …; EndOfSentence in MISC, an empty line after a document"
    ),
    "wikiann": _blocks("conll with a language before each token: de:Jena", table=_FIRST_AND_LAST),
    "weibo": _blocks(
        "conll with a digit of the segmentation after each character: 科0", table=_FIRST_AND_LAST
    ),
    "titles": _blocks("conll in blocks whose first line is <title>WORK", table=_FIRST_AND_LAST),
    "labels": _blocks(
        "conll with labels without B- and I- (PERSON, O), as Stanford NER is trained on",
        scheme="iob1",
    ),
    "europeana": Format(
        "conll without sentence breaks, the text of a file in one",
        "corpora.ner.readers:read_running_text",
        table=_FIRST_AND_LAST,
    ),
    "aida": Format(
        "-DOCSTART- (1 EU) before documents; behind a token of a name B or I, and its entity",
        "corpora.ner.aida:read_aida",
        begins=r"-DOCSTART- \(.*\n(?:[^\t\n]*\n)*[^\t\n]+\t[BI]\t",
        scheme="iob2",
    ),
    "slashes": Format(
        "a sentence a line, a slash between token and tag: Ada/PERSON kam/O, Ada/B-PER kam/O",
        "corpora.ner.bars:read_bars",
    ),
    "bars": Format(
        "a sentence a line, bars between token and tags: Ada|NNP|I-PER kam|VBD|O (WikiNER)",
        "corpora.ner.bars:read_bars",
    ),
    "conll2012": Format(
        "CoNLL-2012 (OntoNotes): names in brackets, (ORG* … *), in the eleventh column",
        "corpora.ner.brackets:read_brackets",
        scheme="iob2",
    ),
    "csv": Format(
        "CSV with a header: Sentence #,Word,POS,Tag, or a sentence or a text in a row",
        "corpora.ner.csv:read_csv",
        options=(*_COLUMNS, "--lang"),
    ),
    "brat": _texts(
        "brat's standoff T1 TAB Person 0 12 TAB Ada Lovelace, with its text in .txt beside it",
        "corpora.ner.texts:read_brat",
        id_mark="#",
    ),
    "webanno": _texts(
        "WebAnno TSV 3, as INCEpTION exports it; names in the layer NamedEntity",
        "corpora.ner.webanno:read_webanno",
        begins="#FORMAT=WebAnno TSV 3",
        options=("--tag-column",),
    ),
    "markup": _texts(
        'XML or SGML with names in tags: <ENAMEX TYPE="PERSON">Ada</ENAMEX>, HAREM, <PER>',
        "corpora.ner.markup:read_markup",
    ),
    "pubtator": _texts(
        "titles and abstracts, ID|t|… and ID|a|…, with lines of names",
        "corpora.ner.pubtator:read_pubtator",
        begins=r"\s*[\w.:-]+\|t\|.*\n[\w.:-]+\|a\|",
    ),
    "xmi": _tool_texts(
        "UIMA XMI, as INCEpTION, WebAnno and cTAKES export it",
        begins=r"\s*(?:<\?xml[^>]*>\s*)?<xmi:XMI\b",
    ),
    "gate": _tool_texts(
        "a document of GATE in XML: nodes in the text, and sets of annotations",
        begins=r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?s:.*?)-->\s*)?<GateDocument\b",
    ),
    "bioc": _texts(
        "BioC in XML or JSON: passages with annotations",
        "corpora.ner.tool_texts:read_tool_texts",
        begins=r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE\s+collection\b[^>]*>\s*)?<collection>\s*"
        r"<source|\s*\{[^\[]*\"documents\"\s*:\s*\[\s*\{(?s:.*?)\"passages\"\s*:",
    ),
    "docbin": _tool_texts("spaCy's DocBin (.spacy)"),
    "spans": _records(
        "JSON Lines or an array of objects with a text and names at its characters: doccano, "
        "Prodigy, Label Studio, spaCy",
        "corpora.ner.records:read_spans",
        options=("--lang",),
        scheme="iob2",
    ),
    "tokenspans": _records(
        "the same with tokens and names at their numbers: SpERT, GLiNER, DyGIE++, OneIE",
        "corpora.ner.records:read_names_at_tokens",
        scheme="iob2",
    ),
    "tokens": _records(
        'the same with tokens and tags, as {"tokens", "ner_tags"}',
        "corpora.ner.records:read_tokens",
    ),
    "json": _records(
        "a JSON array of sentences of [token, tag] or [token, tag, inner tag]",
        "corpora.ner.json:read_sentence_array",
        id_mark="#",
    ),
    "cluener": _records(
        "JSON Lines with text and label {class: {surface: [[start, last], …]}}",
        "corpora.ner.json:read_cluener",
        scheme="iob2",
    ),
    "parquet": Format(
        "Parquet with tokens and tags, as Hugging Face has them",
        "corpora.ner.parquet:read_parquet",
        id_mark="#",
    ),
}
"""The values of ``--format``."""
