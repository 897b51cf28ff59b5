"""What found a record, what a limit left out, and why a record is not in an answer."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_api import services_of
from fix_memory import Memory, trust_of

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.why_not import Absence, WhyNot
from stratagraph.memory.revise.request import Retract
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.errors import Forbidden, RecordNotFound
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust

ASK = RetrieveRequest(task_descriptor="which parrots like seeds?", max_hops=0)
WHY = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { ... on RetrieveGraphSuccess {
  limits { reached cuts { limit leftOut because } }
  nodes { record { id } score strength why { matchedWords names signals { signal value weight share } viaId } } } } }"""


async def why_not(memory: Memory, id_: UUID, trust: Trust | None = None, **changes: Any) -> WhyNot:
    return await memory.retrieve.why_not(trust or memory.trust, id_, replace(ASK, **changes))


def absences(found: WhyNot) -> list[Absence]:
    assert all(reason.message for reason in found.reasons)
    return [reason.absence for reason in found.reasons]


async def test_a_node_says_which_words_of_the_question_it_has_and_what_each_signal_gave(memory: Memory) -> None:
    await memory.turn("grey parrots like sunflower seeds, and owls do not")
    await memory.turn("seeds are cheap")
    context = Context(memory.trust, services_of(memory))
    given = {"taskDescriptor": "Which Parrots like seeds?", "rootLimit": 1, "maxHops": 0}
    result = await build_schema().execute(WHY, variable_values={"input": given}, context_value=context)
    assert result.errors is None
    answer = (result.data or {})["retrieveGraph"]
    (node,) = answer["nodes"]
    why = node["why"]
    assert [word.casefold() for word in why["matchedWords"]] == ["parrots", "like", "seeds"]
    assert sum(one["share"] for one in why["signals"]) == pytest.approx(1)
    assert why["signals"][0]["signal"] == "WORDS"
    (cut,) = answer["limits"]["cuts"]
    assert (cut["limit"], cut["leftOut"]) == ("roots", 1)


async def test_an_explanation_takes_no_further_statements(memory: Memory) -> None:
    await memory.turn("parrots like seeds")
    found = await memory.retrieve.retrieve(memory.trust, ASK)
    await memory.database.__aexit__(None, None, None)  # nothing can be read any more
    assert [word.casefold() for word in found.asked.spelled(found.nodes[0].why.covered)] == [
        "parrots",
        "like",
        "seeds",
    ]


async def test_why_not_agrees_with_the_answer_for_every_record(memory: Memory) -> None:
    """Property: a record has reasons where the answer lacks it, and the rank and score it has there otherwise."""
    rng = random.Random(7)
    words = ("parrot", "seed", "owl", "mouse", "river", "stone")
    ids = []
    for number in range(30):
        kept = await memory.turn(" ".join(rng.choices(words, k=rng.randint(1, 5))), thread=f"t{number % 4}")
        ids.append(kept.primary.id)
    for _ in range(12):
        request = RetrieveRequest(
            task_descriptor=" ".join(rng.choices(words, k=2)),
            root_limit=rng.choice([1, 3, 10]),
            node_limit=rng.choice([2, 10, 50]),
            max_hops=rng.choice([0, 1, 2]),
            min_salience=rng.choice([None, 0.99, 0.5]),
            memory_types=rng.choice([(), (MemoryType.SEMANTIC,), (MemoryType.EPISODIC,)]),
        )
        answer = await memory.retrieve.retrieve(memory.trust, request)
        nodes = {node.record.id: node for node in answer.nodes}
        for id_ in rng.sample(ids, 6):
            found = await memory.retrieve.why_not(memory.trust, id_, request)
            assert (found.node is not None) == (id_ in nodes)
            assert bool(found.reasons) == (id_ not in nodes)
            assert found.candidates == answer.candidates
            if id_ in answer.roots:
                assert found.rank == answer.roots.index(id_) + 1
                assert found.score == nodes[id_].score
            elif found.rank is not None:
                assert found.rank > len(answer.roots)
                assert id_ in nodes or Absence.RANK in absences(found)


