"""The tags and predicates in use, page by page, with the number of records that have each."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson

from stratagraph.memory.records.cursors import MAX_PAGE, ListCursor
from stratagraph.memory.records.listing import check_texts
from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.labels import LOOKED, Kind, LabelUse, count_labels
from stratagraph.store.records.reading import Reader

_NO_RECORD = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A tag, or the predicate of facts, and the number of records that have it."""

    name: str
    uses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPage:
    """A page of labels, the most used first. `looked` is over how many records they are counted.

    `is_complete` tells whether these are all current ones that the caller may read in full.
    """

    labels: tuple[Label, ...]
    end_cursor: str | None
    has_next: bool
    looked: int
    is_complete: bool


class Labels:
    """The service that counts labels, of what each caller may read in full."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def page(
        self,
        trust: Trust,
        kind: Kind,
        *,
        scopes: Collection[str] | None = None,
        first: int = 50,
        after: str | None = None,
    ) -> LabelPage:
        """Return a page of the tags of current records, or of the predicates of current facts, the most used first.

        The newest LOOKED records are counted. Raises InvalidInput for what is out of bounds.
        """
        trust.require(Access.READ)
        check_between("first", first, 1, MAX_PAGE)
        if scopes is not None:
            check_texts(scopes, ["scopes"])
        asked = orjson.dumps([kind, sorted(scopes) if scopes is not None else None])
        mark = f"labels {hashlib.sha256(asked).hexdigest()[:16]}"
        behind = _place(ListCursor.decode(after, mark)) if after is not None else None
        caller = await self._directory.resolve(trust)
        numbers = None
        if scopes is not None:
            numbers = sorted((await self._directory.scopes(caller.tenant, scopes, create=False)).values())
        async with self._database.reading(caller.bounds) as connection:
            found, looked = await count_labels(connection, caller, kind, scopes=numbers)
            rest = [one for one in found if behind is None or (-one.uses, one.label) > behind]
            page = rest[:first]
            reader = Reader(connection, self._directory, caller, self._clock.now())
            names = await _names(reader, page)
        end = None
        if page:
            place = f"{page[-1].uses}|{page[-1].label}"
            end = ListCursor(mark=mark, id=_NO_RECORD, value=place, at=self._clock.now()).encode()
        return LabelPage(
            labels=tuple(Label(name=name, uses=one.uses) for name, one in zip(names, page, strict=True)),
            end_cursor=end,
            has_next=len(rest) > first,
            looked=looked,
            is_complete=looked < LOOKED,
        )


async def _names(reader: Reader, page: Sequence[LabelUse]) -> list[str]:
    """Return the labels as they are written: a predicate as a fact with it has it, which may be sealed."""
    examples = [one.example for one in page if one.example is not None]
    records = await reader.records(examples) if examples else {}
    return [
        one.label if one.example is None else str((records[one.example].payload or {})["predicate"]) for one in page
    ]


def _place(cursor: ListCursor) -> tuple[int, str]:
    uses, separator, label = str(cursor.value).partition("|")
    if not separator or not uses.isdecimal():
        raise InvalidInput("after: not a cursor; give `pageInfo.endCursor` of the previous page", path=["after"])
    return -int(uses), label
