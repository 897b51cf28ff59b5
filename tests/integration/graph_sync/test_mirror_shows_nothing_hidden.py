"""What must not show is in no answer of the mirror either, whether it is up to date or behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest
from fix_examples import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from noninterference.stores import Bench, inject_ids, story_memory
from secrecy.asking import check_all
from secrecy.requests import REQUESTS, Asked
from secrecy.stores import STEPS, Step, fill, settle

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker, mirror_feed
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.database import Database

pytestmark = pytest.mark.neo4j

PATIENT_S = 30.0  # a deadline that a busy machine keeps


@pytest.fixture
async def bench(database: Database, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    memory = story_memory(database)
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", PATIENT_S)
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


@pytest.fixture
def counts() -> Iterator[Counter[str]]:
    """What the answers of all examples had; the mirror must have given some."""
    counted: Counter[str] = Counter()
    yield counted
    assert counted["answered by NEO4J"]
    assert counted["edges"]


@settings(examples(3), phases=[phase for phase in Phase if phase is not Phase.explain])
@given(steps=STEPS, settled=st.booleans(), asked=REQUESTS)
async def test_what_must_not_show_is_in_no_answer_of_the_mirror(
    bench: Bench, counts: Counter[str], steps: list[Step], settled: bool, asked: list[Asked]
) -> None:
    counts["stores"] += 1
    store = await fill(bench, f"store-{counts['stores']}", steps)
    if settled:
        await settle(bench, store)
    await check_all(bench, store, asked, counts)
