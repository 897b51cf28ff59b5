"""Error codes for GraphQL errors, and masking of internal errors."""

from __future__ import annotations

import re
import secrets

from graphql import FieldNode, GraphQLError

from stratagraph.graphql.error_fields import error_fields, extensions_of
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.error_values import shortened_message
from stratagraph.store.model.errors import InvalidInput, Problem, StratagraphError

# What graphql-core says of a variable, of which it gives the place in the text alone.
_VARIABLE = re.compile(r"Variable '\$(?P<name>\w+)' has invalid value(?: at (?P<place>[.\w\[\]]+))?:")
_log = get_logger(__name__)


def coded(error: GraphQLError) -> GraphQLError:
    """Return the error with the `extensions` of every error (see `error_fields`).

    Parse, validation and coercion errors keep their message and get INVALID_INPUT; a StratagraphError keeps its
    message and fields. Any other error is logged and replaced by one with the code INTERNAL and a reference, which
    the log entry has too.
    """
    original = error.original_error
    if isinstance(original, StratagraphError):
        message = error.message if original.message in error.message else original.message
        return _with_extensions(error, message, error_fields(original))
    if original is None or isinstance(original, GraphQLError):
        return _with_extensions(error, error.message, _of_input(error.message))
    reference, message = internal_error(original, place=_field(error))
    return _with_extensions(error, message, {**extensions_of("INTERNAL"), "reference": reference})


def _of_input(message: str) -> dict[str, object]:
    """Return the fields of an error of a document or of its variables; of a variable, with the path of the value."""
    code = InvalidInput.code
    variable = _VARIABLE.match(message)
    if variable is None:
        return extensions_of(code)
    path = (variable["name"], *re.findall(r"\w+", variable["place"] or ""))
    problem = Problem(code=code, message=shortened_message(message), path=path)
    return extensions_of(code, path=path, problems=[problem])


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
