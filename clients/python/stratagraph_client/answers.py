"""What an answer over HTTP says: the data of an operation, or an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from stratagraph_client.errors import (
    Forbidden,
    LimitExceeded,
    RateLimited,
    StratagraphError,
    Unauthenticated,
    Unavailable,
    error_of,
)
from stratagraph_client.timing import seconds_of

M = TypeVar("M", bound=BaseModel)
MOST_BYTES = 128 << 20  # of an answer without its compression; the service sends half of that at most
# Ways of compression that make a body at most a thousand times as small: a part of it can be unpacked and then counted.
CODINGS = "gzip, deflate"
TRY_LATER = (502, 503, 504)  # what proxies answer while the service is away
_TOO_MANY = 429
_REFUSALS: Mapping[int, tuple[type[StratagraphError], str]] = {
    401: (Unauthenticated, "UNAUTHENTICATED"),
    403: (Forbidden, "FORBIDDEN"),
    413: (LimitExceeded, "LIMIT_EXCEEDED"),
}


@dataclass(frozen=True, slots=True)
class AnswerBody:
    """An answer over HTTP: status, header Retry-After, and body."""

    status: int
    retry_after: str | None
    content: bytes


def data_of(body: AnswerBody) -> dict[str, Any]:
    """Return the data of an answer. Raises StratagraphError for an error, and for what is not from the service."""
    try:
        answer = json.loads(body.content)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not ("data" in answer or "errors" in answer):
        raise _foreign(body)
    return answer_data(answer, seconds_of(body.retry_after))


def check_coding(headers: httpx.Headers) -> None:
    """Raise StratagraphError for a body that is compressed in another way, or twice."""
    if headers.get("content-encoding", "").strip().lower() not in ("", "identity", *CODINGS.split(", ")):
        raise not_of_the_service("it is compressed as it was not asked for")


class Parts:
    """The parts of a body as they come, up to MOST_BYTES. Raises StratagraphError for more."""

    def __init__(self, headers: httpx.Headers) -> None:
        check_coding(headers)
        self._parts: list[bytes] = []
        self._left = MOST_BYTES

    def add(self, part: bytes) -> None:
        """Keep the next part."""
        self._left -= len(part)
        if self._left < 0:
            self._parts.clear()
            raise not_of_the_service(f"more than {MOST_BYTES} bytes")
        self._parts.append(part)

    def body(self) -> bytes:
        """Return the whole."""
        return b"".join(self._parts)


def not_of_the_service(said: str) -> StratagraphError:
    """Return the error for an answer that no Stratagraph service gives; `said` is what is wrong with it."""
    return Unavailable(
        f"The answer is not that of a Stratagraph service ({said}); check the url.", code="UNAVAILABLE", retryable=False
    )


def answer_data(answer: Mapping[str, Any], retry_after: float | None = None) -> dict[str, Any]:
    """Return the data of a GraphQL answer. Raises the first error in it, also one that is a member of a result."""
    if errors := answer.get("errors"):
        first = errors[0] if isinstance(errors, list) else None
        fields = (first.get("extensions") or {}) if isinstance(first, dict) else None
        if not isinstance(first, dict) or not isinstance(fields, dict):
            raise not_of_the_service("its errors have another form")
        error = error_of(fields, str(first.get("message")))
        if retry_after is not None:
            error.retry_after = max(retry_after, error.retry_after or 0.0)
        raise error
    data = answer.get("data") or {}
    if not isinstance(data, dict):
        raise not_of_the_service("its data has another form")
    for value in data.values():
        if isinstance(value, dict) and "retryable" in value and "code" in value:
            raise error_of(value, str(value.get("message")))
    return data


def connection_error(error: httpx.TransportError | httpx.DecodingError) -> StratagraphError:
    """Return the error for a request that had no answer."""
    kind = type(error).__name__
    if isinstance(error, httpx.UnsupportedProtocol):
        return StratagraphError("The address of the service is not one for HTTP; check the url.", code="INTERNAL")
    if isinstance(error, httpx.PoolTimeout):
        return Unavailable(
            "All connections of this client are in use; make fewer requests at a time, or allow more by `http`.",
            code="UNAVAILABLE",
            retryable=False,
        )
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        message = (
            f"The service cannot be reached ({kind}: {error}); start one by `stratagraph serve`, check the url, or"
            " open a store without a service by `stratagraph.open`."
        )
    elif isinstance(error, httpx.TimeoutException):
        message = f"The service has not answered in time ({kind}); ask for less, or give more time by timeout_s."
    else:
        message = f"The connection to the service was lost before its answer ({kind})."
    return Unavailable(message, code="UNAVAILABLE", retryable=True)


def _foreign(body: AnswerBody) -> StratagraphError:
    """Return the error for an answer that the service did not write, such as that of a proxy."""
    wait_s = seconds_of(body.retry_after)
    said = f"status {body.status}"
    if body.status == _TOO_MANY:
        message = f"A proxy before the service refused the request ({said}); send fewer requests."
        return RateLimited(message, code="RATE_LIMITED", retryable=True, retry_after=wait_s)
    if body.status in TRY_LATER:
        message = f"The service is away, said a proxy before it ({said})."
        return Unavailable(message, code="UNAVAILABLE", retryable=True, retry_after=wait_s)
    if body.status in _REFUSALS:
        class_, code = _REFUSALS[body.status]
        return class_(f"A proxy before the service refused the request ({said}).", code=code)
    return not_of_the_service(said)


def refuse_stream(body: AnswerBody) -> NoReturn:
    """Raise the error that an answer has which is no stream of events."""
    data_of(body)
    raise Unavailable("The answer is no stream of events; check the url.", code="UNAVAILABLE", retryable=False)


def read(model: type[M], data: Mapping[str, Any]) -> M:
    """Return the data of an answer as a model. Raises StratagraphError, without the values, where it does not fit."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        places = [".".join(map(str, one["loc"])) for one in error.errors(include_input=False, include_url=False)]
    raise StratagraphError(
        f"The service answered in a form that this client does not know, at {', '.join(places[:3])}: install the client"
        " of the service's version.",
        code="INTERNAL",
    )
