"""Lists of records: the filter and the order as callers give them, pages and their cursors, and counts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.records.cursors import MAX_PAGE, ListCursor
from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import RESOLUTION, Clock, as_utc
from stratagraph.store.model.enums import Access, MemoryType, RecordState
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.payloads.base import MAX_NAME
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.entities import NAMESAKES, find_entities_by_name
from stratagraph.store.records.episodes import thread_key
from stratagraph.store.records.fact_keys import literal_key, predicate_key
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.listing import (
    Listed,
    ListedRecord,
    ListOrder,
    Position,
    Range,
    RecordLister,
    Span,
    Subject,
    Thread,
    Wanted,
    fetch_slot,
    in_order,
)
from stratagraph.store.records.past import Moment, Past
from stratagraph.store.records.reading import Reader

MAX_IDS = 1_000  # ids that a filter may give
MAX_LISTED = 100  # scopes, tags and other texts that a filter may give in one list
LOOKED_THEN = 1_000  # past records that are compared with a filter for one page
READ_THEN = 200  # past records that are read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Which records to list, as callers name them. None, and empty `types`, do not restrict the list.

    `subject` is the name, an alias or the id of an entity, or a text that is no entity. `slot_of` is the id of a fact.
    """

    types: Collection[MemoryType] = ()
    states: Collection[RecordState] | None = None
    scopes: Collection[str] | None = None
    any_tags: Collection[str] | None = None
    all_tags: Collection[str] | None = None
    ids: Collection[UUID] | None = None
    name_prefix: str | None = None
    source: str | None = None
    thread: str | None = None
    slot_of: UUID | None = None
    subject: str | None = None
    predicate: str | None = None
    created: Span = field(default_factory=Span)
    updated: Span = field(default_factory=Span)
    occurred: Span = field(default_factory=Span)
    valid_at: datetime | None = None
    confidence: Range = field(default_factory=Range)
    salience: Range = field(default_factory=Range)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    """A page of a list of records, and the cursor after which the next one begins.

    A page may have fewer records than asked for, or none, although more follow: then `has_next` is true. With `is_cut`,
    the list has the newest records only, because no more are put in its order.
    """

    records: tuple[MemoryRecord, ...]
    end_cursor: str | None
    has_next: bool
    is_cut: bool = False
    as_of: datetime | None = None


EVERYTHING = RecordFilter()


class RecordLists:
    """The service that lists records, each as far as it is visible to the caller."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def page(
        self,
        trust: Trust,
        wanted: RecordFilter = EVERYTHING,
        *,
        order: ListOrder = ListOrder.CREATED_DESC,
        first: int = 50,
        after: str | None = None,
        as_of: datetime | None = None,
    ) -> RecordPage:
        """Return a page of the records visible to the caller, fully or redacted.

        `after` is the `end_cursor` of the page before, of the same filter and order. With `as_of`, records are listed
        as they were at that past instant, those that are fully visible to the caller both by their scope and
        sensitivity of then and by those of now. Raises InvalidInput for what is out of bounds, and for a text that
        cannot be stored.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        wanted = _checked(wanted)
        caller = await self._directory.resolve(trust)
        now = self._clock.now()
        instant = past_instant(as_of, now=now) if as_of is not None else None
        mark = _mark(wanted, order, instant)
        cursor = ListCursor.decode(after, mark) if after is not None else None
        begun = min(now, cursor.at) if cursor is not None else now
        position = Position(id=cursor.id, value=cursor.value) if cursor is not None else None
        _check_position(order, position)
        if instant is not None:
            await settle(self._database, caller.tenant.id, instant)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, now)
            lister = RecordLister(connection, caller, begun, reader.records)
            stored = await self._stored(connection, caller, wanted)
            if instant is not None:
                past = _PastList(Past(connection, self._directory, caller), lister, stored, wanted.scopes, instant)
                found = await past.page(order, first=first + 1, after=position)
                records = past.read
            else:
                found = await lister.page(stored, order, first=first + 1, after=position)
                records = await reader.records([one.id for one in found.records[:first]])
        page = found.records[:first]
        has_next = len(found.records) > first or found.ended is not None
        end = page[-1].position(order) if page and (len(found.records) > first or found.ended is None) else found.ended
        return RecordPage(
            records=tuple(records[one.id] for one in page if one.id in records),
            end_cursor=ListCursor(mark=mark, id=end.id, value=end.value, at=begun).encode() if end else None,
            has_next=has_next,
            is_cut=found.is_cut,
            as_of=instant,
        )

    async def count(
        self, trust: Trust, wanted: RecordFilter = EVERYTHING, *, as_of: datetime | None = None
    ) -> int | None:
        """Return the number of records that `page` lists; None where too many would have to be compared."""
        trust.require(Access.READ)
        wanted = _checked(wanted)
        caller = await self._directory.resolve(trust)
        now = self._clock.now()
        instant = past_instant(as_of, now=now) if as_of is not None else None
        if instant is not None:
            await settle(self._database, caller.tenant.id, instant)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, now)
            lister = RecordLister(connection, caller, now, reader.records)
            stored = await self._stored(connection, caller, wanted)
            if instant is None:
                return await lister.count(stored)
            past = Past(connection, self._directory, caller)
            return await _PastList(past, lister, stored, wanted.scopes, instant).count()

    async def _stored(self, connection: Connection, caller: Caller, wanted: RecordFilter) -> Wanted:
        """Return the filter with names as the store has them."""
        tenant = caller.tenant
        scopes = None
        if wanted.scopes is not None:
            scopes = tuple(sorted((await self._directory.scopes(tenant, wanted.scopes, create=False)).values()))
        thread = slot = subject = predicate = None
        ids = wanted.ids
        if wanted.thread is not None:
            handle = handle_key(tenant, MemoryType.WORKING, wanted.thread)
            thread = Thread(key=thread_key(tenant, wanted.thread), handle=handle)
        if wanted.slot_of is not None:
            slot = await fetch_slot(connection, caller, wanted.slot_of)
            ids = () if slot is None else ids
        if wanted.subject is not None:
            subject = await _subject(connection, caller, wanted.subject)
        if wanted.predicate is not None:
            predicate = predicate_key(tenant, wanted.predicate)
        return Wanted(
            types=tuple(wanted.types),
            states=_tuple(wanted.states),
            scopes=scopes,
            any_tags=_tuple(wanted.any_tags),
            all_tags=_tuple(wanted.all_tags),
            ids=_tuple(ids),
            name_prefix=wanted.name_prefix,
            source=wanted.source,
            thread=thread,
            slot=slot,
            subject=subject,
            predicate=predicate,
            created=wanted.created,
            updated=wanted.updated,
            occurred=wanted.occurred,
            valid_at=wanted.valid_at,
            confidence=wanted.confidence,
            salience=wanted.salience,
        )


