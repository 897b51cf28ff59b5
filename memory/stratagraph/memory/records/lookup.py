"""Lookups: one record, pages of records, versions of a record, entities by name, and plans as graphs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.plans.composing import composed_record, is_composed_id, parts_named, parts_of
from stratagraph.memory.plans.differences import PlanDifference, difference_of
from stratagraph.memory.plans.drawing import Drawing, draw_plan
from stratagraph.memory.records.cursors import MAX_PAGE, ListCursor, decode_version, encode_version
from stratagraph.memory.records.labels import Labels
from stratagraph.memory.records.listing import EVERYTHING, RecordFilter, RecordLists, RecordPage
from stratagraph.memory.records.pictures import Pictures
from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.audit.events import fetch_audit
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.extraction import TextReading, fetch_readings
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, MemoryType, RecordState
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import MAX_NAME
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.trust import Trust, Visibility
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.entities import find_entities_by_name
from stratagraph.store.records.episode_timelines import LISTED_EVENTS, assemble_episodes
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.listing import ListOrder
from stratagraph.store.records.past import Moment, Past, Version
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.tombstones import find_tombstones
from stratagraph.store.search.outcomes import find_composed
from stratagraph.store.search.retrievals import RetrievalLog

MAX_RELATIONS = 100  # returned for one record, greatest weight first
LOGGED_S = 1.0  # seconds within which an answer of another process is in the log
POLL_S = 0.1  # seconds between two looks at it
ALL_EVENTS = 10_000  # of an episode that is requested alone


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A page of versions of a record, newest first, and the cursor of its last version; `has_next` is exact."""

    versions: tuple[Version, ...]
    end_cursor: str | None
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A page of a record's audit entries, oldest first, and the cursor of its last entry; `has_next` is exact."""

    entries: tuple[AuditEntry, ...]
    end_cursor: str | None
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationPage:
    """A page of the relations of a record, heaviest first, and the cursor of its last one; `has_next` is exact."""

    relations: tuple[Relation, ...]
    end_cursor: str | None
    has_next: bool


