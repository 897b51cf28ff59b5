"""Fills a database with data of all kinds, by the code of commit 48b8e96 and with the helpers of its tests.

Run with PYTHONPATH naming the source roots of that commit and its tests; the arguments are the URLs of the three
logins. One tenant is left with all background work done, the other with all of it waiting. It is never edited to follow
the code of today: it speaks to that of its commit.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

from fix_embedder import embedding_server
from fix_jobs import resources_of, server_of
from fix_learning import capture_episode, runs_of
from fix_memory import Memory, memory_of, trust_of
from noninterference.jobs import fail
from obstore.store import MemoryStore
from story import capture_story

from stratagraph.consolidation.jobs.embed import Embed
from stratagraph.memory.artifacts import Artifacts
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.predicates import Predicates
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Delete, Pin, Retract
from stratagraph.service.embedders.endpoint import EmbeddingEndpoint
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.keys.credentials import Credentials
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Outcome, Sensitivity, SourceKind
from stratagraph.store.model.fact_predicates import FactPredicate
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.schema import migrate


async def bytes_of(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def fill(memory: Memory) -> None:
    """Capture, revise, report, learn, fail and erase as the memory's default caller."""
    trust = memory.trust
    kept = await capture_story(memory)
    await secrets_and_files(memory)
    await names_before_entities(memory)
    for number in range(3):
        thread = f"task {number}"
        await capture_episode(memory, thread, outcome="failure" if number == 2 else "success", events=("one", "two"))
    lesson = LearnLesson(
        task="deploy Lantern", solution="watch the canary", mistake="deployed on Friday", verified=True
    )
    await memory.lessons.learn(trust, lesson)
    await memory.lessons.learn(trust, replace(lesson, task="rotate keys", solution="retire the old key last"))
    await memory.lessons.playbook(trust)
    found = await memory.retrieve.retrieve(trust, RetrieveRequest(task_descriptor="login to Lantern fails"))
    await memory.retrieve.log.flush()
    report = OutcomeReport(
        retrieval=found.id, outcome=Outcome.SUCCESS, used=tuple(n.record.id for n in found.nodes[:2])
    )
    await memory.feedback.report(trust, report)
    unsaid = CaptureRequest(source="test", source_kind=SourceKind.AGENT_TURN, content={"role": "user", "text": "lost"})
    await fail(memory, trust, [unsaid])
    gone = await memory.turn("what must not be kept", thread="erased", idempotency_key="erased-1")
    await memory.erasure.erase(trust, Erase(record_id=gone.primary.id, rationale="asked for"))
    deleted = await memory.observe("Lantern", "was_called", "Candle", scope="project:other")
    await memory.revision.revise(trust, Delete(record_id=deleted.primary.id, rationale="not needed"))
    await memory.revision.revise(trust, Pin(record_id=kept["cause"], pinned=True, rationale="matters"))


async def secrets_and_files(memory: Memory) -> None:
    """Capture what is sealed, and an artifact that a record refers to."""
    artifacts = Artifacts(memory.database, memory.directory, memory.clock, Blobs(MemoryStore()))
    uploaded = await artifacts.put(memory.trust, bytes_of(b"a screenshot"), media_type="image/png")
    shown = {"role": "user", "text": "see this", "artifacts": [f"sha256:{uploaded.sha256.hex()}"]}
    await memory.remember(SourceKind.AGENT_TURN, shown)
    await memory.observe("Ben Okafor", "earns", "band 7", sensitivity=Sensitivity.HIGH, idempotency_key="salary")
    salary = await memory.observe("Ben Okafor", "owes", "nothing", sensitivity=Sensitivity.HYPER)
    await memory.revision.revise(memory.trust, Retract(record_id=salary.primary.id, rationale="hearsay"))


async def names_before_entities(memory: Memory) -> None:
    """Capture facts that name what is no entity yet, and then the entities."""
    for name in ("Grafana", "Jaeger", "Loki"):
        await memory.observe("Chiara Rossi", f"looks_at_{name.lower()}", name)
        await memory.observe("Lantern", "is_watched_by", name, revision_policy="contest")
    for name in ("Grafana", "Jaeger", "Loki"):
        content = {"canonical_name": name, "primary_type": "Service", "aliases": [{"value": f"{name} Enterprise"}]}
        await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY)


async def work(memory: Memory) -> None:
    """Do all background work."""
    async with embedding_server() as server, EmbeddingEndpoint(server.url, model="small") as embedder:
        while (await Embed(replace(resources_of(memory), embedder=embedder)).run_once(memory.clock.now())).more:
            pass
    for _ in range(2):
        memory.clock.forward(timedelta(hours=7))
        await server_of(memory).run_once()
    runs = runs_of(memory)
    (run, *_) = (await runs.page(memory.trust)).runs
    await runs.undo(memory.trust, run.id, rationale="not wanted")


async def main(owner: str, api: str, worker: str) -> None:
    migrate(owner, api_url=api, worker_url=worker)
    async with Database(api, worker) as database:
        directory = Directory(database, Vault(database, LocalMasterKey(bytes(32))))
        memory = memory_of(database, directory)
        await Predicates(database, directory).set(memory.trust, "is_watched_by", FactPredicate())
        await Credentials(database, directory).create(memory.trust)
        await fill(memory)
        await work(memory)
        memory.trust = trust_of(tenant="globex")
        await fill(memory)


asyncio.run(main(*sys.argv[1:]))
