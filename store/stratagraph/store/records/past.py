"""Records, relations and episodes as they were at a past instant, under a caller's trust.

A record is returned only if the caller may read it in full both by its scope and sensitivity at that instant and by
its present ones; the past has no redacted records. A reader that needs an exact answer must wait until no transaction
can still write at that instant (`settling.settle`) before it takes the snapshot that is read here. See
docs/specification.md, History.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.postgres.queries import Row, fetch
from stratagraph.store.records.episode_timelines import assembled_payload, is_thread_episode
from stratagraph.store.records.reading import Reader


@dataclass(frozen=True, slots=True)
class Moment:
    """The id of a record and an instant at which to read it."""

    id: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a record, valid from `valid_from` until before `valid_to`, which is None for the present version.

    The record is shown as of the last instant of the version, with its salience at that instant. `number` orders the
    versions of a record.
    """

    number: int
    valid_from: datetime
    valid_to: datetime | None
    record: MemoryRecord


class Past:
    """Reads records, relations and episodes as of past instants, for one caller on one connection.

    Each record may be read at another instant.
    """

    def __init__(self, connection: AsyncConnection, directory: Directory, caller: Caller) -> None:
        self.connection = connection
        self.directory = directory
        self.caller = caller

    async def records(self, moments: Collection[Moment]) -> dict[Moment, MemoryRecord]:
        """Return the records that existed at their instant, keyed by moment.

        Left out are those that the caller may not read in full both by their scope and sensitivity then and by those
        now.
        """
        if not moments:
            return {}
        rows = await fetch(self.connection, "fetch_records_at", **self.caller.parameters(), **_arrays(moments))
        by_instant: dict[datetime, list[Row]] = {}
        for row in rows:
            by_instant.setdefault(row["instant"], []).append(row)
        return {
            Moment(record.id, instant): record
            for instant, of_instant in by_instant.items()
            for record in await self._reader(instant)._records(of_instant)
        }

    async def relations(self, ids: Collection[UUID], *, at: datetime) -> list[Relation]:
        """Return the relations among `ids` that existed at `at` between records that the caller may read in full."""
        if not ids:
            return []
        rows = await fetch(self.connection, "fetch_relations_at", **self.caller.parameters(), ids=list(ids), at=at)
        found = {relation.id: relation for relation in await self._reader(at)._relations(rows)}
        return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]

    async def relations_of(self, moments: Collection[Moment], *, limit: int) -> dict[Moment, list[Relation]]:
        """Return at most `limit` relations from or to each record as of its instant, heaviest first, keyed by moment.

        Only relations to records that the caller may read in full are returned.
        """
        if not moments:
            return {}
        rows = await fetch(
            self.connection, "fetch_relations_of_at", **self.caller.parameters(), **_arrays(moments), limit=limit
        )
        found: dict[Moment, list[Relation]] = {moment: [] for moment in moments}
        relations = await self._reader(min(moment.at for moment in moments))._relations(rows)
        for row, relation in zip(rows, relations, strict=True):
            found[Moment(row["asked"], row["instant"])].append(relation)
        return found

    async def list_relations(
        self, moments: Collection[Moment], *, first: int, weight: float, after: UUID
    ) -> dict[Moment, list[Relation]]:
        """Return at most `first` relations of each record as of its instant, as `Reader.list_relations` does."""
        rows = await fetch(
            self.connection,
            "list_relations_of_at",
            **self.caller.parameters(),
            **_arrays(moments),
            most=first,
            weight=weight,
            after=after,
        )
        found: dict[Moment, list[Relation]] = {moment: [] for moment in moments}
        relations = await self._reader(min(moment.at for moment in moments))._relations(rows)
        for row, relation in zip(rows, relations, strict=True):
            found[Moment(row["asked"], row["instant"])].append(relation)
        return found

    async def versions(self, id_: UUID, *, now: datetime, first: int, before: int | None) -> list[Version]:
        """Return at most `first` versions of a record with numbers below `before`, newest first; None: from the newest.

        Versions that the caller may not read in full are left out.
        """
        rows = await fetch(
            self.connection, "fetch_versions", **self.caller.parameters(), id=id_, first=first, before=before
        )
        last = [row["to_at"] - RESOLUTION if row["to_at"] is not None else max(now, row["from_at"]) for row in rows]
        records = await self.records([Moment(id_, instant) for instant in last])
        return [
            Version(
                number=row["row_version"],
                valid_from=row["from_at"],
                valid_to=row["to_at"],
                record=records[Moment(id_, instant)],
            )
            for row, instant in zip(rows, last, strict=True)
            if Moment(id_, instant) in records
        ]

    async def withdrawn_at(self, record: MemoryRecord, *, at: datetime) -> datetime | None:
        """Return when a record, as it was at `at`, had ceased to be part of the current truth; None if it was part."""
        if record.state in (RecordState.ACTIVE, RecordState.CONTESTED):
            return None
        rows = await fetch(self.connection, "fetch_last_current", tenant=self.caller.tenant.id, id=record.id, at=at)
        found: datetime | None = rows[0]["at"]
        return found

    async def assemble_episodes(
        self, records: Iterable[tuple[MemoryRecord, datetime]], *, most: int
    ) -> dict[Moment, dict[str, Any]]:
        """Return the payloads of the thread episodes among `records`, keyed by moment, with timeline and tool graph.

        They are assembled from the first `most` members of each episode.
        """
        episodes = {Moment(record.id, at): record for record, at in records if is_thread_episode(record)}
        if not episodes:
            return {}
        ids = {moment.id for moment in episodes}
        rows = await fetch(self.connection, "episode_records", tenant=self.caller.tenant.id, ids=list(ids), most=most)
        joined: dict[UUID, list[UUID]] = {id_: [] for id_ in ids}
        for row in rows:
            joined[row["episode"]].append(row["record"])
        members = await self.records({Moment(id_, moment.at) for moment in episodes for id_ in joined[moment.id]})
        return {
            moment: assembled_payload(
                episode,
                [
                    (id_, members[member].payload or {})
                    for id_ in joined[moment.id]
                    if (member := Moment(id_, moment.at)) in members
                ],
            )
            for moment, episode in episodes.items()
        }

    def _reader(self, at: datetime) -> Reader:
        return Reader(self.connection, self.directory, self.caller, at)


