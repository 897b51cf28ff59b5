"""Write the word index: a segment for each batch of changed records, and fewer and larger segments of these later.

Four segments of similar size are merged into one, so a record is written again for each factor of four by which its
tenant grows, up to MAX_RECORDS in one segment. A record that changed gets a place in a new segment and is removed from
its old one: at once for searches, and from the stored postings when the segment is written again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.postgres.driver import send
from stratagraph.store.postgres.queries import Row, fetch, run, sending
from stratagraph.store.search.word_segments import (
    LEAST,
    MAX_RECORDS,
    MOST,
    Block,
    Encoded,
    Head,
    Words,
    encoded,
    halves_of,
    joined,
    unpacked_vectors,
)

SMALLEST = 64  # records; smaller segments count as of one size
MERGED_AT_ONCE = 4  # segments of similar size are merged when there are so many
SOON = 4_096  # records; a segment with at most these is written again at once when one of its records is deleted
PURGE_AFTER_S = 60.0  # until another one is, at most
REWRITE_AFTER_S = 3_600.0  # until a segment is written again without the former words of records that were edited
MOST_REMOVED = 0.25  # share of a segment's records after whose removal it is written again


@dataclass(frozen=True, slots=True)
class SegmentSize:
    """The records of a segment, how many of them are removed, and whether it is due to be written without them."""

    id: int
    records: int
    removed: int
    is_due: bool

    @property
    def kept(self) -> int:
        return self.records - self.removed

    @property
    def level(self) -> int:
        """Return the number of factors of MERGED_AT_ONCE between the segment and the smallest ones."""
        return ((self.kept // SMALLEST).bit_length() + 1) // 2


async def index_records(
    connection: AsyncConnection, tenant: int, ids: Collection[UUID], *, purge_after_s: float = PURGE_AFTER_S
) -> None:
    """Bring the index up to date for these records of a tenant, which were written, edited or deleted.

    Repeating it is harmless: the records get new positions. The caller holds the lock of the index.
    """
    rows = await _binary(connection, "fetch_words_of_records", tenant=tenant, ids=list(ids), least=LEAST, most=MOST)
    await _remove(connection, tenant, ids, {row["id"] for row in rows}, purge_after_s)
    if rows:
        await _insert(connection, tenant, await asyncio.to_thread(lambda: encoded(_words(rows))))


async def merge_segments(connection: AsyncConnection, tenant: int) -> bool:
    """Write some segments of a tenant again as one, if any are due; return whether any were.

    Takes at most MAX_RECORDS records. The caller holds the lock of the index.
    """
    sizes = [
        SegmentSize(row["id"], row["records"], row["removed"], row["is_due"])
        for row in await fetch(connection, "list_word_segments", tenant=tenant)
    ]
    chosen = to_merge(sizes)
    if not chosen:
        return False
    ids = [size.id for size in chosen]
    parts = []
    for id_ in ids:
        (row,) = await _binary(connection, "fetch_word_segment", tenant=tenant, segment=id_)
        blocks = await _binary(connection, "fetch_blocks_of_segment", tenant=tenant, segment=id_)
        parts.append((row, [block["postings"] for block in blocks]))
    await run(connection, "delete_word_segments", tenant=tenant, segments=ids)
    if any(size.kept for size in chosen):
        await _insert(connection, tenant, await asyncio.to_thread(_merged, parts))
    return True


def to_merge(sizes: Iterable[SegmentSize]) -> Sequence[SegmentSize]:
    """Return the segments to write as one now: those of one level if they are many, or one with much removed; or none.

    >>> to_merge([SegmentSize(n, 10, 0, False) for n in range(3)])
    []
    >>> [size.id for size in to_merge([SegmentSize(n, 10, 0, False) for n in range(4)])]
    [0, 1, 2, 3]
    """
    levels: dict[int, list[SegmentSize]] = {}
    for size in sorted(sizes, key=lambda size: size.kept):
        if size.removed and (size.is_due or size.removed >= MOST_REMOVED * size.records):
            return [size]
        levels.setdefault(size.level, []).append(size)
    for alike in levels.values():
        room, fitting = MAX_RECORDS, []
        for size in alike:
            room -= size.kept
            if room < 0:
                break
            fitting.append(size)
        if len(alike) >= MERGED_AT_ONCE and len(fitting) > 1:
            return fitting
    return []


def _merged(parts: Iterable[tuple[Row, Sequence[bytes]]]) -> Encoded:
    return encoded(
        joined([Head.of(row).kept(np.array(row["removed"], np.int64), map(Block, blocks)) for row, blocks in parts])
    )


async def _remove(
    connection: AsyncConnection, tenant: int, ids: Collection[UUID], present: Collection[UUID], purge_after_s: float
) -> None:
    """Note that former places of records are not valid any more, and when the segments are to be written again."""
    changed = [id_.int for id_ in ids]
    gone = halves_of([id_.int for id_ in ids if id_ not in present])
    for row in await _binary(connection, "fetch_segments_with_ids", tenant=tenant, ids=list(ids)):
        head = Head.of(row)
        positions = head.positions_of(*halves_of(changed))
        if not len(positions):
            continue
        removed = np.union1d(np.array(row["removed"], np.int64), positions)
        purge_s = REWRITE_AFTER_S
        if len(head.positions_of(*gone)):
            purge_s = 0.0 if head.records <= SOON else purge_after_s
        await run(
            connection,
            "remove_from_word_segment",
            tenant=tenant,
            segment=row["id"],
            removed=removed.tolist(),
            purge_s=purge_s,
        )


async def _insert(connection: AsyncConnection, tenant: int, segment: Encoded) -> None:
    first, last = segment.bounds
    await run(
        connection,
        "insert_word_segment",
        tenant=tenant,
        records=segment.records,
        size=segment.buckets,
        groups=segment.groups,
        ids=segment.ids,
        bounded=segment.bounded,
        buckets=segment.block_buckets,
        lengths=segment.block_lengths,
        starts=np.cumsum([1, *segment.block_lengths])[:-1].tolist(),
        blocks=segment.blocks,
        first_id=first,
        last_id=last,
    )


def _words(rows: Sequence[Row]) -> Words:
    """Return the words of records as the database has them."""
    term, position, impact = unpacked_vectors([row["impacts"] for row in rows])
    high, low = halves_of([row["id"].int for row in rows])
    return Words(
        scope=np.array([row["scope"] for row in rows], np.int32),
        level=np.array([row["sensitivity"] for row in rows], np.int16),
        type=np.array([row["type"] for row in rows], np.uint8),
        past=np.array([row["is_past"] for row in rows], np.uint8),
        high=high,
        low=low,
        since=np.array([row["since"] for row in rows], np.int64),
        until=np.array([row["until"] for row in rows], np.int64),
        term=term,
        position=position,
        impact=impact,
    )


async def _binary(connection: AsyncConnection, statement: str, **parameters: object) -> list[Row]:
    return list((await send(connection, sending(statement, parameters, binary=True))).rows())
