"""The past under a caller's trust: records, relations and episodes as they were at an instant (design decision 9).

Trust is the stricter of then's and now's, and what is not in full sight by both is absent: the past has no redacted
heads. Whoever wants the answer exact waits first (`instants.settle`), before the snapshot that is read here is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.episodes import is_thread_episode
from stratagraph.store.records.reading import Reader


@dataclass(frozen=True, slots=True)
class Moment:
    """A record at an instant."""

    id: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A record while it was so: from `valid_from` until before `valid_to`, which is None for what it is now.

    The record is shown as of the version's last instant, with the salience of then; `number` orders the versions.
    """

    number: int
    valid_from: datetime
    valid_to: datetime | None
    record: MemoryRecord


class Past:
    """Reads for one caller on one connection, each record at an instant of its own."""

    def __init__(self, connection: AsyncConnection, directory: Directory, caller: Caller) -> None:
        self.connection = connection
        self.directory = directory
        self.caller = caller

    async def records(self, moments: Collection[Moment]) -> dict[Moment, MemoryRecord]:
        """Those that existed at their instant and are in full sight for the caller, by then's trust and by now's."""
        if not moments:
            return {}
        rows = await fetch(self.connection, "fetch_records_at", **self.caller.parameters(), **_in_step(moments))
        by_instant: dict[datetime, list[RowMapping]] = {}
        for row in rows:
            by_instant.setdefault(row["instant"], []).append(row)
        return {
            Moment(record.id, instant): record
            for instant, of_instant in by_instant.items()
            for record in await self._reader(instant)._records(of_instant)
        }

    async def relations(self, ids: Collection[UUID], *, at: datetime) -> list[Relation]:
        """Those of the relations `ids` that existed at `at` between records in full sight."""
        if not ids:
            return []
        rows = await fetch(self.connection, "fetch_relations_at", **self.caller.parameters(), ids=list(ids), at=at)
        return await self._reader(at)._relations(rows)

    async def relations_of(self, moments: Collection[Moment], *, limit: int) -> dict[Moment, list[Relation]]:
        """The relations there were at each record, heaviest first, at most `limit` each."""
        if not moments:
            return {}
        rows = await fetch(
            self.connection, "fetch_relations_of_at", **self.caller.parameters(), **_in_step(moments), limit=limit
        )
        found: dict[Moment, list[Relation]] = {moment: [] for moment in moments}
        relations = await self._reader(min(moment.at for moment in moments))._relations(rows)
        for row, relation in zip(rows, relations, strict=True):
            found[Moment(row["asked"], row["instant"])].append(relation)
        return found

    async def versions(self, id_: UUID, *, now: datetime, first: int, before: int | None) -> list[Version]:
        """At most `first` versions of one record that the caller may see, newest first, numbered below `before`."""
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

    async def assemble(
        self, records: Iterable[tuple[MemoryRecord, datetime]], *, most: int
    ) -> dict[Moment, dict[str, Any]]:
        """Payloads of thread episodes with the timeline and tool graph of then, at most `most` events each."""
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
            moment: _assembled(
                episode, [members[event] for id_ in joined[moment.id] if (event := Moment(id_, moment.at)) in members]
            )
            for moment, episode in episodes.items()
        }

    def _reader(self, at: datetime) -> Reader:
        return Reader(self.connection, self.directory, self.caller, at)


class PastReader:
    """What retrieval asks of a `Reader`, as of one instant."""

    def __init__(self, past: Past, at: datetime) -> None:
        self._past = past
        self._at = at

    async def heads(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Those of `ids` that may answer: current then, and a fact only if it held then, which its payload says."""
        found = await self.records(ids, current=True)
        return {id_: record for id_, record in found.items() if _held(record, self._at)}

    async def records(self, ids: Collection[UUID], *, current: bool = False) -> dict[UUID, MemoryRecord]:
        """Those of `ids` that existed for the caller; with `current`, without what was superseded or retracted then."""
        found = await self._past.records([Moment(id_, self._at) for id_ in ids])
        return {record.id: record for record in found.values() if not current or record.state <= RecordState.CONTESTED}

    async def relations(self, ids: Collection[UUID]) -> list[Relation]:
        return await self._past.relations(ids, at=self._at)


def _in_step(moments: Collection[Moment]) -> dict[str, Any]:
    return {"ids": [moment.id for moment in moments], "instants": [moment.at for moment in moments]}


def _held(record: MemoryRecord, at: datetime) -> bool:
    if record.type is not MemoryType.SEMANTIC:
        return True
    validity = (record.payload or {}).get("validity") or {}
    start, end = validity.get("start"), validity.get("end")
    return (start is None or datetime.fromisoformat(start) <= at) and (end is None or at < datetime.fromisoformat(end))


def _assembled(episode: MemoryRecord, members: Sequence[MemoryRecord]) -> dict[str, Any]:
    payloads = [(member.id, member.payload or {}) for member in members]
    timeline = [
        {**event, "record_id": str(id_)} for id_, payload in payloads for event in payload.get("timeline") or ()
    ]
    tools = [node for _, payload in payloads for node in payload.get("tool_graph") or ()]
    assembled = {**(episode.payload or {}), "timeline": sorted(timeline, key=lambda event: str(event["t"]))}
    return assembled | {"tool_graph": tools} if tools else assembled
