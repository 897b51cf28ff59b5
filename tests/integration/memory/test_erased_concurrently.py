"""Callers that write while their target is erased: each answer is a success or a typed error, and nothing of what was
erased is left. Other servers notice that a tenant was erased.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from fix_erasing import Store, entity_named, source
from fix_memory import Memory, memory_of, trust_of

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.revise.request import Contest, Delete, Pin, Reinforce, Retract, Supersede
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import Access, Sensitivity, SourceKind
from stratagraph.store.model.errors import RecordNotFound, StratagraphError, TenantErased
from stratagraph.store.postgres.database import Database

WHY = "ticket 4711"


@pytest.fixture
async def other_server(database_url: str) -> AsyncIterator[Memory]:
    """The services of another process on the same database, with caches of its own."""
    async with Database(database_url) as database:
        yield memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))


class Writers:
    """Callers that write about one fact and its subject in random ways until they are stopped.

    `answers` counts what they were answered: `success`, or the code of an error. Every text that is written against the
    fact has the word CANARY.
    """

    CANARY = "zqxcanary"

    def __init__(self, memory: Memory, fact: UUID, *, scope: str, chance: random.Random) -> None:
        self.memory, self.fact, self.scope, self.chance = memory, fact, scope, chance
        self.answers: Counter[str] = Counter()
        self.stopped = False
        self.others: list[BaseException] = []

    def operations(self) -> list[Callable[[], Any]]:
        memory, fact, word = self.memory, self.fact, self.CANARY
        evidence = ({"kind": "human", "ref": f"{word} says no"},)
        payload = {"kind": "semantic", "subject": "Bob", "predicate": "likes", "object": "milk"}
        payload["validity"] = {"mode": "global"}  # type: ignore[assignment]

        def revise(make: Any, **more: Any) -> Callable[[], Any]:
            return lambda: memory.revision.revise(memory.trust, make(record_id=fact, rationale=word, **more))

        more: dict[str, Any] = {"scope": self.scope}
        return [
            revise(Pin, pinned=True),
            revise(Reinforce),
            revise(Contest, evidence=evidence),
            revise(Supersede, payload=payload, evidence=evidence),
            revise(Retract),
            revise(Delete),
            lambda: memory.observe("Bob", "likes", "tea", reason_to_remember=word, **more),
            lambda: memory.observe("Bob", "drinks", "much", evidence=source(fact), **more),
            lambda: memory.turn("hello", thread="t", context={"mentions": ["Bob"], "references": [str(fact)]}, **more),
            lambda: memory.remember(SourceKind.OUTCOME, {"thread_id": "t", "outcome_status": "success"}, **more),
        ]

    async def write(self) -> None:
        while not self.stopped:
            try:
                await self.chance.choice(self.operations())()
            except StratagraphError as error:
                self.answers[error.code] += 1
            except Exception as error:
                self.others.append(error)
            else:
                self.answers["success"] += 1

    async def during(self, erase: Callable[[], Any]) -> None:
        """Write from two callers before, during and after the erasure."""
        writers = [asyncio.create_task(self.write()) for _ in range(2)]
        while sum(self.answers.values()) < 10:  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0.01)
        await erase()
        for _ in range(3):
            await asyncio.sleep(0)
        self.stopped = True
        await asyncio.gather(*writers)
        assert self.others == []


ANSWERS = {"success", "NOT_FOUND", "VERSION_CONFLICT", "UNAVAILABLE"}


@pytest.mark.parametrize("kind", ["record", "entity", "scope"])
async def test_writers_during_an_erasure_get_an_answer_and_leave_nothing_of_it(store: Store, kind: str) -> None:
    memory, chance = store.memory, random.Random(7)
    answers: Counter[str] = Counter()
    for number in range(2):
        scope = f"project:{number}"
        fact = (await memory.observe("Bob", "likes", "tea", scope=scope)).primary.id
        bob = await entity_named(memory, "Bob", trust_of(scopes={scope}))
        targets: dict[str, dict[str, Any]] = {"record": {"record_id": fact}, "entity": {"entity_id": bob}}
        request = Erase(rationale=WHY, **targets.get(kind, {"scope": scope}))
        writers = Writers(memory, fact, scope=scope, chance=chance)
        await writers.during(partial(memory.erasure.erase, memory.trust, request))
        answers += writers.answers
        assert not await store.has(fact)
        erased = [row["id"] for row in await memory.rows("SELECT id FROM tombstone WHERE cause = 3")]
        assert fact in erased
        assert await memory.rows("SELECT 1 FROM audit_note WHERE id = ANY(:ids)", ids=erased) == []
        assert await memory.rows("SELECT 1 FROM candidate WHERE record = ANY(:ids)", ids=erased) == []
        with pytest.raises(RecordNotFound, match="was erased at"):
            await memory.revision.revise(memory.trust, Pin(record_id=fact, pinned=True, rationale=WHY))
    assert set(answers) <= ANSWERS
    assert answers["success"]
    assert answers["NOT_FOUND"]
    assert await store.audit_chain_is_valid()


async def test_writers_during_the_erasure_of_their_tenant_leave_nothing_in_it(
    store: Store, other_server: Memory
) -> None:
    memory, chance = store.memory, random.Random(7)
    fact = (await memory.observe("Bob", "likes", "tea", scope="project:x")).primary.id
    (tenant,) = await memory.rows("SELECT id FROM tenant")
    writers = Writers(other_server, fact, scope="project:x", chance=chance)
    await writers.during(lambda: memory.erasure.erase(memory.trust, Erase(tenant="acme", rationale=WHY)))
    assert set(writers.answers) <= ANSWERS
    left = [
        table
        for table, columns in (await store.tables()).items()
        if "tenant" in columns and await memory.rows(f"SELECT FROM {table} WHERE tenant = :id LIMIT 1", id=tenant["id"])
    ]
    assert {table for table in left if not table.startswith("sync_log")} == {"erasure"}


async def test_another_server_makes_an_erased_tenant_anew_without_a_restart(store: Store, other_server: Memory) -> None:
    """Its first request of each kind finds out; the one after it works in the new tenant, as on all servers."""
    memory = store.memory
    secret = await other_server.observe("Bob", "likes", "tea", sensitivity=Sensitivity.HIGH)
    await memory.observe("Bob", "likes", "milk", scope="project:x")
    limited = trust_of(scopes={"project:x"}, ceiling=Sensitivity.LOW)
    calls: list[Callable[[], Any]] = [
        lambda: other_server.turn("hello", thread="t"),
        lambda: other_server.turn(
            "hello", scope="project:y", context={"references": [{"ref": "r", "predicate": "new"}]}
        ),
        lambda: other_server.lookup.records(limited),
        lambda: other_server.revision.revise(limited, Pin(record_id=secret.primary.id, pinned=True, rationale=WHY)),
        lambda: other_server.revision.revise(other_server.trust, Delete(record_id=secret.primary.id, rationale=WHY)),
        lambda: other_server.erasure.erase(other_server.trust, Erase(scope="project:x", rationale=WHY)),
    ]
    for call in calls:
        await other_server.directory.resolve(other_server.trust)  # so that its caches know the tenant
        await memory.erasure.erase(memory.trust, Erase(tenant="acme", rationale=WHY))
        with pytest.raises(TenantErased) as refused:
            await call()
        assert (refused.value.code, refused.value.retryable) == ("UNAVAILABLE", True)
        kept = await other_server.observe("Bob", "has", "a secret", sensitivity=Sensitivity.HIGH, scope="project:z")
        seen = await memory.lookup.record(memory.trust, kept.primary.id)
        assert seen is not None
        assert (seen.scope, (seen.payload or {})["object"]) == ("project:z", "a secret")
    assert len(await memory.rows("SELECT 1 FROM tenant")) == 1


async def test_a_record_beyond_the_callers_access_is_left_contested_and_not_told_of(store: Store) -> None:
    memory = store.memory
    caller = trust_of(access=Access.WRITE, scopes={"project:a"}, ceiling=Sensitivity.LOW)
    for sensitivity in (None, Sensitivity.MEDIUM, Sensitivity.HIGH):  # nothing, a redacted record and a hidden one
        told = await memory.turn("a parrot sings", trust=caller, scope="project:a")
        if sensitivity is not None:
            more: dict[str, Any] = {"scope": "project:a", "sensitivity": sensitivity}
            hidden = await memory.observe("parrot", "can", sensitivity.label, evidence=source(told.primary.id), **more)
            further = await memory.observe("bird", "can", "sing", evidence=source(hidden.primary.id), **more)
        preview = await store.erasure.preview(caller, Erase(record_id=told.primary.id, rationale=WHY))
        receipt = await store.erase(caller, record_id=told.primary.id)
        assert (preview, receipt.counts, len(receipt.hashes)) == ({"records.episodic": 1}, {"records.episodic": 1}, 1)
        assert (receipt.elsewhere, receipt.elsewhere_complete) == ((), True)
        if sensitivity is None:
            continue
        for record in (hidden, further):
            left = await memory.lookup.record(memory.trust, record.primary.id)
            assert left is not None
            assert left.state.label == "contested"
            assert str(told.primary.id) not in str((left.payload, left.provenance))
