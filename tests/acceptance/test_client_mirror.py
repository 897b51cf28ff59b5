"""What a client of the Python client wrote is seen by the client that it is handed to, where the mirror answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from fix_memory import until
from fix_service import running

from stratagraph_client import AsyncMemory, MemoryType
from stratagraph_client.operations.enums import Engine
from stratagraph_client.operations.input_types import RetrieveGraphInput

ROUNDS = 5


def about(number: int) -> RetrieveGraphInput:
    """Ask for what Person `number` is related to: the roots are found in Postgres, the rest by walking the graph."""
    return RetrieveGraphInput(taskDescriptor=f"Person{number}", rootLimit=1, memoryTypes=[MemoryType.ENTITY], maxHops=1)


@pytest.mark.neo4j
async def test_a_client_that_is_handed_a_sequence_sees_writes_that_the_mirror_has_not(
    database_url: str, clean_neo4j: str, tmp_path: Path
) -> None:
    settings = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    with running(**settings, neo4j_uri=clean_neo4j, traversal="neo4j") as service:
        assert service.url is not None
        async with AsyncMemory(service.url) as writer, AsyncMemory(service.url) as plain:
            await writer.remember_fact("Person99", "likes", "tea")

            async def mirrored() -> bool:
                found = await plain.operations.retrieve_graph(about(99))
                return found.freshness.engine is Engine.NEO4J and len(found.nodes) > 1

            await until(mirrored, within_s=60)
            missed = 0
            for number in range(98):  # until the mirror was behind in one of them
                told = await asyncio.gather(
                    *(writer.remember_fact(f"Person{number}", f"likes_{thing}", thing) for thing in ("tea", "rice"))
                )
                async with AsyncMemory(service.url, after=writer.sequence) as reader:
                    without, handed, own = await asyncio.gather(
                        *(one.operations.retrieve_graph(about(number)) for one in (plain, reader, writer))
                    )
                for found in (handed, own):
                    assert {one.id for one in told} <= {node.record.id for node in found.nodes}
                missed += not {one.id for one in told} <= {node.record.id for node in without.nodes}
                if missed and number >= ROUNDS:
                    break
            assert missed > 0, "the mirror was never behind, so that nothing was tested"
