"""Lessons without a store: their utility, which are retired, how they merge, and how they are told."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import reduce
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from fix_memory import NOON, record_of
from hostile_texts import HOSTILE_TEXT, acts
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.lessons.block import Standing
from stratagraph.memory.lessons.merging import (
    merged_lesson,
    merged_payload,
    revised_marks,
    says_the_same,
    without_claims,
)
from stratagraph.memory.lessons.playbook import NOTICE, RECENT, failures_text, playbook_text, quoted
from stratagraph.memory.lessons.utility import beyond, hit_rate, least_helpful, utility
from stratagraph.memory.lessons.windows import Window, start_of, zone_of
from stratagraph.memory.retrieve.tokens import tokens_in
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    retrievals = draw(st.integers(0, 12))
    return Standing(
        learned_at=NOON + timedelta(minutes=draw(st.integers(0, 20))),
        confidence=draw(st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0])),
        frequency=draw(st.integers(1, 9)),
        retrievals=retrievals,
        helpful=draw(st.integers(0, retrievals)),
        verified=draw(st.booleans()),
    )


def shelves(most: int) -> st.SearchStrategy[dict[UUID, Standing]]:
    return st.lists(standings(), max_size=most).map(
        lambda found: {UUID(int=place + 1): one for place, one in enumerate(found)}
    )


def test_the_utility_is_the_formula_of_the_specification() -> None:
    unused = Standing(learned_at=NOON, confidence=0.7)
    assert utility(unused) == pytest.approx(0.5 * 0.7 + 0.8 * 0.5)
    proven = Standing(learned_at=NOON, confidence=1.0, frequency=4, retrievals=6, helpful=5, verified=True)
    assert utility(proven) == pytest.approx(0.5 + 0.8 * 6 / 8 + 0.3 + 0.1 * math.log(4))
    stale = Standing(learned_at=NOON, confidence=1.0, retrievals=5, helpful=1)
    assert hit_rate(stale) == pytest.approx(2 / 7)
    assert utility(stale) == pytest.approx(0.5 + 0.8 * 2 / 7 - 0.3)


@pytest.mark.parametrize(
    ("retrievals", "helpful", "is_stale"), [(4, 0, False), (5, 0, True), (5, 1, True), (5, 2, False)]
)
def test_a_lesson_is_stale_from_five_retrievals_of_which_hardly_any_helped(
    retrievals: int, helpful: int, is_stale: bool
) -> None:
    one = Standing(learned_at=NOON, confidence=0.0, retrievals=retrievals, helpful=helpful)
    assert utility(one) == pytest.approx(0.8 * (helpful + 1) / (retrievals + 2) - (0.3 if is_stale else 0))


@given(shelves(12), st.integers(1, 8))
def test_the_newest_then_verified_then_useful_lessons_stay(lessons: dict[UUID, Standing], kept: int) -> None:
    """The model takes one lesson after the other from the shelf."""
    left = dict(lessons)
    staying: list[UUID] = []
    while left and len(staying) < kept:
        if not staying:
            best = max(left, key=lambda id_: (left[id_].learned_at, id_))
        else:
            verified = [id_ for id_, one in left.items() if one.verified]
            best = max(verified or left, key=lambda id_: (utility(left[id_]), left[id_].learned_at, id_))
        staying.append(best)
        del left[best]
    assert set(beyond(lessons, kept=kept)) == set(left)


@given(shelves(16), st.lists(st.sampled_from("aaab"), min_size=16, max_size=16), st.integers(1, 8))
def test_who_floods_retires_its_own_lessons_first(lessons: dict[UUID, Standing], authors: list[str], kept: int) -> None:
    """However useful, verified or new an author's many lessons are, those of others with fewer stay."""
    lessons = {id_: replace(one, author=author) for (id_, one), author in zip(lessons.items(), authors, strict=False)}
    retired = beyond(lessons, kept=kept)
    assert len(retired) == len(set(retired)) == max(0, len(lessons) - kept)
    shares = Counter(one.author for id_, one in lessons.items() if id_ not in retired)
    for id_ in retired:
        assert shares[lessons[id_].author] + 1 >= max(shares.values())
    if lessons:
        assert max(lessons, key=lambda id_: (lessons[id_].learned_at, id_)) not in retired


def payload_of(**block: Any) -> dict[str, Any]:
    """Return a competence with a lesson, as it is learned."""
    step = block.get("correct_pattern") or block["solution"]
    return {
        "kind": "competence",
        "skill_name": f"lesson: {block['task']}",
        "triggers": [{"signal": block.get("trigger") or block["task"]}],
        "recipe": [{"step": step}],
        "lesson": block,
    }


