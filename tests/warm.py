"""Python programs in copies of a process that has loaded their libraries.

    python -m tests.warm SOCKET PID        # answers at SOCKET until the process PID has ended
    SOCKET.python -m MODULE … | -c CODE …  # in the place of an interpreter

The client stands for its copy: the copy has its streams, folder and environment, gets the signals
that the client gets, and SIGKILL when the client ends; the client ends as the copy does. Its name
in /proc is the id of the copy (``copy_of``). What a program imports is loaded here when it is first
asked for. Where a test looks at the start of a command, at its session or limits, it starts the
interpreter itself.
"""

import ast
import atexit
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

LOADED = {
    "modeling.workbench": ("modeling.workbench.running",),
    "modeling.pretrain": ("modeling.training.pretraining_run",),
    "modeling": (
        "modeling.evaluate.runs",
        "modeling.finetune.finetuning",
        "modeling.training.pretraining_run",
        "seqeval.metrics",
    ),
    "pipelines": ("pipelines.in_memory",),
}
"""What commands load once they work, by the beginning of their module's name; the first counts."""
MAX_BYTES = 1 << 17
FORWARDED = (signal.SIGINT, signal.SIGTERM)
CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect({address!r})
about = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [about], [0, 1, 2])
for number in {numbers}:
    signal.signal(number, lambda number, _: server.send(bytes([number])))
with open("/proc/self/comm", "wb") as name:
    name.write(server.recv(15))
status = int(server.recv(16))
if status < 0:
    if -status in {numbers}:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


def main(address, pid):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
    user = os.pidfd_open(int(pid))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        write_client(address)
        while user not in select.select([listener, user], [], [])[0]:
            client, _ = listener.accept()
            about, streams, _, _ = socket.recv_fds(client, MAX_BYTES, 3)
            if about:  # else it has been killed
                program = json.loads(about)
                load(*program[0])
                if not os.fork():
                    listener.close()
                    answer(client, program, streams)
            client.close()
            for stream in streams:
                os.close(stream)


def write_client(address):
    """Write the program that stands for an interpreter; it appears when it can be started."""
    numbers = tuple(map(int, FORWARDED))
    text = CLIENT.format(python=sys.executable, address=address, numbers=numbers)
    draft = Path(f"{address}.draft")
    draft.write_text(text)
    draft.chmod(0o755)
    draft.rename(f"{address}.python")


def load(kind, what, *_):
    """Import what a program imports; what fails here will fail there, and say so."""
    with suppress(Exception):  # of any module, and of names that are none
        import_all(kind, what)


def import_all(kind, what):
    code = what
    if kind == "-m":
        spec = find_spec(what)
        if spec and spec.submodule_search_locations:
            spec = find_spec(f"{what}.__main__")
        code = Path(spec.origin).read_text("utf-8") if spec else ""
    names = [*imported(code), "pandas"]  # pyarrow loads it if it is there
    names += next((more for room, more in LOADED.items() if what.startswith(room)), ())
    for name in names:
        with suppress(Exception):
            import_module(name)


def imported(code):
    """Return what a program imports at its beginning: modules, and names of them."""
    names = []
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def answer(client, program, streams):
    """Run a program in a copy of this process; ends both when the client ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not (pid := os.fork()):
        client.close()
        run(*program, streams)
    for stream in streams:
        os.close(stream)
    client.send(str(pid).encode())
    ended = os.pidfd_open(pid)
    while ended not in select.select([ended, client], [], [])[0]:
        number = client.recv(1)
        os.kill(pid, number[0] if number else signal.SIGKILL)
        if not number:
            break
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):
        client.send(str(status).encode())
    os._exit(0)


def run(arguments, folder, environment, streams):
    """Run a program as the interpreter does; never returns."""
    for number in FORWARDED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout, sys.stderr = (os.fdopen(n, "w", 1, "utf-8", closefd=False) for n in (1, 2))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    kind, what, *sys.argv[1:] = arguments
    sys.path[0] = folder
    status = 0
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = module = ModuleType("__main__")
            sys.argv[0] = "-c"
            exec(compile(what, "<string>", "exec"), vars(module))  # noqa: S102 - of a test
    except SystemExit as end:
        status = end.code or 0
    except BaseException:  # noqa: BLE001 - said, as the interpreter does
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        sys.stderr.write(f"{status}\n")
        status = 1
    threading._shutdown()  # what the end of an interpreter does, but for taking it apart
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main(*sys.argv[1:])
