"""Arguments that several queries share, and the parsing of ids."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import strawberry

from stratagraph.store.model.ids import parse_id

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
AtLeastSequence = Annotated[
    str | None, strawberry.argument(description="`sequence` of a receipt; the answer reflects at least that write.")
]


def record_uuid(id_: str, name: str = "id") -> UUID:
    """Parse the id of a record, a UUID. Raises InvalidInput, whose path is the argument `name`, for any other text."""
    return parse_id(id_, path=[name])
