"""Media types of GraphQL responses, and error responses for requests that fail before GraphQL executes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starlette.responses import JSONResponse

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"  # of the GraphQL-over-HTTP specification


def media_type(accept: Iterable[str]) -> str:
    """Return the media type of the response: GRAPHQL_RESPONSE where the Accept headers prefer it, otherwise JSON."""
    quality = {JSON: 0.0, GRAPHQL_RESPONSE: 0.0}
    for item in ",".join(accept).split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        if name in quality:
            quality[name] = _quality(parameters)
    return GRAPHQL_RESPONSE if quality[GRAPHQL_RESPONSE] > 0 and quality[GRAPHQL_RESPONSE] >= quality[JSON] else JSON


def _quality(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter.removeprefix("q="))
            except ValueError:
                return 0.0
    return 1.0


def failure(
    message: str, code: str, status: int, headers: Mapping[str, str] | None = None, *, media_type: str = JSON
) -> JSONResponse:
    """Return a response with one error, whose `extensions.code` is `code`, and the HTTP status `status`."""
    return JSONResponse(
        {"errors": [{"message": message, "extensions": {"code": code}}]},
        status_code=status,
        headers=headers,
        media_type=media_type,
    )
