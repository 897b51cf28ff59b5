"""The socket at which commands on this machine send GraphQL documents to a running service.

It is in the data directory, with mode 0600: only who may read the records in that directory can connect, and asks with
the trust that a command has there anyway. No other credential is needed, nor accepted. One connection is one request:
a JSON document each way. This module imports little, because every command does.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from stratagraph.store.model.errors import InvalidInput, StoreUnavailable

NAME = "service.sock"
PATH_MAX = 100  # bytes; a socket address holds 104 on macOS and 108 on Linux
BACKLOG = 64  # commands that wait to be accepted
LARGEST = 1 << 20  # bytes of a request
FIELDS = {"query", "variables", "operationName", "tenant"}  # of a request; operationName may be None
LONGEST_S = 90.0  # for which a command waits for its answer
BUSY_S = 0.05  # between two attempts to connect to a busy service
_CHUNK = 1 << 16


def bind(data_dir: Path) -> socket.socket | None:
    """Return a socket bound in `data_dir`, to which only this user can connect; None where its path is too long.

    Call it while no other thread runs, as the holder of the directory.
    """
    (data_dir / NAME).unlink(missing_ok=True)  # that of a service that was killed
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with _short(data_dir) as directory:
            bound.bind(f"{directory}/{NAME}")
    except OSError:
        bound.close()
        return None
    finally:
        os.umask(before)
    return bound


def send(data_dir: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """Send a request to the service that runs on `data_dir`; return its response, as `LocalApi.answer` describes it.

    `request` has FIELDS. Return None if there is no service to connect to, or if the request is longer than it reads.
    Raises StoreUnavailable if the service has the request and does not answer it: it may be executing it.
    """
    try:
        asked = orjson.dumps(request)
    except orjson.JSONEncodeError as error:
        raise InvalidInput(
            f"The document or its variables cannot be sent: {error}; give less deep Unicode text"
        ) from None
    if len(asked) > LARGEST:
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(LONGEST_S)
        ends_at = time.monotonic() + LONGEST_S
        try:
            with _short(data_dir) as directory:
                while not _connects(connection, f"{directory}/{NAME}"):
                    if time.monotonic() > ends_at:
                        raise StoreUnavailable(f"The running service has been busy for {LONGEST_S:g} s; try again.")
        except OSError:  # it does not run, or has ended
            return None
        try:
            connection.sendall(asked)
            connection.shutdown(socket.SHUT_WR)
            received = bytearray()
            while more := connection.recv(_CHUNK):
                received += more
            response: dict[str, Any] = json.loads(received)
        except TimeoutError:
            raise StoreUnavailable(
                f"The running service has not answered within {LONGEST_S:g} s; try again, or look at its log."
            ) from None
        except (OSError, ValueError):
            raise StoreUnavailable(
                "The running service ended the connection before it had answered; it may be stopping. Try again, or"
                " look at its log."
            ) from None
    if not response.keys() >= {"answer", "codes"}:
        raise StoreUnavailable("The running service is of another version than this command; restart the service.")
    return response


def _connects(connection: socket.socket, address: str) -> bool:
    """Connect; wait a moment and return False while as many commands as BACKLOG wait to be accepted."""
    try:
        connection.connect(address)
    except BlockingIOError:
        time.sleep(BUSY_S)
        return False
    return True


@contextlib.contextmanager
def _short(data_dir: Path) -> Iterator[str]:
    """Yield a path of the directory that fits in a socket address."""
    if len(os.fsencode(data_dir / NAME)) < PATH_MAX:
        yield str(data_dir)
        return
    descriptor = os.open(data_dir, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
