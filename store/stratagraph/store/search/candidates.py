"""The candidates of a retrieval in the present: records found by words, by names and by recency, and their heads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch_together
from stratagraph.store.records.entities import NameSearch
from stratagraph.store.records.ranking import Head, fetching_heads, heads_of
from stratagraph.store.search.recent_search import searching_recent
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import WordSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidates:
    """Records found by words with their BM25 scores, best first, by the name given with each, and newest first.

    `heads` has what ranks them, of those that the caller may read in full.
    """

    words: list[tuple[UUID, float]]
    named: list[tuple[UUID, str]]
    recent: list[UUID]
    heads: dict[UUID, Head]


async def find_candidates(
    connection: AsyncConnection,
    index: WordIndex,
    caller: Caller,
    text: str,
    names: Sequence[str],
    *,
    types: Collection[MemoryType],
    now: datetime,
    most_by_words: int,
    most: int,
) -> FoundCandidates:
    """Return at most `most_by_words` records of `types` that match the text, and the entities with one of the names.

    At most `most` entities and `most` of the newest records. Takes three round trips: words are counted while names and
    recent records are looked up, then what the search of the words needs is read, and then the heads of all. The second
    is left out if no records have changed in the last seconds and the blocks of the words are in memory.
    """
    words = WordSearch(caller, text, types=types, limit=most_by_words)
    by_name = NameSearch(caller, names, limit=most)
    counts, (state,), entities, newest = await fetch_together(
        connection,
        words.counting(),
        index.reading(),
        by_name.statement,
        searching_recent(types=types, now=now, limit=most),
    )
    scores: list[tuple[UUID, float]] = []
    if words.has_words:
        searching = words.searching(await words.statistics(connection, counts), index, state, now=now)
        rows = await fetch_together(connection, *searching.statements) if searching.statements else ()
        scores = searching.found(rows)
    named = by_name.found(entities)
    recent = [row["id"] for row in newest]
    ids = {*(id_ for id_, _ in scores), *(id_ for id_, _ in named), *recent}
    (heads,) = await fetch_together(connection, fetching_heads(caller, ids))
    return FoundCandidates(words=scores, named=named, recent=recent, heads=heads_of(heads, now=now))
