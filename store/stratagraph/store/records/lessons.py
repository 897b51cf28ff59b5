"""Lessons: competence records with a `lesson` block. Finding the current ones, locking those of a group, counting use.

A lesson's record has the keyed hash of its task, by which it is found; the partial index on it holds only current
lessons. How often a lesson was retrieved and helped is counted in rows of its own, so that counting neither writes a
version of the record nor waits for its writers; readers get the counts added to those in the payload.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.canonical import keyed_hash, unaccented
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.payloads.base import count_of
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import Row, fetch, fetch_together, run, sending

MOST_LOCKED = 2_000  # lessons of one group; only a large import brings more than are kept
_LOCKS = 64  # advisory locks per tenant, shared out by hash
_FIRST_LOCK = -1 - (1 << 42)  # below the numbers that the locks of plans and skills have


class LessonGroup(NamedTuple):
    """The lessons of one scope, by its number, and one sensitivity: those that are merged and retired together."""

    scope: int
    sensitivity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLesson:
    """A current lesson, locked. `payload` is as it was stored; `retrievals` and `helpful` were counted since then.

    `authors` are the identities of those who wrote its advice, first who learned it.
    """

    id: UUID
    key: bytes
    authors: tuple[str, ...]
    learned_at: datetime
    updated_at: datetime
    confidence: float
    name: str
    payload: Mapping[str, Any]
    provenance: Mapping[str, Any]
    retrievals: int
    helpful: int

    @property
    def counted_payload(self) -> dict[str, Any]:
        """The payload with what was counted since it was stored."""
        return _with_counts(self.payload, self.retrievals, self.helpful, None)


def lesson_key(tenant: Tenant, memory_type: MemoryType, payload: Mapping[str, Any]) -> bytes | None:
    """Return the keyed hash of a lesson's task, as names are compared; None for a record without one."""
    lesson = payload.get("lesson") if memory_type is MemoryType.COMPETENCE else None
    task = lesson.get("task") if isinstance(lesson, dict) else None
    if not isinstance(task, str) or not task.strip():
        return None
    return keyed_hash(tenant.index_key, "lesson:task", unaccented(task).encode())


async def lock_lessons(
    connection: AsyncConnection, tenant: Tenant, groups: Collection[LessonGroup]
) -> dict[LessonGroup, list[StoredLesson]]:
    """Lock groups against other learners, and the newest MOST_LOCKED current lessons of each; return them newest first.

    A group without lessons is locked too, and has an empty list.
    """
    if not groups:
        return {}
    ordered = sorted(set(groups))
    await run(connection, "lock_lesson_groups", locks=sorted({_lock_number(tenant, group) for group in ordered}))
    # By a statement of its own, which sees what was committed while the locks were waited for.
    rows = await fetch(
        connection,
        "lock_lessons",
        tenant=tenant.id,
        scopes=[group.scope for group in ordered],
        sensitivities=[group.sensitivity for group in ordered],
        most=MOST_LOCKED,
    )
    found: dict[LessonGroup, list[StoredLesson]] = {group: [] for group in ordered}
    for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
        stored = row if content is None else content
        found[LessonGroup(row["scope"], row["sensitivity"])].append(
            StoredLesson(
                id=row["id"],
                key=bytes(row["lesson_key"]),
                authors=tuple(row["lesson_authors"] or ()),
                learned_at=row["occurred_at"],
                updated_at=row["updated_at"],
                confidence=row["confidence"],
                name=stored["name"],
                payload=stored["payload"],
                provenance=stored["provenance"],
                retrievals=row["retrievals"],
                helpful=row["helpful"],
            )
        )
    return {group: sorted(one, key=lambda one: (one.learned_at, one.id), reverse=True) for group, one in found.items()}


async def list_lessons(
    connection: AsyncConnection,
    caller: Caller,
    *,
    limit: int,
    scope: int | None = None,
    sensitivity: Sensitivity | None = None,
    since: datetime | None = None,
    terms: Sequence[int] = (),
) -> list[UUID]:
    """Return the current lessons that the caller may read in full, the last learned first, at most `limit`.

    With `scope`, a number, or `sensitivity`, only those of it; with `since`, those learned from then on; with `terms`,
    those that have one of them.
    """
    scopes = caller.scopes if scope is None else [scope] if caller.scopes is None or scope in caller.scopes else []
    levels = [int(one) for one in Sensitivity if one <= caller.ceiling and sensitivity in (None, one)]
    rows = await fetch(
        connection,
        "list_lessons_in_all_scopes" if scopes is None else "list_lessons",
        tenant=caller.tenant.id,
        **({} if scopes is None else {"scopes": list(scopes)}),
        levels=levels,
        since=since,
        terms=list(terms),
        limit=limit,
    )
    return [row["id"] for row in rows]


