"""WebSocket connections of the HTTP server: Uvicorn's protocol, counted with the others and without its own log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MESSAGE_BYTES = 1 << 20  # of one message of a client
_SILENT = logging.getLogger("stratagraph.service.sockets")
_SILENT.setLevel(logging.CRITICAL)  # Uvicorn would log each connection with its address and query


class BoundedSocket(WebSocketsSansIOProtocol):
    """Uvicorn's protocol for WebSocket. `when_lost` is called once the connection is lost."""

    when_lost: Callable[[], None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _SILENT

    def connection_lost(self, exc: Exception | None) -> None:
        if self.when_lost is not None:
            self.when_lost()
        super().connection_lost(exc)
