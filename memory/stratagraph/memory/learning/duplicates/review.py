"""The pairs of records that may say the same, as callers decide on them: merged, or rejected by a revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from stratagraph.memory.records.cursors import MAX_PAGE, decode_pair, encode_pair
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.duplicates import list_pairs
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.reading import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateCandidate:
    """Two active records of one type, scope and sensitivity that may say the same.

    `score` is from 0 to 1; `evidence` maps signals to their weights in bits. `found_at` is when they were first found.
    """

    records: tuple[MemoryRecord, MemoryRecord]
    score: float
    evidence: Mapping[str, float]
    found_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatePage:
    """A page of candidates, the likeliest first. `end_cursor` is None on an empty page."""

    candidates: tuple[DuplicateCandidate, ...]
    has_next: bool
    end_cursor: str | None


class DuplicateReview:
    """The service that lists candidates. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def page(self, trust: Trust, *, first: int, after: str | None = None) -> DuplicatePage:
        """Return a page of the candidates of which the caller may read both records in full.

        Raises InvalidInput for a `first` out of bounds or an `after` that is no cursor.
        """
        trust.require(Access.READ)
        if not 1 <= first <= MAX_PAGE:
            raise InvalidInput(f"first: must lie between 1 and {MAX_PAGE}, but is {first}", path=["first"])
        place = decode_pair(after) if after is not None else None
        caller = await self._directory.resolve(trust)
        async with self._database.reading(caller.bounds) as connection:
            found = await list_pairs(connection, caller, after=place, limit=first + 1)
            shown = found[:first]
            reader = Reader(connection, self._directory, caller, self._clock.now())
            records = await reader.records({id_ for pair in shown for id_ in (pair.one, pair.other)})
        return DuplicatePage(
            candidates=tuple(
                DuplicateCandidate(
                    records=(records[pair.one], records[pair.other]),
                    score=pair.score,
                    evidence=pair.evidence,
                    found_at=pair.at,
                )
                for pair in shown
            ),
            has_next=len(found) > first,
            end_cursor=encode_pair(*shown[-1].key) if shown else None,
        )
