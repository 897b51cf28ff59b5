"""What a front end shows around a record or a name: slots, threads, disputes, versions, records by their handles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.records.cursors import MAX_PAGE, ListCursor
from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import Clock, as_utc
from stratagraph.store.model.enums import Access, MemoryType, RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import MAX_NAME
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.episodes import thread_key
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.listing import fetch_slot
from stratagraph.store.records.past import Moment, Past
from stratagraph.store.records.pictures import (
    EPISODES,
    GREATEST_ID,
    ThreadEpisode,
    find_versions,
    list_contested,
    list_entities,
    list_episodes,
    list_events,
    list_parties,
    list_slot,
)
from stratagraph.store.records.procedures import version_key
from stratagraph.store.records.reading import Reader

SLOT_LOOKED = 1_000  # facts of a slot that are looked at for what it had at a past instant
MAX_VERSIONS = 100  # of a plan, the newest
DISPUTES_LOOKED = 400  # contested records that are looked at for one page of disputes
_CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)
_LEAST_ID = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Records of one answer, as of `as_of`, None for the present."""

    records: tuple[MemoryRecord, ...]
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPage:
    """A page of records, as of `as_of`, None for the present, and the cursor after which the next page begins."""

    records: tuple[MemoryRecord, ...]
    end_cursor: str | None
    has_next: bool
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadState:
    """What is known of a thread at once: its working state, if it has one that the caller may read."""

    id: str
    working: MemoryRecord | None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """Records that contest each other, directly or over others, the newest first; `since` is the first contest."""

    parties: tuple[MemoryRecord, ...]
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputePage:
    """A page of disputes, and the cursor after which the next page begins."""

    disputes: tuple[Dispute, ...]
    end_cursor: str | None
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """The name by which a record was captured: that of a skill, a plan, a thread's working state, or an event's ref.

    `version` is the label of a version of a skill or plan; None for the newest current one, else the newest.
    """

    type: MemoryType
    name: str
    version: str | None = None
    path: tuple[str, ...] = ("handle",)


