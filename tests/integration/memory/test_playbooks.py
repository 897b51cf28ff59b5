"""Playbooks that are credited by their id: just their lessons, each playbook once, whatever else was told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.lessons.service import Playbook
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import RemoveLesson
from stratagraph.store.model.enums import Access, Outcome
from stratagraph.store.model.errors import Forbidden, InvalidInput, RecordNotFound
from stratagraph.store.model.ids import new_id

WORDS = ("parrots", "ledgers", "bridges", "violins")


async def learn(memory: Memory, about: str) -> UUID:
    memory.clock.forward(timedelta(seconds=1))
    request = LearnLesson(task=f"repair {about}", solution="ask Sam first")
    return (await memory.lessons.learn(memory.trust, request)).captured.primary.id


async def counts(memory: Memory, id_: UUID) -> tuple[int, int]:
    """Return how often a lesson was retrieved, and how often it helped."""
    lesson = ((await memory.record(id_)).payload or {})["lesson"]
    return lesson["retrievals"], lesson["helpful_retrievals"]


@dataclass
class Told:
    """A playbook that was returned, whether it counted, and whether it has been credited."""

    playbook: Playbook
    is_counted: bool
    credited: list[UUID] | None = None


@dataclass
class Model:
    """What the counts of the lessons must be."""

    retrievals: Counter[UUID] = field(default_factory=Counter)
    helpful: Counter[UUID] = field(default_factory=Counter)
    told: list[Told] = field(default_factory=list)

    def tell(self, playbook: Playbook, *, is_counted: bool) -> None:
        self.told.append(Told(playbook, is_counted))
        if is_counted:
            self.retrievals.update(playbook.lessons)

    def credit(self, due: Sequence[Told], only: Sequence[UUID] | None = None) -> list[UUID]:
        credited = {id_ for one in due for id_ in one.playbook.lessons if only is None or id_ in only}
        for id_ in credited:
            self.helpful[id_] += 1
            if not any(one.is_counted for one in due if id_ in one.playbook.lessons):
                self.retrievals[id_] += 1
        for one in due:
            one.credited = sorted(credited & set(one.playbook.lessons))
        return sorted(credited)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.sampled_from([None, *WORDS]), st.booleans()),
        st.tuples(st.just("credit"), st.integers(0, 5), st.sampled_from([None, 0, 1])),
        st.tuples(st.just("credit recent"), st.none(), st.none()),
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
async def test_counts_follow_what_was_told_and_credited(memory: Memory, steps: list[tuple]) -> None:  # type: ignore[type-arg]
    lessons = [await learn(memory, word) for word in WORDS]
    before = {id_: await counts(memory, id_) for id_ in lessons}
    memory.clock.forward(timedelta(hours=1))  # beyond the window of earlier examples
    model = Model()
    for kind, which, how in steps:
        open_ = [one for one in model.told if one.credited is None]
        if kind == "tell":
            found = await memory.lessons.playbook(memory.trust, query=which, limit=3, is_counted=how)
            assert found.text.count("[") == len(found.lessons)
            model.tell(found, is_counted=how)
        elif kind == "credit recent":
            assert await memory.lessons.credit(memory.trust) == model.credit(open_)
        elif model.told:
            one = model.told[which % len(model.told)]
            only = None if how is None else one.playbook.lessons[how:]
            done = await memory.lessons.credit_playbook(memory.trust, one.playbook.id, lessons=only)
            assert done == (model.credit([one], only) if one in open_ else one.credited)
    await memory.retrieve.log.flush()
    for id_ in lessons:
        retrievals, helpful = await counts(memory, id_)
        assert retrievals - before[id_][0] == model.retrievals[id_]
        assert helpful - before[id_][1] == model.helpful[id_]


async def test_reading_counts_nothing_unless_asked_to(memory: Memory) -> None:
    id_ = await learn(memory, "parrots")
    for _ in range(3):
        await memory.lessons.playbook(memory.trust)
    await memory.retrieve.log.flush()
    assert await counts(memory, id_) == (0, 0)
    await memory.lessons.playbook(memory.trust, is_counted=True)
    await memory.retrieve.log.flush()
    assert await counts(memory, id_) == (1, 0)


async def test_a_playbook_is_credited_by_who_got_it_and_with_its_lessons_only(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.WAIT_S", 0.0)
    parrots, ledgers = await learn(memory, "parrots"), await learn(memory, "ledgers")
    found = await memory.lessons.playbook(memory.trust, query="parrots")
    assert found.lessons == (parrots,)
    other = trust_of(actor="other", access=Access.WRITE, scopes=None)
    for trust, id_ in ((other, found.id), (memory.trust, new_id())):
        with pytest.raises(RecordNotFound, match="playbookId"):
            await memory.lessons.credit_playbook(trust, id_)
    reader = trust_of(actor="reader", access=Access.READ, scopes=None)
    with pytest.raises(Forbidden):
        await memory.lessons.credit_playbook(reader, found.id)
    with pytest.raises(InvalidInput, match="lessonIds"):
        await memory.lessons.credit_playbook(memory.trust, found.id, lessons=[ledgers])
    retrieval = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="repair parrots"))
    with pytest.raises(InvalidInput, match="reportOutcome"):
        await memory.lessons.credit_playbook(memory.trust, retrieval.id)
    report = OutcomeReport(retrieval=found.id, outcome=Outcome.SUCCESS, used=(parrots,))
    with pytest.raises(InvalidInput, match="creditLessons"):
        await memory.feedback.report(memory.trust, report)
    await memory.revision.revise(memory.trust, RemoveLesson(record_id=parrots, rationale="wrong"))
    assert await memory.lessons.credit_playbook(memory.trust, found.id) == []
