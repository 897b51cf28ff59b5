"""Whether the mirror's checkpoints agree with Postgres, although Neo4j may show half of a write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from fix_mirror import MirroredMemory

from stratagraph.graph_sync.batches import Checkpoint
from stratagraph.graph_sync.checkpoints import READS, Mismatch, checkpoint_key, find_mismatch
from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.store.mirror.generations import Generations


async def test_only_what_every_read_shows_is_a_mismatch(mirrored: MirroredMemory) -> None:
    await mirrored.memory.turn("a turn")
    await mirrored.sync()
    positions = {0: (0, 0)}
    reads = 0

    async def found(*, torn: int) -> Mismatch | None:
        """Compare, where the first `torn` reads return the nonce of another snapshot."""
        nonlocal reads
        reads = 0

        async def read() -> Mapping[str, Checkpoint]:
            nonlocal reads
            reads += 1
            checkpoints = await mirrored.mirror.checkpoints()
            key = checkpoint_key(0)
            return checkpoints | ({key: replace(checkpoints[key], nonce=UUID(int=reads))} if reads <= torn else {})

        generations = Generations(mirrored.memory.database, CONSUMER)
        generation = (await mirrored.checkpoint()).generation
        return await find_mismatch(positions, read, mirrored.source, generations, generation=generation)

    assert await found(torn=0) is None
    assert reads == 1
    assert await found(torn=READS - 1) is None
    mismatch = await found(torn=READS)
    assert mismatch is not None
    assert mismatch.reason == "the mirror belongs to another history of the database"
