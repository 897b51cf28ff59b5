"""A subscription over server-sent events that goes on where it was, after the connection or the service was lost."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from stratagraph_client.answers import (
    AnswerBody,
    Parts,
    answer_data,
    check_coding,
    connection_error,
    not_of_the_service,
    refuse_stream,
)
from stratagraph_client.errors import StratagraphError, Unavailable
from stratagraph_client.events import Event, EventParser
from stratagraph_client.inputs import content_of
from stratagraph_client.timing import Timing

# Seconds without a sign of life after which a connection counts as lost; the service sends one every 10 seconds.
SILENCE_S = 25.0
# Seconds without any connection after which the subscription is given up.
PATIENCE_S = 600.0


class AsyncStream:
    """One subscription: its events are read one after the other, each once, and none is left out.

    `position` is after the last event that was read; where it is None, reading begins at what `present` returns.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        endpoint: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        timing: Timing,
        timeout_s: float,
        *,
        position: str | None,
        present: Callable[[], Awaitable[str]],
    ) -> None:
        self._http = http
        self._endpoint = endpoint
        self._headers = dict(headers)
        self._content = content_of(body)
        self._timing = timing
        self._timeout_s = timeout_s
        self._present = present
        self.position = position
        self._response: httpx.Response | None = None
        self._parts: AsyncIterator[bytes] | None = None
        self._events: deque[Event] = deque()
        self._parser = EventParser()
        self._attempt = 0
        self._connected_at = timing.clock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._disconnect()

    async def next(self) -> dict[str, Any] | None:
        """Return the data of the next event, or None at the end of the subscription.

        Waits as long as nothing happens. Raises StratagraphError where going on cannot succeed.
        """
        self._connected_at = self._timing.clock()  # the time that the reader took is no outage
        if self.position is None:
            self.position = await self._present()
        while True:
            try:
                event = await self._next_event()
                if event.kind == "complete":
                    await self._disconnect()
                    return None
                data = _data_of(event)
                if data is not None or event.id is not None:
                    self._attempt = 0
                    self._connected_at = self._timing.clock()
                if event.id is not None:
                    self.position = event.id
                if data is not None:
                    return data
            except StratagraphError as failed:
                await self._disconnect()
                wait_s = max(failed.retry_after or 0.0, self._timing.pause_s(self._attempt))
                if not failed.retryable or self._timing.clock() + wait_s - self._connected_at > PATIENCE_S:
                    raise
                self._attempt += 1
                await self._timing.async_sleep(wait_s)

    async def _next_event(self) -> Event:
        """Return the next event of the connection, which is opened where there is none. Raises StratagraphError."""
        try:
            while not self._events:
                if self._parts is None:
                    self._parts = await self._connect()
                part = await anext(self._parts, None)
                if part is None:
                    raise Unavailable("The stream of changes was cut off.", code="UNAVAILABLE", retryable=True)
                self._events.extend(self._parser.feed(part))
            return self._events.popleft()
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise connection_error(error) from error

    async def _connect(self) -> AsyncIterator[bytes]:
        """Subscribe at the position, and return the parts of the body as they come."""
        request = self._http.build_request(
            "POST",
            self._endpoint,
            content=self._content,
            headers={**self._headers, "last-event-id": (self.position or "").encode("ascii", "replace").decode()},
            timeout=httpx.Timeout(self._timeout_s, read=SILENCE_S),
        )
        self._response = response = await self._http.send(request, stream=True)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            parts = Parts(response.headers)
            async for part in response.aiter_bytes():
                parts.add(part)
            refuse_stream(AnswerBody(response.status_code, response.headers.get("retry-after"), parts.body()))
        check_coding(response.headers)
        self._parser = EventParser()
        return response.aiter_bytes()

    async def _disconnect(self) -> None:
        """Close the connection; an event that was not complete comes again with the next one."""
        response, self._response, self._parts = self._response, None, None
        self._events.clear()
        if response is not None:
            await response.aclose()


def _data_of(event: Event) -> dict[str, Any] | None:
    """Return the data of an event, or None of a heartbeat. Raises the error that it brings."""
    if event.data is None:
        return None
    try:
        answer = json.loads(event.data)
    except (ValueError, RecursionError):
        raise Unavailable("An event of the stream is not JSON.", code="UNAVAILABLE", retryable=True) from None
    if not isinstance(answer, dict):
        raise not_of_the_service("an event has another form")
    try:
        return answer_data(answer)
    except StratagraphError as error:
        error.position = event.id
        raise
