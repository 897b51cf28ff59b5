"""GraphQL requests by GET: their parameters, and the refusal of those that a page of another site may have caused.

A browser sends a GET for any page that asks, with no question beforehand. Where every request needs a credential, which
browsers never add by themselves, such a request is refused for lack of it. In single-user mode it is refused by what
browsers say of its origin.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from starlette.datastructures import Headers, QueryParams
from strawberry.http import GraphQLRequestData

from stratagraph.graphql.json_input import decode_json
from stratagraph.graphql.web.persisted_documents import PersistedDocuments
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import Forbidden, InvalidInput, LimitExceeded

PARAMETERS = ("query", "documentId", "operationName", "variables", "extensions")
_API_TYPES = ("application/json", "application/x-ndjson", "application/graphql-response+json", "text/event-stream")
_OWN_SITE = ("same-origin", "none")  # a page of the service, or the user's own doing


class QueryOnly(InvalidInput):
    """GET is for queries; send a mutation by POST."""


def read_parameters(parameters: QueryParams, documents: PersistedDocuments) -> GraphQLRequestData:
    """Return the request that the query string holds. Raises InvalidInput or LimitExceeded if it holds none."""
    for name in PARAMETERS:
        if len(parameters.getlist(name)) > 1:
            raise InvalidInput(f"`{name}` is given several times; send it once.", path=[name])
    query = documents.query_of(parameters.get("query"), parameters.get("documentId"))
    if not query or not query.strip():
        raise InvalidInput(
            "`query` is missing; send the GraphQL document as this parameter, or its `documentId`.", path=["query"]
        )
    return GraphQLRequestData(
        query=query,
        variables=_object(parameters, "variables"),
        operation_name=parameters.get("operationName") or None,
        extensions=_object(parameters, "extensions"),
    )


def _object(parameters: QueryParams, name: str) -> dict[str, Any] | None:
    text = parameters.get(name)
    if text is None:
        return None
    try:
        value = decode_json(text.encode("utf-8", "surrogatepass"))
    except (InvalidInput, LimitExceeded) as error:
        raise type(error)(error.message.replace("The body", f"`{name}`"), path=[name]) from None
    if value is not None and not isinstance(value, dict):
        raise InvalidInput(f"`{name}` must be an object or null, not {json_type(value)}.", path=[name])
    return value


def refuse_other_sites(headers: Headers, origins: Collection[str]) -> None:
    """Raise Forbidden for a request without a credential that a page of another site may have caused.

    `origins` are those that may call the API. Browsers name the site in Sec-Fetch-Site, and older ones in Origin. For
    what an image or a script asks for, they accept none of the API's media types by name.
    """
    accepted = headers.get("accept", "").lower()
    if not _is_own(headers, origins, unsaid=any(name in accepted for name in _API_TYPES)):
        raise Forbidden(
            "A GET request without a credential must come from the user and not from a page of another site: send"
            " `Accept: application/json`, or a POST request."
        )


def refuse_other_pages(headers: Headers, origins: Collection[str]) -> None:
    """Raise Forbidden for a POST request without a credential that a page of another site has caused.

    `origins` are those that may call the API. With such a request, browsers always name the site or the origin.
    """
    if not _is_own(headers, origins, unsaid=True):
        raise Forbidden(
            "A request without a credential must not come from a page of another site: send it from a program, with an"
            " API key, or from an origin in STRATAGRAPH_CORS_ORIGINS."
        )


def _is_own(headers: Headers, origins: Collection[str], *, unsaid: bool) -> bool:
    """Return whether a request comes from the service's own site or the user; `unsaid` where it does not say."""
    origin = headers.get("origin")
    if origin is not None and origin in origins:
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site.strip().lower() in _OWN_SITE
    return origin is None and unsaid
