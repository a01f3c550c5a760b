"""``onoma serve`` as a process."""

import re
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest

from corpora.errors import UsageError
from modeling.serve.__main__ import from_environment, main
from modeling.serve.client import Client, ServiceError


def test_sigterm_ends_the_service_when_what_was_asked_is_answered(tagger_run):
    command = [sys.executable, "-m", "modeling.serve", str(tagger_run), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://\S+", process.stderr.readline())[0]
            here = Client(address)
            assert [name["text"] for name in here.tag("ich war in Ulm.")] == ["Ulm"]
            assert [len(found) for found in here.tag_all(["in Ulm.", "nichts"])] == [1, 0]
            assert here.tag_words([["in", "Ulm"]])[0]["tags"] == ["O", "B-place"]
            with pytest.raises(ServiceError, match="422"):
                here.tag_tei(b"no TEI")

            with httpx.Client(timeout=60, verify=False) as client:  # noqa: S501 - no TLS
                answers = []

                def ask():
                    text = "ich war in Ulm und sah bei Ida Berg viel.\n" * 400
                    answers.append(client.post(f"{address}/v1/tag", json={"text": text}))

                asking = threading.Thread(target=ask)
                asking.start()
                while client.get(f"{address}/health").json()["sentences_waiting"] == 0:
                    assert asking.is_alive()
                    time.sleep(0.01)
                process.send_signal(signal.SIGTERM)
                asking.join(60)
            assert process.wait(60) == 0
        finally:
            process.kill()

    assert len(answers[0].json()["texts"][0]["mentions"]) == 800


def test_a_port_that_is_taken_ends_the_command_before_a_model_is_loaded(tmp_path, capsys):
    from modeling.http.server import listen

    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(SystemExit):
            main([str(tmp_path), "--port", str(taken.getsockname()[1])])

    assert "another port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--identifier-space", "urn:x"], "--identifier-space is for --register"),
        (["--recipe", "spans"], "--recipe is for --allow-training"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(given, said, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), *given])

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_options_may_be_variables_which_the_command_line_overrides():
    variables = {"PORT": "8080", "ALLOW_HOST": "a.org b.org", "ACCESS_LOG": "1", "TOKEN": "file"}
    environment = {f"ONOMA_SERVE_{name}": value for name, value in variables.items()}

    added = from_environment(environment, ["runs/sturm", "--token=other"])

    assert added == ["--access-log", "--allow-host", "a.org", "b.org", "--port=8080"]


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [("PROT", "1", "is of no option"), ("ACCESS_LOG", "yes", "must be 0 or 1")],
)
def test_a_variable_that_sets_nothing_is_an_error(variable, value, said):
    with pytest.raises(UsageError, match=said):
        from_environment({f"ONOMA_SERVE_{variable}": value}, [])
