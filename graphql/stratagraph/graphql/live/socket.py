"""WebSocket: the protocol graphql-transport-ws, with any number of operations on one connection, within bounds.

The credential is that of the Authorization header, or of the key `Authorization` in the payload of `connection_init`.
A connection whose credential has expired or was revoked is closed with 4401, and one whose process stops with 1012, so
that the client comes back and goes on from its positions. The payload of the service's pings has them, by operation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from stratagraph.graphql.authentication import Credential
from stratagraph.graphql.context import Context
from stratagraph.graphql.json_input import decode_json
from stratagraph.graphql.limits.extension import Ticket
from stratagraph.graphql.live.delivery import Delivery
from stratagraph.graphql.live.operations import AcceptedSubscription, Refused, Request, accept
from stratagraph.graphql.live.parts import StreamParts
from stratagraph.graphql.live.sessions import is_own_origin, never, until_invalid
from stratagraph.graphql.request_record import RequestRecord
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import RateLimited, StratagraphError, Unauthenticated

PROTOCOL = "graphql-transport-ws"
INIT_S = 10.0  # seconds within which `connection_init` must arrive
IDLE_S = 30.0  # seconds without an operation after which a connection is closed, so that others have its place
HEARTBEAT_S = 10.0  # seconds between two pings of the service
MAX_OPERATIONS = 32  # of one connection at a time
MAX_ID = 200  # characters of the id of an operation
_log = get_logger(__name__)


class _Close(Exception):
    """The connection is to be closed with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


