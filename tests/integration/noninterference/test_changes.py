"""Readers of changes rebuild what queries give, whatever is written, and hidden records leave no trace in a stream."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from fix_changes import Reader
from fix_examples import repeated
from noninterference.answers import difference, renamed
from noninterference.steps import (
    HIDDEN,
    REDACTED,
    Sight,
    Step,
    every_state_story,
    everything,
    learning_story,
    story,
    whole_story,
)
from noninterference.stores import Bench, Store

Json = dict[str, Any]
STORIES = 2


@dataclass(slots=True)
class FollowedStore(Store):
    """A store whose story is followed by readers, each of which looks now and then."""

    readers: list[Reader] = field(default_factory=list)

    async def _look(self, step: Step) -> None:
        await Store._look(self, step)
        for reader in self.readers:
            await reader.look()


async def followed(
    bench: Bench, tenant: str, told: tuple[Sight, list[Step]], *, with_hidden: bool, seed: int
) -> FollowedStore:
    """Tell a story while readers follow it: the caller, a colleague who sees more, and one who sees all."""
    sight, steps = told
    store = FollowedStore(bench, tenant, sight)
    store.readers = await readers_of(store, seed)
    await store.run(steps, with_hidden=with_hidden)
    return store


async def readers_of(store: Store, seed: int) -> list[Reader]:
    """Return readers that begin now: the caller, a colleague who sees more, and one who sees all."""
    trusts = (store.sight.caller(store.tenant), store.sight.colleague(store.tenant), everything(store.tenant))
    readers = [
        Reader(store.bench.schema, store.bench.services, trust, random.Random(seed + number))
        for number, trust in enumerate(trusts)
    ]
    for reader in readers:
        await reader.begin()
    return readers


async def check_story(bench: Bench, tenant: str, told: tuple[Sight, list[Step]], seed: int) -> Counter[str]:
    """Follow a story, compare each reader with queries, and see that nothing hidden was told; return kinds told."""
    store = await followed(bench, tenant, told, with_hidden=True, seed=seed)
    for reader in store.readers:
        await reader.check()
    told_to_caller = repr(store.readers[0].received)
    assert HIDDEN not in told_to_caller
    assert REDACTED not in told_to_caller
    assert not [id_ for id_ in store.hidden_ids if str(id_) in told_to_caller]
    kinds = sum((Counter(reader.replica.kinds) for reader in store.readers), Counter())
    every = [change["cause"] for reader in store.readers for change in reader.received if change["cause"] is not None]
    return kinds + Counter("learned" if cause["runId"] else "caused" for cause in every)


async def test_readers_who_come_and_go_rebuild_what_queries_give(bench: Bench) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(repeated(STORIES)):
        kinds += await check_story(bench, f"followed-{seed}", story(random.Random(seed), 30), seed)
    kinds += await check_story(bench, "states", every_state_story(), 1)
    assert kinds.keys() >= {"CREATED", "UPDATED", "STATE", "GONE", "RELATED"}


async def test_every_mutation_is_followed(bench: Bench) -> None:
    kinds = await check_story(bench, "whole", whole_story(random.Random(2)), 7)
    assert kinds["UNRELATED"]
    assert kinds["RUN"]
    assert kinds["caused"]


async def test_what_runs_of_learning_change_is_told_with_the_run(bench: Bench) -> None:
    kinds = await check_story(bench, "learning", learning_story(random.Random(1)), 3)
    assert kinds["RUN"]
    assert kinds["learned"]


def shown(reader: Reader) -> list[Json]:
    """Return what a reader was told, without positions, which differ each time they are shown."""
    return [{key: value for key, value in change.items() if key != "position"} for change in reader.received]


async def check_pair(bench: Bench, tenant: str, told: tuple[Sight, list[Step]], seed: int) -> int:
    """Follow a story with its hidden steps and without: the caller is told the same of both; return how much."""
    full = await followed(bench, f"{tenant}-with", told, with_hidden=True, seed=seed)
    await full.readers[0].read_pages()  # now: the jobs of the other story work on both stores
    bare = FollowedStore(bench, f"{tenant}-without", told[0], aimed=full.aimed)
    bare.readers = await readers_of(bare, seed)
    await bare.run(told[1], with_hidden=False)
    one, other = full.readers[0], bare.readers[0]
    await other.read_pages()
    differs = difference(renamed(shown(one)), renamed(shown(other)))
    if differs is not None:
        pytest.fail(f"{differs}\nwithout renaming: {difference(shown(one), shown(other))}")
    return len(one.received)


async def test_hidden_records_leave_no_trace_in_changes(bench: Bench) -> None:
    told = 0
    for seed in range(20, 20 + repeated(STORIES)):
        told += await check_pair(bench, f"pair-{seed}", story(random.Random(seed), 30), seed)
    assert told > 10
