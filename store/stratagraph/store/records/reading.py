"""Read records and relations under a caller's trust. Every record that is shown to a caller is built here.

Facts name their successors and predecessors. Of these, a record shows only those that the caller may know of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import Curve, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.salience import Decay, Salience
from stratagraph.store.postgres.queries import Row, fetch, fetch_together, sending
from stratagraph.store.records.lessons import counted_lessons, lesson_counts, with_lesson_counts

# A look-up of a number takes a tenth of the time of a call of the enum.
_TYPES = {int(one): one for one in MemoryType}
_SENSITIVITIES = {int(one): one for one in Sensitivity}
_STATES = {int(one): one for one in RecordState}
_CURVES = {int(one): one for one in Curve}
_NAMED = ("supersedes", "superseded_by")  # in the payload's revision


class Reader:
    """Reads records and relations for one caller on one connection.

    `now` is the instant at which salience is computed, and at which a record must hold to be current.
    """

    def __init__(self, connection: AsyncConnection, directory: Directory, caller: Caller, now: datetime) -> None:
        self.connection = connection
        self.directory = directory
        self.caller = caller
        self.now = now

    async def records(
        self, ids: Collection[UUID], *, current: bool = False, as_stored: bool = False
    ) -> dict[UUID, MemoryRecord]:
        """Return the records among `ids` that are visible to the caller, keyed by id.

        A record one level above the caller's ceiling is redacted. With `current`, superseded and retracted records are
        left out, and facts whose validity does not include `now`. With `as_stored`, the payloads of lessons are without
        the counts that are kept apart from them, so that they can be stored again.
        """
        if not ids:
            return {}
        rows = await fetch(
            self.connection, "fetch_records", **self.caller.parameters(), ids=list(ids), at=self.now, now=self.now
        )
        if current:  # checked on the rows, because a redacted record shows neither its state nor its validity
            rows = [row for row in rows if row["is_current"] and row["holds"]]
        return {record.id: record for record in await self._records(rows, as_stored=as_stored)}

    async def subgraph(
        self,
        ids: Collection[UUID],
        relations: Sequence[Row],
        *,
        at: datetime | None = None,
        past: Collection[UUID] = (),
    ) -> tuple[dict[UUID, MemoryRecord], list[Relation]]:
        """Return the current records among `ids` as `records` does, and the relations with these columns.

        Facts that the caller may read in full must hold `at`, or else now. Those among `past` may be superseded, and
        need not hold.

        Relations are not read: they have been found under the caller's trust, in this transaction. That ends here
        where nothing else has to be read, which spares a round trip.
        """
        statement = sending(
            "fetch_records", {**self.caller.parameters(), "ids": list(ids), "at": at or self.now, "now": self.now}
        )
        rows, counts = await fetch_together(
            self.connection,
            statement,
            lesson_counts(self.caller.tenant, ids),
            ends=knows_all_successors(self.caller),
        )
        current = [row for row in rows if (row["is_current"] and row["holds"]) or row["id"] in past]
        records = counted_lessons(await self._records(current, as_stored=True), counts)
        return {record.id: record for record in records}, await self._relations(relations)

    async def heads(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Return the records among `ids` that the caller may read in full, without their content.

        For ranking more records than will be shown: name, text, payload, provenance and interpretation are None, so
        nothing has to be decrypted.
        """
        if not ids:
            return {}
        rows = await fetch(self.connection, "fetch_heads", **self.caller.parameters(), ids=list(ids))
        return {record.id: record for record in await self._records(rows)}

    async def held_at(self, ids: Collection[UUID], valid_at: datetime) -> set[UUID]:
        """Return those among `ids` that are no facts, or facts that held then, and that the caller may read in full."""
        parameters = {"ids": list(ids), "valid_at": valid_at}
        return {
            row["id"] for row in await fetch(self.connection, "find_held", **self.caller.parameters(), **parameters)
        }

    async def by_handle(self, keys: Sequence[bytes], *, at: datetime | None = None) -> list[MemoryRecord]:
        """Return at most 100 records with the given handle keys (of a plan_id, skill_name or ref), newest first.

        With `at`, only records that were created by then, as they are now.
        """
        rows = await fetch(self.connection, "fetch_by_handle", **self.caller.parameters(), keys=list(keys), at=at)
        return await self._records(rows)

    async def current_by_handle(self, keys: Sequence[bytes], *, most: int) -> list[MemoryRecord]:
        """Return at most `most` current records with the given handle keys, which the caller may read in full."""
        if not keys:
            return []
        rows = await fetch(
            self.connection, "fetch_current_by_handle", **self.caller.parameters(), keys=list(keys), most=most
        )
        return await self._records(rows)

    async def relations(self, ids: Collection[UUID]) -> list[Relation]:
        """Return the relations among `ids` that are visible to the caller, in the order of `ids`.

        The caller must be able to read one end in full, and to see the other at least redacted.
        """
        if not ids:
            return []
        rows = await fetch(self.connection, "fetch_relations", **self.caller.parameters(), ids=list(ids))
        found = {relation.id: relation for relation in await self._relations(rows)}
        return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]

    async def relations_of(self, ids: Collection[UUID], *, limit: int) -> dict[UUID, list[Relation]]:
        """Return at most `limit` visible relations from or to each record, heaviest first."""
        if not ids:
            return {}
        rows = await fetch(
            self.connection, "fetch_relations_of", **self.caller.parameters(), ids=list(ids), limit=limit
        )
        found: dict[UUID, list[Relation]] = {id_: [] for id_ in ids}
        for row, relation in zip(rows, await self._relations(rows), strict=True):
            found[row["asked"]].append(relation)
        return found

    async def list_relations(
        self, ids: Collection[UUID], *, first: int, weight: float, after: UUID
    ) -> dict[UUID, list[Relation]]:
        """Return at most `first` visible relations from or to each record, heaviest first.

        Only those are returned that are lighter than `weight`, or as heavy with an id above `after`.
        """
        parameters = {"ids": list(ids), "most": first, "weight": weight, "after": after}
        rows = await fetch(self.connection, "list_relations_of", **self.caller.parameters(), **parameters)
        found: dict[UUID, list[Relation]] = {id_: [] for id_ in ids}
        for row, relation in zip(rows, await self._relations(rows), strict=True):
            found[row["asked"]].append(relation)
        return found

    async def _records(self, rows: Sequence[Row], *, as_stored: bool = False) -> list[MemoryRecord]:
        scopes = await self.directory.scope_names({row["scope"] for row in rows})
        contents = await open_contents(self.caller.tenant.keyring, rows)
        records = [
            self._record(row if content is None else {**row, **content}, scopes)
            for row, content in zip(rows, contents, strict=True)
        ]
        shown = await without_hidden_successors(self.connection, self.caller, records)
        return shown if as_stored else await with_lesson_counts(self.connection, self.caller, shown)

    def _record(self, row: Mapping[Any, Any], scopes: Mapping[int, str]) -> MemoryRecord:
        lifecycle, redacted = salience_of(row), row["sensitivity"] > self.caller.ceiling
        record = MemoryRecord(
            id=row["id"],
            tenant=self.caller.tenant.name,
            type=_TYPES[row["type"]],
            scope=scopes[row["scope"]],
            sensitivity=_SENSITIVITIES[row["sensitivity"]],
            state=RecordState.ACTIVE if redacted else _STATES[row["state"]],
            confidence=row["confidence"],
            salience=lifecycle.at(self.now),
            tags=tuple(row["tags"]),
            created_at=row["created_at"],
            occurred_at=row["occurred_at"],
            updated_at=row["updated_at"],
            version=0 if redacted else row["version"],
            name=row["name"],
            text=row["text"],
            payload=payload_of(row),
            lifecycle=lifecycle,
            provenance=row["provenance"],
            interpretation=row["interpretation"],
            learned_tools=_learned_tools(row),
            valid_from=row["valid_from"],
            valid_to=row["valid_to"],
        )
        return record.as_redacted() if redacted else record

    async def _relations(self, rows: Sequence[Row]) -> list[Relation]:
        tenant = self.caller.tenant.id
        names = await self.directory.predicate_names({(tenant, row["predicate"]) for row in rows})
        return [
            Relation(
                id=row["id"],
                source=row["source"],
                target=row["target"],
                predicate=names[tenant, row["predicate"]],
                weight=row["weight"],
                created_at=row["created_at"],
            )
            for row in rows
        ]


