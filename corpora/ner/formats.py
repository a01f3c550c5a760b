"""The formats of NER sets: one record for each, with all that is known of it.

A new format is a record here, its reader, and its row in docs/ner.md. Where ``begins`` does not
recognise its files, ``detection.py`` does.
"""

from dataclasses import dataclass

SCHEMES = ("iob2", "iob1", "iobes")
"""The schemes of tags; IOB2 is BIO; IOBES is also BMES, BMESO, BIOES, BILOU."""
_LAST = -1
_COLUMNS = ("--tag-column", "--inner-column")
_LINES = "corpora.ner.readers:read_columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The record of a format: its reader, its signs, and how its files are cut."""

    about: str
    reader: str
    """The function that reads the bytes of a file, after its module; imported when it is used."""
    n_levels: int = 1
    """2 if names inside names are read, too."""
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


FORMATS = {
    "conll": Format(
        about="two or more columns, the token first and its tag last; -DOCSTART-, # comments",
        reader=_LINES,
        n_levels=2,
        options=_COLUMNS,
        table=(0, _LAST, None),
        is_cut=True,
    ),
    "germeval": Format(
        about="number, token, outer and inner tag; # source and date before each sentence",
        reader=_LINES,
        n_levels=2,
        options=_COLUMNS,
        table=(1, 2, 3),
        is_cut=True,
    ),
    "danplus": Format(
        about="token, outer and inner tag",
        reader=_LINES,
        n_levels=2,
        options=_COLUMNS,
        table=(0, 1, 2),
        is_cut=True,
    ),
    "uner": Format(
        about="number, word, tag, …; # sent_id, # text, # newdoc id",
        reader=_LINES,
        options=_COLUMNS,
        table=(1, 2, None),
    ),
    "conllu": Format(
        about="CoNLL-U with a key of MISC for names: name=B-PER; # newdoc id",
        reader=_LINES,
        options=("--tag-column",),
    ),
    "conllup": Format(
        about="CoNLL-U Plus: # global.columns = FORM … names its columns, NER among them",
        reader=_LINES,
        options=_COLUMNS,
    ),
    "hipe": Format(
        about="a header TOKEN NE-COARSE-LIT …; EndOfSentence in MISC, an empty line after a "
        "document",
        reader=_LINES,
        n_levels=2,
        options=_COLUMNS,
    ),
    "wikiann": Format(
        about="conll with a language before each token: de:Jena",
        reader=_LINES,
        options=_COLUMNS,
        table=(0, _LAST, None),
        is_cut=True,
    ),
    "weibo": Format(
        about="conll with a digit of the segmentation after each character: 科0",
        reader=_LINES,
        options=_COLUMNS,
        table=(0, _LAST, None),
        is_cut=True,
    ),
    "titles": Format(
        about="conll in blocks whose first line is <title>WORK",
        reader=_LINES,
        options=_COLUMNS,
        table=(0, _LAST, None),
        is_cut=True,
    ),
    "labels": Format(
        about="conll with labels without B- and I- (PERSON, O), as Stanford NER is trained on",
        reader=_LINES,
        options=_COLUMNS,
        scheme="iob1",
        is_cut=True,
    ),
    "europeana": Format(
        about="conll without sentence breaks, the text of a file in one",
        reader="corpora.ner.readers:read_running_text",
        table=(0, _LAST, None),
    ),
    "aida": Format(
        about="-DOCSTART- (1 EU) before documents; behind a token of a name B or I, and its entity",
        reader="corpora.ner.aida:read_aida",
        begins=r"-DOCSTART- \(.*\n(?:[^\t\n]*\n)*[^\t\n]+\t[BI]\t",
        scheme="iob2",
    ),
    "slashes": Format(
        about="a sentence a line, a slash between token and tag: Ada/PERSON kam/O, Ada/B-PER kam/O",
        reader="corpora.ner.bars:read_bars",
    ),
    "bars": Format(
        about="a sentence a line, bars between token and tags: Ada|NNP|I-PER kam|VBD|O (WikiNER)",
        reader="corpora.ner.bars:read_bars",
    ),
    "conll2012": Format(
        about="CoNLL-2012 (OntoNotes): names in brackets, (ORG* … *), in the eleventh column",
        reader="corpora.ner.brackets:read_brackets",
        n_levels=2,
        scheme="iob2",
    ),
    "csv": Format(
        about="CSV with a header: Sentence #,Word,POS,Tag, or a sentence or a text in a row",
        reader="corpora.ner.csv:read_csv",
        n_levels=2,
        options=(*_COLUMNS, "--lang"),
    ),
    "brat": Format(
        about="brat's standoff T1 TAB Person 0 12 TAB Ada Lovelace, with its text in .txt beside "
        "it",
        reader="corpora.ner.texts:read_brat",
        n_levels=2,
        options=("--lang",),
        scheme="iob2",
        id_mark="#",
    ),
    "webanno": Format(
        about="WebAnno TSV 3, as INCEpTION exports it; names in the layer NamedEntity",
        reader="corpora.ner.webanno:read_webanno",
        n_levels=2,
        begins="#FORMAT=WebAnno TSV 3",
        options=("--tag-column",),
        scheme="iob2",
    ),
    "markup": Format(
        about='XML or SGML with names in tags: <ENAMEX TYPE="PERSON">Ada</ENAMEX>, HAREM, <PER>',
        reader="corpora.ner.markup:read_markup",
        n_levels=2,
        options=("--lang",),
        scheme="iob2",
    ),
    "pubtator": Format(
        about="titles and abstracts, ID|t|… and ID|a|…, with lines of names",
        reader="corpora.ner.pubtator:read_pubtator",
        n_levels=2,
        begins=r"\s*[\w.:-]+\|t\|.*\n[\w.:-]+\|a\|",
        options=("--lang",),
        scheme="iob2",
    ),
    "xmi": Format(
        about="UIMA XMI, as INCEpTION, WebAnno and cTAKES export it",
        reader="corpora.ner.tool_texts:read_xmi",
        n_levels=2,
        begins=r"\s*(?:<\?xml[^>]*>\s*)?<xmi:XMI\b",
        options=("--tag-column", "--lang"),
        scheme="iob2",
    ),
    "gate": Format(
        about="a document of GATE in XML: nodes in the text, and sets of annotations",
        reader="corpora.ner.tool_texts:read_gate",
        n_levels=2,
        begins=r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?s:.*?)-->\s*)?<GateDocument\b",
        options=("--tag-column", "--lang"),
        scheme="iob2",
    ),
    "bioc": Format(
        about="BioC in XML or JSON: passages with annotations",
        reader="corpora.ner.tool_texts:read_bioc",
        n_levels=2,
        begins=r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE\s+collection\b[^>]*>\s*)?<collection>\s*"
        r"<source|\s*\{[^\[]*\"documents\"\s*:\s*\[\s*\{(?s:.*?)\"passages\"\s*:",
        options=("--lang",),
        scheme="iob2",
    ),
    "docbin": Format(
        about="spaCy's DocBin (.spacy)",
        reader="corpora.ner.tool_texts:read_docbin",
        n_levels=2,
        options=("--tag-column", "--lang"),
        scheme="iob2",
    ),
    "spans": Format(
        about="JSON Lines or an array of objects with a text and names at its characters: doccano, "
        "Prodigy, Label Studio, spaCy",
        reader="corpora.ner.records:read_spans",
        n_levels=2,
        options=("--lang",),
        scheme="iob2",
        is_json=True,
    ),
    "tokenspans": Format(
        about="the same with tokens and names at their numbers: SpERT, GLiNER, DyGIE++, OneIE",
        reader="corpora.ner.records:read_names_at_tokens",
        n_levels=2,
        scheme="iob2",
        is_json=True,
    ),
    "tokens": Format(
        about='the same with tokens and tags, as {"tokens", "ner_tags"}',
        reader="corpora.ner.records:read_tokens",
        n_levels=2,
        is_json=True,
    ),
    "json": Format(
        about="a JSON array of sentences of [token, tag] or [token, tag, inner tag]",
        reader="corpora.ner.json:read_sentence_array",
        n_levels=2,
        is_json=True,
        id_mark="#",
    ),
    "cluener": Format(
        about="JSON Lines with text and label {class: {surface: [[start, last], …]}}",
        reader="corpora.ner.json:read_cluener",
        n_levels=2,
        scheme="iob2",
        is_json=True,
    ),
    "parquet": Format(
        about="Parquet with tokens and tags, as Hugging Face has them",
        reader="corpora.ner.parquet:read_parquet",
        n_levels=2,
        id_mark="#",
    ),
}
"""The values of ``--format``."""
