"""One operation over HTTP: credential, deadline, retries, errors, and the sequences of the client's own writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from stratagraph_client._async.streams import AsyncStream
from stratagraph_client.answers import CODINGS, AnswerBody, Parts, connection_error, data_of, not_of_the_service, read
from stratagraph_client.carried import Carried, sequences_in
from stratagraph_client.errors import AnswerLost, InvalidInput, RateLimited, StratagraphError
from stratagraph_client.inputs import content_of
from stratagraph_client.operations.changes import ChangesData
from stratagraph_client.operations.documents import OPERATIONS
from stratagraph_client.requests import (
    add_keys,
    add_sequence,
    document_of,
    has_keys,
    may_repeat,
    trace_of,
    variables_of,
)
from stratagraph_client.timing import FIRST_CONTACT_S, Home, Timing


class AsyncTransport:
    """Sends operations to one service. The generated operations are its subclass.

    `timeout_s` bounds each operation with its retries. `after` is a sequence that reads must reflect.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        endpoint: str = "/graphql",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
        trace: Callable[[], str | None] | None = None,
        after: str | None = None,
        owns_http: bool = True,
    ) -> None:
        self.timing = Timing()
        self.carried = Carried(after)
        self.timeout_s = timeout_s
        self._http = http
        self._owns_http = owns_http
        self._endpoint = endpoint
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": CODINGS,
            **(headers or {}),
        }
        self._trace = trace
        self._home = Home()
        self._is_reached = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, unless the caller brought the HTTP client."""
        if self._owns_http:
            await self._http.aclose()

    async def call(self, name: str, variables: Mapping[str, object], timeout_s: float | None = None) -> dict[str, Any]:
        """Send an operation of this client, again where that may succeed and does no harm, and return its data.

        Raises StratagraphError. A mutation without an idempotency key is sent again only where it has not been carried
        out; where that is not known, AnswerLost is raised.
        """
        operation = OPERATIONS[name]
        given = variables_of(variables)
        add_keys(given, operation)
        place = add_sequence(given, operation, self.carried.sequence)
        body = {"query": document_of(name), "operationName": name, "variables": given}
        is_write = operation.kind == "mutation"
        try:
            return await self._carry_out(body, is_write, may_repeat(name, operation), timeout_s)
        except InvalidInput as error:
            if place is None or error.path != ["atLeastSequence"] or not self.carried.own:
                raise
        self.carried.forget()  # the database was restored from a backup, and does not know these writes
        del place["atLeastSequence"]
        return await self._carry_out(body, is_write, may_repeat(name, operation), timeout_s)

    async def execute(
        self,
        document: str,
        name: str | None = None,
        variables: Mapping[str, object] | None = None,
        timeout_s: float | None = None,
    ) -> dict[str, Any]:
        """Send a document of the caller's own, and return its data. Raises StratagraphError.

        A mutation is sent again after a lost answer only if its inputs have idempotency keys, else AnswerLost is
        raised.
        """
        given = variables_of(variables or {})
        body = {"query": document, "operationName": name, "variables": given}
        is_write = "mutation" in document
        return await self._carry_out(body, is_write, not is_write or has_keys(given), timeout_s)

    async def _carry_out(
        self, body: Mapping[str, object], is_write: bool, is_repeatable: bool, timeout_s: float | None
    ) -> dict[str, Any]:
        """Send a request until it is answered, or until its deadline, or soon where no service was ever reached."""
        self._home.async_check()
        content = content_of(body)
        begun = self.carried.begin() if is_write else 0
        begun_at = self.timing.clock()
        ends_at = begun_at + (self.timeout_s if timeout_s is None else timeout_s)
        attempt = 0
        while True:
            try:
                data = await self._send(content, ends_at)
                self._is_reached = True
                break
            except StratagraphError as error:
                failed = error
            is_refused = isinstance(failed.__cause__, httpx.ConnectError)
            self._is_reached = self._is_reached or not is_refused
            is_untouched = isinstance(failed, RateLimited) or is_refused
            if not is_repeatable and failed.retryable and not is_untouched:
                raise AnswerLost(
                    f"{failed.message} The operation may have been carried out, and has no idempotency key: read what"
                    " is stored before you repeat it.",
                    code=failed.code,
                ) from failed
            wait_s = max(failed.retry_after or 0.0, self.timing.pause_s(attempt))
            # Where nothing was ever reached, there is no service, or the url is wrong.
            patience_ends_at = ends_at if self._is_reached else min(ends_at, begun_at + FIRST_CONTACT_S)
            if not failed.retryable or self.timing.clock() + wait_s >= patience_ends_at:
                raise failed
            attempt += 1
            await self.timing.async_sleep(wait_s)
        if is_write:
            for token, replayed in sequences_in(data):
                self.carried.end(begun, token, replayed=replayed)
        return data

    def stream(self, name: str, variables: Mapping[str, object]) -> AsyncStream:
        """Return the events of a subscription that takes a position as `after`, to be closed by the caller."""
        self._home.async_check()
        given = variables_of(variables)
        body = {"query": document_of(name), "operationName": name, "variables": given}
        headers = {**self._headers, "accept": "text/event-stream"}
        return AsyncStream(
            self._http,
            self._endpoint,
            headers,
            body,
            self.timing,
            self.timeout_s,
            position=given.get("after"),
            present=self.position,
        )

    async def position(self) -> str:
        """Return the present position in the log of changes. Raises StratagraphError."""
        position = read(ChangesData, await self.call("Changes", {"first": 1})).changes.pageInfo.endCursor
        if position is None:
            raise not_of_the_service("it names no position")
        return position

    async def _send(self, content: bytes, ends_at: float) -> dict[str, Any]:
        """Send a request once, and return the data of its answer."""
        left_s = ends_at - self.timing.clock()
        parent = trace_of(self._trace)
        headers = self._headers if parent is None else {**self._headers, "traceparent": parent}
        try:
            request = self._http.build_request(
                "POST", self._endpoint, content=content, headers=headers, timeout=max(left_s, 0.001)
            )
            response = await self._http.send(request, stream=True)
            try:
                parts = Parts(response.headers)
                async for part in response.aiter_bytes():
                    if self.timing.clock() > ends_at:
                        raise httpx.ReadTimeout("the answer took longer than the deadline", request=request)
                    parts.add(part)
            finally:
                await response.aclose()
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise connection_error(error) from error
        return data_of(AnswerBody(response.status_code, response.headers.get("retry-after"), parts.body()))
