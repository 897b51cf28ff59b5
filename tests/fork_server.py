"""A process that has imported everything and forks on request: to import it anew would be most of what starting a
service costs. What it forks are processes as real as any: they are killed, they exit, they own nothing of the test's.

Asked over a socket: one JSON document with `argv` and `env`, and three descriptors: where standard output goes, where
standard error goes, and where to write the new process's id, and its exit status when it ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

import stratagraph.service.serving
from stratagraph.service import cli

assert stratagraph.service.serving, "imported for those who are forked"


def serve(asked: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the supervisors
    while True:
        request, descriptors, _, _ = socket.recv_fds(asked, 1 << 20, 3)
        if not request:
            return
        if os.fork() == 0:
            asked.close()
            supervise(json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def supervise(request: dict[str, object], out: int, err: int, status: int) -> None:
    """Fork once more, and tell how that ends."""
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
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    environment = request["env"]
    arguments = request["argv"]
    assert isinstance(environment, dict)
    assert isinstance(arguments, list)
    os.environ.update(environment)
    sys.argv = ["stratagraph", *arguments]
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    code = 1
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
