"""The GraphQL request in the body of an HTTP request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any

from starlette.requests import Request
from strawberry.http import GraphQLRequestData

from stratagraph.graphql.json_input import decode_json
from stratagraph.graphql.limits.costs import body_cost
from stratagraph.graphql.limits.refusals import LARGE_BODY_BYTES
from stratagraph.graphql.web.persisted_documents import PersistedDocuments
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput

_UTF8 = ("utf-8", "utf8")


class UnsupportedBody(InvalidInput):
    """The body must be JSON in UTF-8, without compression: send `Content-Type: application/json`."""


async def read_request(
    request: Request,
    documents: PersistedDocuments,
    pay: Callable[[float], Coroutine[None, None, None]] | None = None,
) -> GraphQLRequestData:
    """Read the GraphQL request. `pay` takes the cost of a large body before it is decoded.

    Raises UnsupportedBody for a content type, charset or compression other than plain JSON in UTF-8, InvalidInput or
    LimitExceeded for a body that is not a GraphQL request, and what `PersistedDocuments.query_of` raises.
    """
    _check_headers(request)
    body = await request.body()
    if len(body) > LARGE_BODY_BYTES:
        if pay is not None:
            await pay(body_cost(body))
        # Apart from the event loop, a body of many megabytes delays nobody else.
        data = await asyncio.to_thread(decode_json, body)
    else:
        data = decode_json(body)
    if isinstance(data, list):
        raise InvalidInput("The body is a list, but batches are not offered; send one GraphQL request per body.")
    if not isinstance(data, dict):
        raise InvalidInput(f"The body must be a JSON object with the key `query`, not {json_type(data)}.")
    query = documents.query_of(_field(data, "query", str), _field(data, "documentId", str))
    if not query or not query.strip():
        raise InvalidInput(
            "`query` is missing; send the GraphQL document as a string, or its `documentId`.", path=["query"]
        )
    return GraphQLRequestData(
        query=query,
        variables=_field(data, "variables", dict),
        operation_name=_field(data, "operationName", str),
        extensions=_field(data, "extensions", dict),
    )


def _field(data: dict[str, Any], name: str, kind: type) -> Any:
    """Return the field, None where it is absent. Raises InvalidInput if it is of another type."""
    value = data.get(name)
    if value is not None and not isinstance(value, kind):
        wanted = json_type(kind())
        raise InvalidInput(f"`{name}` must be {wanted} or null, not {json_type(value)}.", path=[name])
    return value


def _check_headers(request: Request) -> None:
    content_type = Message()
    content_type["Content-Type"] = request.headers.get("content-type", "")
    if content_type.get_content_type() != "application/json":
        raise UnsupportedBody
    charset = content_type.get_param("charset", "utf-8")
    if not isinstance(charset, str) or charset.lower() not in _UTF8:
        raise UnsupportedBody(f"The charset {shown(charset)} is not supported; send JSON in UTF-8.")
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() not in ("identity", ""):
        raise UnsupportedBody(f"The content encoding {shown(encoding)} is not supported; send the body uncompressed.")
