"""The mirror's checkpoints, and whether they agree with Postgres.

A mirror that disagrees belongs to another database, to another generation, or is an older copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratagraph.graph_sync.batches import Checkpoint
from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.errors import MirrorUnavailable

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
            "the mirror was emptied or is an old copy; it is being rebuilt, and queries read PostgreSQL until then"
        )


async def find_mismatch(
    positions: Mapping[int, int],
    found: Mapping[str, Checkpoint],
    source: MirrorSource,
    generations: Generations,
    *,
    generation: int,
) -> str | None:
    """Return the reason why the mirror cannot continue from the positions of its cursors; None if it can continue.

    `positions` are the snapshots of the cursors, read before the checkpoints that were `found`, since a healthy mirror
    is ahead of its cursors. `generation` is that of the whole mirror.
    """
    if any(checkpoint_key(cursor) not in found for cursor in positions):
        return "the mirror is new, was emptied or replaced, or was written by another version of the worker"
    checkpoints = {cursor: found[checkpoint_key(cursor)] for cursor in positions}
    if any(checkpoint.generation != generation for checkpoint in checkpoints.values()):
        return "the mirror has another generation"
    incarnation = await generations.incarnation()
    if any(checkpoint.incarnation != incarnation for checkpoint in checkpoints.values()):
        return "the mirror belongs to another incarnation of the database"
    if any(checkpoint.snapshot < positions[cursor] for cursor, checkpoint in checkpoints.items()):
        return "the mirror is an old copy"
    nonces = await source.snapshot_nonces({checkpoint.snapshot for checkpoint in checkpoints.values()})
    if any(nonces.get(checkpoint.snapshot) != checkpoint.nonce for checkpoint in checkpoints.values()):
        return "the mirror belongs to another history of the database"
    return None
