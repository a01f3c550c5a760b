"""Ctrl-C and SIGTERM while a command loads."""

import os
import signal
import subprocess
import sys

import pytest

from corpora.system.arguments import make_parser
from corpora.system.interrupts import Terminated, end_quietly_while_loading, terminable

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def signals():
    """Let Python hear both signals as it does when it starts, and restore what heard them."""
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    earlier = {number: signal.signal(number, handler) for number, handler in defaults.items()}
    yield
    for number, handler in earlier.items():
        signal.signal(number, handler)


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

    end_quietly_while_loading()

    assert (signal.getsignal(signal.SIGINT) is not signal.default_int_handler) == is_quiet
    assert (signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL) == is_quiet


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, b"error: interrupted.\n"),
        (signal.SIGTERM, 143, b"error: stopped by SIGTERM.\n"),
    ],
)
def test_a_command_that_is_stopped_while_it_loads_says_so(number, status, said, monkeypatch):
    ended = []
    monkeypatch.setattr(os, "write", lambda *of: ended.append(of))
    monkeypatch.setattr(os, "_exit", ended.append)
    end_quietly_while_loading(is_command=True)

    signal.getsignal(number)(number, None)

    assert ended == [(2, said), status]


def test_once_loaded_sigterm_ends_a_command_as_any_process_or_in_order():
    end_quietly_while_loading(is_command=True)
    with terminable(), pytest.raises(Terminated):
        signal.raise_signal(signal.SIGTERM)

    end_quietly_while_loading(is_command=True)
    make_parser("", None).parse_args([])

    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


WHILE_OPTIONS_ARE_MADE = """
import argparse, os, signal
from corpora.system.interrupts import end_quietly_while_loading
signal.signal(signal.SIGINT, signal.default_int_handler)
end_quietly_while_loading(is_command=True)
made = argparse.ArgumentParser.__init__
def interrupted(*args, **settings):
    made(*args, **settings)
    os.kill(os.getpid(), signal.SIGINT)
argparse.ArgumentParser.__init__ = interrupted
from corpora.store.__main__ import main
main(["prune", "x"])
"""


def test_ctrl_c_while_a_command_makes_its_options_ends_it_without_a_traceback():
    command = [sys.executable, "-c", WHILE_OPTIONS_ARE_MADE]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (130, "error: interrupted.\n")
