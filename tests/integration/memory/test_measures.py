"""Measures of memory: what the census counts, for whom, and how it goes on."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from fix_jobs import resources_of
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.consolidation.jobs.take_census import TakeCensus, TakeCensusConfig
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.records.measures import Measured, Measures
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Contest, Pin, Retract, Supersede
from stratagraph.store.model.enums import MemoryType, Outcome, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.records.census import ABANDONED, Counts, fetch_census_of_all, fetch_census_state

SKILL = {
    "kind": "competence",
    "skill_name": "feed the parrot",
    "triggers": [{"signal": "hungry parrot"}],
    "recipe": [{"step": "seeds"}],
    "performance": {"success_count": 3, "failure_count": 1},
}
PLAN = {
    "kind": "plan_graph",
    "plan_id": "p",
    "version": "1",
    "nodes": [{"id": "a", "op": "build"}],
    "edges": [],
    "metrics": {"execution_count": 4},
}


async def take_census(memory: Memory, **config: Any) -> None:
    """Count everything, whatever the pace."""
    job = TakeCensus(resources_of(memory), TakeCensusConfig(**{"interval_s": 0, "rest": 0, **config}))
    while (await job.run_once(memory.clock.now())).more:
        pass


async def measure(memory: Memory, trust: Trust | None = None) -> Measured:
    return await Measures(memory.database, memory.directory, None).measure(trust or memory.trust)


async def filled(memory: Memory) -> None:
    """Store records of several types, scopes, levels, states and ages."""
    for number in range(6):
        await memory.turn(f"remark {number}", scope=f"project:{number % 2}", sensitivity=Sensitivity(number % 3))
    memory.clock.forward(timedelta(hours=30))
    old = (await memory.observe("parrot", "likes", "seeds")).primary.id
    new = (await memory.observe("parrot", "fears", "cats", sensitivity=Sensitivity.HYPER)).primary.id
    gone = (await memory.observe("parrot", "eats", "cake")).primary.id
    skill = (await memory.remember(SourceKind.OBSERVATION, SKILL, proposed_type=MemoryType.COMPETENCE)).primary.id
    await memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    evidence = ({"kind": "event", "ref": "x"},)
    payload = {"subject": "parrot", "predicate": "likes", "object": "nuts", "validity": {"mode": "global"}}
    for change in (
        Supersede(record_id=old, payload=payload, evidence=evidence, rationale="better"),
        Contest(record_id=new, evidence=evidence, rationale="doubt"),
        Retract(record_id=gone, rationale="wrong"),
        Pin(record_id=skill, pinned=True, rationale="keep"),
    ):
        memory.clock.forward(timedelta(seconds=1))
        await memory.revision.revise(memory.trust, change)


async def readable(memory: Memory, trust: Trust) -> list[MemoryRecord]:
    page = await memory.lookup.records(trust, first=100)
    assert not page.has_next
    return [record for record in page.records if not record.redacted]


@pytest.mark.parametrize("page", [2, 5_000])
async def test_each_caller_gets_the_sums_of_what_it_may_read(memory: Memory, page: int) -> None:
    await filled(memory)
    await take_census(memory, page=page)
    for trust in (
        memory.trust,
        trust_of(scopes={"project:0"}, ceiling=Sensitivity.LOW),
        trust_of(scopes={"project:1"}),
        trust_of(ceiling=Sensitivity.PUBLIC),
        trust_of(tenant="nobody"),
    ):
        records = await readable(memory, trust)
        current = [one for one in records if one.state in (RecordState.ACTIVE, RecordState.CONTESTED)]
        found = await measure(memory, trust)
        assert found.counted_at == memory.clock.now()
        assert {type_: counts.records for type_, counts in found.by_type.items()} == Counter(
            one.type for one in records
        )
        total = found.total
        assert (total.active, total.contested) == (
            sum(one.state is RecordState.ACTIVE for one in records),
            sum(one.state is RecordState.CONTESTED for one in records),
        )
        fifths = Counter(min(4, int(one.salience * 5)) for one in current)
        assert total.fifths == tuple(fifths[number] for number in range(5))
        assert total.salience == pytest.approx(sum(one.salience for one in current))
        assert total.confidence == pytest.approx(sum(one.confidence for one in current))
        assert total.revised == sum(one.version > 1 or one.state is RecordState.SUPERSEDED for one in records)
        day_ago = memory.clock.now() - timedelta(days=1)
        assert total.created_lately == sum(one.created_at > day_ago for one in records)
        log = await memory.lookup.audit(trust, [one.id for one in records])
        assert total.audit_entries == sum(map(len, log.values()))
        assert total.pinned == sum(one.lifecycle is not None and one.lifecycle.pinned for one in current)
    everything = await measure(memory)
    assert everything.competence_success_rate == 0.75
    assert everything.plan_reuse_frequency == 4
    assert everything.contradiction_rate == pytest.approx(1 / everything.total.current, abs=1e-6)
    assert everything.mean_salience is not None
    assert everything.growth_rate is not None
    of_all = (await fetch_census_of_all(memory.database)).by_type
    assert {type_: one.fifths for type_, one in of_all.items()} == {
        type_: one.fifths for type_, one in everything.by_type.items()
    }


async def test_what_concerns_the_whole_tenant_is_told_to_those_who_may_read_it(memory: Memory) -> None:
    fact = (await memory.observe("parrot", "likes", "seeds")).primary.id
    retrieval = (await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="parrot"))).id
    report = OutcomeReport(retrieval=retrieval, outcome=Outcome.SUCCESS, used=(fact,))
    await memory.feedback.report(memory.trust, report)
    found = await measure(memory)
    assert found.counted_at is None
    assert found.total == Counts()
    assert found.mean_salience is None
    assert found.usefulness is not None
    assert found.queues == {"failed_captures": 0, "given_up_captures": 0, "reevaluations": 0}
    for trust in (trust_of(scopes={"a"}), trust_of(ceiling=Sensitivity.HIGH)):
        lesser = await measure(memory, trust)
        assert (lesser.usefulness, lesser.queues) == (None, None)


async def test_a_round_goes_on_where_it_stopped_and_shows_nothing_before_it_is_complete(memory: Memory) -> None:
    for number in range(7):
        await memory.turn(f"remark {number}")
    job = TakeCensus(resources_of(memory), TakeCensusConfig(page=2, pages=2))
    now = memory.clock.now()
    assert (await job.run_once(now)).more
    assert (await measure(memory)).counted_at is None
    assert not (await job.run_once(now)).more
    assert (await measure(memory)).total.records == 7
    await memory.turn("one more")
    await job.run_once(memory.clock.now())  # the next round is not due
    assert (await measure(memory)).total.records == 7
    memory.clock.forward(timedelta(days=1))
    assert (await job.run_once(memory.clock.now())).more
    assert (await measure(memory)).total.records == 7
    memory.clock.forward(ABANDONED)  # so it begins anew
    while (await job.run_once(memory.clock.now())).more:
        assert (await measure(memory)).total.records == 7
    found = await measure(memory)
    assert (found.total.records, found.counted_at) == (8, memory.clock.now())


async def test_a_round_rests_in_proportion_to_the_work_of_the_last(memory: Memory) -> None:
    await memory.turn("remark")
    job = TakeCensus(resources_of(memory))
    await job.run_once(memory.clock.now())
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("UPDATE census SET took_s = 2"))
    first = await fetch_census_state(memory.database)
    for ahead, is_due in ((timedelta(seconds=599), False), (timedelta(seconds=2), True)):
        memory.clock.forward(ahead)
        await job.run_once(memory.clock.now())
        assert ((await fetch_census_state(memory.database)).counted_at != first.counted_at) is is_due


async def test_an_erased_tenant_leaves_no_counts(memory: Memory) -> None:
    await filled(memory)
    await take_census(memory)
    await memory.erasure.erase(memory.trust, Erase(tenant="acme", rationale="asked for"))
    assert (await fetch_census_of_all(memory.database)).by_type == {}
