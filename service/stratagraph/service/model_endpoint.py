"""An endpoint of OpenAI's protocol: how a request is sent, and what an answer other than a result means.

Of answers that are no result, only the status and the header Retry-After are read: a body may quote the texts.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from stratagraph.graphql.web.trace_context import outgoing

_REFUSALS = (400, 413, 422)  # answers that blame the request
_LATER = (408, 409, 425, 429)  # as those from 500 on: answers that a later request may not get


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The errors of an endpoint: of a refused request, of one to repeat later, and of settings to correct.

    The second gets the reason, and the seconds that the endpoint asks to wait, if it does.
    """

    refused: Callable[[str], Exception]
    overloaded: Callable[[str, float | None], Exception]
    unavailable: Callable[[str], Exception]


class ModelEndpoint:
    """The address `path` below `url`, for requests in JSON. To be closed at the end.

    A request that is sent for one of a client carries on its trace.

    `name` is what the settings call it, such as embedder. `key` is sent as a bearer token, and is in no log and no
    error. Answers have at most `most` MiB, and are complete within the read timeout.
    """

    def __init__(
        self,
        url: str,
        path: str,
        *,
        name: str,
        key: str | None,
        timeout: httpx.Timeout,
        limits: httpx.Limits,
        most: int,
        errors: Errors,
    ) -> None:
        self._url = f"{url.rstrip('/')}/{path}"
        self._name = name
        self._most = most
        self._errors = errors
        self._deadline_s = timeout.read
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout, limits=limits)

    async def close(self) -> None:
        await self._http.aclose()

    async def post(self, body: bytes) -> bytes:
        """Return the body of a successful answer. Raises one of the endpoint's errors."""
        try:
            async with (
                asyncio.timeout(self._deadline_s),  # a client's timeouts begin anew with each part that it receives
                self._http.stream(
                    "POST", self._url, content=body, headers={"Content-Type": "application/json", **outgoing()}
                ) as answer,
            ):
                self._check(answer)
                read = bytearray()
                async for part in answer.aiter_bytes():
                    read += part
                    if len(read) > self._most << 20:
                        raise self._errors.overloaded(f"an answer of over {self._most} MiB", None)
                return bytes(read)
        except TimeoutError:
            raise self._errors.overloaded(f"no complete answer within {self._deadline_s:g} s", None) from None
        except httpx.InvalidURL:
            raise self._errors.unavailable(f"{self._setting('URL')} is no address: correct it") from None
        except httpx.HTTPError as error:  # its text may have the address, which may have a password
            raise self._errors.overloaded(type(error).__name__, None) from None

    def _check(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status == httpx.codes.OK:
            return
        if status in _REFUSALS:
            raise self._errors.refused(f"answered {status}")
        if status in _LATER or status >= 500:
            raise self._errors.overloaded(f"answered {status}", retry_after_s(answer.headers.get("retry-after")))
        raise self._errors.unavailable(
            f"The {self._name} answered {status}: check {self._setting('URL')}, {self._setting('KEY')} and"
            f" {self._setting('MODEL')}"
        )

    def _setting(self, name: str) -> str:
        return f"STRATAGRAPH_{self._name.upper()}_{name}"


def retry_after_s(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or as a date; None if it asks for nothing.

    A number that is not finite, and a date that is none, such as one of the year 100,000, ask for nothing.

    >>> retry_after_s("1.5"), retry_after_s(None), retry_after_s("soon")
    (1.5, None, None)
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