class Sockets:
    """Serves WebSocket connections.

    Pages of other origins than the host's own and those that an operator names are refused.
    """

    def __init__(self, parts: StreamParts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        if not is_own_origin(socket, self._parts.web.origins):
            await socket.close(1008)  # before it is accepted: the handshake is answered with 403
            return
        offered = PROTOCOL in scope["subprotocols"]
        await socket.accept(PROTOCOL if offered else None)
        if not offered:
            await socket.close(4406, f"Subprotocol not acceptable: offer {PROTOCOL}")
            return
        try:
            await _Connection(self._parts, socket).serve()
        except Exception as error:  # the server would log its text, which may quote a memory
            _log.error("connection failed", **error_report(error))


class _Connection:
    """One connection: its credential once it is known, and its operations by their ids."""

    def __init__(self, parts: StreamParts, socket: WebSocket) -> None:
        self._parts = parts
        self._socket = socket
        self._credential: Credential | None = None
        self._header: str | None = None
        self._operations: dict[str, asyncio.Task[None]] = {}
        self._deliveries: dict[str, Delivery] = {}
        self._watch: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Serve the connection to its end."""
        tasks = [
            asyncio.create_task(self._read(), name="read"),
            asyncio.create_task(self._parts.stopping.wait(), name="stopping"),
            asyncio.create_task(self._beat(), name="beat"),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            closing = self._closing(*tasks)
            if closing is not None and self._socket.application_state is not WebSocketState.DISCONNECTED:
                await self._socket.close(closing.code, closing.reason)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the client has gone already
        finally:
            ending = [*tasks, *self._operations.values(), *([self._watch] if self._watch is not None else ())]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    def _closing(self, *tasks: asyncio.Task[Any]) -> _Close | None:
        """Return how to close the connection, by the first of its tasks that has ended; None if the client has gone."""
        if self._parts.stopping.is_set():
            return _Close(1012, "The service is restarting; connect again")
        for task in tasks:
            error = task.exception() if task.done() else None
            if isinstance(error, _Close):
                return error
            if error is not None and not isinstance(error, WebSocketDisconnect):
                _log.error("connection failed", **error_report(error))
                return _Close(4500, "Internal server error")
        return None

    async def _read(self) -> None:
        """Take the client's messages, one after another. Raises _Close."""
        try:
            async with asyncio.timeout(INIT_S):
                message = await self._receive()
        except TimeoutError:
            raise _Close(4408, "Connection initialisation timeout") from None
        if message.get("type") != "connection_init":
            raise _Close(4401, "Unauthorized: send connection_init first")
        await self._begin(message.get("payload"))
        while True:
            message = await self._receive()
            match message.get("type"):
                case "subscribe":
                    self._subscribe(message)
                case "complete":
                    task = self._operations.pop(_id_of(message), None)
                    if task is not None:
                        task.cancel()
                case "ping":
                    await self._send(type="pong")
                case "pong":
                    pass
                case "connection_init":
                    raise _Close(4429, "Too many initialisation requests")
                case _:
                    raise _Close(4400, "Invalid message: its type is unknown")

    async def _receive(self) -> Mapping[str, Any]:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        if text is None:
            raise _Close(4400, "Invalid message: send text, not binary data")
        try:
            decoded = decode_json(text.encode())
        except StratagraphError:
            raise _Close(4400, "Invalid message: it is not JSON") from None
        if not isinstance(decoded, dict):
            raise _Close(4400, "Invalid message: it is no object")
        return decoded

    async def _begin(self, payload: object) -> None:
        """Check the credential and acknowledge the connection. Raises _Close."""
        if payload is not None and not isinstance(payload, dict):
            raise _Close(4400, "Invalid connection_init: its payload is no object")
        given = next((value for key, value in (payload or {}).items() if key.lower() == "authorization"), None)
        if given is not None and not isinstance(given, str):
            raise _Close(4400, "Invalid connection_init: Authorization is no text")
        self._header = given if given is not None else self._socket.headers.get("authorization")
        try:
            self._parts.admission.pass_gate(self._header)
            self._credential = await self._parts.authentication.credential_in(self._header, self._socket)
        except Unauthenticated:
            raise _Close(4401, "Unauthorized: no valid credential in connection_init or the header") from None
        except RateLimited:
            raise _Close(4429, "Too many requests of this credential or network") from None
        except StratagraphError:
            raise _Close(1013, "The credential cannot be checked at present; try again") from None
        self._watch = asyncio.create_task(self._watch_credential(self._credential), name="credential")
        await self._send(type="connection_ack")

    async def _watch_credential(self, credential: Credential) -> None:
        """Close the connection when its credential is no longer valid."""
        try:
            await until_invalid(self._parts.authentication, self._header, credential)
            reason = "Unauthorized: the credential has changed"
        except StratagraphError:
            reason = "Unauthorized: the credential has expired or was revoked"
        for id_ in [*self._operations]:
            await self._send_error(id_, Refused.because(Unauthenticated()))
        await self._socket.close(4401, reason)

    def _subscribe(self, message: Mapping[str, Any]) -> None:
        """Begin an operation. Raises _Close for a message that is not of the protocol."""
        id_, payload = _id_of(message), message.get("payload")
        if not isinstance(payload, dict):
            raise _Close(4400, "Invalid subscribe: its payload is no object")
        query, persisted, variables, name = (
            payload.get(key) for key in ("query", "documentId", "variables", "operationName")
        )
        texts = all(isinstance(one, str | None) for one in (query, persisted, name))
        if not texts or query is persisted is None or not isinstance(variables, dict | None):
            raise _Close(4400, "Invalid subscribe: query, documentId, variables or operationName has the wrong type")
        if id_ in self._operations:
            raise _Close(4409, f"Subscriber for {id_} already exists")
        running: Coroutine[Any, Any, None]
        try:
            document = self._parts.web.documents.query_of(query, persisted) or ""
        except StratagraphError as error:
            running = self._send_error(id_, Refused.because(error))
        else:
            request = Request(document=document, variables=variables, operation=name)
            running = self._run(id_, request) if len(self._operations) < MAX_OPERATIONS else self._refuse(id_)
        task = asyncio.create_task(self._guarded(id_, running), name="operation")
        self._operations[id_] = task

    async def _refuse(self, id_: str) -> None:
        error = RateLimited(
            f"This connection has {MAX_OPERATIONS} operations open already; complete one first.", retry_after_s=1.0
        )
        await self._send_error(id_, Refused.because(error))

    async def _guarded(self, id_: str, running: Coroutine[Any, Any, None]) -> None:
        """Run an operation, and forget it at its end."""
        try:
            await running
        except (WebSocketDisconnect, RuntimeError) as error:
            if self._socket.application_state is not WebSocketState.DISCONNECTED and isinstance(error, RuntimeError):
                raise
        finally:
            self._deliveries.pop(id_, None)
            if self._operations.get(id_) is asyncio.current_task():
                del self._operations[id_]

    async def _run(self, id_: str, request: Request) -> None:
        parts = self._parts
        try:
            credential = await self._checked()
        except StratagraphError as error:
            await self._send_error(id_, Refused.because(error))
            return
        ticket = Ticket(party=credential.party, admission=parts.admission, hung_up=never)
        context = Context(trust=credential.trust, services=parts.services, record=RequestRecord(), ticket=ticket)
        try:
            with parts.subscriptions.held(credential.party):
                accepted = await accept(parts.schema, request, context)
                if isinstance(accepted, AcceptedSubscription):
                    delivery = Delivery(parts, credential.party, accepted)
                    await self._deliver(id_, delivery)
                    return
        except Refused as refused:
            await self._send_error(id_, refused)
            return
        except StratagraphError as error:
            await self._send_error(id_, Refused.because(error))
            return
        await self._send(id=id_, type="next", payload=accepted)
        await self._send(id=id_, type="complete")

    async def _checked(self) -> Credential:
        """Return the credential, which an operation needs as a request does: it may have been revoked since.

        Raises Unauthenticated, or StoreUnavailable where that cannot be told.
        """
        assert self._credential is not None  # `connection_init` comes first
        if await self._parts.authentication.checked(self._header) != self._credential:
            raise Unauthenticated("The credential has changed; connect again.")
        return self._credential

    async def _deliver(self, id_: str, delivery: Delivery) -> None:
        """Send the events of a subscription until it is completed."""
        self._deliveries[id_] = delivery
        head = '{"type":"next","id":' + orjson.dumps(id_).decode() + ',"payload":'
        async with aclosing(delivery.batches()) as batches:
            async for events in batches:
                for event in events:
                    await self._socket.send_text(f"{head}{event.payload.decode()}}}")

    async def _beat(self) -> None:
        """Send a ping now and then, with the positions of the subscriptions. Raises _Close without any operation."""
        idle_s = 0.0
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if self._credential is None:
                continue
            idle_s = 0.0 if self._operations else idle_s + HEARTBEAT_S
            if idle_s >= IDLE_S:
                raise _Close(1000, f"No operation for {IDLE_S:g} s; connect again when there is one")
            positions = {id_: one.position for id_, one in self._deliveries.items() if one.position is not None}
            await self._send(type="ping", payload={"positions": positions})

    async def _send_error(self, id_: str, refused: Refused) -> None:
        await self._send(id=id_, type="error", payload=refused.formatted())

    async def _send(self, **message: Any) -> None:
        await self._socket.send_text(orjson.dumps(message).decode())


def _id_of(message: Mapping[str, Any]) -> str:
    id_ = message.get("id")
    if not isinstance(id_, str) or not 0 < len(id_) <= MAX_ID:
        raise _Close(4400, f"Invalid message: its id is no text of 1 to {MAX_ID} characters")
    return id_
