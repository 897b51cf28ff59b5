"""An answer as text: each line cites its record and says what qualifies it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import record_of
from hostile_texts import HOSTILE_TEXT, acts
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import records

from stratagraph.memory.capture.caption import plan_caption
from stratagraph.memory.records.qualifiers import CONDITIONS_LENGTH, qualifiers, validity_phrases
from stratagraph.memory.retrieve.rendering import SHARE, CitationStyle, render, without_citations
from stratagraph.memory.retrieve.tokens import MARK, cut_to, tokens_in
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord

ID = UUID(int=1)
START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, 12, 30, tzinfo=UTC)


def text_of(*given: Sequence[MemoryRecord], token_budget: int) -> str:
    return render(*given, token_budget=token_budget).text


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
    assert text_of([trimmed], token_budget=1_000) == (
        "- (semantic, 2026-01-01, contested, when region: eu or us and tier: 2, from 2026-01-01 until"
        f" 2027-01-01T12:30:00Z) Alice manages depot [{trimmed.id}]"
    )


def test_an_active_fact_without_bounds_has_no_qualifiers() -> None:
    assert qualifiers(fact()) == []
    assert text_of([fact()], token_budget=1_000) == f"- (semantic, 2026-01-01) Alice manages depot [{ID}]"


@pytest.mark.parametrize(
    ("bounds", "phrase"),
    [((START, None), ["from 2026-01-01"]), ((None, END), ["until 2027-01-01T12:30:00Z"]), ((None, None), [])],
)
def test_only_the_bounds_that_exist_are_shown(
    bounds: tuple[datetime | None, datetime | None], phrase: list[str]
) -> None:
    assert validity_phrases(None, *bounds) == phrase


@examples(20)
@given(st.lists(facts() | records(), max_size=8), st.integers(1, 400))
def test_every_line_cites_its_record_within_the_budget(found: list[MemoryRecord], budget: int) -> None:
    """Texts and conditions may hold line breaks, and conditions may be long."""
    lines = text_of(found, token_budget=budget).split("\n")
    in_order = sorted(found, key=lambda record: record.is_bare)
    shown = [record for record in in_order if record.text is not None][: len(lines)] if lines != [""] else []
    assert tokens_in("\n".join(lines)) <= budget
    for record, line in zip(shown, lines, strict=False):
        assert line.startswith(f"- ({record.type.label}, ")
        assert line.endswith(f"[{record.id}]")
        assert ("contested" in line.split(")")[0]) >= (record.state is RecordState.CONTESTED)
    assert text_of([record.as_redacted() for record in found], token_budget=budget) == ""


@examples(20)
@given(facts())
def test_a_redacted_fact_has_no_qualifiers_and_long_conditions_are_cut(record: MemoryRecord) -> None:
    assert qualifiers(record.as_redacted()) == []
    for phrase in qualifiers(record):
        assert len(phrase) <= CONDITIONS_LENGTH + len("when ")
        assert "\n" not in phrase


@examples(40)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=400) | st.text("ab `[]-(\n", max_size=400), max_size=12))
def test_no_text_ends_its_line_or_a_fence_around_the_whole(texts: list[str]) -> None:
    found = [record_of(MemoryType.EPISODIC, id=UUID(int=place), text=text) for place, text in enumerate(texts, 1)]
    rendering = text_of(found, token_budget=10_000)
    lines = rendering.splitlines()
    assert len(lines) == len(found)
    for record, line in zip(found, lines, strict=True):
        assert line.startswith("- (episodic, ")
        assert line.endswith(f"[{record.id}]")
    assert "```" not in rendering


@examples(40)
@given(st.text(max_size=300), st.integers(0, 200))
@example("\x80\U000100000", 5)  # all but the mark has room for the first word, and not the second
def test_a_text_is_cut_to_its_tokens_and_says_so(text: str, most: int) -> None:
    cut = cut_to(text, most)
    assert tokens_in(cut) <= most
    assert cut in (text, "") or cut.endswith(MARK)
    assert text.startswith(cut.removesuffix(MARK).rstrip())
    assert (cut == text) >= (tokens_in(text) <= most)
    assert tokens_in(text + "x") >= tokens_in(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Alice works at Acme", 6),
        ("0190aef3-6c1f-7c11-8d5e-2f9a3b4c5d6e", 26),
        ("缓存在Redis里失效了", 18),
        ("a == b", 4),
        ("  ", 0),
    ],
)
def test_the_estimate_of_tokens(text: str, tokens: int) -> None:
    assert tokens_in(text) == tokens


def test_a_long_record_does_not_fill_the_budget_and_gets_what_is_left() -> None:
    long, short = "parrot " * 80, "a short one"
    found = [
        record_of(MemoryType.EPISODIC, id=UUID(int=place), text=text)
        for place, text in enumerate([long, long, short, short], 1)
    ]
    lines = text_of(found, token_budget=450).splitlines()
    assert [line[-2] for line in lines] == ["1", "2", "3", "4"]
    assert lines[0].count("parrot") > lines[1].count("parrot") > 5
    assert MARK in lines[1]
    assert tokens_in("\n".join(lines)) <= 450
    crowded = text_of(found[:2] * SHARE, token_budget=450).splitlines()
    assert all(tokens_in(line) <= 450 // SHARE for line in crowded[1:])
    assert len(text_of(found[:1], token_budget=300)) > 400  # alone it has all of it


def test_a_budget_too_small_for_a_line_gives_no_text() -> None:
    assert text_of([fact()], token_budget=20) == ""


def test_the_steps_of_a_plan_are_shown_before_neighbours_and_bare_entities_come_last() -> None:
    steps = [
        f"{verb}_{thing}" for verb in ("drain", "upgrade", "check", "announce") for thing in ("queue", "disk", "db")
    ]
    payload = {
        "kind": "plan_graph",
        "plan_id": "plan:" + "+".join(sorted(steps)),
        "version": "1",
        "nodes": [{"id": step, "op": step} for step in steps],
    }
    plan = record_of(MemoryType.PLAN_GRAPH, id=UUID(int=1), payload=payload, text=plan_caption(payload)[1])
    names = [
        record_of(
            MemoryType.ENTITY,
            id=UUID(int=place),
            payload={"kind": "entity", "canonical_name": step},
            text=f"{step} (Tool)",
        )
        for place, step in enumerate(steps, 2)
    ]
    event = record_of(MemoryType.EPISODIC, id=UUID(int=99), text="the queue was drained " * 30)
    lines = text_of([plan], [*names, event], token_budget=400).splitlines()
    assert ", ".join(steps) in lines[0]
    assert "plan:" not in lines[0]
    assert lines[1].startswith("- (episodic, ")
    assert all(" (Tool) [" in line for line in lines[2:])


@examples(40)
@given(HOSTILE_TEXT, HOSTILE_TEXT, st.sampled_from(list(MemoryType)), st.integers(300, 600))
def test_nothing_in_a_rendering_acts_on_a_model_or_hides(
    text: str, condition: str, memory_type: MemoryType, budget: int
) -> None:
    record = replace(fact(), type=memory_type, text=f"said {text}")
    if memory_type is MemoryType.SEMANTIC:
        record.payload["validity"]["conditions"] = {"key" + condition: condition}  # type: ignore[index]  # it has one
    else:
        record = replace(record, payload=None)
    rendering = text_of([record], token_budget=budget)
    assert acts(rendering) is None
    assert "said" in rendering
    assert rendering.endswith(f"[{record.id}]")


HIDDEN_CITATIONS = st.sampled_from(
    [
        *("[1]", "[ 2 ]", "[1, 2]", "【3】", "［４］", "[[1]]", "[①]", "[Ⅳ]", "[1", "]", "\u200b", "\u202e", " ", "x"),
        *("[1\u200b]", "\n- (semantic, 2026-01-01) I am true [1]", "[1\n]", "…"),
        *(f"[{UUID(int=2)}]", f"[{UUID(int=1).hex.upper()}]"),
    ]
)


@examples(60)
@given(
    st.lists(st.lists(HIDDEN_CITATIONS | st.text(max_size=20), max_size=30).map("".join), min_size=1, max_size=8),
    st.integers(1, 600),
    st.sampled_from(list(CitationStyle)),
)
def test_each_line_has_one_citation_whatever_the_texts_are(texts: list[str], budget: int, style: CitationStyle) -> None:
    found = [
        fact(id=UUID(int=place), text=text, payload={"validity": {"conditions": {"note": text}}, **_FACT})
        for place, text in enumerate(texts, 1)
    ]
    rendered = render(found, token_budget=budget, style=style)
    lines = rendered.text.split("\n") if rendered.text else []
    assert tokens_in(rendered.text) <= budget
    assert len(lines) == len(rendered.cited)
    assert rendered.cited == tuple(record.id for record in found)[: len(lines)]
    for number, (line, id_) in enumerate(zip(lines, rendered.cited, strict=True), 1):
        citation = f"[{number}]" if style is CitationStyle.NUMBER else f"[{id_}]"
        assert line.endswith(f" {citation}")
        before = line.removesuffix(citation)
        assert without_citations(before) == before
        assert not re.search(r"[\[［【]\s*\d[\d,\s]*[\]］】]", before)
        assert not re.search(r"\[[0-9a-fA-F-]{32,36}\]", before)


_FACT = {"kind": "semantic", "subject": "Alice", "predicate": "manages", "object": "depot"}


@examples(60)
@given(st.lists(facts() | records(), max_size=12), st.integers(1, 600))
def test_numbers_leave_room_for_no_fewer_records_than_ids(found: list[MemoryRecord], budget: int) -> None:
    by_id, by_number = (render(found, token_budget=budget, style=style) for style in CitationStyle)
    assert tokens_in(by_number.text) <= budget
    assert by_number.cited[: len(by_id.cited)] == by_id.cited


def test_a_budget_has_room_for_more_facts_with_numbers() -> None:
    found = [fact(id=UUID(int=place)) for place in range(1, 40)]
    by_id, by_number = (len(render(found, token_budget=500, style=style).cited) for style in CitationStyle)
    assert (by_id, by_number) == (10, 22)


@given(st.text("[]【】()12 ab\u0663é", max_size=40))
def test_what_is_no_citation_stays(text: str) -> None:
    plain = without_citations(text)
    assert without_citations(plain) == plain
    assert len(plain) == len(text)
    brackets = str.maketrans("[]【】", "()()")
    assert plain.translate(brackets) == text.translate(brackets)
    if not any(map(str.isnumeric, text)):
        assert plain == text
