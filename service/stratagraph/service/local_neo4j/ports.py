"""The ports of a home's server: chosen once, kept in neo4j.conf, and replaced where another program has taken one.

A page of Neo4j Browser that is open and a bookmark of it so survive a restart. Running services do not rely on it:
they look the address up again for each new connection.
"""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Below the ports that kernels give to clients. One of those could be taken while the server is stopped, even by a
# client that tries to connect to the server itself.
_RANGE: Final = range(20_000, 32_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports for Bolt and for HTTP on 127.0.0.1."""

    bolt: int
    http: int

    def are_free(self) -> bool:
        """Return whether a server could listen on both."""
        return _is_free(self.bolt) and _is_free(self.http)


def choose_ports(conf_file: Path, on_step: Callable[[str], None]) -> Ports:
    """Return the ports that `conf_file` names; a new one for each that is taken or that it does not name.

    `on_step` receives a sentence for each port that is taken.
    """
    text = conf_file.read_text(encoding="utf-8") if conf_file.exists() else ""
    bolt = _choose("bolt", text, on_step)
    return Ports(bolt=bolt, http=_choose("http", text, on_step, besides=bolt))


def _choose(name: str, conf: str, on_step: Callable[[str], None], *, besides: int = 0) -> int:
    kept = re.search(rf"^server\.{name}\.listen_address=127\.0\.0\.1:([1-9]\d*)$", conf, re.MULTILINE)
    if kept is not None and _is_free(int(kept[1])):
        return int(kept[1])
    port = besides
    while port == besides or not _is_free(port):
        port = random.choice(_RANGE)
    if kept is not None:
        on_step(f"Another program listens on port {kept[1]}; the server gets port {port} instead.")
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        # As the server does: connections of its last run, which linger for a minute, do not hold the port.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
