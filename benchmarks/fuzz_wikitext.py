"""Fuzz the wikitext extractor with atheris, by coverage, and check invariants of what it gives.

    pip install atheris                    # wheels for Linux
    python -m benchmarks.fuzz_wikitext -max_total_time=300 -max_len=2000

Options are libFuzzer's. An input that breaks an invariant (see ``problems`` in
``tests/corpora/wikipedia/test_wikitext_properties.py``), raises, or takes more than ten seconds
(``-timeout``) ends the run and is written to ``crash-…``; with that file as an argument it is read
again.
"""

import sys

import atheris

with atheris.instrument_imports(include=["corpora.wikipedia"]):
    from corpora.wikipedia.wikitext import extract  # noqa: F401 - it is instrumented here

from tests.corpora.wikipedia.test_wikitext_properties import LANGUAGES, PIECES, problems, read


def source_of(data: bytes) -> tuple[str, str]:
    """Turn bytes of the fuzzer into a language and wikitext: pieces of markup, and characters."""
    provider = atheris.FuzzedDataProvider(data)
    lang = LANGUAGES[provider.ConsumeIntInRange(0, len(LANGUAGES) - 1)]
    parts = []
    while provider.remaining_bytes():
        if provider.ConsumeBool():
            parts.append(PIECES[provider.ConsumeIntInRange(0, len(PIECES) - 1)])
        else:
            parts.append(provider.ConsumeUnicodeNoSurrogates(4))
    return lang, "".join(parts)


def test_one_input(data: bytes) -> None:
    """Read an input; raise where an invariant does not hold."""
    lang, source = source_of(data)
    found = problems(source, read(source, lang=lang))
    if found:
        raise AssertionError(f"{lang}: {source!r}: {found}")


def main() -> None:
    """Fuzz until something is found, or time is over."""
    atheris.Setup([sys.argv[0], "-timeout=10", *sys.argv[1:]], test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