class _PastList:
    """A list of records as they were at a past instant. Those that were read are in `read`."""

    def __init__(
        self, past: Past, lister: RecordLister, wanted: Wanted, scopes: Collection[str] | None, at: datetime
    ) -> None:
        self._past = past
        self._lister = lister
        self._wanted = wanted
        self._scopes = list(scopes) if scopes is not None else None
        self._at = at
        created = wanted.created
        end = at + RESOLUTION if created.end is None else min(created.end, at + RESOLUTION)
        self._then = replace(wanted.then(), created=replace(created, end=end))  # what came later is not looked at
        self._whole: Listed | None = None
        self.read: dict[UUID, MemoryRecord] = {}

    async def page(self, order: ListOrder, *, first: int, after: Position | None) -> Listed:
        """Return `first` records, or fewer where `Listed.ended` tells so. By CREATED they are read page by page.

        In any other order, which may have been another then, the newest LOOKED_THEN are put in order.
        """
        by_id = order in (ListOrder.CREATED_DESC, ListOrder.CREATED_ASC)
        if not by_id or await self._lister.named(self._then) is not None:
            whole = await self._all()
            return replace(whole, records=in_order(whole.records, order, after), ended=None)
        found: list[ListedRecord] = []
        looked, position = 0, after
        while looked < LOOKED_THEN:
            listed = await self._lister.page(self._then, order, first=READ_THEN, after=position)
            found += await self._as_they_were(listed.records)
            looked += len(listed.records)
            position = listed.ended
            if position is None:
                break
            if len(found) >= first:
                return Listed(records=tuple(found[:first]), ended=found[first - 1].position(order))
        return Listed(records=tuple(found), ended=position)

    async def count(self) -> int | None:
        """Return the number of records that fitted; None where more than LOOKED_THEN would have to be read."""
        whole = await self._all()
        return len(whole.records) if not whole.is_cut else None

    async def _all(self) -> Listed:
        if self._whole is None:
            wanted, order = self._then, ListOrder.CREATED_DESC
            named = await self._lister.named(wanted)
            is_cut = False
            if named is None:
                listed = await self._lister.page(wanted, order, first=LOOKED_THEN + 1, after=None)
                is_cut, named = listed.ended is not None, listed.records
            newest = in_order(named, order, None)
            self._whole = Listed(
                records=tuple(await self._as_they_were(newest[:LOOKED_THEN])),
                ended=None,
                is_cut=is_cut or len(newest) > LOOKED_THEN,
            )
        return self._whole

    async def _as_they_were(self, listed: Sequence[ListedRecord]) -> list[ListedRecord]:
        """Return those of the records that existed and fitted then, with what orders them as it was."""
        fitting = []
        for start in range(0, len(listed), READ_THEN):
            moments = [Moment(one.id, self._at) for one in listed[start : start + READ_THEN]]
            found = await self._past.records(moments)
            for moment in moments:
                record = found.get(moment)
                if record is not None and self._wanted.fits_then(record, self._scopes):
                    self.read[record.id] = record
                    fitting.append(ListedRecord.of(record))
        return fitting


