"""Arguments that several queries share, and ids, whose errors are reported with those of other fields."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from typing import Annotated, TypeVar
from uuid import UUID

import strawberry

from stratagraph.memory.records.cursors import MAX_PAGE
from stratagraph.store.model.ids import new_id, parse_id
from stratagraph.store.model.problems import Problems

T = TypeVar("T")

RecordId = Annotated[strawberry.ID, strawberry.argument(description="Id of the record, a UUID.")]
After = Annotated[
    str | None, strawberry.argument(description="`pageInfo.endCursor` of the page before; null for the first page.")
]
AsOfInstant = Annotated[
    datetime | None, strawberry.argument(description="A past instant to answer as of; null for now.")
]
ValidAt = Annotated[
    datetime | None,
    strawberry.argument(
        description="An instant at which facts must have held, superseded ones included; null for the instant that the"
        " answer is as of. With `asOf`, of the facts that were current as of that instant."
    ),
]
AT_LEAST_SEQUENCE = (
    "`sequence` of a receipt; the answer reflects at least that write. After writes at the same time, up to 32 of them,"
    " joined by points."
)
AtLeastSequence = Annotated[str | None, strawberry.argument(description=AT_LEAST_SEQUENCE)]


def maximum(what: str, default: int, most: int = MAX_PAGE) -> str:
    """Return the description of an argument `first`."""
    return f"Maximum number of {what} to return, from 1 to {most}; the default is {default}."


def record_uuid(id_: str, name: str = "id") -> UUID:
    """Parse the id of a record, a UUID. Raises InvalidInput, whose path is the argument `name`, for any other text."""
    return given_id(id_, path=[name])


_noting: ContextVar[Problems | None] = ContextVar("noting", default=None)


def given_id(text: str, *, path: list[str]) -> UUID:
    """Parse an id. Raises InvalidInput for a text that is no UUID.

    Within `request_of` it notes that error, and returns a new id in place of the wrong one.
    """
    problems = _noting.get()
    if problems is None:
        return parse_id(text, path=path)
    with problems:
        return parse_id(text, path=path)
    return new_id()


def request_of(make: Callable[[], T], check: Callable[[T, Problems], None] | None = None) -> T:
    """Return the request that `make` makes of an input.

    Raises InvalidInput if ids of the input are wrong, together with what `check` finds wrong in its other fields.
    """
    problems, made = Problems(), None
    token = _noting.set(problems)
    try:
        with problems:
            made = make()
    finally:
        _noting.reset(token)
    if made is not None and not problems:
        return made
    if made is not None and check is not None:
        check(made, problems)
    problems.refuse()
    raise AssertionError("nothing was made, and nothing was wrong")
