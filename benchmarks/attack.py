"""Attack Onoma: hostile records, foreign folders, damaged files, slow inputs; print what failed.

    python -m benchmarks.attack
    python -m benchmarks.attack --only slow --seed 2
    python -m benchmarks.attack --markdown          the table of docs/security.md

Each attack is a function in ``benchmarks/attacks/`` that is tried several times, each time with
another seed. Its docstring says what counts as a failure. A try runs real commands and readers in
processes of their own, with limits of memory and processor time; nothing leaves the machine, and
servers are on loopback. Exit status 1 where a try failed. With ``--times 10`` each attack is tried
ten times as often.
"""

import argparse
import random
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from benchmarks.attacks.bounded import ATTACKS, Attack, Try, outlived, prepare

PARTS = (
    *("records", "folders", "damage", "slow", "stopping", "values", "airflow"),
    *("requests", "exchanged"),
)
MODULES = (
    "corpora.store.inspection",
    "corpora.store.__main__",
    "corpora.runs.plan",
    "pipelines.tei_to_ner",
    "pipelines.text_to_documents",
    "pipelines.wikipedia_to_documents",
    "pipelines.documents_to_entity_vocab",
    "pipelines.documents_to_lexicon",
    "pipelines.news_to_documents",
)


def tried(attack: Attack, *, seed: int, times: float) -> tuple[int, list[str], float]:
    """Try an attack; gives how often, what failed, and the processor time of the longest run."""
    failures = []
    longest = 0.0
    n_tries = max(1, round(attack.tries * times))
    for number in range(n_tries):
        rng = random.Random(f"{attack.name} {seed} {number}")
        with tempfile.TemporaryDirectory() as folder:
            one = Try(Path(folder), rng, number=number)
            failure = attack.do(one)
            left = outlived()
            if left and not failure:
                failure = f"processes are left: {', '.join(left.values())[:200]}"
            longest = max(longest, one.seconds)
        if failure:
            failures.append(f"{number}: {failure}")
    return n_tries, failures, longest


def main() -> int:
    """Try all attacks, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, allow_abbrev=False, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="in their names")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=float, default=1.0, help="as many tries (default: 1)")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    prepare(MODULES)
    for part in PARTS:
        import_module(f"benchmarks.attacks.{part}")
    chosen = [
        attack
        for attack in ATTACKS
        if all(word in f"{attack.about} {attack.name}" for word in arguments.only)
    ]
    if not chosen:
        print("error: no attack has these words in its name.")
        return 2
    begin = time.monotonic()
    rows = []
    for attack in chosen:
        n_tries, failures, longest = tried(attack, seed=arguments.seed, times=arguments.times)
        rows.append((attack, n_tries, len(failures), longest))
        print(
            f"{n_tries:>5} tries {len(failures):>4} failures {longest:6.1f} s  "
            f"{attack.about}: {attack.name}",
            flush=True,
        )
        for failure in failures[:3]:
            print(f"        {failure}", flush=True)
    n_all, n_failed = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f"{n_all} tries, {n_failed} failures, {time.monotonic() - begin:.0f} s")
    if arguments.markdown:
        print("\n| aims at | attacks | the first of them | tries | failures |")
        print("| --- | ---: | --- | ---: | ---: |")
        for about in dict.fromkeys(attack.about for attack, *_ in rows):
            own = [row for row in rows if row[0].about == about]
            n_tries, n = sum(row[1] for row in own), sum(row[2] for row in own)
            print(f"| {about} | {len(own)} | {own[0][0].name} | {n_tries} | {n} |")
        print(f"| all | {len(rows)} | | {n_all} | {n_failed} |")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
