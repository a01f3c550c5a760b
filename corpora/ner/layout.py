"""The layout of a NER file: detected once from its beginning, or named by the user."""

from dataclasses import dataclass

COLUMNS = (
    "conll", "germeval", "danplus", "uner", "conllu", "conllup", "hipe", "wikiann", "weibo",
    "titles", "labels",
)  # fmt: skip
"""The formats with a token per line, and an empty line after each sentence."""
FORMATS = {
    "conll": "two or more columns, the token first and its tag last; -DOCSTART-, # comments",
    "germeval": "number, token, outer and inner tag; # source and date before each sentence",
    "danplus": "token, outer and inner tag",
    "uner": "number, word, tag, …; # sent_id, # text, # newdoc id",
    "conllu": "CoNLL-U with a key of MISC for names: name=B-PER; # newdoc id",
    "conllup": "CoNLL-U Plus: # global.columns = FORM … names its columns, NER among them",
    "hipe": "a header TOKEN NE-COARSE-LIT …; EndOfSentence in MISC, an empty line after a document",
    "wikiann": "conll with a language before each token: de:Jena",
    "weibo": "conll with a digit of the segmentation after each character: 科0",
    "titles": "conll in blocks whose first line is <title>WORK",
    "labels": "conll with labels without B- and I- (PERSON, O), as Stanford NER is trained on",
    "europeana": "conll without sentence breaks, the text of a file in one",
    "bars": "a sentence a line, bars between token and tags: Ada|NNP|I-PER kam|VBD|O (WikiNER)",
    "conll2012": "CoNLL-2012 (OntoNotes): names in brackets, (ORG* … *), in the eleventh column",
    "cluener": "JSON Lines with text and label {class: {surface: [[start, last], …]}}",
    "tokens": 'JSON Lines or an array of objects with tokens and tags, as {"tokens", "ner_tags"}',
    "tokenspans": "the same with tokens and names at their numbers: SpERT, GLiNER, DyGIE++, OneIE",
    "spans": "the same with a text and names at its characters: doccano, Prodigy, Label Studio, "
    "spaCy",
    "pubtator": "titles and abstracts, ID|t|… and ID|a|…, with lines of names",
    "webanno": "WebAnno TSV 3, as INCEpTION exports it; names in the layer NamedEntity",
    "markup": 'XML or SGML with names in tags: <ENAMEX TYPE="PERSON">Ada</ENAMEX>, HAREM, <PER>',
    "csv": "CSV with a header: Sentence #,Word,POS,Tag, or a sentence or a text in a row",
    "brat": "brat's standoff T1 TAB Person 0 12 TAB Ada Lovelace, with its text in .txt beside it",
    "json": "a JSON array of sentences of [token, tag] or [token, tag, inner tag]",
    "parquet": "Parquet with tokens and tags, as Hugging Face has them",
}
"""The values of ``--format``, each with a description."""
SCHEMES = ("iob2", "iob1", "iobes")
"""The schemes of tags; IOB2 is BIO; IOBES is also BMES, BMESO, BIOES, BILOU."""
OUTSIDE = ("O", "0")
"""What stands for no name in the format ``labels``: the letter, or a zero."""
TAB, SPACE, BLANKS = "\t", " ", ""
"""The separators of columns; ``BLANKS`` are any number of spaces and tabs."""

USUAL = "B-PER"
"""How tags are written: a letter, and a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All that a reader must know about a file."""

    format: str
    scheme: str = "iob2"
    encoding: str = "utf-8"
    separator: str = TAB
    n_columns: int = 2
    token: int = 0
    """The column of the token, from 0."""
    tag: int = 1
    inner: int | None = None
    """The column of the second level of tags; None: there is none."""
    misc: int | None = None
    """The column that may hold ``EndOfSentence``; None: there is none."""
    sentence: int | None = None
    """The column that numbers the sentences, in CSV; None: there is none."""
    spelling: str = USUAL
    """How tags are written: ``B-PER``, ``PER-B``, or ``B`` without labels."""
    key: str = ""
    """The key before each tag in its column, as ``name`` in ``name=B-PER|SpaceAfter=No``; empty:
    none."""
    prefix: str = ""
    """The prefix of each token, which is not part of it; empty: none."""
    has_digits: bool = False
    """Whether each token is followed by a digit that is not part of it."""
    is_numbered: bool = False
    """Whether the first column counts the tokens; then every line with ``#`` is a comment."""
    has_comments: bool = False
    marks: str = "#"
    """The characters with which comments begin."""
    lang: str | None = None
    """The language of a text that is cut into tokens here, as a BCP 47 tag; None: unknown."""

    @property
    def mark(self) -> str:
        """The sign in an id between the file's name and the number of the line or sentence."""
        return "#" if self.format in {"json", "parquet", "brat"} else ":"
