"""Every error that leaves has a code; what is not meant for callers leaves as an id that is in the log."""

from __future__ import annotations

import secrets

import structlog
from graphql import GraphQLError

from stratagraph.store.model.errors import StratagraphError

_log = structlog.get_logger(__name__)


def coded(error: GraphQLError) -> GraphQLError:
    """Parse, validation and coercion errors keep their words, ours keep theirs, all others are masked."""
    original = error.original_error
    if isinstance(original, StratagraphError):
        extensions: dict[str, object] = {"code": original.code, "retryable": original.retryable}
        if original.path:
            extensions["path"] = original.path
        return _like(error, error.message if original.message in error.message else original.message, extensions)
    if original is None or isinstance(original, GraphQLError):
        return _like(error, error.message, {"code": "INVALID_INPUT", "retryable": False})
    reference = secrets.token_hex(6)
    # The type alone: messages of drivers quote rows, and rows are memories.
    _log.error("internal error", reference=reference, error=type(original).__name__, path=error.path)
    return _like(
        error,
        f"Something went wrong on our side; it is in the log as {reference}.",
        {"code": "INTERNAL", "retryable": False, "reference": reference},
    )


def _like(error: GraphQLError, message: str, extensions: dict[str, object]) -> GraphQLError:
    return GraphQLError(
        message,
        nodes=error.nodes,
        source=error.source,
        positions=error.positions,
        path=error.path,
        extensions=extensions,
    )