ADVICE = st.fixed_dictionaries(
    {
        "task": st.just("ship it"),
        "solution": st.sampled_from(["test first", "ask Sam"]),
        "correct_pattern": st.sampled_from(["", "always test"]),
        "mistake": st.sampled_from(["", "untested"]),
        "code_example": st.sampled_from(["", "pytest"]),
        "domains": st.lists(st.sampled_from(["git", "sql"]), max_size=2),
        "verified": st.booleans(),
        "verification_attempted": st.booleans(),
        "confidence": st.sampled_from([0.1, 0.9]),
        "source": st.sampled_from(["lesson", "self_play"]),
    }
).map(lambda block: payload_of(**block))


def advice_of(payload: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a model would read as advice."""
    block = payload["lesson"]
    texts = (block.get(name) or "" for name in ("solution", "correct_pattern", "mistake", "code_example"))
    return (*texts, sorted(set(block["domains"])), payload["recipe"], payload["triggers"])


@given(ADVICE, ADVICE, st.booleans())
def test_a_verification_stays_with_the_advice_that_it_is_about(
    stored: dict[str, Any], learned: dict[str, Any], is_newer: bool
) -> None:
    merged = merged_payload(stored, learned, is_newer=is_newer)
    for name in ("verified", "verification_attempted"):
        certified = [one for one in (stored, learned) if one["lesson"][name]]
        assert merged["lesson"][name] == (advice_of(merged) in [advice_of(one) for one in certified])
    revised = revised_marks(stored, learned)["lesson"]
    is_same = advice_of(stored) == advice_of(learned)
    assert revised["verified"] == (is_same and stored["lesson"]["verified"] and learned["lesson"]["verified"])
    assert not without_claims(stored)["lesson"]["verified"]


@given(shelves(12), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_the_least_useful_part_of_the_unhelpful_lessons_is_dropped(
    lessons: dict[UUID, Standing], fraction: float
) -> None:
    unhelpful = {
        id_: utility(one)
        for id_, one in lessons.items()
        if one.retrievals >= 5 and (one.helpful + 1) / (one.retrievals + 2) < 0.35
    }
    dropped = least_helpful(lessons, fraction=fraction)
    assert len(dropped) == math.ceil(fraction * len(unhelpful))
    assert set(dropped) <= unhelpful.keys()
    assert all(unhelpful[one] <= unhelpful[other] for one in dropped for other in unhelpful.keys() - set(dropped))


LESSONS = st.fixed_dictionaries(
    {
        "task": st.just("ship it"),
        "solution": st.sampled_from(["test first", "ask Sam", "use the queue"]),
        "domains": st.lists(st.sampled_from(["git", "sql", "ops"]), max_size=3),
        "confidence": st.sampled_from([0.1, 0.5, 0.9]),
        "verified": st.booleans(),
        "frequency": st.integers(1, 3),
        "retrievals": st.integers(0, 3),
        "helpful_retrievals": st.just(0),
        "last_retrieved_at": st.sampled_from([None, "2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z"]),
    }
)


@given(st.lists(LESSONS, min_size=2, max_size=4))
def test_what_lessons_merge_to_does_not_depend_on_their_order(lessons: list[dict[str, Any]]) -> None:
    merged = [reduce(merged_lesson, order) for order in itertools.permutations(lessons)]
    for one, order in zip(merged, itertools.permutations(lessons), strict=True):
        lines = one.pop("solution").splitlines()
        assert lines[0] == order[-1]["solution"]  # the newest first
        assert sorted(lines) == sorted({lesson["solution"] for lesson in lessons})
        assert one["frequency"] == sum(lesson["frequency"] for lesson in lessons)
        assert one["confidence"] == max(lesson["confidence"] for lesson in lessons)
        assert one == merged[0]


def test_a_lesson_learned_late_adds_what_the_stored_one_lacks_and_leaves_the_rest() -> None:
    stored = {"task": "Ship it", "mistake": "untested", "solution": "test first", "code_example": ""}
    late = {"task": "ship IT", "mistake": "unread", "solution": "read first", "code_example": "pytest"}
    merged = merged_lesson(stored, late, is_newer=False)
    assert merged["task"] == "Ship it"
    assert merged["mistake"] == "untested"
    assert merged["solution"] == "test first\nread first"
    assert merged["code_example"] == "pytest"


def test_learning_the_same_again_says_nothing_new() -> None:
    payload = {
        "kind": "competence",
        "skill_name": "lesson: ship it",
        "triggers": [{"signal": "ship"}],
        "recipe": [{"step": "test first"}],
        "lesson": {"task": "ship it", "solution": "test first", "frequency": 1, "timestamp": "2026-05-01T00:00:00Z"},
    }
    again = {**payload, "lesson": {**payload["lesson"], "timestamp": "2026-05-02T00:00:00Z"}}  # type: ignore[dict-item]
    once = merged_payload(payload, again)
    assert once["lesson"]["frequency"] == 2
    assert says_the_same(once, merged_payload(once, again))
    assert not says_the_same(once, merged_payload(once, {**again, "recipe": [{"step": "ask Sam"}]}))


def lesson(number: int = 1, **block: Any) -> MemoryRecord:
    payload = {"lesson": {"task": "ship it", "solution": "test first", **block}}
    return record_of(MemoryType.COMPETENCE, id=UUID(int=number), confidence=0.7, payload=payload)


def test_a_lesson_is_one_line_of_the_playbook() -> None:
    told = lesson(trigger="deploying", mistake="untested", verified=True, frequency=3)
    text, ids = playbook_text([told], heading=RECENT)
    assert ids == [told.id]
    assert text.splitlines() == [
        RECENT,
        NOTICE,
        '- When "deploying": "test first". Not: "untested". (verified, learned 3 times) [1]',
    ]
    assert playbook_text([], heading=RECENT) == ("", [])
    assert failures_text([lesson()]) == ("", [])


HOSTILE = HOSTILE_TEXT | st.text(
    st.sampled_from([*'"`<>|[]{}#*-\\', *"\n\r\t\v\x00\x1b\u2028\u2029\u0085\u202e\u200b\U000e0041", *"abc é 日"]),
    max_size=60,
)


@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), max_size=4), st.integers(64, 400))
def test_no_text_of_a_lesson_ends_its_line_its_quotation_or_the_budget(
    texts: list[tuple[str, str, str]], budget: int
) -> None:
    records = [
        lesson(place + 1, trigger=one, mistake=two, solution=three) for place, (one, two, three) in enumerate(texts)
    ]
    for text, ids, is_numbered in (
        (*playbook_text(records, heading=RECENT, token_budget=budget), True),
        (*failures_text(records, token_budget=budget), False),
    ):
        assert tokens_in(text) <= budget
        lines = text.splitlines()
        assert len(lines) == (len(ids) + 2 if ids else 0)
        assert len(text.split("\n")) == max(1, len(lines))
        assert not set(text) & set("`<>|{}\x00\x1b\u202e\u200b\U000e0041")
        assert acts(text) is None
        for number, (line, id_) in enumerate(zip(lines[2:], ids, strict=True), 1):
            assert line.endswith(f"[{number if is_numbered else id_}]")
            assert line.count("[") == line.count("]") == 1
            assert line.count('"') % 2 == 0
            assert "##" not in line


def test_a_long_text_is_cut_with_a_mark() -> None:
    for text in ("word " * 1_000, "w" * 1_900, "语" * 1_900, "7" * 1_900):
        assert quoted(text).endswith('…"')
        assert len(quoted(text)) > 30
        assert tokens_in(quoted(text)) <= 130


def test_windows_begin_by_the_callers_clock() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    late = datetime(2026, 5, 31, 22, 30, tzinfo=UTC)  # half past midnight in Berlin
    assert start_of(Window.TODAY, late, berlin) == datetime(2026, 5, 31, 22, 0, tzinfo=UTC)
    assert start_of(Window.TODAY, late) == datetime(2026, 5, 31, 0, 0, tzinfo=UTC)
    assert start_of(Window.ALL, late, berlin) is None
    # The clocks went forward on 29 March, so that the week is an hour shorter.
    after = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
    assert start_of(Window.WEEK, after, berlin) == datetime(2026, 3, 25, 13, 0, tzinfo=UTC)


@given(st.integers(0, 10 * 365 * 24 * 60), st.integers(-14 * 4, 14 * 4))
def test_today_is_the_local_day(minutes: int, quarters: int) -> None:
    now = NOON + timedelta(minutes=minutes)
    zone = timezone(timedelta(minutes=15 * quarters))
    start = start_of(Window.TODAY, now, zone)
    assert start is not None
    local = start.astimezone(zone)
    assert (local.hour, local.minute, local.second, local.microsecond) == (0, 0, 0, 0)
    assert timedelta() <= now - start < timedelta(days=1)


def test_a_time_zone_is_a_name_or_an_offset() -> None:
    assert zone_of("+05:30", path=["timeZone"]).utcoffset(None) == timedelta(hours=5, minutes=30)
    assert zone_of("-03:00", path=["timeZone"]).utcoffset(None) == timedelta(hours=-3)
    assert zone_of("Europe/Berlin", path=["timeZone"]) == ZoneInfo("Europe/Berlin")
    assert zone_of(None, path=["timeZone"]) is UTC
    for wrong in (
        "+25:00",
        "Europe",
        "../../etc/passwd",
        "",
        "Nowhere/Land",
        "a" * 300,
        "+02:0",
        "\x00",
        "localtime",
        "posixrules",
        "+００:００",
    ):
        with pytest.raises(InvalidInput):
            zone_of(wrong, path=["timeZone"])
