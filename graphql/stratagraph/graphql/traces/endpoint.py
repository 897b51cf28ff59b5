"""The endpoint POST /v1/traces, which takes spans of instrumented agents by OTLP/HTTP.

It follows the OTLP specification 1.5: protobuf and JSON, gzip, partial success, and a Status for what is refused. A
request is answered once its spans are stored, so that none of them is lost afterwards; a sender that repeats a request
whose answer it did not get stores nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AsyncExitStack

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stratagraph.graphql.authentication import Authentication, Credential
from stratagraph.graphql.limits.admission import Admission
from stratagraph.graphql.limits.refusals import LARGE_BODY_BYTES, is_large
from stratagraph.graphql.masking import internal_error
from stratagraph.graphql.traces.answers import StatusAnswer, accepted, refused_request
from stratagraph.graphql.traces.bodies import Batch, Encoding, encoding_of, read_batch, unpacked
from stratagraph.graphql.web.get_requests import refuse_other_pages
from stratagraph.memory.capture.request import check_scope
from stratagraph.memory.imports.span_intake import SpanIntake
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.enums import Access
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import DeadlineExceeded, InvalidInput, StratagraphError

PATH = "/v1/traces"
POINTS = 5.0  # of a request
POINTS_PER_MIB = 40.0  # of its unpacked body besides
DEADLINE_S = 8.0  # seconds, since exporters wait 10 by default
_log = get_logger(__name__)


def trace_route(
    intake: SpanIntake, authentication: Authentication, admission: Admission, origins: Collection[str]
) -> Route:
    """Return the route POST /v1/traces. Without a credential, pages of `origins` alone may call it."""
    return Route(PATH, _Traces(intake, authentication, admission, origins), methods=["POST"])


def scope_of(parameters: QueryParams) -> str | None:
    """Return the scope that the query string names. Raises InvalidInput, naming the parameter."""
    for name in parameters:
        if name != "scope":
            raise InvalidInput(f"{shown(name)} is no parameter; there is `scope` only.", path=[name[:60]])
    given = parameters.getlist("scope")
    if len(given) > 1:
        raise InvalidInput("`scope` is given several times; send it once.", path=["scope"])
    scope = given[0] if given else None
    if scope is not None:
        check_scope(scope)
    return scope


class _Traces:
    def __init__(
        self, intake: SpanIntake, authentication: Authentication, admission: Admission, origins: Collection[str]
    ) -> None:
        self._intake = intake
        self._authentication = authentication
        self._admission = admission
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        encoding = Encoding.PROTOBUF  # of answers to a request that names none
        try:
            encoding = encoding_of(request.headers.get("content-type", ""))
            async with asyncio.timeout(DEADLINE_S):
                return await self._taken(request, encoding)
        except StratagraphError as error:
            return refused_request(error, encoding)
        except TimeoutError:
            return refused_request(DeadlineExceeded(f"Not stored within {DEADLINE_S:g} s; send it again."), encoding)
        except ClientDisconnect:
            return Response(status_code=400)  # the client has disconnected, so the response is not read
        except Exception as error:
            _, message = internal_error(error, place=PATH)
            return StatusAnswer(message, 500, "INTERNAL", encoding, {})

    async def _taken(self, request: Request, encoding: Encoding) -> Response:
        await self._admission.enter(request)
        credential = await self._authentication.credential_of(request)
        if "authorization" not in request.headers:
            refuse_other_pages(request.headers, self._origins)
        credential.trust.require(Access.WRITE)
        scope = scope_of(request.query_params)
        await self._admission.pay(credential.party, POINTS)
        async with AsyncExitStack() as held:
            if is_large(request):  # before the body is read
                await held.enter_async_context(self._admission.transfer(credential.party))
            batch = await self._read(request, credential, encoding)
            async with self._admission.run(credential.party, 0):
                receipt = await self._intake.receive(credential.trust, batch.spans, scope=scope)
        refused = batch.refused + receipt.refused
        _log.info(
            "spans received",
            stored=receipt.stored,
            repeated=receipt.repeated,
            ignored=receipt.ignored,
            refused=len(refused),
        )
        return accepted(refused, encoding)

    async def _read(self, request: Request, credential: Credential, encoding: Encoding) -> Batch:
        """Return the spans of the body, whose size is paid before they are read."""
        packed, compression = await request.body(), request.headers.get("content-encoding", "")
        body = await asyncio.to_thread(unpacked, packed, compression) if compression else packed
        await self._admission.pay(credential.party, POINTS_PER_MIB * len(body) / (1 << 20))
        if len(body) > LARGE_BODY_BYTES:
            # Apart from the event loop, a body of many megabytes delays nobody else.
            return await asyncio.to_thread(read_batch, body, encoding)
        return read_batch(body, encoding)
