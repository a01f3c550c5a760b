"""``python -m MODULE …`` in copies of a process that has loaded the libraries once.

    python -m tests.dags.warm SOCKET   # answers at SOCKET until it is ended
    SOCKET.python -m MODULE …          # in the place of an interpreter

The client stands for its copy: the copy has its streams, folder and environment, gets SIGKILL when
the client ends, and its exit status is that of the client.
"""

import json
import os
import runpy
import select
import signal
import socket
import sys
import traceback
from importlib import import_module
from pathlib import Path

LOADED = (
    "modeling.evaluate.runs",
    "modeling.finetune.finetuning",
    "modeling.training.pretraining_run",
    "pipelines.in_memory",
    "seqeval.metrics",
)
MAX_BYTES = 1 << 17
CLIENT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect({address!r})
about = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [about], [0, 1, 2])
sys.exit(int(server.recv(16)))
"""


def main(address):
    for module in LOADED:
        import_module(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        program = Path(f"{address}.python")
        program.write_text(CLIENT.format(python=sys.executable, address=address))
        program.chmod(0o755)
        while True:
            client, _ = listener.accept()
            if not os.fork():
                listener.close()
                answer(client)
            client.close()


def answer(client):
    """Run a command in a copy of this process; ends both when the client ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    about, streams, _, _ = socket.recv_fds(client, MAX_BYTES, 3)
    if not (pid := os.fork()):
        client.close()
        run(*json.loads(about), streams)
    ended = os.pidfd_open(pid)
    if ended not in select.select([ended, client], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    client.send(str(status if status >= 0 else 128 - status).encode())
    os._exit(0)


def run(arguments, folder, environment, streams):
    """Run a module as the interpreter does; never returns."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", 1, "utf-8", closefd=False) for n in (1, 2))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    _, module, *sys.argv[1:] = arguments  # -m MODULE
    sys.path[0] = folder
    status = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code or 0
    except BaseException:  # noqa: BLE001 - said, as the interpreter does
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        sys.stderr.write(f"{status}\n")
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1])
