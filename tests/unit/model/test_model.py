"""Properties of the model of memory itself, on random steps without a store."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model.drafts import CALLERS, CAPTURES, REVISIONS, callers, request_of, weighted
from model.memory import Model, Names, Refused
from model.records import ACTIVE, ENTITY, EVENT, FACT
from model.slots import apart, key_of, slot_of
from model.support import grounded, is_disputed, sources_of

from stratagraph.store.model.ids import new_id

BEGIN = datetime(2026, 6, 1, 12, tzinfo=UTC)


class AnyName(dict[str, list[UUID]]):
    """A new id for every entity that the model makes."""

    def get(self, key: str, default: Any = None) -> list[UUID]:
        return [new_id()]


def names() -> Names:
    return Names(record=new_id(), event=new_id(), episode=new_id(), candidate="c", entities=AnyName())


STEPS = st.tuples(weighted((2, CAPTURES), (1, REVISIONS)), CALLERS, st.sampled_from([0, 0, 1, 40]))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=5, max_size=40))
def test_the_model_keeps_one_current_truth_in_every_history(steps: list[Any]) -> None:
    model = Model()
    model.state.now = BEGIN
    trusts = callers("tenant")
    for draft, caller, days in steps:
        model.state.now += timedelta(days=days, seconds=1)
        request = request_of(model, draft, None, model.state.now)
        if request is None:
            continue
        with suppress(Refused):
            model.apply(request, trusts[caller], names())
        check(model)


def check(model: Model) -> None:
    state = model.state
    facts = state.current(FACT)
    for one, other in combinations(facts, 2):
        assert one.fact is not None
        assert other.fact is not None
        same = key_of(one.where, one.fact) == key_of(other.where, other.fact)
        assert not same or ACTIVE not in (one.state, other.state), "equal facts must be one record"
        contradict = (
            slot_of(one.where, one.fact) == slot_of(other.where, other.fact)
            and slot_of(one.where, one.fact) in state.single
            and not apart(one.fact.conditions, other.fact.conditions)
        )
        if contradict and {one.state, other.state} == {ACTIVE}:
            assert not one.effective.overlaps(other.effective), "a slot must hold one value at a time"
    held = grounded(state)
    for item in state.items.values():
        # Where a caller names a record as evidence that it cannot see, nothing tells when that record changes.
        refs = {source for source in sources_of(state, item) if isinstance(source, UUID)}
        is_linked = all((source, item.id) in state.derived for source in refs)
        assert item.type != FACT or item.state != ACTIVE or item.id in held or not is_linked
        assert item.state != ACTIVE or item.type == EVENT or not is_disputed(state, item.id)
        if item.fact is not None:
            assert item.effective.low < item.effective.high
            assert item.effective.within(item.fact.stated)
    for entity in state.current(ENTITY):
        assert state.lessons[entity.id]
