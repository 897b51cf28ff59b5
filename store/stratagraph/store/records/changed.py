"""What the changes of the log did, under a caller's trust: to records, to relations, and in which run of learning."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.change_log import RowChange
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import Relation
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.reading import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a transaction did to a record: when, and from which state to which; `before` is None for a new record.

    `is_stamped` is False where the text was rewritten in place, as an erasure does, which is no event of the record:
    `at` is then that of an earlier change.
    """

    at: datetime
    before: RecordState | None
    after: RecordState
    is_stamped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRelation:
    """A relation that was inserted or ended; `ended_at` is None while it is open."""

    relation: Relation
    ended_at: datetime | None


async def fetch_steps(
    connection: AsyncConnection, caller: Caller, changes: Sequence[RowChange]
) -> dict[RowChange, Step]:
    """Return what changes did to records, by change, of the records that the caller may read in full."""
    if not changes:
        return {}
    rows = await fetch(connection, "fetch_steps", **caller.parameters(), **_versions(changes))
    return {
        changes[row["place"] - 1]: Step(
            at=row["at"],
            before=None if row["state_before"] is None else RecordState(row["state_before"]),
            after=RecordState(row["state"]),
            is_stamped=row["stepped"],
        )
        for row in rows
    }


async def fetch_changed_relations(reader: Reader, ids: Collection[UUID]) -> dict[UUID, ChangedRelation]:
    """Return the relations among `ids` that are visible to the caller, also those that have ended, by id."""
    if not ids:
        return {}
    rows = await fetch(reader.connection, "fetch_changed_relations", **reader.caller.parameters(), ids=list(ids))
    relations = await reader._relations(rows)
    return {
        row["id"]: ChangedRelation(relation=relation, ended_at=row["ended_at"])
        for row, relation in zip(rows, relations, strict=True)
    }


async def find_ends_in_sight(connection: AsyncConnection, caller: Caller, ids: Collection[UUID]) -> dict[UUID, bool]:
    """Return the records among `ids` that the caller may see; True for those that the caller may read in full."""
    if not ids:
        return {}
    rows = await fetch(connection, "find_ends_in_sight", **caller.parameters(), ids=list(ids))
    return {row["id"]: row["in_full"] for row in rows}


async def find_runs(connection: AsyncConnection, caller: Caller, changes: Sequence[RowChange]) -> dict[RowChange, UUID]:
    """Return the runs of learning that made changes to records, by change, as far as the caller may see the runs."""
    if not changes:
        return {}
    rows = await fetch(connection, "find_runs_of_changes", **caller.parameters(), **_versions(changes))
    return {changes[row["place"] - 1]: row["run"] for row in rows}


def _versions(changes: Sequence[RowChange]) -> dict[str, list[UUID] | list[int]]:
    return {
        "ids": [change.id for change in changes],
        "firsts": [change.first for change in changes],
        "lasts": [change.last for change in changes],
    }
