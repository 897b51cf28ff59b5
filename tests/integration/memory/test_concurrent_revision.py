"""Concurrent revisions of the same facts: no deadlock, no lost acknowledged write, one active fact per value."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from datetime import timedelta
from uuid import UUID

from fix_memory import EVIDENCE, ManualClock, Memory
from sqlalchemy import text

from stratagraph.memory.revise.request import Fork, Merge, Revise, Supersede
from stratagraph.memory.revise.service import Revision
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.errors import ConditionsOverlap, VersionConflict
from stratagraph.store.postgres.database import Database

CLIENTS, SUBJECTS, VALUES, ROUNDS = 16, 10, 5, 6


def _payload(subject: int, value: int) -> dict[str, object]:
    return {
        "subject": f"service {subject}",
        "predicate": "owner",
        "object": f"team {value}",
        "validity": {"mode": "global"},
    }


async def test_sixteen_clients_supersede_and_merge_the_same_fifty_facts(memory: Memory, database_url: str) -> None:
    known: dict[int, list[UUID]] = {subject: [] for subject in range(SUBJECTS)}
    for subject in range(SUBJECTS):
        for value in range(VALUES):
            done = await memory.observe(f"service {subject}", "owner", f"team {value}")
            known[subject].append(done.primary.id)
    acknowledged: list[tuple[list[UUID], UUID]] = []
    refused: list[str] = []

    async def client(number: int, revision: Revision) -> None:
        rng = random.Random(number)
        for _ in range(ROUNDS):
            subject = rng.randrange(SUBJECTS)
            request: Revise
            if rng.random() < 0.5:
                one, two = rng.sample(sorted(set(known[subject])), 2)
                request, replaced_ids = Merge(record_id=one, others=(two,), rationale="the same"), [one, two]
            else:
                one = rng.choice(known[subject])
                payload = _payload(subject, rng.randrange(VALUES + 3))
                request = Supersede(record_id=one, payload=payload, evidence=EVIDENCE, rationale="corrected")
                replaced_ids = [one]
            try:
                done = await revision.revise(memory.trust, request)
            except VersionConflict as error:
                refused.append(error.code)
                continue
            acknowledged.append((replaced_ids, done.record.id))
            known[subject].append(done.record.id)

    async with AsyncExitStack() as stack:
        clock = ManualClock(memory.clock.at + timedelta(hours=1))
        clients = []
        for _ in range(4):  # as four server processes: each has its own pool and its own cache of names
            database = await stack.enter_async_context(Database(database_url))
            clients.append(Revision(database, Directory(database, memory.directory.vault), clock))
        async with asyncio.timeout(120):
            await asyncio.gather(*(client(number, clients[number % 4]) for number in range(CLIENTS)))

    assert len(acknowledged) >= SUBJECTS
    assert refused  # some revisions did conflict
    async with memory.database.engine.begin() as connection:
        doubled = await connection.execute(
            text("SELECT fact_key FROM record WHERE type = 4 AND state = 1 GROUP BY fact_key HAVING count(*) > 1")
        )
        assert doubled.all() == []
        rows = await connection.execute(text("SELECT id, state, payload -> 'revision' ->> 'superseded_by' FROM record"))
        states = {row[0]: (row[1], row[2]) for row in rows}
        slots = await connection.execute(
            text("SELECT count(DISTINCT slot_key) FROM record WHERE type = 4 AND state = 1")
        )
        assert slots.scalar_one() == SUBJECTS
    replaced: set[UUID] = set()
    for replaced_ids, current in acknowledged:
        for id_ in replaced_ids:
            assert id_ not in replaced, "two acknowledged revisions of one record"
            replaced.add(id_)
            assert states[id_] == (3, str(current))
    assert replaced == {id_ for id_, (state, _) in states.items() if state == 3}


async def test_of_concurrent_forks_with_overlapping_conditions_one_succeeds(memory: Memory, database_url: str) -> None:
    prod = await memory.observe("api", "port", 80, conditions={"env": "prod"}, revision_policy="fork")

    async def fork(revision: Revision, port: int) -> bool:
        try:
            await revision.revise(
                memory.trust,
                Fork(
                    record_id=prod.primary.id,
                    payload={"object": port},
                    conditions={"env": ["dev", f"dev-{port}"]},
                    evidence=EVIDENCE,
                    rationale="dev differs",
                ),
            )
        except ConditionsOverlap:
            return False
        return True

    async with AsyncExitStack() as stack:
        revisions = []
        for _ in range(4):
            database = await stack.enter_async_context(Database(database_url))
            revisions.append(Revision(database, Directory(database, memory.directory.vault), memory.clock))
        won = await asyncio.gather(*(fork(revisions[n % 4], 8000 + n) for n in range(8)))
    assert won.count(True) == 1