async def fetch_similarities(
    connection: AsyncConnection, ids: Collection[UUID], *, model: int, vector: str
) -> dict[UUID, float]:
    """Return the cosine similarity, -1 to 1, of those of `ids` that have a vector and that the caller may read in full.

    `vector` is that of a text by the model with the number `model`, in pgvector's text form.
    """
    if not ids:
        return {}
    rows = await fetch(connection, "compare_vectors", model=model, vector=vector, ids=list(ids))
    return {row["id"]: row["similarity"] for row in rows}


async def fetch_lesson_authors(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]
) -> dict[UUID, tuple[str, ...]]:
    """Return the identities of those who wrote the advice of lessons, first who learned it, keyed by id.

    Records that are no lessons, or whose authors are not known, are left out.
    """
    rows = await fetch(connection, "fetch_lesson_authors", tenant=tenant.id, ids=list(ids))
    return {row["id"]: tuple(row["lesson_authors"]) for row in rows}


async def with_lesson_counts(
    connection: AsyncConnection, caller: Caller, records: Sequence[MemoryRecord]
) -> list[MemoryRecord]:
    """Return the records with what was counted of the lessons among them added to their payloads.

    Runs one statement if there are lessons, and none otherwise.
    """
    lessons = [record.id for record in records if _is_lesson(record)]
    if not lessons:
        return list(records)
    (rows,) = await fetch_together(connection, lesson_counts(caller.tenant, lessons))
    return counted_lessons(records, rows)


def lesson_counts(tenant: Tenant, ids: Collection[UUID]) -> Sending:
    """Return the statement that reads what was counted of those records that are lessons."""
    return sending("fetch_lesson_use", {"tenant": tenant.id, "ids": list(ids)})


def counted_lessons(records: Sequence[MemoryRecord], rows: Sequence[Row]) -> list[MemoryRecord]:
    """Return the records with the rows of `lesson_counts` added to the payloads of lessons."""
    counts = {row["id"]: row for row in rows}
    return [
        replace(record, payload=_with_counts(record.payload, row["retrievals"], row["helpful"], row["retrieved_at"]))
        if _is_lesson(record) and record.payload is not None and (row := counts.get(record.id)) is not None
        else record
        for record in records
    ]


async def count_lessons(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], *, helpful: Collection[UUID], at: datetime
) -> None:
    """Count a retrieval of each of the lessons `ids`, which exist; those of `helpful` helped."""
    if ids:
        ordered = sorted(set(ids))
        await run(
            connection,
            "count_lessons",
            tenant=tenant.id,
            ids=ordered,
            helpful=[int(id_ in helpful) for id_ in ordered],
            at=at,
        )


async def credit_playbooks(connection: AsyncConnection, caller: Caller, *, since: datetime, at: datetime) -> list[UUID]:
    """Count as helpful the lessons in playbooks that the caller got since an instant; return them, by id.

    Each lesson is counted once, however many playbooks had it, and each playbook is credited once. Lessons are left out
    that are no longer current, or that the caller may not change.
    """
    asked = {**caller.parameters(), "actor": caller.trust.identity, "since": since, "only": None, "at": at}
    return [row["id"] for row in await fetch(connection, "credit_playbooks", **asked)]


async def credit_playbook(
    connection: AsyncConnection, caller: Caller, id_: UUID, *, only: Collection[UUID] | None, at: datetime
) -> list[UUID]:
    """Count as helpful the lessons in one playbook of the caller, or those among `only`; return them, by id.

    It is credited once. Lessons are left out as by `credit_playbooks`.
    """
    asked = {**caller.parameters(), "actor": caller.trust.identity, "id": id_, "at": at}
    only_ids = None if only is None else sorted(only)
    return [row["id"] for row in await fetch(connection, "credit_playbook", **asked, only=only_ids)]


def _is_lesson(record: MemoryRecord) -> bool:
    return (
        record.type is MemoryType.COMPETENCE
        and record.payload is not None
        and isinstance(record.payload.get("lesson"), dict)
    )


def _with_counts(
    payload: Mapping[str, Any], retrievals: int, helpful: int, retrieved_at: datetime | None
) -> dict[str, Any]:
    lesson = payload["lesson"]
    counted = {
        **lesson,
        "retrievals": count_of(lesson.get("retrievals"), retrievals),
        "helpful_retrievals": count_of(lesson.get("helpful_retrievals"), helpful),
    }
    if retrieved_at is not None:
        counted["last_retrieved_at"] = rfc3339(retrieved_at)
    return {**payload, "lesson": counted}


def _lock_number(tenant: Tenant, group: LessonGroup) -> int:
    """Return the number of the advisory lock of a group, one of _LOCKS per tenant."""
    name = f"{group.scope}:{group.sensitivity}".encode()
    bucket = int.from_bytes(blake2b(name, digest_size=8).digest(), "big") % _LOCKS
    return _FIRST_LOCK - ((tenant.id & 0xFFFFFFFF) * _LOCKS + bucket)
