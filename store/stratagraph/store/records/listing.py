"""Lists of the records that a caller may see: by a filter, in an order, page by page.

A page is read along the index of its order, over a bounded number of records that the caller may see; records that it
may not see count for nothing, so they move neither a page nor its end. A page may therefore be short although more
follow. Where the filter itself names few records (by id, thread, subject or slot), these are read instead, and put in
order. By salience and by name, which no index has, the newest SORTED that fit are put in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.queries import Row, fetch

WALKED = 50_000  # entries of an index for one page, of records that the caller may see
LOOKED = 2_000  # records that are compared with a filter for one page
NAMED = 2_000  # records that a filter names at most so that they are read instead
SORTED = 5_000  # records that are put in order by salience or by name, the newest
SORT_WALKS = 4  # times that many records are compared with a filter to find those
COUNTED = 10_000  # records that are compared with a filter to count those that fit
OPENED = 100  # sealed records that are opened at once
_EARLIEST, _LATEST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
_LEAST_ID, _GREATEST_ID = UUID(int=0), UUID(int=2**128 - 1)
_WRITING = timedelta(days=1)  # the most by which an id is older than the instant of its write
_AHEAD = timedelta(hours=1)  # the most by which it is newer, because the clocks of servers differ


class ListOrder(Enum):
    """The orders of a list of records. Those of equal place are ordered by id, as by CREATED."""

    CREATED_DESC = "the newest first"
    CREATED_ASC = "the oldest first"
    UPDATED_DESC = "the last changed first"
    UPDATED_ASC = "the last changed last"
    OCCURRED_DESC = "the last that happened first"
    OCCURRED_ASC = "the last that happened last"
    SALIENCE_DESC = "the most salient first"
    SALIENCE_ASC = "the least salient first"
    NAME_ASC = "by name, ignoring case and accents; those without a name that is shown last"
    NAME_DESC = "by name backwards; those without a name that is shown first"

    @property
    def is_ascending(self) -> bool:
        return self.name.endswith("_ASC")

    @property
    def is_sorted(self) -> bool:
        """Whether no index has the order, so that the newest records are put in order."""
        return self.name.startswith(("SALIENCE", "NAME"))


_BY_CHANGE = (ListOrder.UPDATED_DESC, ListOrder.UPDATED_ASC)
_BY_OCCURRENCE = (ListOrder.OCCURRED_DESC, ListOrder.OCCURRED_ASC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Instants from `start`, which belongs to them, until before `end`; None is without bound."""

    start: datetime | None = None
    end: datetime | None = None

    def has(self, at: datetime) -> bool:
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers from `least` to `most`, both of which belong to them; None is without bound."""

    least: float | None = None
    most: float | None = None

    def has(self, value: float) -> bool:
        return (self.least is None or self.least <= value) and (self.most is None or value <= self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSlot:
    """The slot of a fact: the scope and sensitivity of its facts, and the key that they share."""

    scope: int
    sensitivity: int
    key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread, by the key that its episodes have and the handle of its working state."""

    key: bytes
    handle: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What facts are about: entities, or texts that are no entity, by their keys."""

    entities: tuple[UUID, ...] = ()
    keys: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records are listed, with all names as the store has them. None, or empty `types`, does not restrict.

    `scopes` are numbers. A redacted record never fits what it does not show: state, name, source, thread, slot, and
    what a fact is about. Its validity is not compared with `valid_at`. With `is_past`, it never fits.
    """

    types: tuple[MemoryType, ...] = ()
    states: tuple[RecordState, ...] | None = None
    scopes: tuple[int, ...] | None = None
    any_tags: tuple[str, ...] | None = None
    all_tags: tuple[str, ...] | None = None
    ids: tuple[UUID, ...] | None = None
    name_prefix: str | None = None
    source: str | None = None
    thread: Thread | None = None
    slot: FactSlot | None = None
    subject: Subject | None = None
    predicate: bytes | None = None
    created: Span = field(default_factory=Span)
    updated: Span = field(default_factory=Span)
    occurred: Span = field(default_factory=Span)
    valid_at: datetime | None = None
    confidence: Range = field(default_factory=Range)
    salience: Range = field(default_factory=Range)
    is_past: bool = False

    @property
    def is_of_full_records(self) -> bool:
        """Whether redacted records never fit."""
        if self.is_past:
            return True
        asked = (self.states, self.name_prefix, self.source, self.thread, self.slot, self.subject, self.predicate)
        return any(one is not None for one in asked)

    @property
    def reads_content(self) -> bool:
        """Whether it looks at content, which may be sealed."""
        return self.name_prefix is not None or self.source is not None

    @property
    def is_restricted(self) -> bool:
        """Whether it leaves out records that are walked over."""
        return bool(self.types) or self.states is not None

    @property
    def is_plain(self) -> bool:
        """Whether what an index has of a record tells whether it fits."""
        return self == Wanted(types=self.types, scopes=self.scopes, states=self.states, is_past=self.is_past)

    def then(self) -> Wanted:
        """Return what of it can be told of a past record by the present one, which may have changed since."""
        return Wanted(
            types=self.types, scopes=self.scopes, ids=self.ids, thread=self.thread, slot=self.slot,
            subject=self.subject, predicate=self.predicate, created=self.created, is_past=True,
        )  # fmt: skip

    def fits_then(self, record: MemoryRecord, scopes: Sequence[str] | None) -> bool:
        """Return whether a past record fits; `scopes` are the names of `scopes`."""
        return (
            (self.states is None or record.state in self.states)
            and (scopes is None or record.scope in scopes)
            and (self.any_tags is None or not set(self.any_tags).isdisjoint(record.tags))
            and (self.all_tags is None or set(self.all_tags) <= set(record.tags))
            and self.updated.has(record.updated_at)
            and self.occurred.has(record.occurred_at)
            and self.confidence.has(record.confidence)
            and self.salience.has(record.salience)
            and self.fits_content(record)
            and (self.valid_at is None or _was_held(record, self.valid_at))
        )

    def fits_content(self, record: MemoryRecord) -> bool:
        """Return whether the content of a record fits; true where the filter does not look at content."""
        if self.name_prefix is not None and not _begins(record.name, self.name_prefix):
            return False
        if self.source is None:
            return True
        sources = (record.provenance or {}).get("sources", ())
        return any(self.source in (one.get("ref"), one.get("created_by")) for one in sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The place in a list after which a page begins: the id of a record, and the value that its order goes by.

    `value` is None where the order has no value but the id, and for a name that is not shown.
    """

    id: UUID
    value: datetime | float | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRecord:
    """A record of a list, with what orders it."""

    id: UUID
    occurred_at: datetime
    updated_at: datetime
    salience: float
    name: str | None = None
    is_sealed: bool = False

    def position(self, order: ListOrder) -> Position:
        match order:
            case ListOrder.CREATED_DESC | ListOrder.CREATED_ASC:
                return Position(id=self.id)
            case ListOrder.UPDATED_DESC | ListOrder.UPDATED_ASC:
                return Position(id=self.id, value=self.updated_at)
            case ListOrder.OCCURRED_DESC | ListOrder.OCCURRED_ASC:
                return Position(id=self.id, value=self.occurred_at)
            case ListOrder.SALIENCE_DESC | ListOrder.SALIENCE_ASC:
                return Position(id=self.id, value=self.salience)
            case ListOrder.NAME_DESC | ListOrder.NAME_ASC:
                return Position(id=self.id, value=normalised_name(self.name) if self.name is not None else None)

    @classmethod
    def of(cls, record: MemoryRecord) -> ListedRecord:
        return cls(
            id=record.id,
            occurred_at=record.occurred_at,
            updated_at=record.updated_at,
            salience=record.salience,
            name=record.name,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A part of a list in its order. `ended` is the place up to which it was read; None if that is its end.

    With `is_cut`, there are more records than are put in order.
    """

    records: tuple[ListedRecord, ...]
    ended: Position | None
    is_cut: bool = False


Open = Callable[[Sequence[UUID]], Any]  # returns records by id, as Reader.records does


class RecordLister:
    """Reads lists for one caller on one connection, with salience as of `now`. `open_` reads records in full."""

    def __init__(self, connection: AsyncConnection, caller: Caller, now: datetime, open_: Open) -> None:
        self._connection = connection
        self._caller = caller
        self._now = now
        self._open = open_

    async def page(self, wanted: Wanted, order: ListOrder, *, first: int, after: Position | None) -> Listed:
        """Return at least `first` of the records that fit if there are as many, or fewer where `ended` tells so.

        Those of one page beyond `first` are returned too where they were read anyway.
        """
        names = order in (ListOrder.NAME_ASC, ListOrder.NAME_DESC)
        named = await self.named(wanted, names=names)
        if named is None and not order.is_sorted:
            return await self._walk(wanted, order, first=first, after=after)
        is_cut = False
        if named is None:
            named, is_cut = await self._newest(wanted, names=names)
        return Listed(records=in_order(named, order, after), ended=None, is_cut=is_cut)

    async def _newest(self, wanted: Wanted, *, names: bool) -> tuple[tuple[ListedRecord, ...], bool]:
        """Return the newest SORTED of the records that fit, and whether older ones may fit too.

        Where few fit, up to SORT_WALKS times as many are compared with the filter.
        """
        found: tuple[ListedRecord, ...] = ()
        after = None
        for _ in range(SORT_WALKS):
            part = await self._walk(wanted, ListOrder.CREATED_DESC, first=SORTED, after=after, names=names)
            found, after = (*found, *part.records), part.ended
            if after is None or len(found) >= SORTED:
                break
        return found[:SORTED], after is not None or len(found) > SORTED

    async def count(self, wanted: Wanted) -> int | None:
        """Return the number of records that fit; None where more than COUNTED would have to be compared."""
        named = await self.named(wanted)
        if named is not None:
            return len(named)
        # Whether there are more is known from the index alone, and the number too, if the filter asks for no more.
        parameters = self._parameters(wanted, names=False, looked=COUNTED, most=0, order=ListOrder.CREATED_DESC)
        (end,) = await fetch(self._connection, "list_by_created", **parameters)
        if not end["is_whole"]:
            return None
        if wanted.is_plain:
            return int(end["looked"])
        return len((await self._walk(wanted, ListOrder.CREATED_DESC, first=COUNTED, after=None)).records)

    async def named(self, wanted: Wanted, *, names: bool = False) -> tuple[ListedRecord, ...] | None:
        """Return the records that fit, in no order, if the filter itself names at most NAMED; None otherwise.

        With `names`, each has its name.
        """
        statement = _naming(wanted)
        if statement is None:
            return None
        names = names or wanted.reads_content
        parameters = self._parameters(wanted, names=names, looked=NAMED + 1, most=None)
        rows = await fetch(self._connection, statement, **parameters)
        if not rows[0]["is_whole"]:
            return None
        return tuple(await self._confirmed(wanted, _listed(rows), first=len(rows), names=names))

    async def _walk(
        self, wanted: Wanted, order: ListOrder, *, first: int, after: Position | None, names: bool = False
    ) -> Listed:
        """Return the records that fit along the index of an order."""
        names = names or wanted.reads_content
        looked = first if wanted.is_plain else max(LOOKED, first)
        rows = await fetch(
            self._connection,
            _WALKS[order],
            **self._parameters(
                wanted,
                names=names,
                looked=looked,
                most=None if wanted.reads_content else first,
                order=order,
                after=after,
            ),
        )
        found = await self._confirmed(wanted, _listed(rows), first=first, names=names)
        end = rows[0]
        ended = None
        if len(found) >= first:  # there may be more behind it
            ended = found[-1].position(order)
        elif not end["is_whole"]:
            part = "looked" if end["is_cut"] else "walked"
            ended = Position(id=end[f"{part}_id"], value=end[f"{part}_at"])
        return Listed(records=tuple(found), ended=ended)

    async def _confirmed(
        self, wanted: Wanted, found: Sequence[ListedRecord], *, first: int, names: bool
    ) -> list[ListedRecord]:
        """Return up to `first` of the records whose content fits; with `names`, with the names of sealed ones."""
        if not names:
            return list(found[:first])
        kept: list[ListedRecord] = []
        for start in range(0, len(found), OPENED):
            part = found[start : start + OPENED]
            sealed = [one.id for one in part if one.is_sealed]
            opened: dict[UUID, MemoryRecord] = await self._open(sealed) if sealed else {}
            for one in part:
                record = opened.get(one.id)
                if one.is_sealed:
                    if record is not None and wanted.fits_content(record):
                        kept.append(replace(one, name=record.name))
                elif wanted.name_prefix is None or _begins(one.name, wanted.name_prefix):
                    kept.append(one)
            if len(kept) >= first:
                break
        return kept[:first]

    def _parameters(
        self,
        wanted: Wanted,
        *,
        names: bool,
        looked: int,
        most: int | None,
        order: ListOrder | None = None,
        after: Position | None = None,
    ) -> dict[str, Any]:
        scopes = self._caller.scopes
        if wanted.scopes is not None:
            scopes = tuple(scope for scope in wanted.scopes if scopes is None or scope in scopes)
        ceiling = int(self._caller.ceiling)
        subject = wanted.subject or Subject()
        return {
            **self._caller.parameters(),
            "lists_all": scopes is None,
            "listed_scopes": list(scopes or ()),
            "level": ceiling if wanted.is_of_full_records else min(ceiling + 1, int(Sensitivity.HYPER)),
            "types": [int(one) for one in wanted.types or MemoryType],
            "states": _array([int(one) for one in wanted.states] if wanted.states is not None else None),
            "any_tags": _array(wanted.any_tags),
            "all_tags": _array(wanted.all_tags),
            "ids": list(wanted.ids or ()),
            "given": _array(wanted.ids),
            "source": wanted.source,
            "thread": wanted.thread.key if wanted.thread is not None else None,
            "handle": wanted.thread.handle if wanted.thread is not None else None,
            "slot": wanted.slot.key if wanted.slot is not None else None,
            "slot_scope": wanted.slot.scope if wanted.slot is not None else None,
            "slot_level": wanted.slot.sensitivity if wanted.slot is not None else None,
            "by_fact": wanted.subject is not None or wanted.predicate is not None,
            "by_subject": wanted.subject is not None,
            "subject_entities": list(subject.entities),
            "subject_keys": list(subject.keys),
            "predicate": wanted.predicate,
            "created_from": wanted.created.start,
            "created_before": wanted.created.end,
            "updated_from": wanted.updated.start,
            "updated_before": wanted.updated.end,
            "occurred_from": wanted.occurred.start,
            "occurred_before": wanted.occurred.end,
            "valid_at": wanted.valid_at,
            "least_confidence": wanted.confidence.least,
            "most_confidence": wanted.confidence.most,
            "least_salience": wanted.salience.least,
            "most_salience": wanted.salience.most,
            "now": self._now,
            "names": names,
            "reads": names or wanted.is_of_full_records or wanted.valid_at is not None,
            "walked": looked if order in _BY_OCCURRENCE or not wanted.is_restricted else max(WALKED, looked),
            "looked": looked,
            "most": most,
            **_bounds(wanted, order, after),
        }


def in_order(records: Sequence[ListedRecord], order: ListOrder, after: Position | None) -> tuple[ListedRecord, ...]:
    """Return the records in an order, those behind `after`."""
    placed = sorted(((_key(one.position(order)), one) for one in records), key=lambda pair: pair[0])
    if not order.is_ascending:
        placed.reverse()
    if after is not None:
        bound = _key(after)
        placed = [one for one in placed if (one[0] > bound if order.is_ascending else one[0] < bound)]
    return tuple(one for _, one in placed)


def _key(position: Position) -> tuple[bool, Any, int]:
    return position.value is None, 0 if position.value is None else position.value, position.id.int


def _bounds(wanted: Wanted, order: ListOrder | None, after: Position | None) -> dict[str, Any]:
    """Return the part of the index of an order that is walked over."""
    created, span = wanted.created, Span()
    least = _id_at(created.start, -_WRITING) if created.start is not None else _LEAST_ID
    below = _id_at(created.end, _AHEAD) if created.end is not None else _GREATEST_ID
    by_time = order in _BY_CHANGE or order in _BY_OCCURRENCE
    is_ascending = order is not None and order.is_ascending
    if order in _BY_CHANGE:
        span = wanted.updated
    elif order in _BY_OCCURRENCE:
        span = wanted.occurred
    if by_time:
        least, below = _LEAST_ID, _GREATEST_ID
    above = UUID(int=max(0, least.int - 1))
    if after is not None:
        above = after.id if is_ascending else above
        below = below if is_ascending else after.id
    return {
        "least_id": least,
        "above_id": above,
        "below_id": below,
        "from_at": span.start or _EARLIEST,
        "before_at": span.end or _LATEST,
        "after_at": after.value if after is not None else _EARLIEST if is_ascending else _LATEST,
    }


def _id_at(instant: datetime, leeway: timedelta) -> UUID:
    """Return the least UUIDv7 of an instant, moved by a leeway; at most the greatest."""
    milliseconds = int((instant.timestamp() + leeway.total_seconds()) * 1_000)
    return UUID(int=min(max(0, milliseconds), 2**48 - 1) << 80)


def _naming(wanted: Wanted) -> str | None:
    """Return the statement that reads the records that a filter names; None where it names none."""
    if wanted.ids is not None:
        return "list_given"
    if wanted.slot is not None:
        return "list_of_slot"
    if wanted.thread is not None:
        return "list_of_thread"
    return "list_of_subject" if wanted.subject is not None else None


_WALKS = {
    ListOrder.CREATED_DESC: "list_by_created",
    ListOrder.CREATED_ASC: "list_by_created_ascending",
    ListOrder.UPDATED_DESC: "list_by_updated",
    ListOrder.UPDATED_ASC: "list_by_updated_ascending",
    ListOrder.OCCURRED_DESC: "list_by_occurred",
    ListOrder.OCCURRED_ASC: "list_by_occurred_ascending",
}


def _listed(rows: Sequence[Row]) -> list[ListedRecord]:
    return [
        ListedRecord(
            id=row["id"],
            occurred_at=row["occurred_at"],
            updated_at=row["updated_at"],
            salience=row["salience"],
            name=row["name"],
            is_sealed=row["is_sealed"],
        )
        for row in rows
        if row["id"] is not None
    ]


def _array(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _begins(name: str | None, prefix: str) -> bool:
    return name is not None and normalised_name(name).startswith(normalised_name(prefix))


def _was_held(record: MemoryRecord, at: datetime) -> bool:
    """Return whether a past record is no fact, or was a current one that held at an instant."""
    return record.type is not MemoryType.SEMANTIC or (
        record.state in (RecordState.ACTIVE, RecordState.CONTESTED) and record.holds_at(at)
    )


async def fetch_slot(connection: AsyncConnection, caller: Caller, id_: UUID) -> FactSlot | None:
    """Return the slot of a fact that the caller may read in full; None of any other record."""
    rows = await fetch(connection, "fetch_slot_of", **caller.parameters(), id=id_)
    return (
        FactSlot(scope=rows[0]["scope"], sensitivity=rows[0]["sensitivity"], key=bytes(rows[0]["slot_key"]))
        if rows
        else None
    )
