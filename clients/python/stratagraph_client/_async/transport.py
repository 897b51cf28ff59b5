"""One request over HTTP: credential, retries, errors, and the sequence of the client's own writes."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from stratagraph_client.errors import StratagraphError, Unavailable, error_of
from stratagraph_client.operations.base_model import UNSET

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0


class AsyncTransport:
    """Sends operations to one service. The generated operations are its subclass.

    `timeout_s` bounds each operation with its retries. `http` may bring a transport of its own.
    """

    def __init__(self, http: httpx.AsyncClient, *, timeout_s: float = 30.0) -> None:
        self._http = http
        self._timeout_s = timeout_s

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def execute(
        self, query: str, operation_name: str | None = None, variables: Mapping[str, Any] | None = None, **_: Any
    ) -> dict[str, Any]:
        """Send an operation, again where it may succeed later, and return its data. Raises StratagraphError."""
        body = {
            "query": query,
            "operationName": operation_name,
            "variables": {
                name: to_jsonable_python(
                    value.model_dump(by_alias=True, exclude_unset=True) if isinstance(value, BaseModel) else value
                )
                for name, value in (variables or {}).items()
                if value is not UNSET
            },
        }
        ends_at = time.monotonic() + self._timeout_s
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await self._send(body)
            except StratagraphError as error:
                wait_s = max(error.retry_after or 0.0, pause_s * random.uniform(0.5, 1.0))
                if not error.retryable or time.monotonic() + wait_s > ends_at:
                    raise
            await asyncio.sleep(wait_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def get_data(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return what `execute` returned: the generated methods call this before they validate."""
        return response

    async def execute_ws(
        self, query: str, operation_name: str | None = None, variables: Mapping[str, Any] | None = None, **_: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the data of each event of a subscription, over server-sent events."""
        raise NotImplementedError
        yield {}

    async def _send(self, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            response = await self._http.post("/graphql", json=body)
        except httpx.TransportError as error:
            raise Unavailable(
                f"The service cannot be reached ({type(error).__name__}); is it running?",
                code="UNAVAILABLE",
                retryable=True,
            ) from error
        try:
            answer = json.loads(response.content)
        except ValueError:
            answer = {}
        if errors := answer.get("errors"):
            raise error_of(errors[0].get("extensions") or {}, errors[0]["message"])
        data = answer.get("data")
        if not isinstance(data, dict):
            raise Unavailable(
                f"The answer is not that of a Stratagraph service: status {response.status_code}; check the address.",
                code="UNAVAILABLE",
                retryable=response.status_code >= 500,
            )
        for value in data.values():
            if isinstance(value, dict) and "code" in value and "retryable" in value:
                raise error_of(value, value["message"])
        return data
