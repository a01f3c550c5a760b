import os
import signal
import threading

import pytest

from corpora.system import interrupts
from corpora.system.interrupts import Terminated
from modeling.command import Termination


def test_sigterm_is_noted_at_once():
    termination = Termination()

    with termination.heard(), pytest.raises(Terminated):
        os.kill(os.getpid(), signal.SIGTERM)

    assert termination.is_asked
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_other_threads_hear_no_signal():
    heard = []

    def work():
        with Termination().heard():
            heard.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert heard == [signal.SIG_DFL]


def test_while_it_is_deferred_sigterm_is_only_noted():
    termination = Termination()

    with termination.heard(), termination.deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)

    assert termination.is_asked


def test_the_first_ctrl_c_is_noted_and_the_second_ends_at_once(capfd):
    termination = Termination()

    with termination.heard(), termination.deferred():
        os.kill(os.getpid(), signal.SIGINT)
        assert termination.is_asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    assert type(termination.end()) is KeyboardInterrupt
    assert "Ctrl-C again ends at once" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_noted_where_the_start_of_a_command_listened_before(capfd):
    earlier = signal.signal(signal.SIGINT, interrupts._end)
    try:
        termination = Termination()
        with termination.heard(), termination.deferred():
            os.kill(os.getpid(), signal.SIGINT)
        assert termination.is_asked
        assert signal.getsignal(signal.SIGINT) is interrupts._end
    finally:
        signal.signal(signal.SIGINT, earlier)

    assert "A checkpoint is written" in capfd.readouterr().err


def test_where_ctrl_c_is_ignored_it_stays_so():
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Termination().heard():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, earlier)
