"""A text says when things happened, and is found for the day that it means."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from fix_memory import Memory, trust_of
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.times import said_times
from stratagraph.store.model.enums import Sensitivity, SourceKind

THURSDAY = datetime(2026, 7, 30, 9, tzinfo=UTC)
SUMMER = timezone(timedelta(hours=2))


@pytest.fixture
def memory(memory: Memory) -> Memory:
    memory.clock.at = datetime(2026, 9, 1, tzinfo=UTC)
    return memory


async def ask(memory: Memory, task: str, **more: Any) -> Retrieved:
    trust = more.pop("trust", memory.trust)
    return await memory.retrieve.retrieve(trust, RetrieveRequest(task_descriptor=task, max_hops=0, **more))


async def first(memory: Memory, task: str, **more: Any) -> Node:
    return (await ask(memory, task, **more)).nodes[0]


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("I went to the dentist last Friday", "what did I do on 24 July?"),
        ("I went to the dentist last Friday", "where did I go on Friday, 24 July 2026?"),
        ("I went to the dentist last Friday", "Was war am 24.07.2026?"),
        ("letzten Freitag war ich beim Zahnarzt", "was war am 24. Juli?"),
        ("上周五我去看牙医", "7月24号我去了哪里？"),
        ("the dentist pulled a tooth a fortnight ago", "what did the dentist do on 16 July?"),
        ("we were in Rome from 3 July to 7 July", "where were we on 5 July?"),
        ("my talk is next Friday", "which talk was on 7 August 2026?"),
        ("I swim on Fridays", "what did I do on 17 July?"),
    ],
)
async def test_a_text_is_found_for_the_day_that_it_means(memory: Memory, text: str, task: str) -> None:
    for day in range(1, 31):
        await memory.turn(f"note {day}", timestamp=datetime(2026, 8, day, tzinfo=UTC))
    said = await memory.turn(text, timestamp=THURSDAY)
    await memory.turn("the printer is broken", timestamp=THURSDAY)
    found = await first(memory, task)
    assert found.record.id == said.primary.id
    assert found.why is not None
    assert found.why.timed_by == "text"


async def test_the_times_of_a_text_are_shown_with_its_record(memory: Memory) -> None:
    said = await memory.turn("I went to the dentist last Friday and yesterday", timestamp=THURSDAY)
    shown = (await memory.record(said.primary.id)).interpretation
    assert shown is not None
    assert shown["named_times"] == [
        {"words": "last Friday", "start": "2026-07-24T00:00:00Z", "end": "2026-07-25T00:00:00Z"},
        {"words": "yesterday", "start": "2026-07-29T00:00:00Z", "end": "2026-07-30T00:00:00Z"},
    ]


async def test_a_day_is_one_of_the_zone_of_who_says_it(memory: Memory) -> None:
    late = datetime(2026, 7, 31, 1, 30, tzinfo=SUMMER)  # in UTC still the day before
    request = CaptureRequest(
        source="chat",
        source_kind=SourceKind.AGENT_TURN,
        content={"role": "user", "text": "I met Rosa yesterday"},
        timestamp=late,
    )
    (kept,) = await memory.capture.capture(memory.trust, [request])
    assert kept.primary.interpretation is not None
    (one,) = kept.primary.interpretation["named_times"]
    assert (one["start"], one["end"]) == ("2026-07-29T22:00:00Z", "2026-07-30T22:00:00Z")
    assert CaptureRequest.from_stored_json(request.as_stored_json()).zone == request.zone


async def test_what_was_said_on_a_day_comes_beside_what_was_said_of_it(memory: Memory) -> None:
    then = await memory.turn("the boiler was repaired", timestamp=THURSDAY)
    later = await memory.turn("the boiler failed again on 30 July", timestamp=THURSDAY + timedelta(days=9))
    found = await ask(memory, "what happened with the boiler on 30 July?")
    assert {node.record.id for node in found.nodes} >= {then.primary.id, later.primary.id}
    assert {node.record.id: node.why.timed_by for node in found.nodes if node.why} == {
        then.primary.id: "date",
        later.primary.id: "text",
    }


async def test_a_hidden_text_moves_nothing(memory: Memory) -> None:
    low = trust_of(actor="low", ceiling=Sensitivity.LOW, scopes={"project:a"})
    for day in range(1, 5):
        at = THURSDAY + timedelta(days=day)
        await memory.turn(f"{day} crates came on 24 July", timestamp=at, trust=low, scope="project:a")
    now = memory.clock.now()
    before = [(node.record.id, node.score) for node in (await ask(memory, "what came on 24 July?", trust=low)).nodes]
    for day in range(1, 5):
        for where in ({"scope": "project:b"}, {"scope": "project:a", "sensitivity": Sensitivity.HIGH}):
            await memory.turn(f"{day} parcels came on 24 July", timestamp=THURSDAY, **where)
    memory.clock.at = now
    after = [(node.record.id, node.score) for node in (await ask(memory, "what came on 24 July?", trust=low)).nodes]
    assert after == before
    assert len(before) == 4


@pytest.mark.parametrize(
    ("text", "days"),
    [  # said on Wednesday, 18 November 2026
        ("he's back on the 2nd of december", ["2025-12-02", "2026-12-02"]),
        ("the policy runs from 1 December", ["2025-12-01", "2026-12-01"]),
        ("Wir feiern am 12. Dezember", ["2025-12-12", "2026-12-12"]),
        ("dinner on Saturday", ["2026-11-14", "2026-11-21"]),
        ("dinner on Saturday, can't wait", ["2026-11-21"]),
        ("Am Dienstag muss ich zum Arzt", ["2026-11-24"]),
        ("I'll send it on Thursday", ["2026-11-19"]),
        ("we went there on Saturday. It is far.", ["2026-11-14"]),
        ("we went there on Saturday and will go on Sunday", ["2026-11-14", "2026-11-21", "2026-11-15", "2026-11-22"]),
        ("the fair is Friday, 4 December", ["2026-12-04"]),  # six years after the last 4 December on a Friday
        ("we fly from 3 January to 7 January", ["2026-01-03", "2027-01-03"]),
        ("on 29 February", ["2024-02-29", "2028-02-29"]),
        ("the trip was moved to 3 December", ["2025-12-03", "2026-12-03"]),
        ("she said that she'd come on Sunday", ["2026-11-15", "2026-11-22"]),
        ("Was ich am Dienstag mache", ["2026-11-17", "2026-11-24"]),
        ("finish by Monday", ["2026-11-16", "2026-11-23"]),
        ("this coming Sunday", ["2026-11-22"]),
        ("see you next weekend", ["2026-11-21", "2026-11-28"]),
        ("we move in three weeks", ["2026-12-03"]),
        ("in zwei Wochen fahre ich weg", ["2026-11-26"]),
        ("dans deux semaines je pars", ["2026-11-26"]),
        ("I learned it in three weeks", []),
        ("guten Morgen", []),
        ("party on Wednesday", []),  # its own date
    ],
)
def test_a_day_that_recurs_is_the_last_or_the_next_one_or_both(text: str, days: list[str]) -> None:
    times = said_times(text, datetime(2026, 11, 18, 9, tzinfo=UTC), zone=timedelta(0))
    assert [one.start.date().isoformat() for one in times] == days


@given(st.integers(-20_000, 20_000), st.sampled_from(["on Friday", "3 May", "in June"]))
def test_both_are_the_nearest_ones(days: int, words: str) -> None:
    at = THURSDAY + timedelta(days=days)
    times = said_times(words, at, zone=timedelta(0))
    assert len(times) in (0, 1, 2)
    if len(times) == 2:
        last, following = times
        assert last.start < at < following.start
        assert following.start - last.start <= timedelta(days=366)


@pytest.mark.parametrize("part", ["3天前", "on 3 May ", "in three weeks ", "il y a 3 ", "2022 ", "he was. ", "am 3. "])
def test_a_long_text_takes_no_longer(part: str) -> None:
    began = time.monotonic()
    said_times(part * (20_000 // len(part)), THURSDAY, zone=timedelta(0))
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("text", ["today I ate", "since 2010 I swim", "before 3 May 2020 all was well", "it is late"])
def test_what_says_no_more_than_the_date_of_the_text_is_no_time_of_it(text: str) -> None:
    assert said_times(text, THURSDAY, zone=timedelta(0)) == []


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@pytest.mark.parametrize("zone", [-14, 14])
def test_times_at_the_ends_of_the_calendar_are_left_out(at: datetime, zone: int) -> None:
    for text in ("yesterday", "tomorrow", "a fortnight ago", "next week", "on Fridays", "last year"):
        said_times(text, at, zone=timedelta(hours=zone))
