"""Answers hold only what holds at their instant: expired and future facts are no candidates, neighbours or text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fix_api import services_of
from fix_memory import Memory, trust_of
from rich.console import Console

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.service.cli.ask import tree_of
from stratagraph.service.cli.asking import document
from stratagraph.service.cli.show import line
from stratagraph.store.model.clock import SystemClock, rfc3339
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.records import MemoryRecord

DAY = timedelta(days=1)
MANAGERS = ("Ann", "Ben", "Cleo")  # until yesterday, from yesterday until next year, from then on


@pytest.fixture
def memory(memory: Memory) -> Memory:
    """A memory whose clock is ahead of the system clock, from which ids are made."""
    memory.clock.at = SystemClock().now().replace(microsecond=0) + timedelta(hours=1)
    return memory


@pytest.fixture
def explore(memory: Memory) -> Explore:
    return Explore(memory.database, memory.directory, memory.clock, Engines())


async def three_managers(memory: Memory, **more: Any) -> list[MemoryRecord]:
    """Capture three managers of one depot, one after the other in valid time."""
    now = memory.clock.now()
    changes = (now - DAY, now + 365 * DAY)
    bounds = ({"end": changes[0]}, {"start": changes[0], "end": changes[1]}, {"start": changes[1]})
    found = []
    for name, bound in zip(MANAGERS, bounds, strict=True):
        validity = {"mode": "timeboxed"} | {side: at.isoformat() for side, at in bound.items()}
        kept = await memory.observe(name, "manages", "the north depot", validity=validity, **more)
        found.append(kept.primary)
    return found


async def ask(memory: Memory, **more: Any) -> Retrieved:
    trust, task = more.pop("trust", memory.trust), more.pop("task", "Who manages the north depot?")
    request = RetrieveRequest(task_descriptor=task, max_hops=3, token_budget=1_000, **more)
    return await memory.retrieve.retrieve(trust, request)


def managers(found: Retrieved) -> set[str]:
    """Return the managers in the answer, and check that the text names the same ones."""
    named = {
        node.record.payload["subject"]
        for node in found.nodes
        if node.record.type is MemoryType.SEMANTIC and node.record.payload is not None
    }
    assert found.rendering is not None
    assert {name for name in MANAGERS if f"{name} manages" in found.rendering} == named
    return named


async def test_an_agent_is_told_of_the_present_manager_only_while_the_clock_moves(memory: Memory) -> None:
    ann, ben, cleo = await three_managers(memory)
    found = await ask(memory)
    assert managers(found) == {"Ben"}
    assert found.rendering is not None
    assert f"until {ben.valid_to:%Y-%m-%d}" in found.rendering
    before = memory.clock.now()
    memory.clock.forward(366 * DAY)
    assert managers(await ask(memory)) == {"Cleo"}
    assert managers(await ask(memory, as_of=before)) == {"Ben"}
    for fact in (ann, ben, cleo):  # lookup still shows them all
        shown = await memory.lookup.record(memory.trust, fact.id)
        assert shown is not None
        assert (shown.valid_from, shown.valid_to) == (fact.valid_from, fact.valid_to)
        assert (await memory.lookup.history(memory.trust, fact.id)).versions[0].record == shown
    listed = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC]))
    assert {record.id for record in listed.records} == {ann.id, ben.id, cleo.id}


async def test_graph_questions_neither_show_nor_cross_facts_that_do_not_hold(memory: Memory, explore: Explore) -> None:
    ann, ben, cleo = await three_managers(memory, context={"mentions": [{"name": "the north depot"}]})
    who = {name: (await memory.lookup.entities(memory.trust, name, scope=None, first=1))[0].id for name in MANAGERS}
    depot = (await memory.lookup.entities(memory.trust, "the north depot", scope=None, first=1))[0].id

    async def seen() -> tuple[set[Any], ...]:
        expansion = await explore.expand(memory.trust, depot)
        impact = await explore.impact(memory.trust, depot)
        related = await explore.related(memory.trust, depot)
        assert expansion is not None
        assert impact is not None
        assert related is not None
        joined = set()
        for name in MANAGERS:
            paths = await explore.paths(memory.trust, who[name], depot)
            assert paths is not None
            joined |= {name} if paths.paths else set()
        return (
            {one.record.id for one in expansion.neighbours if one.record.type is MemoryType.SEMANTIC},
            {one.record.id for one in impact.nodes if one.record.type is MemoryType.SEMANTIC},
            {one.entity.name for one in related.entities},
            joined,
        )

    assert await seen() == ({ben.id}, {ben.id}, {"Ben"}, {"Ben"})
    drawn = await explore.expand(memory.trust, depot, loaded=[ann.id, cleo.id])
    assert drawn is not None
    assert {end for one in drawn.between for end in (one.source, one.target)}.isdisjoint({ann.id, cleo.id})
    hub = await explore.expand(memory.trust, who["Ann"])
    assert hub is not None
    assert hub.neighbours == ()
    memory.clock.forward(366 * DAY)
    assert await seen() == ({cleo.id}, {cleo.id}, {"Cleo"}, {"Cleo"})


async def test_a_redacted_fact_that_does_not_hold_is_no_neighbour_and_shows_no_validity(memory: Memory) -> None:
    """Two callers ask: one reads the facts in full, the other is one level below them."""
    depot = await memory.observe("the north depot", "lies_in", "Bern")
    subject = (await memory.lookup.entities(memory.trust, "the north depot", scope=None, first=1))[0].id
    facts = await three_managers(
        memory, sensitivity=Sensitivity.MEDIUM, context={"references": [{"ref": str(subject), "predicate": "uses"}]}
    )
    low = trust_of(ceiling=Sensitivity.LOW)
    found = await ask(memory, trust=low)
    redacted = [node.record for node in found.nodes if node.record.redacted]
    assert depot.primary.id in {node.record.id for node in found.nodes}
    assert {record.id for record in redacted} & {fact.id for fact in facts} == {facts[1].id}
    for record in redacted:
        assert (record.valid_from, record.valid_to, record.conditions) == (None, None, None)


async def test_a_conditional_and_a_contested_fact_say_so(memory: Memory) -> None:
    conditions = {"region": ["eu", "us"]}
    await memory.observe(
        "Ann", "manages", "the north depot", validity={"mode": "conditional", "conditions": conditions}
    )
    for name in MANAGERS[1:]:
        await memory.observe("the south depot", "is_led_by", name, revision_policy="contest")
    found = await ask(memory, task="Who manages or leads the depots?")
    facts = {node.record.text: node.record for node in found.nodes if node.record.type is MemoryType.SEMANTIC}
    assert [record.conditions for record in facts.values() if record.conditions] == [conditions]
    assert [record.state for record in facts.values()].count(RecordState.CONTESTED) == 2
    assert found.rendering is not None
    assert found.rendering.count(", contested)") == 2
    assert found.rendering.count(", when region: eu or us) Ann manages the north depot [") == 1


async def test_commands_show_state_conditions_and_validity_as_text_and_as_json(memory: Memory) -> None:
    _, ben, _ = await three_managers(memory)
    schema, context = build_schema(), Context(memory.trust, services_of(memory))
    request = {"taskDescriptor": "Who manages the north depot?", "maxHops": 3}
    data = []
    for name, variables in (
        ("Ask", {"input": request, "why": False}),
        ("History", {"id": str(ben.id), "full": True}),
    ):
        answer = await schema.execute(document(name), variable_values=variables, context_value=context)
        assert answer.errors is None
        assert answer.data is not None
        data.append(answer.data)
    found, [version] = data[0]["retrieveGraph"], data[1]["history"]["nodes"]
    console = Console(width=400)
    with console.capture() as printed:
        console.print(tree_of("who?", found))
        console.print(line(version["record"]))
    assert ben.valid_from is not None
    assert ben.valid_to is not None
    interval = f"(from {rfc3339(ben.valid_from)} until {rfc3339(ben.valid_to)})"
    lines = [one for one in printed.get().splitlines() if "Ben manages" in one]
    assert len(lines) > 1
    assert all(f"Ben manages the north depot {interval}" in one for one in lines)
    [node] = [node["record"] for node in found["nodes"] if node["record"]["id"] == str(ben.id)]
    expected = {"conditions": None, "validFrom": rfc3339(ben.valid_from), "validTo": rfc3339(ben.valid_to)}
    for shown in (node, version["record"]):
        assert {name: shown[name] for name in ("state", *expected)} == expected | {"state": "ACTIVE"}


async def test_the_past_has_the_validity_that_was_known_then(memory: Memory) -> None:
    """A later trim does not change what was known before it."""
    kept = (await memory.observe("Ann", "manages", "the north depot")).primary
    before = memory.clock.now()
    memory.clock.forward(DAY)
    end = datetime(2020, 1, 1, tzinfo=UTC)
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO record_history (tenant, id, row_version, from_at, to_at, type, scope, sensitivity, state,"
            " confidence, tags, name, text, payload, provenance, interpretation, occurred_at, version, terms, impacts,"
            " validity) SELECT tenant, id, row_version, updated_at, %(at)s, type, scope, sensitivity, state,"
            " confidence, tags, name, text, payload, provenance, interpretation, occurred_at, version, terms, impacts,"
            " validity FROM record WHERE id = %(id)s",
            {"id": kept.id, "at": memory.clock.now()},
        )
        await connection.exec_driver_sql(
            "UPDATE record SET validity = tstzrange(NULL, %(end)s), updated_at = %(at)s, row_version = row_version + 1"
            " WHERE id = %(id)s",
            {"id": kept.id, "at": memory.clock.now(), "end": end},
        )
    memory.clock.forward(DAY)
    assert managers(await ask(memory)) == set()
    assert managers(await ask(memory, as_of=before)) == {"Ann"}
    now, then = [await memory.lookup.record(memory.trust, kept.id, as_of=at) for at in (None, before)]
    assert now is not None
    assert then is not None
    assert (now.valid_to, then.valid_to) == (end, None)
