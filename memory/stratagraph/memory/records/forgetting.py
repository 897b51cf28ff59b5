"""A preview of the records that will be pruned, as far as they are visible to a caller (`forgetPreview`)."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from stratagraph.memory.records.cursors import MAX_PAGE
from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.erasure.pruning import KEEP_UNLEARNED, Previewed, preview
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION, Clock, as_utc, rfc3339
from stratagraph.store.model.enums import Access
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.reading import Reader

MAX_TOTAL = 10_000  # totals are exact up to this
HORIZON = timedelta(days=3_653)  # ten years
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = struct.Struct(">q16s")  # microseconds since 1970, id


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgettable:
    """A record, and the instant from which it may be pruned.

    One that `awaits_learning` is kept beyond that until learning has read its episode.
    """

    record: MemoryRecord
    due_at: datetime
    awaits_learning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A page of records that will be pruned, the oldest due first.

    `total` counts the records of all pages, up to MAX_TOTAL: a `total` of MAX_TOTAL means that many or more. None if it
    was not asked for, and took more than this page.
    """

    items: tuple[Forgettable, ...]
    total: int | None
    end_cursor: str | None
    has_next: bool


class Forgetting:
    """The service that previews pruning. Records not fully visible to the caller are neither returned nor counted."""

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        *,
        keep_unlearned: timedelta = KEEP_UNLEARNED,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._keep_unlearned = keep_unlearned

    async def preview(
        self, trust: Trust, until: datetime, *, first: int = 50, after: str | None = None, counts: bool = True
    ) -> Preview:
        """Return a page of the records that would be pruned by `until` if nothing but learning changed before then.

        `first` is from 1 to 100; `after` is the `end_cursor` of the previous page. Raises InvalidInput for an `until`
        in the past or more than ten years ahead, and for an invalid `first` or `after`.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        now, until = self._checked(until)
        position = _decode_cursor(after) if after is not None else None
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            keep = self._keep_unlearned
            found = await preview(connection, caller, until=until, first=first + 1, after=position, keep_unlearned=keep)
            total: int | None = len(found)
            if position is not None or len(found) > first:
                total = await self._count(connection, caller, until) if counts else None
            shown = found[:first]
            records = await Reader(connection, self._directory, caller, now).records([one.id for one in shown])
        return Preview(
            items=tuple(
                Forgettable(record=records[one.id], due_at=one.due_at, awaits_learning=one.awaits_learning)
                for one in shown
            ),
            total=total,
            end_cursor=_encode_cursor(shown[-1]) if shown else None,
            has_next=len(found) > first,
        )

    async def count(self, trust: Trust, until: datetime) -> int:
        """Return the number of records that `preview` has on all pages, up to MAX_TOTAL. Raises as it does."""
        trust.require(Access.READ)
        _, until = self._checked(until)
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await self._count(connection, caller, until)

    async def _count(self, connection: Connection, caller: Caller, until: datetime) -> int:
        every = await preview(
            connection, caller, until=until, first=MAX_TOTAL, after=None, keep_unlearned=self._keep_unlearned
        )
        return len(every)

    def _checked(self, until: datetime) -> tuple[datetime, datetime]:
        """Return the present instant, and `until` in UTC."""
        now = self._clock.now()
        until = as_utc(until, path=["until"])
        if not now <= until <= now + HORIZON:
            raise InvalidInput(
                f"until: {rfc3339(until)} is not between now and ten years ahead ({rfc3339(now + HORIZON)});"
                " choose an instant between them",
                path=["until"],
            )
        return now, until


def _encode_cursor(last: Previewed) -> str:
    return base64.urlsafe_b64encode(_CURSOR.pack((last.due_at - _EPOCH) // RESOLUTION, last.id.bytes)).decode()


def _decode_cursor(cursor: str) -> tuple[datetime, UUID]:
    try:
        microseconds, id_ = _CURSOR.unpack(base64.urlsafe_b64decode(cursor))
        return _EPOCH + timedelta(microseconds=microseconds), UUID(bytes=id_)
    except (ValueError, binascii.Error, struct.error, OverflowError):
        raise InvalidInput(
            f"after: {shown(cursor)} is not a cursor; give `pageInfo.endCursor` of the previous page", path=["after"]
        ) from None
