import os
import signal

import pytest

from modeling.command import Terminated, Termination


def test_sigterm_is_told_at_once():
    termination = Termination()

    with termination.heard(), pytest.raises(Terminated):
        os.kill(os.getpid(), signal.SIGTERM)

    assert termination.is_asked
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_while_it_is_deferred_sigterm_is_only_noted():
    termination = Termination()

    with termination.heard(), termination.deferred():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)

    assert termination.is_asked
