"""Whether a mirror is what we have made of it: of this database, of this generation, and not an older copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stratagraph.graph_sync.mirror import Checkpoint
from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.errors import MirrorUnavailable

KEEPER_KEY = "neo4j:keeper"  # the checkpoint that whoever rebuilds holds, as those who follow the feed hold theirs


def checkpoint_key(cursor: int) -> str:
    """Under which key the mirror keeps how far it is in a cursor's shards."""
    return f"neo4j:{cursor}"


CHECKPOINTS = [checkpoint_key(cursor) for cursor in range(SHARDS)]  # of all who follow the feed


def check_position(row: Mapping[str, Any], least: Freshness) -> None:
    """Raises MirrorUnavailable where what a reading statement told of CHECKPOINTS is less than the truth knows the
    mirror to have. Costs next to nothing, so every read does it: a mirror may be emptied between two of them."""
    if row["checkpoints"] < len(CHECKPOINTS) or row["gen"] < least.generation or row["tick"] < least.tick:
        raise MirrorUnavailable("the mirror was emptied or is an old copy; it is being healed")


async def mismatch(
    places: Mapping[int, int],
    found: Mapping[str, Checkpoint],
    source: MirrorSource,
    generations: Generations,
    *,
    generation: int,
) -> str | None:
    """Why the mirror cannot go on from where the cursors stand, None if it can.

    `places` are the cursors' ticks, read before the checkpoints that were `found`, which a healthy mirror has ahead of
    them; `generation` is the whole mirror's.
    """
    if any(checkpoint_key(cursor) not in found for cursor in places):
        return "it is new, was emptied or replaced"
    checkpoints = {cursor: found[checkpoint_key(cursor)] for cursor in places}
    if any(checkpoint.generation != generation for checkpoint in checkpoints.values()):
        return "it is of another generation"
    incarnation = await generations.incarnation()
    if any(checkpoint.incarnation != incarnation for checkpoint in checkpoints.values()):
        return "it is of another incarnation of the database"
    if any(checkpoint.tick < places[cursor] for cursor, checkpoint in checkpoints.items()):
        return "it is an old copy"
    nonces = await source.tick_nonces({checkpoint.tick for checkpoint in checkpoints.values()})
    if any(nonces.get(checkpoint.tick) != checkpoint.nonce for checkpoint in checkpoints.values()):
        return "it is of another history than the database"
    return None
