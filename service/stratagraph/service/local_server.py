"""Executes the GraphQL documents that commands on this machine send, in a running service over the local socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import structlog
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types.graphql import OperationType

from stratagraph.graphql.context import Context
from stratagraph.graphql.error_fields import error_fields, extensions_of
from stratagraph.graphql.masking import coded, internal_error
from stratagraph.graphql.schema import Schema, build_schema
from stratagraph.service.local_socket import BACKLOG, FIELDS, LARGEST
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable, StratagraphError
from stratagraph.store.model.trust import SINGLE_USER, Trust

AT_A_TIME = 2  # requests; others wait
READ_WITHIN_S = 5.0  # a request
LONGEST_S = 60.0  # for a request to wait for its turn and to be executed
_log = structlog.get_logger(__name__)


class LocalApi:
    """Executes documents with the trust of the single user, without a budget: who asks may read the store's files."""

    def __init__(self, runtime: Runtime, schema: Schema | None = None) -> None:
        self._directory = runtime.directory
        self._services = runtime.services()
        self._schema = schema or build_schema()

    async def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response to a request of `local_socket.send`: `answer` as over HTTP, and `codes` of all errors.

        The codes include those of errors that are members of a result union, whether or not the document selects them.
        """
        if not request["query"].strip():
            return _refusal(InvalidInput.code, "DOCUMENT: empty; give a query or a mutation, such as { health { ok } }")
        try:
            context = Context(await self._trust(request["tenant"]), self._services)
            result = await self._schema.execute(
                request["query"],
                variable_values=request["variables"],
                context_value=context,
                operation_name=request["operationName"],
                allowed_operation_types=(OperationType.QUERY, OperationType.MUTATION),
            )
        except StratagraphError as error:
            return _refusal(error.code, error.message, error_fields(error))
        except InvalidOperationTypeError:
            return _refusal(
                InvalidInput.code,
                "DOCUMENT: a subscription is a stream; `stratagraph changes --follow` prints what changes",
            )
        except CannotGetOperationTypeError as error:
            return _refusal(InvalidInput.code, error.as_http_error_reason())
        except Exception as error:
            _, message = internal_error(error, place="local request")
            return _refusal("INTERNAL", message)
        errors = [coded(error) for error in result.errors or ()]
        answer: dict[str, Any] = {"data": result.data}
        if errors:
            answer["errors"] = [error.formatted for error in errors]
        return {
            "answer": answer,
            "codes": [str((error.extensions or {}).get("code")) for error in errors] + context.record.codes,
        }

    async def _trust(self, tenant: str) -> Trust:
        """Return a trust with full access to a tenant. Only the default one need not exist: else InvalidInput."""
        if tenant != SINGLE_USER.tenant and await self._directory.tenant(tenant) is None:
            raise InvalidInput(
                f"--tenant: there is no tenant {shown(tenant)}; check the spelling, or leave it out for the default"
                " one",
                path=["--tenant"],
            )
        return replace(SINGLE_USER, tenant=tenant)


def _refusal(code: str, message: str, fields: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Return the response to a request that was not executed; `fields` are those of its error, if it is one of ours."""
    return {"answer": {"errors": [{"message": message, "extensions": fields or extensions_of(code)}]}, "codes": [code]}


async def serve_local(api: LocalApi, bound: socket.socket, stop: asyncio.Event) -> None:
    """Answer requests until `stop` is set."""
    slots = asyncio.Semaphore(AT_A_TIME)
    answering: set[asyncio.Task[None]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):  # the command has gone, or sends nothing
            async with asyncio.timeout(READ_WITHIN_S):
                received = await _read(reader)
            try:
                async with asyncio.timeout(LONGEST_S), slots:
                    found = await _answer(api, received)
            except TimeoutError:
                _log.warning("local request not answered in time", seconds=LONGEST_S)
                found = _refusal(
                    StoreUnavailable.code,
                    f"The service has not answered within {LONGEST_S:g} s and has stopped the operation; a change may"
                    " or may not have been stored. Ask for less, or look at its log.",
                )
            writer.write(orjson.dumps(found))
            async with asyncio.timeout(READ_WITHIN_S):
                await writer.drain()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(answer(reader, writer), name="local request")
        answering.add(task)
        task.add_done_callback(answering.discard)
        task.add_done_callback(lambda _: writer.close())

    bound.setblocking(False)
    async with await asyncio.start_unix_server(accept, sock=bound, backlog=BACKLOG):
        await stop.wait()
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> bytes:
    received = await reader.read(LARGEST)
    while not reader.at_eof() and len(received) < LARGEST:
        received += await reader.read(LARGEST)
    return received


async def _answer(api: LocalApi, received: bytes) -> dict[str, Any]:
    try:
        request = orjson.loads(received)
    except orjson.JSONDecodeError:
        request = None
    kinds = {"query": str, "variables": dict, "operationName": str | None, "tenant": str}
    if (
        not isinstance(request, dict)
        or request.keys() != FIELDS
        or not all(isinstance(request[name], kind) for name, kind in kinds.items())
    ):
        return _refusal(InvalidInput.code, "The request is not that of a command of this version; restart the service.")
    return await api.answer(request)
