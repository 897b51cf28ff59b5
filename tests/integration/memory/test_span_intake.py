"""Spans that arrive in several requests: stored at once, and imported as the conversation that they tell of, once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fix_conversations import chat_file, threads
from fix_jobs import resources_of
from fix_memory import Memory, fresh_database, memory_of, trust_of
from fix_spans import MadeSpan, as_otlp, runs, spans_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.consolidation.job import Resources
from stratagraph.consolidation.jobs.import_spans import ImportSpans
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.imports.conversation import Called, Returned, Said, Step
from stratagraph.memory.imports.formats.otel_spans import read_span
from stratagraph.memory.imports.span_intake import FINISHED_S, QUIET_S, Receipt
from stratagraph.memory.imports.traces import import_traces
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import Access, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.key_rotation import Rotation

TRACE = "5b8efff798038103d269b633813fc60c"
RUN: list[Step] = [
    Said(role="user", text="Is a berth free at Penhale?"),
    Called(tool="find_berths", arguments={"port": "Penhale"}, turn=1, id="call_1"),
    Returned(text="Error: unknown port", id="call_1", failed=True),
    Called(tool="find_berths", arguments={"port": "Penhale Quay"}, turn=2, id="call_2"),
    Returned(text='{"berth": 3}', id="call_2"),
    Said(role="assistant", text="Berth 3 is free."),
]


async def receive(
    memory: Memory, resources: Resources, spans: Sequence[MadeSpan], *, trust: Trust | None = None, trace: str = TRACE
) -> Receipt:
    read = [read_span(as_otlp(one, trace), "") for one in spans]
    return await resources.span_intake.receive(trust or memory.trust, read)


async def run_job(memory: Memory, resources: Resources, *, after_s: float = QUIET_S) -> dict[str, int]:
    memory.clock.forward(timedelta(seconds=after_s))
    return dict((await ImportSpans(resources).run_once(memory.clock.now())).counts)


async def waiting(memory: Memory) -> int:
    return int(await memory.value("SELECT count(*) AS n FROM received_span"))


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=runs(), seed=st.integers(0, 2**32), is_late=st.booleans())
async def test_spans_in_requests_become_what_the_chat_of_the_run_becomes(
    postgres_url: str, template_database: str, tmp_path: Path, steps: list[Step], seed: int, is_late: bool
) -> None:
    """Requests come in any order within a moment, or in the order of the run with pauses; some are sent again."""
    chance = random.Random(seed)
    spans = sorted(spans_of(steps, conversation="x"), key=lambda one: one.ended)
    if not is_late:
        chance.shuffle(spans)
    with fresh_database(postgres_url, template_database) as url:
        async with Database(url) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            resources = resources_of(memory)
            sent: list[MadeSpan] = []
            while spans:
                size = chance.randint(1, 4)
                batch, spans = spans[:size], spans[size:]
                again = chance.sample(sent, min(len(sent), chance.randint(0, 2)))
                receipt = await receive(memory, resources, [*batch, *again])
                assert (receipt.stored, receipt.repeated, receipt.refused) == (len(batch), len(again), [])
                sent += batch
                if is_late and chance.random() < 0.5:
                    await run_job(memory, resources, after_s=60)
            await run_job(memory, resources)
            found = await threads(memory)
            await run_job(memory, resources, after_s=FINISHED_S + 1)
            assert await threads(memory) == found
            assert await waiting(memory) == 0
            await import_traces(memory.capture, memory.trust, chat_file(tmp_path, steps, id_="y"))
            both = await threads(memory)
            assert both.keys() == {"trace:x", "trace:y"}
            assert both["trace:x"] == both["trace:y"]
            once_more = await import_traces(memory.capture, memory.trust, chat_file(tmp_path, steps, id_="x"))
            assert (once_more.captured, once_more.edited) == (0, [])


async def test_calls_wait_for_their_results_and_are_stored_without_them_in_the_end(memory: Memory) -> None:
    resources = resources_of(memory)
    spans = [one for one in spans_of(RUN, conversation="x") if one.parent is not None]
    await receive(memory, resources, spans[:1])
    await run_job(memory, resources)
    (events, nodes) = (await threads(memory))["trace:x"]
    assert (len(events), nodes) == (1, [])
    await run_job(memory, resources, after_s=FINISHED_S + 1)
    ((_, nodes),) = (await threads(memory)).values()
    assert nodes == [{"id": "call_1", "tool": "find_berths", "args": {"port": "Penhale"}}]
    assert await waiting(memory) == 0


async def test_spans_of_another_caller_move_nothing(memory: Memory, postgres_url: str, template_database: str) -> None:
    """Another caller, in a scope that ours cannot read, sends a conversation of the same id and trace; or does not."""
    ours, theirs = (trust_of(actor=name, access=Access.WRITE, scopes={f"project:{name}"}) for name in ("ann", "ben"))
    other: list[Step] = [Said(role="user", text="Something else."), Said(role="assistant", text="Indeed.")]

    async def told(memory: Memory, *, has_other: bool) -> Any:
        resources = resources_of(memory)
        seen: list[Any] = []
        for batch in (spans_of(RUN, conversation="x")[:2], spans_of(RUN, conversation="x")[2:]):
            if has_other:
                await receive(memory, resources, spans_of(other, conversation="x"), trust=theirs)
            seen.append(await receive(memory, resources, batch, trust=ours))
            await run_job(memory, resources)
            seen.append(await threads(memory, ours))
        seen.append(await receive(memory, resources, spans_of(RUN, conversation="x"), trust=ours))
        return seen

    with fresh_database(postgres_url, template_database) as url:
        async with Database(url) as database:
            alone = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            assert await told(memory, has_other=True) == await told(alone, has_other=False)
    assert len((await threads(memory, theirs))["trace:x"][0]) == 2


async def test_spans_that_tell_nothing_of_a_conversation_are_not_stored(memory: Memory) -> None:
    resources = resources_of(memory)
    others = [
        MadeSpan(id=number, parent=None, name="x", began=0, ended=1, attributes=attributes)
        for number, attributes in enumerate(
            [{}, {"http.request.method": "GET"}, {"gen_ai.operation.name": "embeddings"}], 1
        )
    ]
    receipt = await receive(memory, resources, others)
    assert (receipt.stored, receipt.ignored, receipt.refused) == (0, 3, [])
    assert await waiting(memory) == 0


async def test_who_may_not_write_stores_nothing(memory: Memory) -> None:
    resources = resources_of(memory)
    for trust in (
        trust_of(access=Access.READ),
        trust_of(access=Access.WRITE, scopes={"project:a"}, ceiling=Sensitivity.LOW),
    ):
        spans = [read_span(as_otlp(one, TRACE), "") for one in spans_of(RUN, conversation="x")]
        with pytest.raises(Forbidden):
            await resources.span_intake.receive(trust, spans, scope="project:b")
    assert await waiting(memory) == 0


async def test_waiting_spans_are_imported_after_their_key_was_replaced(memory: Memory) -> None:
    resources = resources_of(memory)
    spans = spans_of(RUN, conversation="x")
    await receive(memory, resources, spans)
    rotation = Rotation(memory.database, memory.directory, memory.clock)
    (tenant,) = await rotation.tenants()
    done = await rotation.rotate(tenant, lambda _: None)
    assert (done.resealed, done.dropped) == (len(spans), 1)
    await run_job(memory, resources)
    assert len((await threads(memory))["trace:x"][0]) == 4


async def test_waiting_spans_are_sealed_and_erased_with_their_scope_and_by_name(memory: Memory) -> None:
    resources = resources_of(memory)
    scoped = trust_of(actor="ann", access=Access.WRITE, scopes={"project:a"})
    person = await memory.remember(
        SourceKind.OBSERVATION,
        {"subject": "Berit Holm", "predicate": "works_at", "object": "Penhale"},
        context={"entities": [{"name": "Berit Holm", "type": "Person"}]},
    )
    steps: list[Step] = [Said(role="user", text="Berit Holm likes sesame."), Said(role="assistant", text="Noted.")]
    await receive(memory, resources, spans_of(RUN, conversation="x"), trust=scoped)
    await receive(memory, resources, spans_of(steps, conversation="y"), trace="1" * 32)
    rows = await memory.rows("SELECT content, sealed FROM received_span")
    assert all(row["content"] is None and b"Penhale" not in bytes(row["sealed"]) for row in rows)
    await memory.remember(SourceKind.AGENT_TURN, {"role": "user", "text": "Hello."}, scope="project:a")
    await memory.erasure.erase(memory.trust, Erase(scope="project:a", rationale="test"))
    left = await waiting(memory)
    assert 0 < left < len(rows)
    (entity,) = [one.id for one in person.created if one.type is MemoryType.ENTITY and one.name == "Berit Holm"]
    await memory.erasure.erase(memory.trust, Erase(entity_id=entity, rationale="test"))
    await run_job(memory, resources)
    assert "trace:y" not in await threads(memory)
