"""The socket in the data directory at which programs on this machine reach the running service, by HTTP.

It has mode 0600: only who may read the records in that directory can connect, and asks with the trust that a command
has there anyway (`local_application`). No other credential is needed, nor accepted. This module imports little, because
every command does.
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
from urllib.parse import quote

import orjson

from stratagraph.store.model.errors import InvalidInput, StoreUnavailable

NAME = "service.sock"
PATH_MAX = 100  # bytes; a socket address holds 104 on macOS and 108 on Linux
SCHEME = "Tenant"  # of the Authorization header, followed by the name of a tenant, percent-encoded
HAND_OVER = "/hand-over"  # path at which a service asks a program for its data directory
CODES = "stratagraph-codes"  # header of an answer: the codes of its errors, separated by commas
LONGEST_S = 90.0  # for which a command waits for its answer
BUSY_S = 0.05  # between two attempts to connect to a busy service
HAND_OVER_S = 5.0  # for which a program may take to say that it will hand over
_CHUNK = 1 << 16


def bind(data_dir: Path) -> socket.socket | None:
    """Return a socket bound in `data_dir`, to which only this user can connect; None where its path is too long.

    Call it as the holder of the directory: it takes the place of the socket of a service that was killed.
    """
    import tempfile

    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Made in a directory of mode 0700: nobody else can connect before its own mode is set.
    with tempfile.TemporaryDirectory(prefix=".sock", dir=data_dir) as made:
        try:
            with short(Path(made)) as directory:
                bound.bind(f"{directory}/{NAME}")
            (Path(made) / NAME).chmod(0o600)
            (Path(made) / NAME).replace(data_dir / NAME)
        except OSError:
            bound.close()
            return None
    return bound


def send(data_dir: Path, request: dict[str, Any], *, tenant: str) -> dict[str, Any] | None:
    """Send a GraphQL request to the service that runs on `data_dir`; return its `answer` and the `codes` of all errors.

    The codes include those of errors that are members of a result union. Return None if there is no service to connect
    to. Raises StoreUnavailable if the service has the request and does not answer it: it may be executing it.
    """
    try:
        body = orjson.dumps(request)
    except orjson.JSONEncodeError as error:
        raise InvalidInput(
            f"The document or its variables cannot be sent: {error}; give less deep Unicode text"
        ) from None
    asked = _request("/graphql", body, f"Authorization: {SCHEME} {quote(tenant)}", "Content-Type: application/json")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(LONGEST_S)
        ends_at = time.monotonic() + LONGEST_S
        try:
            with short(data_dir) as directory:
                while not _connects(connection, f"{directory}/{NAME}"):
                    if time.monotonic() > ends_at:
                        raise StoreUnavailable(f"The running service has been busy for {LONGEST_S:g} s; try again.")
        except OSError:  # it does not run, or has ended
            return None
        try:
            connection.sendall(asked)
            received = bytearray()
            while more := connection.recv(_CHUNK):
                received += more
        except TimeoutError:
            raise StoreUnavailable(
                f"The running service has not answered within {LONGEST_S:g} s; try again, or look at its log."
            ) from None
        except OSError:
            received = bytearray()
    return _response(bytes(received))


def ask_to_hand_over(data_dir: Path) -> bool:
    """Ask the program that holds `data_dir` to let it go; return whether it says that it will."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, contextlib.suppress(OSError):
        connection.settimeout(HAND_OVER_S)
        with short(data_dir) as directory:
            connection.connect(f"{directory}/{NAME}")
        connection.sendall(_request(HAND_OVER, b""))
        return connection.recv(_CHUNK).startswith(b"HTTP/1.1 202 ")
    return False


def _response(received: bytes) -> dict[str, Any]:
    """Return `answer` and `codes` of an HTTP response. Raises StoreUnavailable if it is not one, or not complete."""
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if received and not (status.startswith("HTTP/1.1 ") and CODES in headers):
        raise StoreUnavailable("The running service is of another version than this command; restart the service.")
    if not received or len(body) != int(headers.get("content-length", -1)):
        raise StoreUnavailable(
            "The running service ended the connection before it had answered; it may be stopping. Try again, or look"
            " at its log."
        )
    return response_of(json.loads(body), headers[CODES])


def response_of(answer: Any, codes: str) -> dict[str, Any]:
    """Return the response that commands read, of an answer and of the value of its header CODES."""
    return {"answer": answer, "codes": [code for code in codes.split(",") if code]}


def _request(path: str, body: bytes, *headers: str) -> bytes:
    """Return a POST request as it is sent."""
    head = (
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        *headers,
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body


def _connects(connection: socket.socket, address: str) -> bool:
    """Connect; wait a moment and return False while too many others wait to be accepted."""
    try:
        connection.connect(address)
    except BlockingIOError:
        time.sleep(BUSY_S)
        return False
    return True


@contextlib.contextmanager
def short(data_dir: Path) -> Iterator[str]:
    """Yield a path of the directory that fits in a socket address."""
    if len(os.fsencode(data_dir / NAME)) < PATH_MAX:
        yield str(data_dir)
        return
    descriptor = os.open(data_dir, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
