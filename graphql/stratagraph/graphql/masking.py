"""Every error that leaves has a code; what is not meant for callers leaves as an id that is in the log."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import structlog
from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

from stratagraph.store.errors import StratagraphError

_log = structlog.get_logger(__name__)


class CodedErrors(SchemaExtension):
    """Parse, validation and coercion errors keep their words; ours keep theirs; all others are masked."""

    def on_operation(self) -> Iterator[None]:
        yield
        result = self.execution_context.result
        if result is not None and getattr(result, "errors", None):
            result.errors = [coded(error) for error in result.errors]  # type: ignore[union-attr]  # incremental: off


def coded(error: GraphQLError) -> GraphQLError:
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
