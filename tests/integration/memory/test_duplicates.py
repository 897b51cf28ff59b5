"""Records that say the same take one place among the roots, which says how many they are."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from fix_api import services_of
from fix_memory import Memory, trust_of

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.why_not import Absence
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust

FAILED = "the nightly backup of the ledger failed because the disk of the archive host was full"
ASK = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { ... on RetrieveGraphSuccess {
  candidates: limits { reached } rendering nodes { root record { id } duplicateCount duplicateIds } } } }"""


async def ask(memory: Memory, task: str, trust: Trust | None = None, **more: object) -> Retrieved:
    asked = RetrieveRequest(task_descriptor=task, max_hops=0, **more)  # type: ignore[arg-type]
    return await memory.retrieve.retrieve(trust or memory.trust, asked)


def first(found: Retrieved) -> Node:
    return found.nodes[0]


async def said(memory: Memory, *texts: str, **more: object) -> list[UUID]:
    return [(await memory.turn(text, **more)).primary.id for text in texts]  # type: ignore[arg-type]


async def test_what_is_said_again_takes_one_place_and_the_newest_stands_for_all(memory: Memory) -> None:
    now = memory.clock.now()
    written = (FAILED, FAILED.upper(), f"{FAILED}!", FAILED.replace(" because", ", because"))
    days = (3, 1, 4, 2)
    alike = [
        (await memory.turn(text, timestamp=now - timedelta(days=age))).primary.id
        for text, age in zip(written, days, strict=True)
    ]
    (other,) = await said(memory, "the backup of the ledger was moved to another host")
    found = await ask(memory, "why did the backup of the ledger fail?", root_limit=2)
    assert found.roots == (alike[1], other)
    assert {*first(found).duplicates} == {alike[0], *alike[2:]}
    assert found.nodes[1].duplicates == ()
    assert found.candidates == 2
    assert found.reached == ()
    asked = RetrieveRequest(task_descriptor="why did the backup of the ledger fail?", max_hops=0)
    absent = await memory.retrieve.why_not(memory.trust, alike[0], asked)
    assert absent.reasons[0].absence is Absence.DUPLICATE
    assert str(alike[1]) in absent.reasons[0].message
    assert absent.node is None


async def test_what_says_the_opposite_is_another_record_now_and_in_the_past(memory: Memory) -> None:
    for texts, question in (
        (("Deploys are allowed on Fridays", "Deploys are not allowed on Fridays"), "are deploys allowed on Fridays?"),
        (("Alerts are turned on at night", "Alerts are turned off at night"), "are alerts turned on at night?"),
        (("Ann owes Bo money", "Bo owes Ann money"), "who owes money?"),
        ((f"again {FAILED}", FAILED), "why did the backup fail?"),
    ):
        ids = await said(memory, *texts)
        memory.clock.forward(timedelta(minutes=1))
        then = memory.clock.now()
        memory.clock.forward(timedelta(minutes=1))
        for as_of in (None, then):
            found = await ask(memory, question, as_of=as_of, memory_types=(MemoryType.EPISODIC,))
            assert {*ids} <= {*found.roots}, (texts, as_of)
            assert not any(node.duplicates for node in found.nodes)


async def test_results_that_an_earlier_release_cut_are_compared_to_their_end(memory: Memory) -> None:
    for end in ("passed", "failed"):
        result = "row of data " * 400 + end
        call = await memory.remember(SourceKind.TOOL_OUTPUT, {"tool_name": "check", "result": result})
        await memory.rows("UPDATE record SET text = left(text, 4000) WHERE id = :id", id=call.primary.id)
    found = await ask(memory, "check: row of data", memory_types=(MemoryType.EPISODIC,))
    assert len(found.roots) == 2