class Pictures:
    """The service that reads such pictures, each as far as it is visible to the caller.

    Each method raises InvalidInput for what is out of bounds, for a text that cannot be stored, and for an `as_of` in
    the future. With `as_of`, records are shown as of that past instant, those that are fully visible to the caller both
    by their scope and sensitivity of then and by those of now.
    """

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def slot_history(
        self, trust: Trust, id_: UUID, *, first: int = MAX_PAGE, as_of: datetime | None = None
    ) -> Shown:
        """Return the facts that hold or held the slot of a fact, in the order of their validity; the last `first`.

        Empty if the caller may not read the record in full. With `as_of`, the last SLOT_LOOKED facts of the slot are
        looked at. Raises InvalidInput for a record that the caller may read in full and that is no fact.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        caller, instant = await self._asked(trust, as_of)
        async with self._database.reading(caller.bounds) as connection:
            slot = await fetch_slot(connection, caller, id_)
            if slot is None:
                await self._refuse_other(connection, caller, id_)
                return Shown(records=())
            found: list[MemoryRecord] = []
            below = GREATEST_ID
            for _ in range(1 if instant is None else SLOT_LOOKED // MAX_PAGE):
                ids = await list_slot(connection, caller, slot, most=MAX_PAGE, below=below)
                found += await self._shown(connection, caller, ids, instant)
                if len(found) >= first or len(ids) < MAX_PAGE:
                    break
                below = ids[-1]
        return Shown(records=tuple(sorted(found[:first], key=_begins)), as_of=instant)

    async def _refuse_other(self, connection: Connection, caller: Caller, id_: UUID) -> None:
        """Raise InvalidInput for a record that the caller may read in full."""
        reader = Reader(connection, self._directory, caller, self._clock.now())
        record = (await reader.records([id_])).get(id_)
        if record is not None and not record.redacted:
            raise InvalidInput(
                f"id: {id_} is a record of type {record.type.label}, not a fact; give the id of a SEMANTIC record",
                path=["id"],
            )

    async def plan_versions(self, trust: Trust, plan_id: str, *, as_of: datetime | None = None) -> Shown:
        """Return the versions of a plan that the caller may read in full, the newest first, at most MAX_VERSIONS."""
        trust.require(Access.READ)
        check_json(plan_id, path=["planId"])
        caller, instant = await self._asked(trust, as_of)
        handle = handle_key(caller.tenant, MemoryType.PLAN_GRAPH, plan_id)
        async with self._database.reading(caller.bounds) as connection:
            ids = await find_versions(connection, caller, handle, version=None, at=instant, most=MAX_VERSIONS)
            records = await self._shown(connection, caller, ids, instant)
        return Shown(records=tuple(records), as_of=instant)

    async def by_handle(
        self, trust: Trust, handle: Handle, *, as_of: datetime | None = None, valid_at: datetime | None = None
    ) -> Shown:
        """Return the record with a handle: the newest current one, else the newest; none if the caller may read none.

        `valid_at` must be an instant; no record with a handle is a fact, so it leaves none out.
        """
        trust.require(Access.READ)
        for text in (handle.name, handle.version):
            check_json(text, path=list(handle.path))
        if valid_at is not None:
            as_utc(valid_at, path=["validAt"])
        caller, instant = await self._asked(trust, as_of)
        key = handle_key(caller.tenant, handle.type, handle.name)
        version = version_key(caller.tenant, key, handle.version) if handle.version is not None else None
        async with self._database.reading(caller.bounds) as connection:
            ids = await find_versions(connection, caller, key, version=version, at=instant, most=MAX_VERSIONS)
            if not ids and version is not None:  # stored by a release that kept no keys of versions
                ids = await find_versions(connection, caller, key, version=None, at=instant, most=MAX_VERSIONS)
            records = await self._shown(connection, caller, ids, instant)
        if handle.version is not None:
            records = [one for one in records if (one.payload or {}).get("version") == handle.version]
        best = sorted(records, key=lambda record: record.state not in _CURRENT)[:1]
        return Shown(records=tuple(best), as_of=instant)

    async def thread(self, trust: Trust, id_: str, *, as_of: datetime | None = None) -> ThreadState | None:
        """Return a thread with its working state; None where the caller may read neither that nor an episode."""
        trust.require(Access.READ)
        _check_thread(id_)
        caller, instant = await self._asked(trust, as_of)
        key = handle_key(caller.tenant, MemoryType.WORKING, id_)
        async with self._database.reading(caller.bounds) as connection:
            ids = await find_versions(connection, caller, key, version=None, at=instant, most=MAX_PAGE)
            working = [
                record for record in await self._shown(connection, caller, ids, instant) if record.state in _CURRENT
            ]
            if not working and not await list_episodes(
                connection, caller, thread_key(caller.tenant, id_), most=1, at=instant
            ):
                return None
        latest = max(working, key=lambda record: (record.updated_at, record.id.int), default=None)
        return ThreadState(id=id_, working=latest, as_of=instant)

    async def episodes(
        self, trust: Trust, thread: str, *, first: int, after: str | None, as_of: datetime | None
    ) -> ShownPage:
        """Return a page of the episodes of a thread that the caller may read in full, the last opened first."""
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        caller, instant = await self._asked(trust, as_of)
        mark = f"episodes {thread_key(caller.tenant, thread).hex()[:16]}"
        before = None
        if after is not None:
            cursor = ListCursor.decode(after, mark)
            before = ThreadEpisode(id=cursor.id, opened_at=_opened_at(cursor.value))
        async with self._database.reading(caller.bounds) as connection:
            found = await list_episodes(
                connection, caller, thread_key(caller.tenant, thread), most=first + 1, at=instant, before=before
            )
            page = found[:first]
            records = await self._shown(connection, caller, [one.id for one in page], instant)
        end = (page[-1].id, page[-1].opened_at) if page else None
        return self._page(records, mark, end, has_next=len(found) > first, as_of=instant)

    async def turns(
        self, trust: Trust, thread: str, *, first: int, after: str | None, as_of: datetime | None
    ) -> ShownPage:
        """Return a page of the events of a thread that the caller may read in full.

        They are in the order of their episodes, the last opened first, and within one the last that arrived first.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        caller, instant = await self._asked(trust, as_of)
        key = thread_key(caller.tenant, thread)
        mark = f"turns {key.hex()[:16]}"
        before, position = None, 2**31 - 1
        if after is not None:
            cursor = ListCursor.decode(after, mark)
            before = cursor.id, *_event_position(cursor.value)
        async with self._database.reading(caller.bounds) as connection:
            episodes: list[ThreadEpisode] = []
            if before is not None:
                episodes, position = [ThreadEpisode(id=before[0], opened_at=before[1])], before[2]
            last = episodes[0] if episodes else None
            more = await list_episodes(connection, caller, key, most=EPISODES, at=instant, before=last)
            episodes += more
            found = await list_events(connection, caller, episodes, most=first + 1, at=instant, before=position)
            page = found[:first]
            records = await self._shown(connection, caller, [one.record for one in page], instant)
        has_next = len(found) > first or len(more) == EPISODES
        end: tuple[UUID, str] | None
        if len(found) > first or (page and not has_next):
            end = page[-1].episode, f"{page[-1].opened_at.isoformat()}|{page[-1].position}"
        else:
            end = (more[-1].id, f"{more[-1].opened_at.isoformat()}|0") if has_next else None
        return self._page(records, mark, end, has_next=has_next, as_of=instant)

    async def disputes(self, trust: Trust, *, first: int, after: str | None) -> DisputePage:
        """Return a page of the open disputes, each once: the one with the newest contested record first.

        Of a dispute, the caller sees the parties that it may see, and those are together that records connect which it
        may read in full.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        caller = await self._directory.resolve(trust)
        below = ListCursor.decode(after, "disputes").id if after is not None else GREATEST_ID
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            chosen: list[tuple[UUID, list[UUID], datetime | None]] = []
            looked, is_whole = 0, False
            while len(chosen) <= first and looked < DISPUTES_LOOKED and not is_whole:
                ids = await list_contested(connection, caller, below=below, most=MAX_PAGE)
                is_whole, looked = len(ids) < MAX_PAGE, looked + len(ids)
                parties = await list_parties(connection, caller, ids) if ids else {}
                for id_ in ids:
                    below = id_
                    of_one = parties[id_]
                    if all(party.id <= id_ for party in of_one if party.is_contested):
                        since = min((one.since for one in of_one if one.since is not None), default=None)
                        chosen.append((id_, [one.id for one in of_one], since))
                        if len(chosen) > first:
                            break
            records = await reader.records({id_ for _, ids, _ in chosen[:first] for id_ in ids})
        has_next = len(chosen) > first or not is_whole
        end = chosen[first - 1][0] if len(chosen) > first else below if below != GREATEST_ID else None
        return DisputePage(
            disputes=tuple(
                Dispute(parties=tuple(records[one] for one in sorted(ids, reverse=True) if one in records), since=since)
                for _, ids, since in chosen[:first]
            ),
            end_cursor=self._cursor("disputes", (end, None)) if end is not None else None,
            has_next=has_next,
        )

    async def entities(
        self, trust: Trust, name: str, *, scope: str | None, first: int, after: str | None, as_of: datetime | None
    ) -> ShownPage:
        """Return a page of the current entities with a name or alias, compared as captures compare them, oldest first.

        With `as_of`, of those that were current then and have the name now. Raises Forbidden for a scope that the
        credential does not cover.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        if len(name) > MAX_NAME:
            raise InvalidInput(
                f"name: {len(name)} characters; names have at most {MAX_NAME}, so give a shorter one", path=["name"]
            )
        check_json(name, path=["name"])
        check_json(scope, path=["scope"])
        caller, instant = await self._asked(trust if scope is None else trust.narrowed(scopes=[scope]), as_of)
        above = ListCursor.decode(after, "entities").id if after is not None else _LEAST_ID
        number = None
        if scope is not None:
            number = (await self._directory.scopes(caller.tenant, [scope], create=False)).get(scope)
            if number is None:
                return ShownPage(records=(), end_cursor=None, has_next=False, as_of=instant)
        async with self._database.reading(caller.bounds) as connection:
            ids = await list_entities(connection, caller, name, scope=number, above=above, at=instant, most=first + 1)
            page = ids[:first]
            records = await self._shown(connection, caller, page, instant)
        shown = [record for record in records if record.state in _CURRENT and not record.redacted]
        end = (page[-1], None) if page else None
        return self._page(shown, "entities", end, has_next=len(ids) > first, as_of=instant)

    async def _asked(self, trust: Trust, as_of: datetime | None) -> tuple[Caller, datetime | None]:
        """Return the caller, and the past instant once no transaction can still write at it."""
        caller = await self._directory.resolve(trust)
        if as_of is None:
            return caller, None
        instant = past_instant(as_of, now=self._clock.now())
        await settle(self._database, caller.tenant.id, instant)
        return caller, instant

    async def _shown(
        self, connection: Connection, caller: Caller, ids: Sequence[UUID], instant: datetime | None
    ) -> list[MemoryRecord]:
        """Return those of the records that the caller may see, in their order."""
        if instant is None:
            found = await Reader(connection, self._directory, caller, self._clock.now()).records(ids)
            return [found[id_] for id_ in ids if id_ in found]
        moments = [Moment(id_, instant) for id_ in ids]
        then = await Past(connection, self._directory, caller).records(moments)
        return [then[moment] for moment in moments if moment in then]

    def _page(
        self,
        records: Sequence[MemoryRecord],
        mark: str,
        end: tuple[UUID, datetime | str | None] | None,
        *,
        has_next: bool,
        as_of: datetime | None,
    ) -> ShownPage:
        cursor = self._cursor(mark, end) if end is not None else None
        return ShownPage(records=tuple(records), end_cursor=cursor, has_next=has_next, as_of=as_of)

    def _cursor(self, mark: str, end: tuple[UUID, datetime | str | None]) -> str:
        return ListCursor(mark=mark, id=end[0], value=end[1], at=self._clock.now()).encode()


def _begins(record: MemoryRecord) -> tuple[datetime, int]:
    """Return what orders facts by their validity: since when each held, as it says or else by its date."""
    return record.valid_from or record.occurred_at, record.id.int


def _check_thread(id_: str) -> None:
    if len(id_) > MAX_NAME:
        raise InvalidInput(f"id: {len(id_)} characters; give at most {MAX_NAME}", path=["id"])
    check_json(id_, path=["id"])


def _opened_at(value: object) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidInput("after: not a cursor; give `pageInfo.endCursor` of the previous page", path=["after"])
    return value


def _event_position(value: object) -> tuple[datetime, int]:
    """Return when the episode of an event was opened, and the event's position, of a cursor."""
    try:
        at, _, position = str(value).partition("|")
        opened, number = datetime.fromisoformat(at), int(position)
        if opened.tzinfo is not None and 0 <= number < 2**31:
            return opened, number
    except ValueError:
        pass
    raise InvalidInput("after: not a cursor; give `pageInfo.endCursor` of the previous page", path=["after"])
