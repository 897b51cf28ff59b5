"""The listening sockets of a service, which all its processes share."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from stratagraph.service.local_socket import bind
from stratagraph.service.settings import Part, Settings
from stratagraph.store.model.errors import Misconfigured

BACKLOG = 1_024  # connections that wait to be accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """The bound sockets. `api` is None without the API, `metrics` without a listener of their own.

    `local` is the one at which commands ask; None beside a database of one's own or another service.
    """

    api: socket.socket | None
    metrics: socket.socket | None
    local: socket.socket | None

    def close(self) -> None:
        """Close them in this process. Other processes that share them go on accepting."""
        for one in (self.api, self.metrics, self.local):
            if one is not None:
                one.close()


NO_LISTENERS = Listeners(api=None, metrics=None, local=None)


def open_listeners(settings: Settings, parts: tuple[Part, ...], *, local: bool) -> Listeners:
    """Return the bound sockets of the parts. Connections are refused until a process listens.

    Raises Misconfigured if an address cannot be bound.
    """
    api = listen(settings.host, settings.port, "PORT") if "api" in parts else None
    try:
        metrics = (
            listen(settings.metrics_host, settings.metrics_port, "METRICS_PORT")
            if settings.metrics_port is not None
            else None
        )
    except Misconfigured:
        if api is not None:
            api.close()
        raise
    return Listeners(api=api, metrics=metrics, local=bind(settings.data_dir) if local else None)


def listen(host: str, port: int, setting: str) -> socket.socket:
    """Return a socket bound to an address. Raises Misconfigured, naming the port's `setting`, if it cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol given, asyncio sets TCP_NODELAY on accepted connections. Without it, each request but the first
    # of a kept connection takes 40 ms longer: the client's delayed acknowledgement waits for Nagle's algorithm.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Misconfigured(
            f"{host}:{port} cannot be listened on: {error.strerror}. Free it, or set STRATAGRAPH_{setting}"
            " (0 picks a free port)."
        ) from error
    return listener


def address_of(host: str, listener: socket.socket) -> str:
    """Return the URL at which clients reach a socket that is bound to `host`."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"