async def test_the_api_and_the_rendering_say_how_many_records_say_the_same(memory: Memory) -> None:
    alike = await said(memory, FAILED, FAILED, FAILED)
    context = Context(memory.trust, services_of(memory))
    given = {"taskDescriptor": "backup of the ledger", "maxHops": 0, "tokenBudget": 500}
    result = await build_schema().execute(ASK, variable_values={"input": given}, context_value=context)
    assert result.errors is None
    answer = (result.data or {})["retrieveGraph"]
    (node,) = answer["nodes"]
    assert node["duplicateCount"] == 2
    assert {node["record"]["id"], *node["duplicateIds"]} == {str(id_) for id_ in alike}
    assert ", in 3 records) " in answer["rendering"]


async def test_a_hidden_record_that_says_the_same_is_not_counted(memory: Memory) -> None:
    low, scoped = trust_of(ceiling=Sensitivity.LOW), trust_of(scopes={"project:a"})
    await said(memory, FAILED, FAILED, scope="project:a")
    await said(memory, FAILED, scope="project:b")
    await said(memory, FAILED, scope="project:a", sensitivity=Sensitivity.MEDIUM)
    counts = {
        name: 1 + len(first(await ask(memory, "backup of the ledger", trust)).duplicates)
        for name, trust in (("all", memory.trust), ("low", low), ("one scope", scoped))
    }
    assert counts == {"all": 4, "low": 3, "one scope": 3}


async def test_the_past_has_the_duplicates_of_then(memory: Memory) -> None:
    await said(memory, FAILED, FAILED)
    await memory.observe("Ann", "runs", "the backup of the ledger")
    await memory.observe("Ann", "runs", "the backup of the ledger", scope="project:a")
    memory.clock.forward(timedelta(minutes=1))
    then = memory.clock.now()
    memory.clock.forward(timedelta(minutes=1))
    present = await ask(memory, "the backup of the ledger")
    await said(memory, FAILED)
    past = await ask(memory, "the backup of the ledger", as_of=then)
    assert [(node.record.id, node.duplicates) for node in past.nodes] == [
        (node.record.id, node.duplicates) for node in present.nodes
    ]
    assert sorted(len(node.duplicates) for node in past.nodes if node.record.type is not MemoryType.ENTITY) == [1, 1]


async def test_what_the_question_tells_apart_stays_apart(memory: Memory) -> None:
    """Other words of the question, another time that it names, another fact or another thing of the same name."""
    await said(memory, f"{FAILED} in 4.1.7", f"{FAILED} in 4.1.8")
    assert len((await ask(memory, "backup of the ledger in 4.1.8")).roots) == 2
    await memory.observe("Ann", "follows", "Bob")
    await memory.observe("Bob", "follows", "Ann")
    facts = await ask(memory, "follows", memory_types=(MemoryType.SEMANTIC,))
    assert len(facts.roots) == 2
    for email in ("a@x.example", "b@x.example"):
        mention = {"name": "Sam Lee", "type": "Person", "identifiers": [{"namespace": "email", "value": email}]}
        await memory.turn(f"hello from {email}", context={"mentions": [mention]})
    people = await ask(memory, "Sam Lee", memory_types=(MemoryType.ENTITY,))
    assert len(people.roots) == 2


async def test_a_time_in_the_question_separates_what_happened_then(memory: Memory) -> None:
    now = memory.clock.now()
    recent = [(await memory.turn(FAILED, timestamp=now - timedelta(days=days))).primary.id for days in (3, 2, 1)]
    old = [(await memory.turn(FAILED, timestamp=now - timedelta(days=days))).primary.id for days in (200, 100)]
    found = await ask(memory, "backup failures of the past 5 days")
    assert [{node.record.id, *node.duplicates} for node in found.nodes] == [{*recent}, {*old}]
    together = await ask(memory, "backup failures")
    assert [{node.record.id, *node.duplicates} for node in together.nodes] == [{*recent, *old}]


async def test_the_events_of_many_equal_logs_leave_room_for_what_differs(memory: Memory) -> None:
    for number in range(12):
        await memory.turn(f"deploy {4_000 + number} of the web shop to the staging cluster went through after checks")
    (failed,) = await said(memory, "the web shop's deploy broke the staging cluster")
    found = await ask(memory, "deploy of the web shop to staging", root_limit=3)
    assert failed in found.roots
