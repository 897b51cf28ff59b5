"""An answer as text: each line cites its record and says what qualifies it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import record_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import records

from stratagraph.memory.qualifiers import CONDITIONS_LENGTH, qualifiers, validity_qualifiers
from stratagraph.memory.retrieve.rendering import CHARACTERS_PER_TOKEN, render
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord

ID = UUID(int=1)
START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, 12, 30, tzinfo=UTC)


@st.composite
def facts(draw: st.DrawFn) -> MemoryRecord:
    bounds = draw(st.lists(st.none() | st.datetimes(timezones=st.just(UTC)), min_size=2, max_size=2))
    return replace(draw(records(MemoryType.SEMANTIC)), valid_from=bounds[0], valid_to=bounds[1])


def fact(**changes: object) -> MemoryRecord:
    """Return the fact that Alice manages the depot, stated for 2026 and the year after."""
    validity = {"mode": "timeboxed", "start": "2026-01-01T00:00:00Z", "end": "2028-01-01T00:00:00Z"}
    payload = {"kind": "semantic", "subject": "Alice", "predicate": "manages", "object": "depot", "validity": validity}
    text = "Alice manages depot from 2026-01-01T00:00:00Z until 2028-01-01T00:00:00Z"
    times = {"created_at": START, "occurred_at": START, "updated_at": START}
    return record_of(MemoryType.SEMANTIC, **({"text": text, "payload": payload} | times | changes))


def test_a_line_shows_state_conditions_and_the_effective_validity_and_not_the_stated_one() -> None:
    trimmed = fact(state=RecordState.CONTESTED, valid_from=START, valid_to=END)
    assert trimmed.payload is not None
    trimmed.payload["validity"]["conditions"] = {"region": ["eu", "us"], "tier": 2}
    assert render([trimmed], token_budget=1_000) == (
        "- (semantic, 2026-01-01, contested, when region: eu or us and tier: 2, from 2026-01-01 until"
        f" 2027-01-01T12:30:00Z) Alice manages depot [{trimmed.id}]"
    )


def test_an_active_fact_without_bounds_has_no_qualifiers() -> None:
    assert qualifiers(fact()) == []
    assert render([fact()], token_budget=1_000) == f"- (semantic, 2026-01-01) Alice manages depot [{ID}]"


@pytest.mark.parametrize(
    ("bounds", "phrase"),
    [((START, None), ["from 2026-01-01"]), ((None, END), ["until 2027-01-01T12:30:00Z"]), ((None, None), [])],
)
def test_only_the_bounds_that_exist_are_shown(
    bounds: tuple[datetime | None, datetime | None], phrase: list[str]
) -> None:
    assert validity_qualifiers(fact(valid_from=bounds[0], valid_to=bounds[1])) == phrase


@examples(20)
@given(st.lists(facts() | records(), max_size=8), st.integers(1, 400))
def test_every_line_cites_its_record_within_the_budget(found: list[MemoryRecord], budget: int) -> None:
    """Texts and conditions may hold line breaks, and conditions may be long."""
    lines = render(found, token_budget=budget).split("\n")
    shown = [record for record in found if record.text is not None][: len(lines)] if lines != [""] else []
    assert sum(len(line) + 1 for line in lines) - 1 <= budget * CHARACTERS_PER_TOKEN
    for record, line in zip(shown, lines, strict=False):
        assert line.startswith(f"- ({record.type.label}, ")
        assert line.endswith(f"[{record.id}]")
        assert ("contested" in line.split(")")[0]) >= (record.state is RecordState.CONTESTED)
    assert render([record.as_redacted() for record in found], token_budget=budget) == ""


@examples(20)
@given(facts())
def test_a_redacted_fact_has_no_qualifiers_and_long_conditions_are_cut(record: MemoryRecord) -> None:
    assert qualifiers(record.as_redacted()) == []
    for phrase in qualifiers(record):
        assert len(phrase) <= CONDITIONS_LENGTH + len("when ")
        assert "\n" not in phrase