class PastReader:
    """Reads records and relations as of one past instant, with the methods of `Reader` that retrieval uses.

    Current facts are those that held at `valid_at`, or else at the instant.
    """

    def __init__(self, past: Past, at: datetime, valid_at: datetime | None = None) -> None:
        self._past = past
        self._at = at
        self._valid_at = valid_at or at

    async def heads(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Return the records among `ids` that were current then, with their content, unlike those of `Reader.heads`."""
        return await self.records(ids, current=True)

    async def records(self, ids: Collection[UUID], *, current: bool = False) -> dict[UUID, MemoryRecord]:
        """Return the records among `ids` that existed for the caller.

        With `current`, only those that were active or contested, and of facts only those that held.
        """
        found = await self._past.records([Moment(id_, self._at) for id_ in ids])
        return {record.id: record for record in found.values() if not current or self._was_current(record)}

    async def subgraph(
        self, ids: Collection[UUID], relations: Collection[UUID]
    ) -> tuple[dict[UUID, MemoryRecord], list[Relation]]:
        """Return the records among `ids` that were current, and the relations among `relations`."""
        return await self.records(ids, current=True), await self.relations(relations)

    async def relations(self, ids: Collection[UUID]) -> list[Relation]:
        """Return the relations among `ids` that existed between records that the caller may read in full."""
        return await self._past.relations(ids, at=self._at)

    def _was_current(self, record: MemoryRecord) -> bool:
        return record.state <= RecordState.CONTESTED and record.holds_at(self._valid_at)


def _arrays(moments: Collection[Moment]) -> dict[str, Any]:
    return {"ids": [moment.id for moment in moments], "instants": [moment.at for moment in moments]}
