"""Over the mirror as well, two stores that differ only in hidden records give a caller equal answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fix_memory import memory_of
from noninterference.comparing import check_story
from noninterference.stores import Bench, OneKeyDirectory, inject_ids

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker, mirror_feed
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.database import Database

pytestmark = pytest.mark.neo4j

PATIENT_S = 30.0  # a deadline that a busy machine keeps


@pytest.fixture
async def bench(database: Database, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    memory = memory_of(database, OneKeyDirectory(database, Vault(database, LocalMasterKey(bytes(32)))))
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        engines = Engines(
            mirror=Neo4jEngine(mirror, plans_up_to=Sensitivity.LOW),
            feed=mirror_feed(database),
            freshness=MirrorFreshness(database, CONSUMER),
            preference="neo4j",
            deadline_s=PATIENT_S,
        )
        memory.retrieve = Retrieve(database, memory.directory, memory.clock, engines)
        worker = SyncWorker(database, memory.directory, mirror, SyncConfig())
        yield Bench(memory, engines, inject_ids(monkeypatch, memory), worker)
        await worker.release()


async def test_hidden_records_change_no_answer_of_the_mirror(bench: Bench) -> None:
    store = await check_story(bench, 3, most=16, asked=3)
    assert store.engines["NEO4J"]  # where it was as new as the snapshot that was read


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_010))
async def test_hidden_records_change_no_answer_of_the_mirror_in_many_stories(bench: Bench, seed: int) -> None:
    await check_story(bench, seed, most=40, asked=100)
