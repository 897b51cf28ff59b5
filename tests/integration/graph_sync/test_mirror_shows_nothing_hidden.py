"""What must not show is in no answer of the mirror either, whether it is up to date or behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest
from fix_examples import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from noninterference.stores import Bench, mirrored_bench
from secrecy.asking import check_all
from secrecy.requests import REQUESTS, Asked
from secrecy.stores import STEPS, Step, fill, settle

from stratagraph.store.postgres.database import Database

pytestmark = pytest.mark.neo4j


@pytest.fixture
async def bench(database: Database, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    async with mirrored_bench(database, clean_neo4j, monkeypatch) as made:
        yield made


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
