"""A store with every kind of memory, state and removal, for tests that move it to another instance."""

from __future__ import annotations

from datetime import timedelta

from fix_learning import capture_episode, learn
from fix_memory import EVIDENCE, Memory, link
from story import capture_story

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.revise.request import Contest, Delete, Penalize, Pin, Supersede
from stratagraph.store.erasure.pruning import prune_due
from stratagraph.store.model.enums import Sensitivity, SourceKind
from stratagraph.store.model.fact_predicates import FactPredicate
from stratagraph.store.postgres.database import Role
from stratagraph.store.records.predicates import register

HIGH = {"sensitivity": Sensitivity.HIGH}


async def fill(memory: Memory) -> None:
    """Store what has every kind of memory, state and removal: sealed, learned, disputed, pinned, pruned and erased."""
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        await register(connection, caller.tenant, "serves", FactPredicate(single_valued=True, object_kind="literal"))
    await capture_story(memory)
    await link(memory)
    for number in range(4):
        await capture_episode(memory, f"look up {number}")
    assert await learn(memory) is not None
    await memory.observe("Vault", "opens_with", "a secret word", **HIGH)
    sealed = await memory.observe("Vault", "stands_in", "the cellar", revision_policy="replace", **HIGH)
    await memory.revise(
        Supersede(
            record_id=sealed.primary.id,
            rationale="moved",
            payload={"subject": "Vault", "predicate": "stands_in", "object": "the attic"},
            evidence=EVIDENCE,
        )
    )
    for port in (80, 8080, 443):
        await memory.observe("gateway", "serves", port)
    doubtful = await memory.observe("gateway", "runs", "nginx")
    await memory.revise(Contest(record_id=doubtful.primary.id, rationale="it looks like caddy", evidence=EVIDENCE))
    pinned = await memory.turn("Pin this, please", thread="open talk")
    await memory.revise(Pin(record_id=pinned.primary.id, rationale="asked for", pinned=True))
    await memory.revise(Penalize(record_id=doubtful.primary.id, rationale="useless", amount=0.2))
    lesson = await memory.lessons.learn(memory.trust, LearnLesson(task="ship the gateway", solution="drain it first"))
    await memory.lessons.playbook(memory.trust, query="ship the gateway", is_counted=True)
    await memory.retrieve.log.flush()
    assert lesson.captured is not None
    gone = await memory.observe("gateway", "is_to_be", "deleted")
    await memory.revise(Delete(record_id=gone.primary.id, rationale="asked for"))
    private = await memory.observe("Ada", "lives_in", "Rome")
    await memory.erasure.erase(memory.trust, Erase(record_id=private.primary.id, rationale="right to be forgotten"))
    await memory.turn("This will fade")
    memory.clock.forward(timedelta(hours=11))
    async with memory.database.background(Role.ERASE) as connection:
        await prune_due(connection, memory.directory, now=memory.clock.now(), limit=1_000)
    await memory.remember(
        SourceKind.TOOL_OUTPUT, {"thread_id": "open task", "tool_name": "ls", "call_id": "c1", "result": 1}
    )