def payload_of(row: Mapping[Any, Any]) -> Any:
    """Return the payload in a row of a record as it is shown."""
    payload = row["payload"]
    return payload if payload is None else rendered_payload(row["type"], row["state"], payload)


def rendered_payload(memory_type: int, state: int, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the stored payload; that of a fact includes its revision status, which follows from the record's state.

    The RFC has no status for a superseded fact, so that has none: `superseded_by` says it.
    """
    if memory_type != MemoryType.SEMANTIC:
        return payload
    revision = {key: value for key, value in payload.get("revision", {}).items() if key != "status"}
    known = RecordState(state)
    shown = revision if known is RecordState.SUPERSEDED else {**revision, "status": known.label}
    return {**payload, "revision": shown}


def _learned_tools(row: Mapping[Any, Any]) -> tuple[str, ...] | None:
    state = row.get("learned_state")  # of a sealed record; that of any other stays in the database
    tools = row["learned_tools"] if state is None else state.get("tools")
    return tuple(map(str, tools)) if isinstance(tools, list) else None


def salience_of(row: Mapping[Any, Any]) -> Salience:
    """Build the salience of a record from a row with its columns and those of the table `salience`."""
    return Salience(
        s=row["s"],
        t0=row["t0"],
        created_at=row["created_at"],
        decay=Decay(
            curve=_CURVES[row["curve"]],
            half_life_s=row["half_life_s"],
            min_salience=row["min_salience"],
            max_age_s=row["max_age_s"],
            reinforcement_gain=row["reinforcement_gain"],
            params=row["params"],
        ),
        pinned=row["pinned"],
        deletion_policy=DeletionPolicy(row["deletion_policy"]),
        last_reinforced_at=row["last_reinforced_at"],
        is_withdrawn=(row["state"] or RecordState.ACTIVE) > RecordState.CONTESTED,
    )


def knows_all_successors(caller: Caller) -> bool:
    """Return whether the caller may see every record, so that `without_hidden_successors` reads nothing."""
    return caller.scopes is None and caller.ceiling is Sensitivity.HYPER


async def without_hidden_successors(
    connection: AsyncConnection, caller: Caller, records: Sequence[MemoryRecord]
) -> list[MemoryRecord]:
    """Return the records without the ids, in the payloads of facts, of records that the caller may not see at all.

    A fact may have been superseded by a more sensitive one, as after a merge. A record that was deleted is left out
    too, since it may have been hidden. Runs one statement if facts name such records, and none for a caller who may
    see everything.
    """
    if knows_all_successors(caller):
        return list(records)
    named = {record.id: _named(record) for record in records}
    unknown = {id_ for ids in named.values() for id_ in ids.values()} - named.keys()
    visible = set(named)
    if unknown:
        rows = await fetch(connection, "find_visible", **caller.parameters(), ids=list(unknown))
        visible |= {row["id"] for row in rows}
    return [
        _without(record, [key for key, id_ in named[record.id].items() if id_ not in visible]) for record in records
    ]


def _named(record: MemoryRecord) -> dict[str, UUID]:
    """Return the records that a fact names in its revision, by key.

    Texts that are not ids are skipped, because they do not name stored records.
    """
    if record.type is not MemoryType.SEMANTIC or record.payload is None:
        return {}
    found = {}
    for key in _NAMED:
        try:
            found[key] = UUID(record.payload.get("revision", {}).get(key))
        except (TypeError, ValueError, AttributeError):
            continue
    return found


def _without(record: MemoryRecord, keys: Sequence[str]) -> MemoryRecord:
    if not keys:
        return record
    payload = record.payload or {}
    revision = {key: value for key, value in payload["revision"].items() if key not in keys}
    return replace(record, payload={**payload, "revision": revision})
