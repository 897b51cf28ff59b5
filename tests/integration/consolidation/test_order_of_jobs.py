"""What the background jobs leave does not depend on the order in which they run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from fix_jobs import server_of
from fix_learning import Kept, capture_episode, store_at_rest
from fix_memory import Memory, fresh_database, memory_of
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from noninterference.jobs import fail, turn

from stratagraph.consolidation.registry import JOBS
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.postgres.database import Database

NAMES = ("Grafana", "Jaeger", "Loki", "Tempo")
LATER = timedelta(days=30)


def job_names() -> list[str]:
    return sorted(
        str(job.name) for job in JOBS if hasattr(job, "name") and job.name not in ("embed", "interpret-captures")
    )


@asynccontextmanager
async def memory_on(url: str) -> AsyncIterator[Memory]:
    async with Database(url) as database:
        yield memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))


async def fill(memory: Memory) -> None:
    """Store records with work for each job: facts that name entities of later, threads, a failed capture."""
    for name in NAMES:
        await memory.observe("Lantern", f"is_watched_in_{name.lower()}", name)
    for number in range(2):
        await capture_episode(memory, f"look at {NAMES[number]}")
    await memory.turn("Grafana is down, and Loki too", thread="outage")
    await fail(memory, memory.trust, [turn("Tempo is fine", "", Sensitivity.LOW)])
    for name in NAMES:
        content = {"canonical_name": name, "primary_type": "Service"}
        await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY)


async def work(memory: Memory, order: Sequence[str]) -> None:
    """Run the jobs in this order, again and again, until none does anything."""
    server = server_of(memory)
    server.jobs.sort(key=lambda job: order.index(job.name))
    while any((await server.run_once()).values()):
        pass


async def left_by(order: Sequence[str], postgres_url: str, template: str) -> tuple[list[Kept], list[str]]:
    """Return what the jobs leave of a copy of a database."""
    with fresh_database(postgres_url, template) as url:
        async with memory_on(url) as memory:
            memory.clock.forward(LATER)
            await work(memory, order)
            return await store_at_rest(memory)


@pytest.fixture
async def filled(database_url: str, postgres_url: str) -> tuple[str, tuple[list[Kept], list[str]]]:
    """A database with work for every job, and what the jobs leave in the order of their names."""
    async with memory_on(database_url) as memory:
        await fill(memory)
    template = urlsplit(database_url).path[1:]
    return template, await left_by(job_names(), postgres_url, template)


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(job_names()))
@example(order=sorted(job_names(), key=lambda name: name != "link-names"))
async def test_the_jobs_leave_the_same_store_in_whatever_order_they_run(
    filled: tuple[str, tuple[list[Kept], list[str]]], postgres_url: str, order: list[str]
) -> None:
    template, expected = filled
    left = await left_by(order, postgres_url, template)
    assert left == expected
    linked = [row for row in left[1] if '"object_entity"' in row and row.startswith('["Lantern is watched in')]
    assert len(linked) == len(NAMES)
