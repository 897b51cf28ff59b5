"""Server-sent events: one operation a request, in the mode of distinct connections of the protocol graphql-sse.

The position after each change is the id of its event, so that a client that lost its connection goes on by the header
Last-Event-ID. Where the process stops, or the database was restored, the stream ends without `complete`: the client is
to come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request as HTTPRequest
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.authentication import Credential
from stratagraph.graphql.context import Context
from stratagraph.graphql.limits.extension import Ticket
from stratagraph.graphql.live.delivery import Delivery
from stratagraph.graphql.live.operations import AcceptedSubscription, Refused, Request, accept
from stratagraph.graphql.live.parts import StreamParts
from stratagraph.graphql.live.sessions import is_own_origin, never, until_invalid
from stratagraph.graphql.request_body import read_request
from stratagraph.graphql.web.get_requests import read_parameters, refuse_other_sites
from stratagraph.graphql.web.persisted_documents import PersistedDocuments
from stratagraph.store.model.errors import Forbidden, StratagraphError, Unauthenticated

MEDIA_TYPE = "text/event-stream"
HEARTBEAT_S = 10.0  # seconds of silence after which a comment is sent, which proxies and clients take as a sign of life
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_COMPLETE = b"event: complete\ndata: \n\n"
_HEARTBEAT = b":\n\n"


def asks_for_events(scope: Scope) -> bool:
    """Return whether a request accepts server-sent events."""
    accepted = ",".join(Headers(scope=scope).getlist("accept"))
    return any(item.split(";")[0].strip().lower() == MEDIA_TYPE for item in accepted.split(","))


class EventStreams:
    """Answers requests whose Accept header names text/event-stream.

    Pages of other origins than the host's own and those that an operator names are refused.
    """

    def __init__(self, parts: StreamParts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one stream. Raises StratagraphError before the response begins."""
        http = HTTPRequest(scope, receive)
        if not is_own_origin(http, self._parts.web.origins):
            raise Forbidden("The page that asks is of another origin than this host, which is not allowed.")
        header = http.headers.get("authorization")
        await self._parts.admission.enter(http)
        credential = await self._parts.authentication.credential_of(http)
        if http.method == "GET" and header is None:
            refuse_other_sites(http.headers, self._parts.web.origins)
        ticket = Ticket(party=credential.party, admission=self._parts.admission, hung_up=never)
        request = await _request_of(http, self._parts.web.documents, ticket)
        context = Context(
            trust=credential.trust,
            services=self._parts.services,
            record=scope["state"]["record"],
            ticket=ticket,
            resume_after=http.headers.get("last-event-id") or None,
        )
        with self._parts.subscriptions.held(credential.party):
            try:
                accepted = await accept(self._parts.schema, request, context)
            except Refused as refused:
                context.record.codes += [str((error.extensions or {}).get("code")) for error in refused.errors]
                accepted = {"errors": refused.formatted()}
            await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS]})
            body = self._body(accepted, credential, header)
            await _send_until_gone(body, receive, send)

    async def _body(
        self, accepted: AcceptedSubscription | Mapping[str, Any], credential: Credential, header: str | None
    ) -> AsyncIterator[bytes]:
        """Yield the parts of the body."""
        if not isinstance(accepted, AcceptedSubscription):
            yield _event(orjson.dumps(accepted)) + _COMPLETE
            return
        yield _HEARTBEAT  # at once, so that the client learns that it is subscribed
        delivery = Delivery(self._parts, credential.party, accepted)
        stopped = asyncio.ensure_future(self._parts.stopping.wait())
        invalid = asyncio.ensure_future(until_invalid(self._parts.authentication, header, credential))
        async with aclosing(delivery.batches()) as batches:
            following = asyncio.ensure_future(anext(batches))
            try:
                while True:
                    await asyncio.wait(
                        {following, stopped, invalid},
                        timeout=HEARTBEAT_S,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                    if stopped.done():
                        return
                    if invalid.done():
                        error = invalid.exception() or Unauthenticated("The credential has changed; subscribe again.")
                        yield _failed(error) + _COMPLETE
                        return
                    if not following.done():
                        position = delivery.position  # as an id without data, which a client only remembers
                        yield _HEARTBEAT if position is None else b":\nid: %s\n\n" % position.encode()
                        continue
                    try:
                        events = following.result()
                    except StratagraphError as error:
                        yield _failed(error) + _COMPLETE
                        return
                    following = asyncio.ensure_future(anext(batches))
                    yield b"".join([_event(event.payload, event.position) for event in events])
            finally:
                for task in (following, stopped, invalid):
                    task.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await task


async def _send_until_gone(parts: AsyncIterator[bytes], receive: Receive, send: Send) -> None:
    """Send the parts of a body, until there are no more or the client has hung up."""

    async def sending() -> None:
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def hung_up() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = {asyncio.ensure_future(sending()), asyncio.ensure_future(hung_up())}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _request_of(http: HTTPRequest, documents: PersistedDocuments, ticket: Ticket) -> Request:
    """Return the operation in the body of a POST, or in the query of a GET. Raises what reading it raises."""
    is_get = http.method == "GET"
    given = (
        read_parameters(http.query_params, documents)
        if is_get
        else await read_request(http, documents, ticket.pay_for_body)
    )
    return Request(
        document=given.query or "", variables=given.variables, operation=given.operation_name, may_write=not is_get
    )


def _event(payload: bytes, position: str | None = None) -> bytes:
    id_ = b"" if position is None else b"id: %s\n" % position.encode()
    return b"%sevent: next\ndata: %s\n\n" % (id_, payload)


def _failed(error: BaseException) -> bytes:
    if not isinstance(error, StratagraphError):
        raise error
    return _event(orjson.dumps({"errors": Refused.because(error).formatted()}))