async def _subject(connection: Connection, caller: Caller, name: str) -> Subject:
    """Return what a name may stand for as the subject of facts."""
    try:
        entities = [UUID(name)]
    except ValueError:
        found = await find_entities_by_name(connection, caller, [name], limit=NAMESAKES)
        entities = [id_ for id_, _ in found]
    keys = tuple(literal_key(caller.tenant, namespace, name) for namespace in ("literal", "ambiguous"))
    return Subject(entities=tuple(dict.fromkeys(entities)), keys=keys)


def _checked(wanted: RecordFilter) -> RecordFilter:
    """Return the filter with instants in UTC and the predicate as facts spell it. Raises InvalidInput."""
    for name, values in (("scopes", wanted.scopes), ("tags", wanted.any_tags), ("tags", wanted.all_tags)):
        if values is not None:
            check_texts(values, ["filter", name])
    if wanted.ids is not None:
        _check_length(wanted.ids, MAX_IDS, ["filter", "ids"])
    texts = {
        "namePrefix": wanted.name_prefix,
        "source": wanted.source,
        "threadId": wanted.thread,
        "subject": wanted.subject,
        "predicate": wanted.predicate,
    }
    for name, value in texts.items():
        if value is None:
            continue
        path = ["filter", name]
        if len(value) > MAX_NAME:
            raise InvalidInput(f"filter.{name}: {len(value)} characters; give at most {MAX_NAME}", path=path)
        check_json(value, path=path)
    for name, range_ in (("confidence", wanted.confidence), ("salience", wanted.salience)):
        if range_.least is not None and range_.most is not None and range_.least > range_.most:
            raise InvalidInput(
                f"filter.{name}: the least, {range_.least}, is above the most, {range_.most}; exchange them",
                path=["filter", name],
            )
    predicate = wanted.predicate
    if predicate is not None:
        try:
            predicate = fact_predicate(predicate)
        except ValueError as error:
            raise InvalidInput(
                f"filter.predicate: {shown(predicate)} is not a predicate: it {error}", path=["filter", "predicate"]
            ) from error
    valid_at = as_utc(wanted.valid_at, path=["filter", "validAt"]) if wanted.valid_at is not None else None
    return replace(
        wanted,
        predicate=predicate,
        valid_at=valid_at,
        created=_span(wanted.created, "created"),
        updated=_span(wanted.updated, "updated"),
        occurred=_span(wanted.occurred, "occurred"),
    )


def check_texts(values: Collection[str], path: list[str]) -> None:
    """Raise InvalidInput for more than MAX_LISTED texts, and for one that cannot be stored."""
    _check_length(values, MAX_LISTED, path)
    check_json(list(values), path=path)


def _check_length(values: Collection[Any], most: int, path: list[str]) -> None:
    if len(values) > most:
        raise InvalidInput(f"{'.'.join(path)}: {len(values)} values; give at most {most} in one request", path=path)


def _span(span: Span, name: str) -> Span:
    start, end = (
        as_utc(one, path=["filter", name, part]) if one is not None else None
        for one, part in ((span.start, "from"), (span.end, "before"))
    )
    if start is not None and end is not None and start > end:
        raise InvalidInput(f"filter.{name}: begins after it ends; exchange `from` and `before`", path=["filter", name])
    return Span(start=start, end=end)


def _check_position(order: ListOrder, position: Position | None) -> None:
    """Raise InvalidInput for a position that no list of this order has, as in a cursor that was changed."""
    if position is None:
        return
    expected: type | None = None
    match order:
        case ListOrder.UPDATED_DESC | ListOrder.UPDATED_ASC | ListOrder.OCCURRED_DESC | ListOrder.OCCURRED_ASC:
            expected = datetime
        case ListOrder.SALIENCE_DESC | ListOrder.SALIENCE_ASC:
            expected = float
        case ListOrder.NAME_DESC | ListOrder.NAME_ASC:
            if position.value is None or isinstance(position.value, str):
                return
        case _:
            if position.value is None:
                return
    if expected is None or not isinstance(position.value, expected):
        raise InvalidInput("after: not a cursor; give `pageInfo.endCursor` of the previous page", path=["after"])


def _mark(wanted: RecordFilter, order: ListOrder, as_of: datetime | None) -> str:
    """Return a digest of a list's filter and order, by which a cursor of another list is refused."""
    plain = orjson.dumps([_plain(wanted), order.name, as_of], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(plain).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Collection) and not isinstance(value, str):
        return sorted((_plain(one) for one in value), key=str)
    return value


def _tuple(values: Collection[Any] | None) -> tuple[Any, ...] | None:
    return tuple(values) if values is not None else None


def parsed_ids(ids: Collection[str], path: list[str]) -> tuple[UUID, ...]:
    """Return ids of records, each once. Raises InvalidInput for one that is no UUID."""
    return tuple(dict.fromkeys(parse_id(id_, path=path) for id_ in ids))
