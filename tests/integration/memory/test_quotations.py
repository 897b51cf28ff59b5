"""What was said in an episode takes one place in an answer, although a structural fact repeats it."""

from __future__ import annotations

from datetime import timedelta

from fix_learning import run_learning
from fix_memory import Memory

from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.enums import MemoryType, SourceKind


async def test_a_turn_stands_for_the_structural_fact_that_repeats_it(memory: Memory) -> None:
    short, long = "I'd like a nonstop flight to Denver", "Is breakfast served on the flight to Oslo? " * 10
    for thread in ("one", "two"):
        for text in (short, long, "Thank you"):
            await memory.turn(text, thread=thread)
        await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": "success"})
    await run_learning(memory)
    memory.clock.forward(timedelta(seconds=1))
    at = memory.clock.at
    facts = {
        record.id
        for record in (
            await memory.lookup.records(memory.trust, RecordFilter(types=(MemoryType.SEMANTIC,)), first=100)
        ).records
    }
    assert len(facts) == 3
    for question in ("a nonstop flight to Denver", "breakfast on the flight to Oslo"):
        for as_of in (None, at):
            answer = await memory.retrieve.retrieve(
                memory.trust, RetrieveRequest(task_descriptor=question, as_of=as_of)
            )
            assert facts.isdisjoint(answer.roots), (question, as_of)
            best = next(node for node in answer.nodes if node.record.id == answer.roots[0])
            assert len(facts & {*best.duplicates}) == 1
        memory.clock.forward(timedelta(seconds=1))
        asked = RetrieveRequest(task_descriptor=question, memory_types=(MemoryType.SEMANTIC,))
        assert facts & {*(await memory.retrieve.retrieve(memory.trust, asked)).roots}
