"""The tags of records and the predicates of facts that are in use, counted over the newest that a caller may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.postgres.queries import fetch

LOOKED = 10_000  # records, the newest
Kind = Literal["tags", "predicates"]
_STATEMENTS: dict[Kind, str] = {"tags": "count_tags", "predicates": "count_predicates"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelUse:
    """A label and the number of records that have it: a tag, or the key of a predicate in hexadecimal digits.

    `example` is the newest fact with the predicate; None of a tag.
    """

    label: str
    uses: int
    example: UUID | None


async def count_labels(
    connection: AsyncConnection, caller: Caller, kind: Kind, *, scopes: Sequence[int] | None
) -> tuple[list[LabelUse], int]:
    """Return the labels of the newest LOOKED current records that the caller may read in full, and how many these are.

    Labels are in the order of their uses, most first, and of their letters. With `scopes`, numbers, records of these.
    """
    only = list(scopes) if scopes is not None else None
    rows = await fetch(connection, _STATEMENTS[kind], **caller.parameters(), only=only, looked=LOOKED)
    looked = next(row["uses"] for row in rows if row["label"] is None)
    labels = [
        LabelUse(label=row["label"], uses=row["uses"], example=row["example"])
        for row in rows
        if row["label"] is not None
    ]
    return sorted(labels, key=lambda one: (-one.uses, one.label)), looked
