"""The mirror's checkpoints, and whether they agree with Postgres.

A mirror that disagrees belongs to another database, to another generation, or is an older copy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stratagraph.graph_sync.batches import Checkpoint
from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.errors import MirrorUnavailable

READS = 3  # of the checkpoints, each of which must show a mismatch
LEADER_KEY = "neo4j:leader"  # the checkpoint that the leader locks when it writes


def checkpoint_key(cursor: int) -> str:
    """Return the key under which the mirror stores the checkpoint of one cursor, given by its number."""
    return f"neo4j:{cursor}"


CHECKPOINTS = [checkpoint_key(cursor) for cursor in range(SHARDS)]  # of all cursors


def check_position(row: Mapping[str, Any], least: Freshness) -> None:
    """Raise MirrorUnavailable if the mirror's position, as a statement read it from CHECKPOINTS, is behind `least`.

    A mirror may be emptied between two reads, so every read checks this; it costs next to nothing.
    """
    if row["checkpoints"] < len(CHECKPOINTS) or row["gen"] < least.generation or row["snapshot"] < least.snapshot:
        raise MirrorUnavailable(
            "the mirror was emptied or is an old copy; its worker repairs it, and queries read PostgreSQL until then"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Why the mirror cannot continue from the positions of its cursors.

    `rewind_to` is set if it is an old copy of the same history: the snapshots that it has, by cursor, for those cursors
    that are ahead of them. The changes since can be applied to it if the log still has them.
    """

    reason: str
    rewind_to: Mapping[int, int] | None = None


async def find_mismatch(
    positions: Mapping[int, tuple[int, int]],
    read: Callable[[], Awaitable[Mapping[str, Checkpoint]]],
    source: MirrorSource,
    generations: Generations,
    *,
    generation: int,
) -> Mismatch | None:
    """Return why the mirror cannot continue from the positions of its cursors; None if it can continue.

    `positions` are the snapshot and the number within the window of each cursor. The checkpoints are `read` after
    them, since a healthy mirror is ahead of its cursors. `generation` is that of the whole mirror.
    """
    mismatch = None
    for _ in range(READS):  # Neo4j may return the properties of a node partly from before and partly from after a write
        mismatch = await _mismatch(positions, await read(), source, generations, generation)
        if mismatch is None:
            return None
    return mismatch


async def _mismatch(
    positions: Mapping[int, tuple[int, int]],
    found: Mapping[str, Checkpoint],
    source: MirrorSource,
    generations: Generations,
    generation: int,
) -> Mismatch | None:
    if any(key not in found for key in (LEADER_KEY, *map(checkpoint_key, positions))):
        return Mismatch(
            reason="the mirror is new, was emptied or replaced, or was written by another version of the worker"
        )
    checkpoints = {cursor: found[checkpoint_key(cursor)] for cursor in positions}
    if any(checkpoint.generation != generation for checkpoint in (found[LEADER_KEY], *checkpoints.values())):
        return Mismatch(reason="the mirror has another generation")
    incarnation = await generations.incarnation()
    if any(checkpoint.incarnation != incarnation for checkpoint in checkpoints.values()):
        return Mismatch(reason="the mirror belongs to another incarnation of the database")
    behind = {
        cursor: checkpoint.snapshot
        for cursor, checkpoint in checkpoints.items()
        if (checkpoint.snapshot, checkpoint.seq) < positions[cursor]
    }
    nonces = await source.snapshot_nonces({checkpoint.snapshot for checkpoint in checkpoints.values()})
    if any(nonces.get(checkpoint.snapshot) != checkpoint.nonce for checkpoint in checkpoints.values()):
        if any(snapshot not in nonces for snapshot in behind.values()):
            return Mismatch(reason="the mirror is an older copy than the change log reaches back to")
        return Mismatch(reason="the mirror belongs to another history of the database")
    return Mismatch(reason="the mirror is an old copy", rewind_to=behind) if behind else None
