"""Ctrl-C while a command loads."""

import signal
import sys

import pytest

from corpora.system.interrupts import end_quietly_while_loading


@pytest.mark.parametrize(
    ("started", "is_quiet"),
    [
        (["python", "-m", "modeling.pretrain", "luke", "--force"], True),
        (["python", "-X", "dev", "-mpipelines.tei_to_ner", "luke", "--force"], True),
        (["python", "-m", "mine.run", "luke", "--force"], False),
        (["python", "-m", "modeling_of_mine", "luke", "--force"], False),
    ],
)
def test_only_commands_end_at_once(started, is_quiet, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", started)
    monkeypatch.setattr(sys, "argv", ["-m", "luke", "--force"])  # while Python looks for the module
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        end_quietly_while_loading()
        heard = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, earlier)

    assert (heard is not signal.default_int_handler) == is_quiet
