"""A Python that has loaded what commands load: each is a fork of it, and begins at once.

A command that loads torch or Beam takes seconds until it begins, and the DAGs start a hundred. The
program that ``install`` writes is called as Python is; what is ``COLD`` it runs by a new Python.
"""

import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from importlib import import_module

COLD = ("pipelines.wikipedia_to_documents",)
"""One command begins as every user's does; it is also the one that is killed."""
PRELOADED = (
    "apache_beam",
    "corpora.store.retention",
    "modeling.evaluate.report",
    "modeling.finetune.session",
    "modeling.training.session",
    "pandas",
    "seqeval.metrics",
    "torch._dynamo",
    "trafilatura",
)
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
if sys.argv[2] in {cold!r}:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"+"], [0, 1, 2])
    server.sendall(json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    sys.exit(int(server.recv(16)))
"""


def install(folder):
    """Start one; returns its process, and the program to call."""
    program, address = folder / "python", str(folder / "socket")
    text = CLIENT.format(python=sys.executable, cold=COLD, address=address)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, __file__, address],
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # read once, when torch is loaded
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout.readline() == b"ready\n"
    return process, program


def main(address):
    """Fork a process for each request, until killed; in these, run what is asked for."""
    for name in PRELOADED:
        import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    while True:
        request, _ = listener.accept()
        if not os.fork():
            listener.close()
            return answer(request)
        request.close()


def answer(request):
    """Run a command in a process of its own, and send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, files, _, _ = socket.recv_fds(request, 1, 3)
    with request.makefile("rb") as sent:
        arguments, folder, environment = json.load(sent)
    if command := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
        request.sendall(str(status if status >= 0 else 128 - status).encode())
        os._exit(0)
    request.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115
        setattr(sys, name, io.TextIOWrapper(stream, encoding="utf-8", write_through=True))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1])
