"""API keys of one name are callers apart: what is one's own belongs to the key, and the name is only shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore
from sqlalchemy import text

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Pin, VerifyLesson
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.keys.credentials import Credentials
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import Access, Outcome, SourceKind
from stratagraph.store.model.errors import Forbidden, LimitExceeded, RecordNotFound, StoreUnavailable
from stratagraph.store.model.trust import Trust

WHY = "as a test"


async def key(memory: Memory, name: str = "agent", *, scopes: set[str] | None = None) -> Trust:
    """Return the trust of a new API key."""
    credentials = Credentials(memory.database, memory.directory)
    granted = trust_of(actor=name, access=Access.WRITE, scopes=scopes)
    _, token = await credentials.create(granted)
    return await credentials.authenticate(token)


@pytest.fixture(autouse=True)
def _reports_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a report on a retrieval that is not the caller's refused at once."""
    monkeypatch.setattr("stratagraph.memory.feedback.waiting.WAIT_S", 0.0)


@pytest.fixture
async def keys(memory: Memory) -> tuple[Trust, Trust]:
    """Two keys of one name and with equal rights."""
    return await key(memory), await key(memory)


async def ask(memory: Memory, trust: Trust) -> UUID:
    return (await memory.retrieve.retrieve(trust, RetrieveRequest(task_descriptor="parrot", max_hops=0))).id


async def capture(memory: Memory, trust: Trust, said: str, idempotency_key: str) -> tuple[UUID, bool]:
    memory.clock.forward(timedelta(seconds=1))
    content = {"role": "user", "text": said}
    request = CaptureRequest(
        source="test", source_kind=SourceKind.AGENT_TURN, content=content, idempotency_key=idempotency_key
    )
    (done,) = await memory.capture.capture(trust, [request])
    return done.primary.id, done.replayed


async def test_keys_of_one_name_have_identities_of_their_own_and_show_the_name(
    memory: Memory, keys: tuple[Trust, Trust]
) -> None:
    first, second = keys
    assert first.actor == second.actor == "agent"
    assert first.identity != second.identity
    assert first != second
    id_, _ = await capture(memory, second, "the parrot", "k")
    log = (await memory.lookup.audit(memory.trust, [id_]))[id_]
    assert [entry.actor for entry in log] == ["agent"]


async def test_a_retrieval_is_reported_by_the_key_that_asked(memory: Memory, keys: tuple[Trust, Trust]) -> None:
    first, second = keys
    await capture(memory, first, "the parrot", "k")
    retrieval = await ask(memory, first)
    report = OutcomeReport(retrieval=retrieval, outcome=Outcome.SUCCESS, used=())
    with pytest.raises(RecordNotFound):
        await memory.feedback.report(second, report)
    await memory.retrieve.log.flush()
    assert not (await memory.feedback.report(first, report)).replayed


async def test_a_playbook_is_credited_by_the_key_that_asked(memory: Memory, keys: tuple[Trust, Trust]) -> None:
    first, second = keys
    learned = await memory.lessons.learn(first, LearnLesson(task="ship", solution="test"))
    await memory.lessons.playbook(first)
    assert await memory.lessons.credit(second) == []
    assert await memory.lessons.credit(first) == [learned.captured.primary.id]


async def test_idempotency_keys_belong_to_the_key_that_used_them(memory: Memory, keys: tuple[Trust, Trust]) -> None:
    first, second = keys
    one, _ = await capture(memory, first, "the parrot", "k")
    other, replayed = await capture(memory, second, "another parrot", "k")
    assert (one == other, replayed) == (False, False)
    assert await capture(memory, first, "the parrot", "k") == (one, True)
    for trust, id_ in ((first, one), (second, other)):
        pin = Pin(record_id=id_, pinned=True, rationale=WHY, idempotency_key="p")
        assert not (await memory.revision.revise(trust, pin)).replayed
        assert (await memory.revision.revise(trust, pin)).replayed
    for trust, id_ in ((first, one), (second, other)):
        erase = Erase(record_id=id_, rationale=WHY, idempotency_key="e")
        assert not (await memory.erasure.erase(trust, erase)).replayed


async def test_free_predicates_are_counted_for_each_key(memory: Memory, keys: tuple[Trust, Trust]) -> None:
    directory = Directory(memory.database, memory.directory.vault, max_free_predicates=1)
    first, second = [await directory.resolve(trust) for trust in keys]
    await directory.claim_predicates(first, ["hums_to"], path=["p"])
    await directory.claim_predicates(second, ["sings_to"], path=["p"])
    with pytest.raises(LimitExceeded):
        await directory.claim_predicates(first, ["sings_to"], path=["p"])


