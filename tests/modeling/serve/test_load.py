"""Fifty clients at once, by the benchmark whose table is in the documentation.

They ask for three seconds, so that the suite takes no longer; ``ONOMA_LOAD_MINUTES=1`` asks for one
minute, ``=10`` for ten.
"""

import os
import re
import sys

from benchmarks import serve

MINUTES = os.environ.get("ONOMA_LOAD_MINUTES", "0.05")


def test_fifty_clients_at_once_are_answered_without_an_error(tagger_run, monkeypatch, capsys):
    options = ["--tagger", str(tagger_run), "--only-clients", "--minutes", MINUTES]
    monkeypatch.setattr(sys, "argv", ["serve", *options, "--clients", "50", "--threads", "1"])

    serve.main()

    said = capsys.readouterr().out
    [statuses] = re.findall(r"^answers: (.*)$", said, re.MULTILINE)
    [(status, n_answers)] = re.findall(r"(\d+): (\d+)", statuses)
    assert (status, int(n_answers) >= 50) == ("200", True)
    rows = re.findall(r"^\| (letter|reconcile|text) \|", said, re.MULTILINE)
    assert rows == ["letter", "reconcile", "text"]
    memory = [int(m) for m in re.findall(r"(\d+) MB", said)]
    assert memory[2] < 1.2 * memory[0]
    assert "exit status after SIGTERM: 0" in said
