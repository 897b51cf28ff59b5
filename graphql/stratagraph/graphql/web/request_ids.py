"""Ids of requests: the client's own, where it sends one, else a new one."""

from __future__ import annotations

import re
import secrets

HEADER = "X-Request-Id"  # of requests and responses
_CLIENTS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+/=@-]{7,127}\Z")


def new_request_id() -> str:
    """Return an id for a request whose client gave none."""
    return secrets.token_hex(8)


def request_id_of(given: str | None) -> str:
    """Return the id of a request: `given` by its client if it has 8 to 128 plain characters, else a new one.

    >>> request_id_of("01980d6e-6c1f-7c11"), len(request_id_of("short")), len(request_id_of("two words, no id"))
    ('01980d6e-6c1f-7c11', 16, 16)
    """
    return given if given is not None and _CLIENTS.match(given) else new_request_id()
