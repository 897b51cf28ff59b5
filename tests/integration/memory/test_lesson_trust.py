"""Whose word counts of a lesson: who may say that it is verified, of what advice, and whose lessons a flood retires."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.revise.request import Fork, Merge, Supersede, VerifyLesson
from stratagraph.store.model.enums import Access, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden
from stratagraph.store.model.trust import Trust

WRITER = trust_of(actor="writer", access=Access.WRITE)
OTHER = trust_of(actor="other", access=Access.WRITE)


async def learn(memory: Memory, trust: Trust, task: str = "ship", solution: str = "test first", **more: Any) -> UUID:
    memory.clock.forward(timedelta(seconds=1))
    return (await memory.lessons.learn(trust, LearnLesson(task=task, solution=solution, **more))).captured.primary.id


async def payload(memory: Memory, id_: UUID) -> dict[str, Any]:
    found = await memory.lookup.record(memory.trust, id_)
    assert found is not None
    return dict(found.payload or {})


async def is_verified(memory: Memory, id_: UUID) -> bool:
    return (await payload(memory, id_))["lesson"]["verified"] is True


async def verify(memory: Memory, trust: Trust, id_: UUID) -> None:
    memory.clock.forward(timedelta(seconds=1))
    await memory.revision.revise(trust, VerifyLesson(record_id=id_, verified=True, rationale="tried"))


async def test_a_writer_cannot_say_that_its_own_lesson_is_verified(memory: Memory) -> None:
    id_ = await learn(memory, WRITER, verified=True)
    assert not await is_verified(memory, id_)
    assert "verified" not in (await memory.lessons.playbook(memory.trust)).text
    content = {
        "kind": "competence",
        "skill_name": "shipping",
        "triggers": [{"signal": "ship"}],
        "recipe": [{"step": "test"}],
        "lesson": {"task": "captured", "solution": "test", "verified": True, "verification_attempted": True},
    }
    captured = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.COMPETENCE, trust=WRITER)
    assert not await is_verified(memory, captured.primary.id)
    named = {"canonical_name": "Ann", "lesson": {"verified": True}}  # a key of the caller's own, and no lesson
    entity = await memory.remember(SourceKind.OBSERVATION, named, proposed_type=MemoryType.ENTITY, trust=WRITER)
    assert (await payload(memory, entity.primary.id))["lesson"] == {"verified": True}
    with pytest.raises(Forbidden, match="wrote advice"):
        await verify(memory, WRITER, id_)
    memory.clock.forward(timedelta(seconds=1))
    tried = VerifyLesson(record_id=id_, verified=False, rationale="it failed")
    await memory.revision.revise(WRITER, tried)  # who wrote it may say that it failed
    assert await is_verified(memory, await learn(memory, memory.trust, "by an administrator", verified=True))


async def test_another_writer_or_an_administrator_verifies_a_lesson(memory: Memory) -> None:
    first, second = await learn(memory, WRITER, "one"), await learn(memory, memory.trust, "two")
    await verify(memory, OTHER, first)
    await verify(memory, memory.trust, second)
    assert await is_verified(memory, first)
    assert await is_verified(memory, second)
    same_name = trust_of(actor="writer", access=Access.WRITE)
    with pytest.raises(Forbidden):
        await verify(memory, same_name, await learn(memory, WRITER, "three"))


async def test_who_has_changed_the_advice_cannot_verify_it_either(memory: Memory) -> None:
    id_ = await learn(memory, WRITER)
    assert await learn(memory, OTHER, solution="ask Sam") == id_
    for author in (WRITER, OTHER):
        with pytest.raises(Forbidden):
            await verify(memory, author, id_)
    again = {**await payload(memory, id_), "recipe": [{"step": "ask Ann"}]}
    third = trust_of(actor="third", access=Access.WRITE)
    memory.clock.forward(timedelta(seconds=1))
    revised = await memory.revision.revise(third, Supersede(record_id=id_, payload=again, rationale="better"))
    for author in (WRITER, OTHER, third):
        with pytest.raises(Forbidden):
            await verify(memory, author, revised.record.id)
    await verify(memory, trust_of(actor="fourth", access=Access.WRITE), revised.record.id)


@pytest.mark.parametrize("sensitivity", [Sensitivity.LOW, Sensitivity.HIGH])
async def test_a_change_of_the_advice_drops_its_verification(memory: Memory, sensitivity: Sensitivity) -> None:
    id_ = await learn(memory, WRITER, sensitivity=sensitivity)
    await verify(memory, OTHER, id_)
    await learn(memory, WRITER, sensitivity=sensitivity)  # the same again
    assert await is_verified(memory, id_)
    await learn(memory, WRITER, solution="skip the tests", sensitivity=sensitivity)
    assert not await is_verified(memory, id_)
    assert "verified" not in (await memory.lessons.playbook(memory.trust)).text
    await verify(memory, OTHER, id_)
    known = await payload(memory, id_)
    memory.clock.forward(timedelta(seconds=1))
    same = await memory.revision.revise(WRITER, Supersede(record_id=id_, payload=known, rationale="as it was"))
    assert await is_verified(memory, same.record.id)
    for name, value in (("correct_pattern", "never test"), ("code_example", "rm -rf /"), ("mistake", "tested")):
        changed = {**known, "lesson": {**known["lesson"], name: value}}
        memory.clock.forward(timedelta(seconds=1))
        id_ = await learn(memory, WRITER, name, sensitivity=sensitivity)
        await verify(memory, OTHER, id_)
        fitting = {**changed, "skill_name": f"lesson: {name}"}
        revised = await memory.revision.revise(WRITER, Supersede(record_id=id_, payload=fitting, rationale="x"))
        assert not await is_verified(memory, revised.record.id)


async def test_no_fork_or_merge_keeps_or_makes_a_verification_of_other_advice(memory: Memory) -> None:
    id_ = await learn(memory, WRITER, conditions={"os": "linux"})
    await verify(memory, OTHER, id_)
    memory.clock.forward(timedelta(seconds=1))
    known = await payload(memory, id_)
    fork = Fork(
        record_id=id_,
        conditions={"os": "mac"},
        payload={**known, "triggers": [{"signal": one["signal"]} for one in known["triggers"]]},
        rationale="there too",
    )
    variant = (await memory.revision.revise(WRITER, fork)).record.id
    assert not await is_verified(memory, variant)
    second = await learn(memory, WRITER, "another", "skip the tests")
    merge = Merge(record_id=id_, others=(second,), rationale="one")
    merged = (await memory.revision.revise(WRITER, merge)).record.id
    block = (await payload(memory, merged))["lesson"]
    assert not (block["verified"] and block["solution"] != "test first")
    own = {**await payload(memory, merged)}
    own["lesson"] = {**own["lesson"], "solution": "mine", "verified": True}
    memory.clock.forward(timedelta(seconds=1))
    revised = (await memory.revision.revise(WRITER, Supersede(record_id=merged, payload=own, rationale="x"))).record
    assert not await is_verified(memory, revised.id)


async def test_one_actors_flood_does_not_retire_the_lessons_of_others(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.capture.lessons.KEPT", 6)
    own = {await learn(memory, WRITER, f"old {number}", confidence=0.1) for number in range(3)}
    for number in range(12):
        await learn(memory, OTHER, f"flood {number}", confidence=1.0)
    listed = {one.id for one in await memory.lessons.find(memory.trust, first=100)}
    assert len(listed) == 6
    assert own <= listed
    same_name = Trust(
        tenant="acme", actor="writer", access=Access.WRITE, ceiling=Sensitivity.HYPER, scopes=None, key_identity="key:2"
    )
    for number in range(12):
        await learn(memory, same_name, f"same name {number}", confidence=1.0)
    listed = {one.id for one in await memory.lessons.find(memory.trust, first=100)}
    assert len(own & listed) == 2  # three authors share the six
    for id_ in own - listed:
        old = await memory.lookup.record(memory.trust, id_)
        assert old is not None
        assert old.state is RecordState.SUPERSEDED


STEPS = st.lists(
    st.tuples(
        st.sampled_from([WRITER, OTHER, trust_of(actor="admin")]),
        st.sampled_from(["learn", "learn verified", "verify", "supersede", "capture"]),
        st.sampled_from(["test first", "ask Sam", "skip it"]),
    ),
    min_size=2,
    max_size=8,
)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
async def test_a_lesson_is_verified_only_while_another_writer_or_an_administrator_said_so_of_its_advice(
    memory: Memory, steps: list[tuple[Trust, str, str]]
) -> None:
    """The model keeps who wrote the advice, and of what advice a verification was accepted."""
    scope = f"scope {memory.clock.now().isoformat()}"
    current: UUID | None = None
    authors: set[str] = set()
    certified: Any = None
    for trust, what, solution in steps:
        memory.clock.forward(timedelta(seconds=1))
        is_admin = trust.access is Access.ADMIN
        before = advice(await payload(memory, current)) if current is not None else None
        asserted = False
        if what.startswith("learn"):
            asserted = is_admin and what == "learn verified"
            learned = await learn(memory, trust, solution=solution, scope=scope, verified=what == "learn verified")
            assert current in (None, learned)
            current = learned
        elif current is None:
            continue
        elif what == "verify":
            if is_admin or trust.identity not in authors:
                await verify(memory, trust, current)
                certified = before
            else:
                with pytest.raises(Forbidden):
                    await verify(memory, trust, current)
        else:
            block = {"task": "ship", "solution": solution, "verified": True, "domains": []}
            body = {"triggers": [{"signal": "ship"}], "recipe": [{"step": solution}], "lesson": block}
            if what == "supersede":
                request = Supersede(record_id=current, payload=body, rationale="x")
                current = (await memory.revision.revise(trust, request)).record.id
            else:
                asserted = is_admin
                content = {"kind": "competence", "skill_name": "captured", **body}
                await memory.remember(
                    SourceKind.OBSERVATION,
                    content,
                    proposed_type=MemoryType.COMPETENCE,
                    trust=trust,
                    scope=scope,
                )
        now = advice(await payload(memory, current))
        if now != before or what == "supersede":
            authors.add(trust.identity)
        if asserted and now[0] == solution:
            certified = now
        assert not await is_verified(memory, current) or certified == now


def advice(found: dict[str, Any]) -> Any:
    return (found["lesson"]["solution"], found["recipe"], found["triggers"])
