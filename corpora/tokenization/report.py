"""The report of a tokenizer: how it cuts the words that it was learned from."""

import unicodedata
from collections.abc import Mapping

from corpora.reports import markdown_table
from corpora.tokenization.learning import VocabularyLimits


def report(counters: Mapping[str, int], rules: VocabularyLimits) -> str:
    """Write the text of ``report.md``, from the counters of the pipeline."""
    kind = "characters" if rules.characters else "WordPiece"
    case = "cased" if rules.cased else "lower-cased"
    n_words, n_characters = counters["words"], counters["characters"]
    unknown = _of_all(counters["characters.unknown"], n_characters)
    rows: dict[str, str] = {
        "size": f"{counters['subwords']:,}" + (f" of at most {rules.size:,}" if rules.size else ""),
        "kind": f"{kind}, {case}, accents kept",
        "words": f"{n_words:,}; {counters['words.distinct']:,} distinct",
        "subwords per word": f"{counters['words.subwords'] / n_words:.4f}",
        "words kept whole": _of_all(counters["words.whole"], n_words),
        "words that are `[UNK]`": _of_all(counters["words.unknown"], n_words),
        "of these, longer than 100 characters": f"{counters['words.too_long']:,}",
        "characters": f"{n_characters:,}; {counters['characters.distinct']:,} distinct",
        "unknown characters": f"{unknown}; {counters['characters.unknown_distinct']:,} distinct",
    }
    if counters["words.min_count"] > 1:
        name = f"distinct words seen less than {counters['words.min_count']:,} times: "
        name += "not learned from"
        rows[name] = f"{counters['words.rare']:,}"
    lines = ["# Tokenizer", "", "What it makes of the documents that it was learned from.", ""]
    lines += markdown_table(("", ""), rows.items(), align="ll")
    return "\n".join(lines + _unknown(counters)) + "\n"


def _of_all(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.4%})"


def _unknown(counters: Mapping[str, int]) -> list[str]:
    """List the most frequent characters without a subword, in lines of Markdown.

    One such character is enough to make its word unknown.
    """
    found = {name[9:]: n for name, n in counters.items() if name.startswith("unknown/U+")}
    if not found:
        return []
    head = f"The {len(found)} most frequent of them:" if len(found) > 1 else "It is:"
    rows = []
    for code, n in sorted(found.items(), key=lambda item: (-item[1], int(item[0][1:], 16))):
        character = chr(int(code[1:], 16))
        shown = character if character.isprintable() and character != "|" else ""
        rows.append((shown, f"U{code}", unicodedata.name(character, ""), n))
    table = markdown_table(("", "", "name", "times"), rows, align="lllr")
    return ["", "## Unknown characters", "", head, "", *table]
