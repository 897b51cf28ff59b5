"""Captures that failed inside are retried in the background, listed without content, and retried or dropped by hand."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_jobs import resources_of
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.consolidation.jobs.retry_captures import RetryCaptures, RetryCapturesConfig
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.retries import Retried
from stratagraph.memory.erase.request import Erase
from stratagraph.store.model.enums import Access, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, InvalidInput, RecordNotFound, StoreUnavailable
from stratagraph.store.model.trust import Trust
from stratagraph.store.records.failed_captures import FIRST_PAUSE, MAX_ATTEMPTS

HIGH = Sensitivity.HIGH
FUNCTION = "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$"


@dataclass
class Fault:
    """A database that refuses to insert records of some occurrence time, as a defect would, until it is mended."""

    memory: Memory

    async def sql(self, *statements: str) -> list[dict[str, Any]]:
        async with self.memory.database.engine.begin() as connection:
            for statement in statements:
                result = await connection.execute(text(statement))
            return [dict(row) for row in result.mappings()] if result.returns_rows else []

    async def begin(self, when: str = "true") -> None:
        trigger = f"CREATE TRIGGER fail BEFORE INSERT ON record FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION fail()"
        await self.sql(FUNCTION, trigger)

    async def mend(self) -> None:
        await self.sql("DROP FUNCTION fail() CASCADE")

    async def candidates(self) -> list[dict[str, Any]]:
        return await self.sql("SELECT * FROM candidate ORDER BY id")

    async def texts(self) -> list[str]:
        return [row["text"] for row in await self.sql("SELECT text FROM record WHERE type = 1 ORDER BY created_at, id")]


@pytest.fixture
def fault(memory: Memory) -> Fault:
    return Fault(memory)


def turn(said: str, **more: Any) -> CaptureRequest:
    return CaptureRequest(
        source="test", source_kind=SourceKind.AGENT_TURN, content={"role": "user", "text": said}, **more
    )


async def fail(memory: Memory, *requests: CaptureRequest, trust: Trust | None = None) -> UUID:
    """Capture `requests` while the database refuses them; return the id of the first candidate."""
    with pytest.raises(StoreUnavailable, match="kept as candidate") as failed:
        await memory.capture.capture(trust or memory.trust, requests, batch=len(requests) > 1)
    found = {str(one.capture.id): one.capture for one in await memory.failed_captures.all_failed(limit=1_000)}
    return next(one.id for id_, one in found.items() if id_ in failed.value.message)


async def run(memory: Memory, **config: Any) -> Counter[str]:
    job = RetryCaptures(resources_of(memory), RetryCapturesConfig(**config))
    return Counter((await job.run_once(memory.clock.now())).counts)


@pytest.mark.parametrize("sensitivity", [Sensitivity.LOW, HIGH])
async def test_a_failed_capture_is_stored_by_the_job_once_the_cause_is_gone(
    memory: Memory, fault: Fault, sensitivity: Sensitivity
) -> None:
    await fault.begin()
    said_at = memory.clock.now()
    id_ = await fail(memory, turn("the zeppelin burns", sensitivity=sensitivity, idempotency_key="k", tags=("a",)))
    assert await run(memory) == Counter(), "it is not due yet"
    memory.clock.forward(FIRST_PAUSE)
    assert (await run(memory))["failed_again"] == 1
    await fault.mend()
    assert await run(memory) == Counter(), "the pause has doubled"
    memory.clock.forward(2 * FIRST_PAUSE)
    assert (await run(memory))["requests_stored"] == 1
    (candidate,) = await fault.candidates()
    assert (candidate["id"], candidate["state"], candidate["attempts"]) == (id_, "committed", 3)
    assert (candidate["input"], candidate["sealed"], candidate["next_try_at"]) == (None, None, None)
    record = await memory.lookup.record(memory.trust, candidate["record"])
    assert record is not None
    assert (record.occurred_at, record.tags, record.text) == (said_at, ("a",), "user: the zeppelin burns")
    assert (await run(memory)) == Counter()
    again = await memory.capture.capture(
        memory.trust, [turn("the zeppelin burns", sensitivity=sensitivity, idempotency_key="k", tags=("a",))]
    )
    assert (again[0].replayed, again[0].primary.id, again[0].candidate) == (True, record.id, id_)


async def test_pauses_double_and_attempts_are_bounded(memory: Memory, fault: Fault) -> None:
    await fault.begin()
    id_ = await fail(memory, turn("x"))
    pause = FIRST_PAUSE
    for attempt in range(2, MAX_ATTEMPTS + 1):
        memory.clock.forward(pause - timedelta(microseconds=1))
        assert await run(memory) == Counter()
        memory.clock.forward(timedelta(microseconds=1))
        expected = "given_up" if attempt == MAX_ATTEMPTS else "failed_again"
        assert (await run(memory))[expected] == 1
        pause *= 2
    memory.clock.forward(timedelta(days=400))
    assert await run(memory) == Counter()
    (listed,) = (await memory.failed_captures.page(memory.trust, first=10, after=None)).captures
    assert (listed.capture.attempts, listed.capture.next_try_at) == (MAX_ATTEMPTS, None)
    assert listed.capture.error.startswith("StatementFailed")
    await fault.mend()
    (stored,) = await memory.failed_captures.retry(memory.trust, id_)
    assert stored.record is not None
    assert stored.candidate == id_


async def test_a_batch_is_retried_in_order_all_or_nothing(memory: Memory, fault: Fault) -> None:
    await fault.begin("NEW.text LIKE '%poison%'")
    said = ["first", "poison", "last"]
    await fail(memory, *(turn(one, idempotency_key=one) for one in said))
    memory.clock.forward(FIRST_PAUSE)
    assert (await run(memory))["failed_again"] == 1
    assert await fault.texts() == []
    assert [(row["position"], row["attempts"]) for row in await fault.candidates()] == [(0, 2), (1, 2), (2, 2)]
    # One of them is captured again by its caller before the retry: it is not stored twice.
    alone = await memory.capture.capture(memory.trust, [turn("first", idempotency_key="first")])
    await fault.mend()
    memory.clock.forward(2 * FIRST_PAUSE)
    assert (await run(memory))["requests_stored"] == 1
    assert await fault.texts() == ["user: first", "user: poison", "user: last"]
    rows = {row["record"]: row for row in await fault.candidates()}
    assert len(rows) == 3
    assert alone[0].primary.id in rows


async def test_a_request_that_fails_does_not_hold_up_others(memory: Memory, fault: Fault) -> None:
    await fault.begin()
    for said in ("poison", "good", "better"):
        await fail(memory, turn(said))
    await fault.mend()
    await fault.sql("UPDATE candidate SET sealed = NULL, input = '{}' WHERE input::text LIKE '%poison%'")
    memory.clock.forward(FIRST_PAUSE)
    counts = await run(memory)
    assert (counts["requests_stored"], counts["failed_again"]) == (2, 1)


async def test_retries_at_once_store_a_capture_once(memory: Memory, fault: Fault) -> None:
    await fault.begin()
    await fail(memory, turn("one"), turn("two"))
    await fault.mend()
    (key,) = await memory.failed_captures.find_batches(None)
    done = await asyncio.gather(*(memory.failed_captures.retry_batch(key) for _ in range(4)))
    assert Counter(one.outcome for one in done) == Counter({Retried.STORED: 1, Retried.GONE: 3})
    assert len(await fault.texts()) == 2


async def test_a_retry_has_the_rights_of_its_caller_and_no_more(memory: Memory, fault: Fault) -> None:
    narrow = trust_of(actor="narrow", access=Access.WRITE, ceiling=Sensitivity.LOW, scopes={"project:a"})
    await fault.begin()
    await fail(memory, turn("mine"), trust=narrow)
    await fault.mend()
    memory.clock.forward(FIRST_PAUSE)
    await fault.sql("UPDATE candidate SET input = jsonb_set(input, '{scope}', '\"project:b\"')")
    assert (await run(memory))["given_up"] == 1
    (row,) = await fault.candidates()
    assert (row["stage"], row["error"], row["next_try_at"]) == ("check", "Forbidden", None)
    await fault.sql("UPDATE candidate SET input = jsonb_set(input, '{scope}', 'null')")
    (stored,) = await memory.failed_captures.retry(memory.trust, row["id"])
    assert stored.record is not None
    assert stored.record.scope == "project:a"
    log = await memory.lookup.audit(memory.trust, [stored.record.id])
    assert [entry.actor for entry in log[stored.record.id]] == ["narrow"]


async def test_an_outcome_waits_for_the_retry_of_its_episode(memory: Memory, fault: Fault) -> None:
    content = {"role": "user", "text": "go", "thread_id": "t"}
    event = CaptureRequest(source="test", source_kind=SourceKind.AGENT_TURN, content=content)
    closing = {"thread_id": "t", "outcome_status": "failure", "reason": "no fuel"}
    await memory.capture.capture(memory.trust, [event])
    await fault.sql(FUNCTION, "CREATE TRIGGER fail BEFORE UPDATE ON episode FOR EACH ROW EXECUTE FUNCTION fail()")
    await fail(memory, CaptureRequest(source="test", source_kind=SourceKind.OUTCOME, content=closing))
    await fault.mend()
    memory.clock.forward(FIRST_PAUSE)
    assert (await run(memory))["requests_stored"] == 1
    (row,) = [row for row in await fault.candidates() if row["source_kind"] == "outcome"]
    record = await memory.lookup.record(memory.trust, row["record"])
    assert record is not None
    assert record.payload is not None
    assert record.payload["outcome_reason"] == "no fuel"


async def test_a_credential_sees_its_own_failed_captures_and_those_within_its_bounds(
    memory: Memory, fault: Fault
) -> None:
    a = trust_of(actor="a", access=Access.WRITE, ceiling=Sensitivity.LOW, scopes={"project:a"})
    b = trust_of(actor="b", access=Access.WRITE, ceiling=HIGH, scopes={"project:b"})
    both = trust_of(actor="c", access=Access.WRITE, ceiling=HIGH, scopes={"project:a", "project:b"})
    low = trust_of(actor="d", access=Access.WRITE, ceiling=Sensitivity.LOW, scopes={"project:a", "project:b"})
    stranger = trust_of(tenant="other", actor="a")
    await fault.begin()
    of_a = await fail(memory, turn("a secret of a"), trust=a)
    of_b = await fail(memory, turn("a secret of b", sensitivity=HIGH), trust=b)
    mixed = await fail(
        memory, turn("one", scope="project:a"), turn("two", scope="project:b", sensitivity=HIGH), trust=both
    )
    await fault.mend()

    async def seen(trust: Trust) -> set[UUID]:
        page = await memory.failed_captures.page(trust, first=100, after=None)
        return {one.capture.batch for one in page.captures}

    assert await seen(a) == {of_a, mixed}
    rest = await seen(b) - {of_b}
    assert len(rest) == 1  # the second capture of the mixed batch, which b sees as a batch of its own
    assert not rest & {of_a, mixed}
    assert await seen(both) == await seen(memory.trust) == {of_a, of_b, mixed}
    assert await seen(low) == {of_a, mixed}
    assert await seen(stranger) == set()
    everything = repr(await memory.failed_captures.page(memory.trust, first=100, after=None))
    assert "secret" not in everything
    for action in (memory.failed_captures.retry, memory.failed_captures.drop):
        for trust, id_ in ((a, of_b), (b, of_a), (stranger, of_a), (low, of_b)):
            with pytest.raises(RecordNotFound) as unknown:
                await action(trust, id_)
            with pytest.raises(RecordNotFound) as missing:
                await action(trust, UUID(int=7))
            assert unknown.value.message.replace(str(id_), "") == missing.value.message.replace(str(UUID(int=7)), "")
        with pytest.raises(Forbidden, match="write"):
            await action(trust_of(access=Access.READ), of_a)
    (second,) = rest
    assert await memory.failed_captures.drop(b, second) == [second]
    assert await seen(low) == {of_a, mixed}
    assert await memory.failed_captures.drop(both, mixed) == [mixed]
    assert [one.record is not None for one in await memory.failed_captures.retry(low, of_a)] == [True]


async def test_a_retry_by_another_credential_neither_stores_nor_fails_what_is_hidden_from_it(
    memory: Memory, fault: Fault
) -> None:
    """What it sees is retried alone; the rest of the batch is retried in the background as before."""
    low = trust_of(actor="low", access=Access.WRITE, ceiling=Sensitivity.LOW, scopes={"project:a"})
    await fault.begin()
    said = [("poison", HIGH), ("one", Sensitivity.LOW), ("two", HIGH), ("three", Sensitivity.LOW)]
    requests = [turn(word, scope="project:a", sensitivity=level) for word, level in said]
    first = await fail(memory, *requests)
    rows = {row["position"]: row["id"] for row in await fault.candidates()}
    assert rows[0] == first
    await fault.mend()
    await fault.begin("NEW.sensitivity = 3")
    stored = await memory.failed_captures.retry(low, rows[3])
    assert [one.candidate for one in stored] == [rows[1], rows[3]]
    assert all(one.record is not None for one in stored)
    left = {row["id"]: row for row in await fault.candidates() if row["state"] == "failed"}
    assert {id_: (row["batch"], row["attempts"]) for id_, row in left.items()} == {
        rows[0]: (rows[0], 1),
        rows[2]: (rows[0], 1),
    }
    await fault.mend()
    memory.clock.forward(FIRST_PAUSE)
    assert (await run(memory))["requests_stored"] == 1
    assert {row["state"] for row in await fault.candidates()} == {"committed"}


async def test_a_credential_acts_on_its_own_failed_captures_and_those_that_it_may_write(
    memory: Memory, fault: Fault
) -> None:
    everything = trust_of(actor="root", access=Access.WRITE)
    a = trust_of(actor="a", access=Access.WRITE, ceiling=Sensitivity.MEDIUM, scopes={"project:a"})
    reader = trust_of(actor="r", access=Access.READ, scopes={"project:a"})
    await fault.begin()
    unscoped = await fail(memory, turn("for all"), trust=everything)
    high = await fail(memory, turn("of a, high", scope="project:a", sensitivity=HIGH), trust=everything)
    scoped = await fail(memory, turn("of a", scope="project:a"), trust=everything)
    partly = await fail(memory, turn("of a", scope="project:a"), turn("for all"), trust=everything)
    hidden = await fail(memory, turn("of a", scope="project:a"), turn("of b", scope="project:b"), trust=everything)
    own = await fail(memory, turn("my own"), trust=replace(everything, actor="a"))
    await fault.mend()
    for action in (memory.failed_captures.retry, memory.failed_captures.drop):
        for id_ in (unscoped, partly):
            with pytest.raises(Forbidden, match="may not write every capture of the request"):
                await action(a, id_)
        with pytest.raises(RecordNotFound):
            await action(a, high)
        for id_ in (unscoped, scoped):
            with pytest.raises(Forbidden, match="needs write access"):
                await action(reader, id_)
    (stored,) = await memory.failed_captures.retry(a, own)
    assert stored.record is not None
    assert await memory.failed_captures.drop(a, scoped) == [scoped]
    (stored,) = await memory.failed_captures.retry(a, hidden)
    assert stored.candidate == hidden
    left = await memory.failed_captures.page(everything, first=100, after=None)
    assert {one.capture.batch for one in left.captures if one.scope != "project:b"} == {unscoped, high, partly}


async def test_failed_captures_are_listed_in_pages(memory: Memory, fault: Fault) -> None:
    await fault.begin()
    ids = [await fail(memory, turn(str(number))) for number in range(5)]
    listed: list[UUID] = []
    cursor: str | None = None
    for size in (2, 2, 1):
        page = await memory.failed_captures.page(memory.trust, first=2, after=cursor)
        listed += [one.capture.id for one in page.captures]
        cursor = page.end_cursor
        assert (len(page.captures), page.has_next) == (size, len(listed) < 5)
    assert listed == sorted(ids)
    for first in (0, 101):
        with pytest.raises(InvalidInput, match="between 1 and 100"):
            await memory.failed_captures.page(memory.trust, first=first, after=None)


async def test_a_retry_by_hand_reports_the_next_attempt(memory: Memory, fault: Fault) -> None:
    await fault.begin()
    id_ = await fail(memory, turn("the zeppelin"))
    with pytest.raises(StoreUnavailable, match="failed again") as failed:
        await memory.failed_captures.retry(memory.trust, id_)
    assert "zeppelin" not in failed.value.message
    (row,) = await fault.candidates()
    assert (row["attempts"], row["next_try_at"]) == (2, memory.clock.now() + 2 * FIRST_PAUSE)


async def test_what_is_dropped_or_erased_is_not_retried(memory: Memory, fault: Fault) -> None:
    kept = await memory.turn("Zorblax is here", scope="project:a")
    await fault.begin()
    dropped = await fail(memory, turn("dropped"))
    await fail(memory, turn("Zorblax was there", scope="project:a"))
    await fault.mend()
    await memory.failed_captures.drop(memory.trust, dropped)
    await memory.erasure.erase(memory.trust, Erase(scope="project:a", rationale="asked for", idempotency_key="k"))
    memory.clock.forward(timedelta(days=1))
    assert await run(memory) == Counter()
    assert [row for row in await fault.candidates() if row["state"] == "failed"] == []
    assert await memory.lookup.record(memory.trust, kept.primary.id) is None


async def test_a_capture_of_an_earlier_release_is_retried_only_with_known_rights(memory: Memory, fault: Fault) -> None:
    await fault.begin()
    id_ = await fail(memory, turn("old"))
    await fault.mend()
    await fault.sql("UPDATE candidate SET caller_ceiling = NULL")
    with pytest.raises(Forbidden, match="earlier release"):
        await memory.failed_captures.retry(memory.trust, id_)
    assert await fault.texts() == []
