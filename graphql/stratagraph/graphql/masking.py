"""Error codes for GraphQL errors, and masking of internal errors."""

from __future__ import annotations

import secrets

import structlog
from graphql import FieldNode, GraphQLError

from stratagraph.graphql.failure import retry_after
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.error_values import shortened_message
from stratagraph.store.model.errors import RateLimited, StratagraphError

_log = structlog.get_logger(__name__)


def coded(error: GraphQLError) -> GraphQLError:
    """Return the error with `extensions.code` and `extensions.retryable`.

    Parse, validation and coercion errors keep their message and get INVALID_INPUT; a StratagraphError keeps its
    message, code and path. Any other error is logged and replaced by one with the code INTERNAL and a reference, which
    the log entry has too.
    """
    original = error.original_error
    if isinstance(original, StratagraphError):
        extensions: dict[str, object] = {"code": original.code, "retryable": original.retryable}
        if original.path:
            extensions["path"] = original.path
        if isinstance(original, RateLimited):
            extensions["retryAfter"] = retry_after(original)
        return _with_extensions(
            error, error.message if original.message in error.message else original.message, extensions
        )
    if original is None or isinstance(original, GraphQLError):
        return _with_extensions(error, error.message, {"code": "INVALID_INPUT", "retryable": False})
    reference, message = internal_error(original, place=_field(error))
    return _with_extensions(error, message, {"code": "INTERNAL", "retryable": False, "reference": reference})


def internal_error(error: Exception, *, place: str | None) -> tuple[str, str]:
    """Log an unexpected error; return a new reference, which the log entry has, and the message for the caller.

    `place` is the field or the route, by our own name. Only types and lines of code are logged (see `error_report`).
    """
    reference = secrets.token_hex(6)
    _log.error("internal error", reference=reference, place=place, **error_report(error))
    return reference, f"Internal error. The server log has it under the reference {reference}."


def _field(error: GraphQLError) -> str | None:
    """Return the name of the field that failed. The path of the error is not logged: its aliases are the client's."""
    for node in error.nodes or ():
        if isinstance(node, FieldNode):
            return node.name.value
    return None


def _with_extensions(error: GraphQLError, message: str, extensions: dict[str, object]) -> GraphQLError:
    return GraphQLError(
        shortened_message(message),
        nodes=error.nodes,
        source=error.source,
        positions=error.positions,
        path=error.path,
        extensions=extensions,
    )