class Lookup:
    """The service that reads records, each as far as it is visible to the caller."""

    def __init__(self, database: Database, directory: Directory, clock: Clock, log: RetrievalLog) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._log = log
        self._sequences = Sequences()
        self.lists = RecordLists(database, directory, clock)
        self.pictures = Pictures(database, directory, clock)
        self.labels = Labels(database, directory, clock)

    async def record(
        self, trust: Trust, id_: UUID, *, as_of: datetime | None = None, valid_at: datetime | None = None
    ) -> MemoryRecord | None:
        """Return the record `id_`, or None if it does not exist or is not visible to the caller.

        With `valid_at`, returns None for a fact that did not hold then, if the caller may read it in full.

        A record that is not fully visible to the caller is redacted. An episode has its whole timeline, up to
        ALL_EVENTS events. With `as_of`, returns the record as it was at that past instant, if it is fully visible to
        the caller both by its scope and sensitivity of then and by those of now. Raises InvalidInput for an instant in
        the future, and StoreUnavailable if transactions that were running at that instant have not ended in time.
        """
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        now = self._clock.now()
        if as_of is not None:
            then = await self._past_record(caller, Moment(id_, past_instant(as_of, now=now)))
            held = then is None or valid_at is None or (then.state <= RecordState.CONTESTED and then.holds_at(valid_at))
            return then if held or then is None or then.type is not MemoryType.SEMANTIC else None
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, now)
            found = (await reader.records([id_])).get(id_)
            if found is None:
                return None
            if valid_at is not None and not found.redacted and id_ not in await reader.held_at([id_], valid_at):
                return None
            payloads = await assemble_episodes(connection, caller, [found], most=ALL_EVENTS)
        return replace(found, payload=payloads[id_]) if id_ in payloads else found

    async def readings(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, TextReading]:
        """Return how far a language model has come with reading records, keyed by record.

        Records that none is to read are left out, and those that the caller may not read in full.
        """
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await fetch_readings(connection, caller, ids)

    async def _past_record(self, caller: Caller, moment: Moment) -> MemoryRecord | None:
        await settle(self._database, caller.tenant.id, moment.at)
        async with self._database.reading(caller.bounds) as connection:
            past = Past(connection, self._directory, caller)
            found = (await past.records([moment])).get(moment)
            if found is None:
                return None
            payloads = await past.assemble_episodes([(found, moment.at)], most=ALL_EVENTS)
        return replace(found, payload=payloads[moment]) if moment in payloads else found

    async def history(self, trust: Trust, id_: UUID, *, first: int = 50, after: str | None = None) -> History:
        """Return a page of the record's versions that are fully visible to the caller, newest first.

        `after` is the `end_cursor` of the previous page. The page is empty if the record does not exist or is not
        visible to the caller. Raises InvalidInput for an invalid `first` or `after`.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        before = decode_version(after) if after is not None else None
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            past = Past(connection, self._directory, caller)
            found = await past.versions(id_, now=self._clock.now(), first=first + 1, before=before)
        shown = tuple(found[:first])
        return History(
            versions=shown,
            end_cursor=encode_version(shown[-1].number) if shown else None,
            has_next=len(found) > first,
        )

    async def payloads(self, trust: Trust, records: Collection[MemoryRecord]) -> dict[UUID, dict[str, Any]]:
        """Return the payloads of the threads' episodes among `records`, with at most LISTED_EVENTS events each, by id.

        Other records are left out.
        """
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await assemble_episodes(connection, caller, records, most=LISTED_EVENTS)

    async def records(
        self,
        trust: Trust,
        wanted: RecordFilter = EVERYTHING,
        *,
        order: ListOrder = ListOrder.CREATED_DESC,
        first: int = 50,
        after: str | None = None,
        as_of: datetime | None = None,
    ) -> RecordPage:
        """Return a page of the records visible to the caller; see `RecordLists.page`."""
        return await self.lists.page(trust, wanted, order=order, first=first, after=after, as_of=as_of)

    async def entities(self, trust: Trust, name: str, *, scope: str | None, first: int) -> list[MemoryRecord]:
        """Return at most `first` entities with this name or alias, ignoring differences of case and white space.

        Only current entities that the caller may read in full; with `scope`, only those of that scope. Raises
        InvalidInput for an invalid `first`, a name that is too long, or text that cannot be stored, and Forbidden for a
        scope that the credential does not cover.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        if len(name) > MAX_NAME:
            raise InvalidInput(
                f"name: {len(name)} characters; names have at most {MAX_NAME}, so give a shorter one", path=["name"]
            )
        check_json(name, path=["name"])
        check_json(scope, path=["scope"])
        caller = await self._directory.resolve(trust if scope is None else trust.narrowed(scopes=[scope]))
        async with self._database.reading(caller.bounds) as connection:
            ids = [id_ for id_, _ in await find_entities_by_name(connection, caller, [name], limit=first)]
            found = await Reader(connection, self._directory, caller, self._clock.now()).records(ids)
        records = [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]
        return [record for record in records if scope is None or record.scope == scope]

    async def plan(
        self,
        trust: Trust,
        id_: str,
        version: str | None = None,
        *,
        at: datetime | None = None,
        name: str = "at",
        group: str | None = None,
        at_least_sequence: str | None = None,
    ) -> Drawing | None:
        """Return the drawing of the plan whose `plan_id` or record id is `id_`, or None if there is none.

        A composed plan is composed again of its parts as they are now; by the id of its record it is found as long as
        the retrieval that returned it is in the log, for the same caller.

        `version` is the version label in its payload; None for the newest version that is part of the current truth,
        else the newest. With `at`, the plan is shown as it was at that past instant, which errors call `name`. With
        `group`, the steps of that group are drawn. A plan that the caller may not read in full is skipped. Postgres
        answers, so every committed write is seen; `at_least_sequence` is checked only. Raises InvalidInput for an id
        that cannot be stored or is that of a readable record of another type, a future instant, an unknown group, or a
        sequence that is not one of this database.
        """
        trust.require(Access.READ)
        check_json(id_, path=["id"])
        check_json(version, path=["version"])
        caller = await self._directory.resolve(trust)
        now = self._clock.now()
        instant = past_instant(at, now=now, name=name) if at is not None else None
        if instant is not None:
            await settle(self._database, caller.tenant.id, instant)
        if _is_uuid(id_) and is_composed_id(UUID(id_)):
            id_ = await self._composed_name(caller, UUID(id_)) or id_
        async with self._database.reading(caller.bounds) as connection:
            if at_least_sequence is not None:
                await self._sequences.parse(connection, caller.tenant, at_least_sequence, path=["atLeastSequence"])
            past = Past(connection, self._directory, caller)
            found = await self._plans(Reader(connection, self._directory, caller, now), past, id_, instant)
            record = next((one for one in found if version in (None, (one.payload or {})["version"])), None)
            if record is None and instant is None and version is None:
                composed = await self._composed(connection, caller, id_)
                if composed is not None and composed.payload is not None:
                    return await asyncio.to_thread(draw_plan, composed, composed.payload, group=group)
            if record is None or record.payload is None:
                return None
            withdrawn_at = await past.withdrawn_at(record, at=instant or now)
        # In a thread, because a plan may have thousands of steps.
        return await asyncio.to_thread(draw_plan, record, record.payload, valid_to=withdrawn_at, group=group)

    async def plan_difference(self, trust: Trust, plan_id: str, before: str, after: str) -> PlanDifference | None:
        """Return what changed from version `before` of a plan to version `after`, given by their labels.

        Both are of one scope and sensitivity; where several plans have this name, the newest that has both versions is
        taken. None where the caller may not read two such versions in full. Raises InvalidInput for a text that cannot
        be stored, or for the id of a readable record of another type.
        """
        trust.require(Access.READ)
        for name, value in (("planId", plan_id), ("from", before), ("to", after)):
            check_json(value, path=[name])
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            found = await self._plans(reader, Past(connection, self._directory, caller), plan_id, None, name="planId")
        for new in found:
            for old in found:
                labels = [(one.payload or {})["version"] for one in (old, new)]
                if labels == [before, after] and (old.scope, old.sensitivity) == (new.scope, new.sensitivity):
                    return await asyncio.to_thread(difference_of, old, new)
        return None

    async def _plans(
        self, reader: Reader, past: Past, id_: str, at: datetime | None, *, name: str = "id"
    ) -> list[MemoryRecord]:
        """Return the readable plans with a `plan_id` or record id: the current ones first, each group newest first.

        Raises InvalidInput, whose path is the argument `name`, for a readable record that is no plan.
        """
        found: Sequence[MemoryRecord] = await reader.by_handle(
            [handle_key(reader.caller.tenant, MemoryType.PLAN_GRAPH, id_)], at=at
        )
        if not found and _is_uuid(id_):
            found = list((await reader.records([UUID(id_)])).values())
        if at is not None:
            moments = [Moment(record.id, at) for record in found]
            known = await past.records(moments)
            found = [known[moment] for moment in moments if moment in known]
        readable = [record for record in found if record.payload is not None]
        plans = [record for record in readable if record.type is MemoryType.PLAN_GRAPH]
        if readable and not plans:
            raise InvalidInput(
                f"{name}: {shown(id_)} is a record of type {readable[0].type.label}, not a plan; give the id of a"
                " PLAN_GRAPH record, or its plan_id",
                path=[name],
            )
        current = (RecordState.ACTIVE, RecordState.CONTESTED)
        return sorted(plans, key=lambda record: record.state not in current)

    async def _composed_name(self, caller: Caller, id_: UUID) -> str | None:
        """Return the `plan_id` of a plan that was composed for the caller, by the id of its record.

        An answer that another process has just given is waited for, until it is in the log.
        """
        await self._log.write_composed(id_)
        deadline = time.monotonic() + LOGGED_S
        while True:
            async with self._database.reading(caller.bounds) as connection:
                found = await find_composed(connection, caller, id_)
            if found is not None or time.monotonic() >= deadline:
                return found
            await asyncio.sleep(POLL_S)

    async def _composed(self, connection: Connection, caller: Caller, id_: str) -> MemoryRecord | None:
        """Return a composed plan by its `plan_id`; None where a part is not readable."""
        named = parts_named(id_)
        if named is None:
            return None
        reader = Reader(connection, self._directory, caller, self._clock.now())
        parts = parts_of(named, await reader.records([part for part, _ in named]))
        if not parts:
            return None
        return composed_record(caller.tenant, parts, confidence=min(part.record.confidence for part in parts))

    async def relations(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, list[Relation]]:
        """Return the visible relations of each record, at most MAX_RELATIONS, greatest weight first.

        Every id is a key; the list is empty for a record without a visible relation.
        """
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            return await reader.relations_of(ids, limit=MAX_RELATIONS)

    async def relation_pages(
        self, trust: Trust, ids: Collection[UUID], *, first: int, after: str | None
    ) -> dict[UUID, RelationPage]:
        """Return a page of the visible relations of each record, heaviest first, keyed by record.

        `after` is the `end_cursor` of the page before. Raises InvalidInput for an invalid `first` or `after`.
        """
        weight, above = _relation_place(first, after)
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            found = await reader.list_relations(ids, first=first + 1, weight=weight, after=above)
        return {id_: _relation_page(relations, first) for id_, relations in found.items()}

    async def past_relation_pages(
        self, trust: Trust, moments: Collection[Moment], *, first: int, after: str | None
    ) -> dict[Moment, RelationPage]:
        """Return the same as of the instant of each moment; see `past_relations`."""
        weight, above = _relation_place(first, after)
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            past = Past(connection, self._directory, caller)
            found = await past.list_relations(moments, first=first + 1, weight=weight, after=above)
        return {moment: _relation_page(relations, first) for moment, relations in found.items()}

    async def named(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        """Return the records that relations and sources name, as far as they are visible to the caller, by id."""
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await Reader(connection, self._directory, caller, self._clock.now()).records(ids)

    async def named_then(self, trust: Trust, moments: Collection[Moment]) -> dict[Moment, MemoryRecord]:
        """Return the records that relations and sources named at past instants, by moment; see `past_relations`."""
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await Past(connection, self._directory, caller).records(moments)

    async def past_relations(self, trust: Trust, moments: Collection[Moment]) -> dict[Moment, list[Relation]]:
        """Return the relations that records had at past instants, at most MAX_RELATIONS each, greatest weight first.

        Ask only for instants as of which `record` or a retrieval has been answered: these have waited until no
        transaction can still write at the instant, and this does not wait.
        """
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await Past(connection, self._directory, caller).relations_of(moments, limit=MAX_RELATIONS)

    async def past_payloads(
        self, trust: Trust, records: Collection[tuple[MemoryRecord, datetime]]
    ) -> dict[Moment, dict[str, Any]]:
        """Return the payloads of the threads' episodes among `records` as of the instant given with each.

        Each has at most LISTED_EVENTS events. Other records are left out.
        """
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await Past(connection, self._directory, caller).assemble_episodes(records, most=LISTED_EVENTS)

    async def audit(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, list[AuditEntry]]:
        """Return the audit entries, oldest first, of the records fully visible to the caller; others are left out."""
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            full = [id_ for id_, record in (await reader.records(ids)).items() if not record.redacted]
            return dict(await fetch_audit(connection, caller, full))

    async def audit_log(self, trust: Trust, id_: UUID, *, first: int = 50, after: str | None = None) -> AuditPage:
        """Return a page of the audit entries of a record, oldest first; also of one that was pruned, deleted or erased.

        A removed record is judged by the scope and sensitivity that it had. The page is empty if the record never
        existed, or is or was not fully visible to the caller. `after` is the `end_cursor` of the previous page. Raises
        InvalidInput for an invalid `first` or `after`.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        number = decode_version(after) if after is not None else 0
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            found: Sequence[AuditEntry] = ()
            if await self._may_read_audit(connection, caller, id_):
                entries = await fetch_audit(connection, caller, [id_], after=number, limit=first + 1)
                found = entries.get(id_, ())
        shown = tuple(found[:first])
        return AuditPage(
            entries=shown,
            end_cursor=encode_version(shown[-1].seq) if shown else None,
            has_next=len(found) > first,
        )

    async def _may_read_audit(self, connection: Connection, caller: Caller, id_: UUID) -> bool:
        record = (await Reader(connection, self._directory, caller, self._clock.now()).records([id_])).get(id_)
        if record is not None:
            return not record.redacted
        tombstone = (await find_tombstones(connection, caller.tenant, [id_])).get(id_)
        if tombstone is None:
            return False
        scope = (await self._directory.scope_names([tombstone.scope]))[tombstone.scope]
        return caller.trust.visibility(scope=scope, sensitivity=tombstone.sensitivity) is Visibility.FULL


def _relation_place(first: int, after: str | None) -> tuple[float, UUID]:
    check_between("first", first, 1, MAX_PAGE)
    if after is None:
        return 1.0, UUID(int=0)  # no weight is above 1, and no relation has this id
    cursor = ListCursor.decode(after, "relations")
    if not isinstance(cursor.value, float):
        raise InvalidInput("after: not a cursor; give `pageInfo.endCursor` of the previous page", path=["after"])
    return cursor.value, cursor.id


def _relation_page(relations: Sequence[Relation], first: int) -> RelationPage:
    page = tuple(relations[:first])
    end = None
    if page:
        cursor = ListCursor(mark="relations", id=page[-1].id, value=page[-1].weight, at=page[-1].created_at)
        end = cursor.encode()
    return RelationPage(relations=page, end_cursor=end, has_next=len(relations) > first)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
