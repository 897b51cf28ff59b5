"""An answer from the graph contains a write, or its freshness says that it lags by at least the age of the write."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, until
from fix_service import MASTER_KEY, Forked, environment
from sqlalchemy import text

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, mirror_feed
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import AnsweredBy, Engines, Preference
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import Sensitivity

pytestmark = pytest.mark.neo4j

ROUNDS = {"neo4j": 40, "auto": 8}


@dataclass
class Followed:
    """A memory whose mirror is written by a worker in a process of its own."""

    memory: Memory
    mirror: Mirror
    worker: Forked

    def engines(self, preference: Preference) -> Engines:
        return Engines(
            mirror=Neo4jEngine(self.mirror, plans_up_to=Sensitivity.LOW),
            feed=mirror_feed(self.memory.database),
            freshness=MirrorFreshness(self.memory.database, CONSUMER),
            preference=preference,
            deadline_s=30.0,
        )

    def explore(self, engines: Engines) -> Explore:
        return Explore(self.memory.database, self.memory.directory, self.memory.clock, engines)

    def retrieve(self, engines: Engines) -> Retrieve:
        return Retrieve(self.memory.database, self.memory.directory, self.memory.clock, engines)

    def pause(self) -> None:
        os.kill(self.worker.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.worker.pid, signal.SIGCONT)


@pytest.fixture
async def followed(memory: Memory, database_url: str, clean_neo4j: str, tmp_path: Path) -> AsyncIterator[Followed]:
    settings = {"database_url": database_url, "data_dir": str(tmp_path), "neo4j_uri": clean_neo4j}
    with (tmp_path / "log").open("a") as log:
        worker = Forked(["sync", "run"], environment(**settings, master_key=MASTER_KEY), log)
    freshness = MirrorFreshness(memory.database, CONSUMER)
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        followed = Followed(memory, mirror, worker)
        try:
            await write_fact(followed, "Zoe", "Acme")
            tenant = await memory.directory.tenant("acme")
            assert tenant is not None
            number = tenant.id

            async def caught_up() -> bool:
                assert worker.poll() is None, (tmp_path / "log").read_text()
                now = await freshness.if_available(number, cached=False)
                return now is not None and now.whole and not now.seconds

            await until(caught_up, within_s=60)
            yield followed
        finally:
            worker.send_signal(signal.SIGCONT)
            worker.send_signal(signal.SIGTERM)
            await asyncio.to_thread(worker.wait, 60)
            worker.stdout.close()


@dataclass(frozen=True, slots=True)
class Written:
    """A fact, its entities, the sequence of its receipt, and when it had been committed (monotonic seconds)."""

    fact: UUID
    subject: UUID
    employer: UUID
    sequence: str
    at: float


async def write_fact(followed: Followed, who: str, where: str) -> Written:
    memory = followed.memory
    done = await memory.observe(who, "works_at", where)
    at = time.monotonic()
    subject, employer = [
        (await memory.lookup.entities(memory.trust, name, scope=None, first=1))[0].id for name in (who, where)
    ]
    return Written(done.primary.id, subject, employer, done.sequence, at)


async def ask(
    kind: str, followed: Followed, engines: Engines, written: Written, at_least: str | None
) -> tuple[bool, AnsweredBy]:
    """Ask one question about a written fact; return whether the answer contains it, and which engine answered."""
    explore, trust = followed.explore(engines), followed.memory.trust
    answer: Any
    if kind == "paths":
        answer = await explore.paths(trust, written.subject, written.employer, at_least_sequence=at_least)
        return any(written.fact in {node.id for node in path.nodes} for path in answer.paths), answer.answered_by
    if kind == "impact":
        answer = await explore.impact(trust, written.subject, hops=1, first=100, at_least_sequence=at_least)
        return written.fact in {one.record.id for one in answer.nodes}, answer.answered_by
    if kind == "related":
        answer = await explore.related(trust, written.subject, first=100, at_least_sequence=at_least)
        return written.employer in {one.entity.id for one in answer.entities}, answer.answered_by
    if kind == "expand":
        answer = await explore.expand(trust, written.subject, first=100, at_least_sequence=at_least)
        return written.fact in {one.record.id for one in answer.neighbours}, answer.answered_by
    request = RetrieveRequest(
        task_descriptor="Acme", root_limit=1, node_limit=1_000, edge_limit=5_000, at_least_sequence=at_least
    )
    found = await followed.retrieve(engines).retrieve(trust, request)
    by = AnsweredBy(
        engine="neo4j" if found.engine == "neo4j" else "sql",
        fallback=found.fallback,
        mirror_lag_seconds=found.mirror_lag_seconds,
    )
    shown = {frozenset((edge.source, edge.target)) for edge in found.edges}
    return frozenset((written.fact, written.employer)) in shown or written.employer not in found.roots, by


@pytest.mark.parametrize("preference", ["neo4j", "auto"])
async def test_an_answer_has_the_write_before_it_or_says_that_it_lags_by_its_age(
    followed: Followed, preference: Preference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is stopped in the middle of its work, and goes on, at random; most questions come right after."""
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", 30.0)  # which a busy machine keeps
    rng = random.Random(13)
    engines = followed.engines(preference)
    paused = missed = 0
    by_mirror = {True: 0, False: 0}
    for number in range(ROUNDS[preference]):
        stopped = rng.random() < 0.5
        (followed.pause if stopped else followed.resume)()
        written = await write_fact(followed, f"Person {number}", f"Employer {number}" if number % 3 else "Acme")
        await asyncio.sleep(rng.choice([0, 0, 0.05, 0.3]))  # not to wait for anything: ages of a write
        kind = rng.choice(["paths", "impact", "related", "expand", "retrieve"])
        at_least = written.sequence if rng.random() < 0.3 else None
        age_s = time.monotonic() - written.at
        has_it, by = await ask(kind, followed, engines, written, at_least)
        assert preference == "neo4j" or by.engine == "sql"
        assert by.mirror_lag_seconds is not None
        paused += stopped
        missed += not has_it
        by_mirror[stopped] += by.engine == "neo4j"
        if at_least is not None or by.engine == "sql":
            assert has_it, (number, kind, by)
        assert has_it or by.mirror_lag_seconds >= age_s, (number, kind, by, age_s)
        if stopped and not has_it:
            _, later = await ask(kind, followed, engines, written, None)
            assert later.mirror_lag_seconds is not None
            assert later.mirror_lag_seconds >= by.mirror_lag_seconds
    followed.resume()
    if preference == "neo4j":
        assert min(by_mirror.values()) > 3, "too few questions were answered by the mirror"
        assert missed > 3, "no answer was asked while the mirror was behind"


async def test_sql_answers_while_the_mirror_lacks_a_change_that_neo4j_refused(followed: Followed) -> None:
    written = await write_fact(followed, "Ann", "Bolt")
    engines = followed.engines("neo4j")
    tenant = await followed.memory.directory.tenant("acme")
    assert tenant is not None
    async with followed.memory.database.engine.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO sync_dead_letter (consumer, tenant, kind, id, version, error, tries, next_try)"
                " VALUES (:consumer, :tenant, 1, :id, 1, 'refused', 1, now() + interval '1 h')"
            ),
            {"consumer": CONSUMER, "tenant": tenant.id, "id": written.fact},
        )
    has_it, by = await ask("impact", followed, engines, written, None)
    assert has_it
    assert by == AnsweredBy(
        engine="sql", fallback="the mirror lacks changes that Neo4j refused", mirror_lag_seconds=None
    )
