"""The fork server: a process that has imported `stratagraph`, and forks a process for each command that a test runs.

A command is one of `stratagraph`, or `-c` with the text of a Python program, as for the interpreter.

Importing takes most of the time that starting a service takes. The forked processes are ordinary ones: tests can kill
them, they have an exit status, and they share no state with the test.

A request is a message on a Unix socket: a JSON document with `argv`, `env` and `constants`, and three descriptors, for
standard output, for standard error, and for the status, to which the server writes the new process's id and then its
exit status, one a line.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
from dataclasses import replace
from typing import Any

import stratagraph.service.library.holding
import stratagraph.service.library.opening
from stratagraph.service import cli

assert stratagraph.service.library, "imported for the forked processes"


def serve(requests: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # reap the supervisors without waiting for them
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, 1 << 20, 3)
        if not request:
            return
        if os.fork() == 0:
            requests.close()
            supervise(json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def supervise(request: dict[str, object], out: int, err: int, status: int) -> None:
    """Fork the command's process, and write its id and exit status to `status`."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process == 0:
        os.close(status)
        become(request, out, err)
    os.close(out)
    os.close(err)
    os.write(status, f"{process}\n".encode())
    _, ended = os.waitpid(process, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(ended)}\n".encode())
    os._exit(0)


def become(request: dict[str, object], out: int, err: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a run in the background was started without
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    environment = request["env"]
    arguments = request["argv"]
    constants = request["constants"]
    assert isinstance(environment, dict)
    assert isinstance(arguments, list)
    assert isinstance(constants, dict)
    os.environ.update(environment)
    sys.argv = ["stratagraph", *arguments]
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    set_constants(constants)
    code = 1
    try:
        if arguments[0] == "-c":
            sys.argv = arguments
            exec(sys.argv.pop(1), {"__name__": "__main__"})
        else:
            cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        sys.excepthook(*sys.exc_info())  # as the interpreter does for a process of its own
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def set_constants(constants: dict[str, object]) -> None:
    """Set constants of modules, named `module:CONSTANT`. A dict replaces these fields of a dataclass."""
    for name, value in constants.items():
        module, _, constant = name.partition(":")
        loaded = importlib.import_module(module)
        setattr(loaded, constant, changed(getattr(loaded, constant), value))


def changed(before: Any, value: object) -> object:
    """Return `value`; where it is a dict, the dataclass `before` with its fields replaced."""
    if not isinstance(value, dict):
        return value
    return replace(before, **{name: changed(getattr(before, name), one) for name, one in value.items()})


if __name__ == "__main__":
    # A collection in a forked process would copy every page that it walks: 0.15 s of the 0.5 s that a start takes.
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