async def test_each_reason_is_told(memory: Memory) -> None:
    seeds = (await memory.observe("parrots", "like", "seeds")).primary.id
    unrelated = (await memory.observe("owls", "hunt", "mice")).primary.id
    over = (
        await memory.observe("parrots", "eat", "seeds", validity={"mode": "timeboxed", "end": "2026-05-01T00:00:00Z"})
    ).primary.id
    early = (
        await memory.observe(
            "parrots", "want", "seeds", validity={"mode": "timeboxed", "start": "2027-01-01T00:00:00Z"}
        )
    ).primary.id
    retracted = (await memory.observe("parrots", "hate", "seeds")).primary.id
    await memory.revision.revise(memory.trust, Retract(record_id=retracted, rationale="wrong"))
    scoped = (await memory.observe("parrots", "adore", "seeds", scope="project:a")).primary.id
    secret = (await memory.observe("parrots", "love", "seeds", sensitivity=Sensitivity.MEDIUM)).primary.id
    facts = (MemoryType.SEMANTIC,)
    assert (await why_not(memory, seeds)).node is not None
    assert absences(await why_not(memory, unrelated, memory_types=facts))[0] is Absence.NO_MATCH
    assert absences(await why_not(memory, over)) == [Absence.VALIDITY]
    assert absences(await why_not(memory, early)) == [Absence.VALIDITY]
    assert absences(await why_not(memory, retracted)) == [Absence.STATE]
    assert absences(await why_not(memory, scoped, scopes=("project:b",))) == [Absence.SCOPE]
    assert absences(await why_not(memory, secret, max_sensitivity=Sensitivity.LOW)) == [Absence.SENSITIVITY]
    assert Absence.TYPE in absences(await why_not(memory, seeds, memory_types=(MemoryType.EPISODIC,)))
    assert absences(await why_not(memory, seeds, as_of=memory.clock.now() - timedelta(days=1))) == [
        Absence.UNKNOWN_THEN
    ]
    ranked = await why_not(memory, secret, root_limit=1, memory_types=facts)
    first = await why_not(memory, seeds, root_limit=1, memory_types=facts)
    assert Absence.RANK in absences(ranked) + absences(first)
    memory.clock.forward(timedelta(days=60))
    assert absences(await why_not(memory, seeds, min_salience=0.9)) == [Absence.SALIENCE]


async def test_a_record_that_is_too_weak_for_an_answer_says_so(memory: Memory) -> None:
    weak = (await memory.turn("the harbour has seven cranes")).primary.id
    asked = "which harbour pilot paints watercolours of zebra finches before breakfast?"
    found = await why_not(memory, weak, task_descriptor=asked)
    answer = await memory.retrieve.retrieve(memory.trust, replace(ASK, task_descriptor=asked))
    assert answer.nothing_known
    assert absences(found) == [Absence.STRENGTH]
    assert found.words == ("harbour",)


async def test_only_who_may_read_the_record_in_full_learns_anything(memory: Memory) -> None:
    secret = (await memory.observe("parrots", "like", "seeds", sensitivity=Sensitivity.MEDIUM)).primary.id
    scoped = (await memory.observe("parrots", "like", "seeds", scope="project:a")).primary.id
    for id_, trust in (
        (secret, trust_of(ceiling=Sensitivity.LOW)),
        (secret, trust_of(ceiling=Sensitivity.PUBLIC)),
        (scoped, trust_of(scopes={"project:b"})),
        (scoped, trust_of(tenant="other")),
        (new_id(), trust_of()),
    ):
        with pytest.raises(RecordNotFound, match="There is no record"):
            await why_not(memory, id_, trust)
    with pytest.raises(Forbidden):
        await why_not(memory, scoped, trust_of(scopes={"project:a"}), scopes=("project:b",))


async def test_asking_why_not_leaves_nothing_in_the_log(memory: Memory) -> None:
    kept = await memory.turn("parrots like seeds")
    await why_not(memory, kept.primary.id)
    assert memory.retrieve.log.waiting == 0
