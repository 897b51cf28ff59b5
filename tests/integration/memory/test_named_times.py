"""Questions that name a time bring the records of that time, by the date of the event."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from fix_memory import Memory, trust_of

from stratagraph.memory.retrieve import past as past_snapshots
from stratagraph.memory.retrieve import weights, why_not
from stratagraph.memory.retrieve.answer import Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.model.words import Terms, record_terms
from stratagraph.store.search.present import RECENT_WINDOW

MONTHS = 12


async def ask(memory: Memory, task: str, trust: Trust | None = None, **more: object) -> Retrieved:
    asked = RetrieveRequest(task_descriptor=task, max_hops=0, **more)  # type: ignore[arg-type]
    return await memory.retrieve.retrieve(trust or memory.trust, asked)


def texts(found: Retrieved) -> list[str]:
    return [(node.record.text or "").removeprefix("user: ") for node in found.nodes]


async def said_on(memory: Memory, day: str, text: str, **more: object) -> UUID:
    at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    return (await memory.turn(text, timestamp=at, **more)).primary.id  # type: ignore[arg-type]


@pytest.fixture
async def year(memory: Memory) -> Memory:
    """A memory with events of 2025, one a month, and more newer ones than a search for the newest reads."""
    for month in range(1, MONTHS + 1):
        await said_on(memory, f"2025-{month:02}-10", f"painted room {month * 11}")
    return memory


async def test_what_happened_then_is_found_without_any_other_word(year: Memory) -> None:
    for task in ("what happened in May 2025?", "what happened on 10 May 2025?"):
        assert texts(await ask(year, task)) == ["painted room 55"]
    assert set(texts(await ask(year, "what happened before March 2025?"))) == {"painted room 11", "painted room 22"}
    past = year.clock.now()
    year.clock.forward(timedelta(minutes=1))
    await said_on(year, "2025-05-11", "painted the cellar")
    assert texts(await ask(year, "what happened in May 2025?", as_of=past)) == ["painted room 55"]
    assert len((await ask(year, "what happened in May 2025?")).nodes) == 2


@pytest.mark.parametrize("past", [False, True], ids=["present", "past"])
async def test_what_names_a_time_is_the_answer_where_nothing_is_known_to_have_happened_then(
    memory: Memory, past: bool
) -> None:
    await said_on(memory, "2026-05-30", "in March 2026 the office moved to Bremen")
    await said_on(memory, "2026-05-30", "the lease of 2026 and the last week of the fair in march")
    await said_on(memory, "2026-05-31", "somebody moved the printer last year")
    memory.clock.forward(timedelta(minutes=1))
    as_of = memory.clock.now() if past else None
    memory.clock.forward(timedelta(minutes=1))
    found = await ask(memory, "what happened in March 2026?", as_of=as_of)
    assert texts(found)[0] == "in March 2026 the office moved to Bremen"
    assert found.nodes[0].strength >= weights.NAMED_TIME
    for task in ("what happened last year?", "what happened in February 2026?"):
        assert not texts(await ask(memory, task, as_of=as_of))


@pytest.mark.parametrize("past", [False, True], ids=["present", "past"])
@pytest.mark.parametrize(
    "asked",
    [
        "what happened in May 2026?",
        "What happened on 2026-05-27?",
        "what happened on May 27, 2026?",
        "what happened on 27 May 2026?",
        "what happened on 27.5.2026?",
        "What happened in mid-May?",
        "what happened on the 27th of May",
        "what happened between 26 May 2026 and 28 May 2026?",
        "What happened last week?",
        "what happened on Wednesday?",
        "what happened on Wednesday morning?",
        "What happened from Tuesday to Thursday?",
    ],
)
async def test_what_mentions_a_time_comes_after_what_happened_then(memory: Memory, asked: str, past: bool) -> None:
    """All of these mean the same Wednesday: the clock of the tests stands on Monday, 1 June 2026."""
    await said_on(memory, "2026-05-27T09:00", "painted the stairs")
    for text in (
        "the trial of Brightwater ends on 2026-05-27, Wednesday, in the week of 27 May 2026",
        "Postgres 27 comes last week, said Wed. 27.05.2026 in May",
        "a summary of 2026-05-27: Tuesday, Wednesday, Thursday, last week, morning, May 26, 27, 28",
    ):
        await said_on(memory, "2026-03-02", text)
        await said_on(memory, "2026-04-01", text + ".")
    found = await ask(memory, asked, as_of=memory.clock.now() if past else None)
    assert texts(found)[0] == "painted the stairs"
    assert found.nodes[0].strength == 1
    (time,) = found.times
    assert time.words in asked
    assert time.start <= datetime(2026, 5, 27, 9, tzinfo=UTC) < time.end


@pytest.mark.parametrize("asked", ["what is on 2026-12-04?", "what happens on 4 December 2026?"])
async def test_a_time_to_come_is_found_where_a_text_names_it(memory: Memory, asked: str) -> None:
    await said_on(memory, "2025-12-04", "ordered varnish")
    plan = await said_on(memory, "2026-05-02", "the trial of Brightwater ends on 2026-12-04 (4 December 2026)")
    assert [node.record.id for node in (await ask(memory, asked)).nodes] == [plan]


@pytest.mark.parametrize("event", ["the release of Wagtail 7.2", "HAL-2207 was opened", "the release of v5.12.0"])
async def test_what_happened_before_or_after_an_event_with_a_number(memory: Memory, event: str) -> None:
    await said_on(memory, "2026-03-01", "painted the stairs")
    await said_on(memory, "2026-04-01", f"{event}, after the release of Wagtail 7.1 and of v5.11.0")
    await said_on(memory, "2026-05-01", "ordered varnish")
    assert texts(await ask(memory, f"What happened after {event}?"))[0] == "ordered varnish"
    before = await ask(memory, f"What happened before {event}?")
    assert texts(before)[0] == "painted the stairs"
    assert [time.words for time in before.times] == [f"before {event}"]


async def test_records_of_the_time_come_after_those_with_the_words_and_make_no_answer_alone(year: Memory) -> None:
    await said_on(year, "2025-05-20", "ordered varnish for the stairs")
    found = await ask(year, "which varnish did we order in May 2025?")
    assert texts(found) == ["ordered varnish for the stairs", "painted room 55"]
    assert found.nodes[1].strength == 0.0
    unknown = await ask(year, "which helicopter did we charter in May 2025?")
    assert (unknown.nodes, unknown.nothing_known) == ((), True)


async def test_records_of_the_time_are_found_behind_any_number_of_newer_ones(
    year: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert RECENT_WINDOW > MONTHS
    monkeypatch.setattr("stratagraph.store.search.present.RECENT_WINDOW", 3)
    assert texts(await ask(year, "what happened in February 2025?")) == ["painted room 22"]
    scoped = trust_of(scopes={"project:a"})
    assert texts(await ask(year, "what happened in February 2025?", scoped)) == ["painted room 22"]


async def test_hidden_records_of_the_time_take_no_place(year: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stratagraph.store.search.present.RECENT_WINDOW", 2)
    for number in range(4):
        await said_on(year, "2025-02-20", f"hidden {number}", sensitivity=Sensitivity.HIGH)
        await said_on(year, "2025-02-20", f"elsewhere {number}", scope="project:b")
    mine = trust_of(scopes={"project:a"}, ceiling=Sensitivity.PUBLIC)
    await said_on(year, "2025-02-01", "painted the door", sensitivity=Sensitivity.PUBLIC, scope="project:a")
    assert texts(await ask(year, "what happened in February 2025?", mine)) == ["painted the door"]


async def test_an_event_of_the_store_dates_a_question(memory: Memory) -> None:
    await said_on(memory, "2025-03-01", "login broke on tablets because of a missing font")
    release = await said_on(memory, "2025-06-01", "released Kestrel 4.1 to all customers")
    await said_on(memory, "2025-09-01", "login broke on phones because of an expired key")
    after = texts(await ask(memory, "why did login break after the release of Kestrel 4.1?"))
    before = texts(await ask(memory, "Before the release of Kestrel 4.1, why did login break?"))
    assert next(text for text in after if "login" in text).startswith("login broke on phones")
    assert next(text for text in before if "login" in text).startswith("login broke on tablets")
    past = memory.clock.now()
    memory.clock.forward(timedelta(minutes=1))
    then = await ask(memory, "why did login break after the release of Kestrel 4.1?", as_of=past)
    assert texts(then) == after
    assert release in then.roots


async def test_what_happened_before_or_after_an_event_is_found_without_any_other_word(year: Memory) -> None:
    await said_on(year, "2025-05-20", "we moved all servers to Hetzner")
    rooms = {f"painted room {month * 11}" for month in range(1, 6)}
    before, after = "what happened before the move to Hetzner?", "what happened after the move to Hetzner?"
    assert {text for text in texts(await ask(year, before)) if "room" in text} == rooms
    past = year.clock.now()
    year.clock.forward(timedelta(minutes=1))
    await said_on(year, "2025-02-11", "painted the cellar")
    assert {text for text in texts(await ask(year, before, as_of=past)) if "room" in text} == rooms
    assert "painted the cellar" in texts(await ask(year, before))
    assert not {*texts(await ask(year, after))} & {*rooms, "painted the cellar"}


async def test_nothing_is_known_if_what_is_known_is_below_the_least_salience(memory: Memory) -> None:
    await memory.turn("the harbour pilot paints watercolours")
    memory.clock.forward(timedelta(days=2))
    await memory.turn("a pilot project in the city of seven hills and many more words about other things")
    asked = "which harbour pilot paints watercolours of zebra finches?"
    assert (await ask(memory, asked)).nodes
    found = await ask(memory, asked, min_salience=0.5)
    assert (found.nodes, found.nothing_known) == ((), True)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("v2026.47.2 fixed the upload of pictures", "what did v2026.47.3 fix?"),
        ("v2026.47.2 fixed the upload of pictures", "V2026.47.3 fix"),
        ("pb2291 is the invoice of March", "who paid pb229?"),
        ("pb229 is the invoice of March", "pb2291"),
    ],
)
async def test_an_identifier_is_not_taken_for_one_that_begins_alike(memory: Memory, known: str, asked: str) -> None:
    await memory.turn(known)
    for number in range(5):
        await memory.turn(f"unrelated chatter {number} about lunch")
    found = await ask(memory, asked)
    assert (texts(found), found.nothing_known) == ([], True)


async def test_long_texts_are_analysed_beside_the_event_loop(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = await memory.turn("parrots like seeds")
    memory.clock.forward(timedelta(minutes=1))
    past = memory.clock.now()
    memory.clock.forward(timedelta(minutes=1))
    threads = set()

    def noting(index_key: bytes, body: str, summary: str = "") -> Terms:
        threads.add(threading.get_ident())
        return record_terms(index_key, body, summary)

    for module in (past_snapshots, why_not):
        monkeypatch.setattr(module, "record_terms", noting)
    request = RetrieveRequest(task_descriptor="parrots", as_of=past)
    assert (await memory.retrieve.why_not(memory.trust, kept.primary.id, request)).node is not None
    assert threads
    assert threading.get_ident() not in threads