async def test_an_upload_is_known_to_the_key_that_sent_it(memory: Memory, keys: tuple[Trust, Trust]) -> None:
    first, second = keys
    artifacts = Artifacts(memory.database, memory.directory, memory.clock, Blobs(MemoryStore()))

    async def data() -> AsyncIterator[bytes]:
        yield b"hello"

    uri = (await artifacts.put(first, data())).uri
    assert (await artifacts.get(first, uri)).data == b"hello"
    with pytest.raises(RecordNotFound):
        await artifacts.get(second, uri)


async def test_a_failed_capture_belongs_to_its_key_and_is_retried_with_its_identity(memory: Memory) -> None:
    first, second = await key(memory, scopes={"a"}), await key(memory, scopes={"b"})
    content = {"role": "user", "text": "the parrot"}
    request = CaptureRequest(source="s", source_kind=SourceKind.AGENT_TURN, content=content, idempotency_key="k")
    async with memory.database.engine.begin() as connection:
        await connection.execute(
            text("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$")
        )
        await connection.execute(
            text("CREATE TRIGGER fail BEFORE INSERT ON record FOR EACH ROW EXECUTE FUNCTION fail()")
        )
    with pytest.raises(StoreUnavailable, match="kept as candidate"):
        await memory.capture.capture(first, [request])
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("DROP FUNCTION fail() CASCADE"))
    (failed,) = (await memory.failed_captures.page(first, first=10, after=None)).captures
    assert failed.capture.actor == "agent"
    assert (await memory.failed_captures.page(second, first=10, after=None)).captures == ()
    with pytest.raises(RecordNotFound):
        await memory.failed_captures.drop(second, failed.capture.id)
    (stored,) = await memory.failed_captures.retry(first, failed.capture.id)
    assert stored.record is not None
    (again,) = await memory.capture.capture(first, [request])
    assert (again.replayed, again.primary.id) == (True, stored.record.id)


async def test_a_key_does_not_verify_its_own_lesson_but_another_of_its_name_does(
    memory: Memory, keys: tuple[Trust, Trust]
) -> None:
    first, second = keys
    id_ = (await memory.lessons.learn(first, LearnLesson(task="ship", solution="test"))).captured.primary.id
    verify = VerifyLesson(record_id=id_, verified=True, rationale=WHY)
    with pytest.raises(Forbidden):
        await memory.revision.revise(first, verify)
    await memory.revision.revise(second, verify)


STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["capture", "report", "credit"]), st.integers(0, 1)),
    min_size=2,
    max_size=12,
)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
async def test_whatever_keys_do_each_has_only_its_own(memory: Memory, steps: list[tuple[int, str, int]]) -> None:
    """Three keys of one name and one of another; the model keeps what each has done."""
    trusts = [await key(memory, name) for name in ("agent", "agent", "agent", "other")]
    await memory.lessons.learn(memory.trust, LearnLesson(task=f"parrot {memory.clock.now()}", solution="test"))
    captured: dict[tuple[int, int], UUID] = {}
    for who, what, number in steps:
        trust, memory.clock.at = trusts[who], memory.clock.at + timedelta(hours=1)
        if what == "capture":
            id_, replayed = await capture(memory, trust, f"parrot of {who}", f"k{number}")
            assert replayed == ((who, number) in captured)
            assert captured.setdefault((who, number), id_) == id_
        elif what == "report":
            retrieval = await ask(memory, trust)
            report = OutcomeReport(retrieval=retrieval, outcome=Outcome.PARTIAL, used=())
            for other in trusts:
                if other is not trust:
                    with pytest.raises(RecordNotFound):
                        await memory.feedback.report(other, report)
            await memory.retrieve.log.flush()
            await memory.feedback.report(trust, report)
        else:
            await memory.lessons.playbook(trust)
            for other in trusts:
                if other is not trust:
                    assert await memory.lessons.credit(other) == []
            assert len(await memory.lessons.credit(trust)) >= 1
    assert len(set(captured.values())) == len(captured)


async def test_the_log_of_retrievals_shows_a_key_its_own_entries_only(
    memory: Memory, keys: tuple[Trust, Trust]
) -> None:
    """Row-level security tells keys of one name apart too."""
    first, second = keys
    await ask(memory, first)
    await memory.retrieve.log.flush()
    for trust, number in ((first, 1), (second, 0)):
        caller = await memory.directory.resolve(trust)
        async with memory.database.reading(caller.bounds) as connection:
            assert (await connection.execute(text("SELECT count(*) FROM retrieval"))).scalar_one() == number
