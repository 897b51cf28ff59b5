"""Facts by entity, in valid time and in dispute, through real captures and revisions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, fresh_database, memory_of, trust_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from slot_model import SlotModel
from sqlalchemy import text

from stratagraph.memory.capture import facts as capture_facts
from stratagraph.memory.capture import grouping
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.revise import contest, resolve_contest
from stratagraph.memory.revise.request import Contest, Delete, Fork, ResolveContest, Retract, Supersede
from stratagraph.memory.revise.service import Revised
from stratagraph.store.erasure.pruning import prune_due
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import Access, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import ConditionsOverlap, Forbidden, LimitExceeded
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.records import facts as stored_facts

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
EXTERNAL = {"kind": "artifact", "ref": "report-7"}


def day(number: int | None) -> datetime | None:
    return None if number is None else NOW + timedelta(days=number)


def box(start: int | None = None, end: int | None = None) -> dict[str, Any]:
    """Return a validity by its first and last days, counted from now."""
    ends = {name: rfc3339(at) for name, at in (("start", day(start)), ("end", day(end))) if at is not None}
    return {"mode": "timeboxed", **ends} if ends else {"mode": "global"}


async def interval_of(memory: Memory, id_: UUID) -> Interval:
    record = await memory.record(id_)
    return Interval(record.valid_from, record.valid_to)


def effects(done: Captured | Revised) -> set[tuple[UUID, Effect]]:
    return {(change.record.id, change.effect) for change in done.changes}


async def test_six_spellings_of_one_sentence_are_one_fact_with_six_sources(memory: Memory) -> None:
    await memory.remember(
        SourceKind.OBSERVATION,
        {"canonical_name": "ACME", "aliases": [{"value": "Acme GmbH"}]},
        proposed_type=MemoryType.ENTITY,
    )
    spellings = [
        ("ACME", "located in", "Berlin"),
        ("Acme GmbH", "located_in", "Berlin"),
        ("acme ", "Located In", " Berlin "),
        ("Acme  GMBH", "located-in", "berlin"),
        ("acme", "locatedIn", "BERLIN"),
        ("ACME", "located_in", "Berlin"),
    ]
    ids = {(await memory.observe(*spelling)).primary.id for spelling in spellings}
    assert len(ids) == 1
    fact = await memory.record(ids.pop())
    assert fact.provenance is not None
    assert len(fact.provenance["sources"]) == 6


async def test_a_literal_value_is_compared_without_case_and_spaces(memory: Memory) -> None:
    one = await memory.observe("api", "favourite_color", " Dark  Blue")
    other = await memory.observe("api", "favourite_color", "dark blue")
    assert other.primary.id == one.primary.id
    assert effects(other) == {(one.primary.id, Effect.REINFORCED)}


async def test_next_years_replacement_leaves_the_present_fact_current_until_then(memory: Memory) -> None:
    today = (await memory.observe("depot", "managed_by", "Ann", revision_policy="replace")).primary
    done = await memory.observe("depot", "managed_by", "Bob", validity=box(30), revision_policy="replace")
    assert effects(done) == {(today.id, Effect.TRIMMED)}
    trimmed = await memory.record(today.id)
    assert (trimmed.state, trimmed.valid_to, trimmed.version) == (RecordState.ACTIVE, day(30), 1)
    assert trimmed.payload is not None
    assert trimmed.payload["validity"] == {"mode": "global"}
    assert await interval_of(memory, done.primary.id) == Interval(day(30))


async def test_a_trim_passes_to_the_successor_and_is_undone_with_it(memory: Memory) -> None:
    today = (await memory.observe("depot", "managed_by", "Ann", revision_policy="replace")).primary
    planned = (await memory.observe("depot", "managed_by", "Bob", validity=box(30), revision_policy="replace")).primary
    payload = {"subject": "depot", "predicate": "managed_by", "object": "Cid", "validity": box(30)}
    done = await memory.revise(
        Supersede(record_id=planned.id, payload=payload, evidence=(EXTERNAL,), rationale="changed plan")
    )
    assert await interval_of(memory, today.id) == Interval(None, day(30))
    undone = await memory.revise(Retract(record_id=done.record.id, rationale="no change after all"))
    assert await interval_of(memory, today.id) == Interval()
    assert (today.id, Effect.TRIMMED) in effects(undone)


async def remove_by_deleting(memory: Memory, id_: UUID) -> None:
    await memory.revise(Delete(record_id=id_, rationale="test"))


async def remove_by_erasing(memory: Memory, id_: UUID) -> None:
    await memory.erasure.erase(memory.trust, Erase(record_id=id_, rationale="asked for"))


async def remove_by_pruning(memory: Memory, id_: UUID) -> None:
    async with memory.database.background(Role.ERASE) as connection:
        await connection.execute(text("UPDATE salience SET due_at = :at WHERE id = :id"), {"at": NOW, "id": id_})
        await connection.execute(
            text("UPDATE salience SET s = 0, t0 = :at WHERE id = :id"), {"at": memory.clock.now(), "id": id_}
        )
        done = await prune_due(connection, memory.directory, now=memory.clock.now(), limit=10)
        assert done.pruned == 1


@pytest.mark.parametrize("remove", [remove_by_deleting, remove_by_erasing, remove_by_pruning])
async def test_removing_a_fact_restores_what_it_trimmed(memory: Memory, remove: Any) -> None:
    today = (await memory.observe("depot", "managed_by", "Ann", revision_policy="replace")).primary
    planned = (await memory.observe("depot", "managed_by", "Bob", validity=box(30), revision_policy="replace")).primary
    await remove(memory, planned.id)
    assert await memory.lookup.record(memory.trust, planned.id) is None
    assert await interval_of(memory, today.id) == Interval()
    async with memory.database.background(Role.JOBS) as connection:
        rows = await connection.execute(
            text("SELECT upper(validity) FROM record_history WHERE id = :id"), {"id": today.id}
        )
        ends = {row[0] for row in rows}
    assert (day(30) in ends) == (remove is not remove_by_erasing)


async def test_late_news_becomes_history(memory: Memory) -> None:
    newer = (await memory.observe("Ann", "works_at", "Beta", revision_policy="replace")).primary
    late = await memory.observe("Ann", "works_at", "Acme", revision_policy="replace", timestamp=day(-10))
    assert (late.primary.state, late.primary.salience) == (RecordState.SUPERSEDED, 0.0)
    assert late.primary.payload is not None
    assert late.primary.payload["revision"] == {"superseded_by": str(newer.id)}
    assert [(edge.source, edge.predicate, edge.target) for edge in late.edges if edge.predicate == "supersedes"] == [
        (newer.id, "supersedes", late.primary.id)
    ]
    assert (await memory.record(newer.id)).version == 1
    assert late.changes == ()


@pytest.mark.parametrize("policy", ["contest", "fork", None])
async def test_late_news_becomes_history_whatever_its_policy(memory: Memory, policy: str | None) -> None:
    newer = (await memory.observe("Ann", "works_at", "Beta", revision_policy="replace", timestamp=day(-1))).primary
    more = {} if policy is None else {"revision_policy": policy}
    late = await memory.observe("Ann", "works_at", "Acme", timestamp=day(-10), **more)
    assert (late.primary.state, late.changes) == (RecordState.SUPERSEDED, ())
    assert (await memory.record(newer.id)).state is RecordState.ACTIVE


async def test_evidence_of_a_later_time_makes_a_fact_newer(memory: Memory) -> None:
    """An observation between the fact and its later repetition is older than the evidence of the repetition."""
    fact = {"timestamp": day(-10), "revision_policy": "replace"}
    old = (await memory.observe("Ann", "works_at", "Acme", **fact)).primary
    await memory.observe("Ann", "works_at", "Acme", revision_policy="replace", timestamp=day(-2))
    between = await memory.observe("Ann", "works_at", "Beta", revision_policy="replace", timestamp=day(-5))
    assert between.primary.state is RecordState.SUPERSEDED
    after = await memory.observe("Ann", "works_at", "Cid", revision_policy="replace", timestamp=day(-1))
    assert after.primary.state is RecordState.ACTIVE
    assert (await memory.record(old.id)).state is RecordState.SUPERSEDED


async def test_an_unconditional_claim_leaves_conditional_variants_alone(memory: Memory) -> None:
    variant = (await memory.observe("api", "port", 80, conditions={"env": "prod"}, revision_policy="replace")).primary
    general = (await memory.observe("api", "port", 8080, revision_policy="replace")).primary
    newer = await memory.observe("api", "port", 443, conditions={"env": "prod"}, revision_policy="replace")
    assert effects(newer) == {(variant.id, Effect.SUPERSEDED)}
    assert (await memory.record(general.id)).state is RecordState.ACTIVE


async def test_an_unconditional_fact_can_be_forked(memory: Memory) -> None:
    general = (await memory.observe("api", "port", 8080)).primary
    payload = {"object": 80}
    fork = Fork(
        record_id=general.id, payload=payload, conditions={"env": "prod"}, evidence=(EXTERNAL,), rationale="differs"
    )
    done = await memory.revise(fork)
    assert done.record.state is RecordState.ACTIVE
    assert (await memory.record(general.id)).state is RecordState.ACTIVE


async def test_sealed_facts_contradict_and_trim_each_other_by_their_conditions(memory: Memory) -> None:
    more = {"sensitivity": Sensitivity.HIGH, "revision_policy": "replace"}
    prod = (await memory.observe("api", "port", 80, conditions={"env": "prod"}, **more)).primary
    region = await memory.observe("api", "port", 81, conditions={"region": "eu", "env": "dev"}, **more)
    assert region.changes == ()
    later = {"mode": "conditional", "conditions": {"env": ["prod", "dev"]}, "start": rfc3339(NOW + timedelta(days=9))}
    planned = await memory.observe("api", "port", 82, validity=later, **more)
    assert effects(planned) == {(prod.id, Effect.TRIMMED), (region.primary.id, Effect.TRIMMED)}
    await memory.revise(Retract(record_id=planned.primary.id, rationale="test"))
    assert await interval_of(memory, prod.id) == await interval_of(memory, region.primary.id) == Interval()


async def test_captures_of_one_slot_at_once_leave_one_value(memory: Memory) -> None:
    """Whichever order they commit in; each fact that was displaced is history, and equal ones are one fact."""

    async def capture(number: int) -> Captured:
        content = {"subject": "Ann", "predicate": "lives_in", "object": f"place {number % 4}"}
        request = CaptureRequest(
            source="test", source_kind=SourceKind.OBSERVATION, content={**content, "revision_policy": "replace"}
        )
        return (await memory.capture.capture(memory.trust, [request]))[0]

    await asyncio.gather(*(capture(number) for number in range(12)))
    assert len(await current(memory)) == 1


async def contest_three(memory: Memory, **more: Any) -> list[Captured]:
    return [
        await memory.observe("Ann", "lives_in", place, revision_policy="contest", **more)
        for place in ("Bonn", "Rome", "Oslo")
    ]


async def test_a_third_claim_joins_the_dispute_and_one_resolution_settles_all(memory: Memory) -> None:
    bonn, rome, oslo = await contest_three(memory)
    ids = [one.primary.id for one in (bonn, rome, oslo)]
    assert {(await memory.record(id_)).state for id_ in ids} == {RecordState.CONTESTED}
    assert effects(oslo) == {(ids[0], Effect.CONTESTED), (ids[1], Effect.CONTESTED)}
    done = await memory.revise(ResolveContest(record_id=ids[0], winner_id=ids[1], rationale="asked her"))
    assert [(await memory.record(id_)).state for id_ in ids] == [
        RecordState.SUPERSEDED,
        RecordState.ACTIVE,
        RecordState.SUPERSEDED,
    ]
    assert {(ids[0], Effect.SUPERSEDED), (ids[2], Effect.SUPERSEDED)} <= effects(done)


async def test_a_dispute_is_resolved_by_parties_that_are_connected_only_through_others(memory: Memory) -> None:
    """The first and the last claim do not hold at the same time; the middle one contradicts both."""
    early = (await memory.observe("Ann", "lives_in", "Bonn", validity=box(-9, -5), revision_policy="contest")).primary
    late = (await memory.observe("Ann", "lives_in", "Rome", validity=box(-4, -1), revision_policy="contest")).primary
    both = (await memory.observe("Ann", "lives_in", "Oslo", validity=box(-8, -2), revision_policy="contest")).primary
    await memory.revise(ResolveContest(record_id=early.id, winner_id=both.id, rationale="asked her"))
    assert (await memory.record(late.id)).state is RecordState.SUPERSEDED


async def test_a_replacement_ends_the_dispute_of_its_slot(memory: Memory) -> None:
    parties = [one.primary.id for one in await contest_three(memory)]
    done = await memory.observe("Ann", "lives_in", "Graz", revision_policy="replace")
    assert done.primary.state is RecordState.ACTIVE
    assert effects(done) == {(id_, Effect.SUPERSEDED) for id_ in parties}


async def test_a_replacement_by_a_party_of_the_dispute_makes_it_the_winner(memory: Memory) -> None:
    bonn, *others = [one.primary.id for one in await contest_three(memory)]
    source = (await memory.observe("Ann", "seen_in", "Bonn")).primary.id
    done = await memory.observe(
        "Ann", "lives_in", "Bonn", revision_policy="replace", evidence=[{"kind": "observation", "ref": str(source)}]
    )
    assert (done.primary.id, done.primary.state) == (bonn, RecordState.ACTIVE)
    assert effects(done) == {
        (bonn, Effect.REINFORCED),
        (bonn, Effect.REVISED),
        *((id_, Effect.SUPERSEDED) for id_ in others),
    }
    assert {(await memory.record(id_)).state for id_ in others} == {RecordState.SUPERSEDED}
    assert {(edge.source, edge.target) for edge in done.edges if edge.predicate == "supersedes"} == {
        (bonn, id_) for id_ in others
    }
    assert done.primary.provenance is not None
    assert str(source) in {entry["ref"] for entry in done.primary.provenance["sources"]}
    assert await current(memory) == {bonn: Interval(), source: Interval()}


async def test_a_replacement_ends_a_dispute_with_mere_evidence_as_well(memory: Memory) -> None:
    home = (await memory.observe("Ann", "lives_in", "Bonn", revision_policy="replace", timestamp=day(-3))).primary
    source = {"kind": "observation", "ref": str(home.id)}
    derived = (await memory.observe("Ann", "plays", "chess", evidence=[source])).primary
    await memory.revise(Contest(record_id=home.id, evidence=(EXTERNAL,), rationale="doubt"))
    assert (await memory.record(derived.id)).state is RecordState.CONTESTED
    late = await memory.observe("Ann", "lives_in", "Bonn", revision_policy="replace", timestamp=day(-2))
    assert late.primary.state is RecordState.CONTESTED
    done = await memory.observe("Ann", "lives_in", "Bonn", revision_policy="replace")
    assert (done.primary.id, done.primary.state) == (home.id, RecordState.ACTIVE)
    assert (await memory.record(derived.id)).state is RecordState.ACTIVE


@pytest.mark.parametrize(("policy", "number"), [("replace", -2), ("contest", None), (None, None)])
async def test_a_late_or_plain_repetition_leaves_the_dispute_open(
    memory: Memory, policy: str | None, number: int | None
) -> None:
    for place, at in (("Bonn", -4), ("Rome", -1)):
        await memory.observe("Ann", "lives_in", place, revision_policy="contest", timestamp=day(at))
    more: dict[str, Any] = {} if policy is None else {"revision_policy": policy}
    more |= {} if number is None else {"timestamp": day(number)}
    done = await memory.observe("Ann", "lives_in", "Bonn", **more)
    assert done.primary.state is RecordState.CONTESTED
    assert effects(done) == {(done.primary.id, Effect.REINFORCED)}
    assert len(await current(memory)) == 2


async def test_a_resolved_dispute_is_not_opened_by_what_was_said_before(memory: Memory) -> None:
    first, second, _ = [
        await memory.observe("Ann", "lives_in", place, revision_policy="contest", timestamp=day(at))
        for place, at in (("Bonn", -4), ("Rome", -3), ("Oslo", -2))
    ]
    await memory.revise(ResolveContest(record_id=second.primary.id, winner_id=first.primary.id, rationale="asked"))
    again = await memory.observe("Ann", "lives_in", "Rome", revision_policy="contest", timestamp=day(-3))
    assert again.primary.state is RecordState.SUPERSEDED
    assert await current(memory) == {first.primary.id: Interval()}


async def test_a_dispute_with_a_hidden_party_is_not_resolved_and_names_nobody(memory: Memory) -> None:
    shown = (await memory.observe("Ann", "lives_in", "Bonn")).primary
    hidden = (await memory.observe("Ann", "lives_in", "Rome", sensitivity=Sensitivity.HYPER)).primary
    await memory.revise(Contest(record_id=shown.id, contesting_id=hidden.id, rationale="cannot both be"))
    for ceiling in (Sensitivity.LOW, Sensitivity.HIGH):
        limited = trust_of(access=Access.WRITE, ceiling=ceiling)
        with pytest.raises(Forbidden) as caught:
            await memory.revision.revise(
                limited, ResolveContest(record_id=shown.id, winner_id=shown.id, rationale="holds")
            )
        assert str(hidden.id) not in str(caught.value)


async def test_a_dispute_has_a_bounded_number_of_parties(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_facts, "MAX_PARTIES", 3)
    monkeypatch.setattr(resolve_contest, "MAX_PARTIES", 3)
    parties = await contest_three(memory)
    with pytest.raises(LimitExceeded, match="resolveContest"):
        await memory.observe("Ann", "lives_in", "Graz", revision_policy="contest")
    other = (await memory.observe("Ann", "lives_at", "sea")).primary
    monkeypatch.setattr(contest, "MAX_PARTIES", 3)
    with pytest.raises(LimitExceeded, match="resolveContest"):
        await memory.revise(Contest(record_id=parties[0].primary.id, contesting_id=other.id, rationale="doubt"))
    await memory.revise(ResolveContest(record_id=parties[0].primary.id, rationale="all of it is hearsay"))
    assert {(await memory.record(one.primary.id)).state for one in parties} == {RecordState.RETRACTED}


async def test_a_request_has_a_bounded_number_of_facts_for_one_value(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is compared with all before it. The bound depends on the request alone, not on hidden facts."""
    monkeypatch.setattr(grouping, "MAX_CONTENDING", 3)
    await memory.observe("Ann", "lives_in", "Oslo", sensitivity=Sensitivity.HYPER)

    def requests(policy: str | None, *places: str) -> list[CaptureRequest]:
        content = {"subject": "Ann", "predicate": "visits"} | ({"revision_policy": policy} if policy else {})
        return [
            CaptureRequest(source="test", source_kind=SourceKind.OBSERVATION, content={**content, "object": place})
            for place in places
        ]

    trust = trust_of(access=Access.WRITE, ceiling=Sensitivity.LOW)
    for policy in ("contest", "replace"):
        with pytest.raises(LimitExceeded, match="several requests") as caught:
            await memory.capture.capture(trust, requests(policy, "Bonn", "Rome", "Graz", "Bern"), batch=True)
        assert caught.value.path == ["items", "3", "content"]
        assert not [one for one in (await memory.lookup.records(trust)).records if one.type is MemoryType.SEMANTIC]
    await memory.capture.capture(trust, requests(None, "Bonn", "Rome", "Graz", "Bern"), batch=True)


async def test_a_fork_policy_is_refused_by_an_active_and_by_a_disputed_fact(memory: Memory) -> None:
    first = (await memory.observe("Ann", "lives_in", "Bonn")).primary
    for _ in range(2):
        with pytest.raises(ConditionsOverlap, match="needs conditions, which that fact does not have, or a separate"):
            await memory.observe("Ann", "lives_in", "Rome", revision_policy="fork")
        if (await memory.record(first.id)).state is RecordState.ACTIVE:
            await memory.revise(Contest(record_id=first.id, evidence=(EXTERNAL,), rationale="doubt"))


async def test_a_fact_whose_subject_is_ambiguous_displaces_nothing(memory: Memory) -> None:
    for address in ("sam.lee@one.example", "sam.lee@two.example"):
        await memory.remember(
            SourceKind.OBSERVATION,
            {"canonical_name": "Sam Lee", "identifiers": [{"namespace": "email", "value": address}]},
            proposed_type=MemoryType.ENTITY,
        )
    one = (await memory.observe("Sam Lee", "lives_in", "Bonn", revision_policy="replace")).primary
    other = await memory.observe("sam lee", "lives_in", "Rome", revision_policy="replace")
    assert other.changes == ()
    assert {(await memory.record(one.id)).state, other.primary.state} == {RecordState.ACTIVE}
    again = await memory.observe("SAM LEE", "lives_in", "bonn")
    assert again.primary.id == one.id


async def test_the_answers_of_a_batch_show_the_state_after_the_whole_batch(memory: Memory) -> None:
    def item(place: str, **more: Any) -> CaptureRequest:
        content = {"subject": "Ann", "predicate": "lives_in", "object": place, **more}
        return CaptureRequest(source="test", source_kind=SourceKind.OBSERVATION, content=content)

    first = CaptureRequest(
        source="test",
        source_kind=SourceKind.OBSERVATION,
        content={"subject": "Ann", "predicate": "lives_in", "object": "Bonn", "revision_policy": "replace"},
        idempotency_key="first",
    )
    await memory.capture.capture(memory.trust, [first])
    requests = [first, item("Rome", revision_policy="replace"), item("Oslo"), item("Oslo")]
    replayed, rome, oslo, again = await memory.capture.capture(memory.trust, requests, batch=True)
    assert replayed.replayed
    assert replayed.primary.state is RecordState.SUPERSEDED
    assert rome.primary.state is RecordState.SUPERSEDED
    assert effects(rome) == {(replayed.primary.id, Effect.SUPERSEDED)}
    assert effects(oslo) == {(rome.primary.id, Effect.SUPERSEDED)}
    assert again.primary == oslo.primary == await memory.record(oslo.primary.id)
    assert next(change.record for change in rome.changes).version == 2


@pytest.mark.parametrize(("level", "shown"), [("low", "full"), ("medium", "redacted"), ("high", "none")])
async def test_a_receipt_shows_changed_records_only_as_far_as_the_caller_may_see_them(
    memory: Memory, tmp_path: Path, level: str, shown: str
) -> None:
    """A policy rule stores both facts at `level`, which may be above the ceiling of the caller, low."""
    rules = tmp_path / "policy.json"
    rules.write_text(json.dumps({"rules": [{"when": {"source": ["test"]}, "set": {"sensitivity": level}}]}))
    ruled = replace(memory, capture=Capture(memory.database, memory.directory, memory.clock, Policy.load(rules)))
    writer = trust_of(access=Access.WRITE, ceiling=Sensitivity.LOW)
    await ruled.observe("Ann", "lives_in", "Bonn", revision_policy="replace", trust=writer)
    done = await ruled.observe("Ann", "lives_in", "Rome", trust=writer)
    seen = ["redacted" if change.record.redacted else "full" for change in done.changes]
    assert seen == ([] if shown == "none" else [shown])
    assert {change.effect for change in done.changes} <= {Effect.SUPERSEDED}


async def test_a_fact_in_a_large_slot_reads_no_more_than_one_in_an_empty_slot(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_facts: list[int] = []
    lock = stored_facts.lock_current_facts

    async def counted(*arguments: Any, **more: Any) -> dict[UUID, stored_facts.Fact]:
        found = await lock(*arguments, **more)
        read_facts.append(len(found))
        return found

    for number in range(20):
        await memory.observe("Ann", "likes", number)
    monkeypatch.setattr(stored_facts, "lock_current_facts", counted)
    await memory.observe("Ann", "likes", 100)
    await memory.observe("Ann", "likes", 7)
    assert sum(read_facts) == 1


async def test_a_slot_of_very_many_facts_does_not_become_single_valued(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_facts, "MAX_SLOT", 3)
    for number in range(4):
        await memory.observe("Ann", "likes", number, conditions={"number": number})
    with pytest.raises(LimitExceeded, match="revision_policy"):
        await memory.observe("Ann", "likes", 5, conditions={"number": 5}, revision_policy="replace")


@pytest.fixture(scope="module")
def stores(postgres_url: str, template_database: str) -> Any:
    """Open an empty memory of a tenant of its own on one database for all examples of this module."""
    count = iter(range(1_000_000))
    with fresh_database(postgres_url, template_database) as url:

        @asynccontextmanager
        async def store() -> AsyncIterator[Memory]:
            async with Database(url) as database:
                memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
                memory.trust = trust_of(tenant=f"tenant {next(count)}")
                yield memory

        yield store


EXAMPLES = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
bounds = st.none() | st.integers(-6, 6)
intervals = st.tuples(bounds, bounds).filter(lambda ends: ends[0] is None or ends[1] is None or ends[0] < ends[1])
removals = st.tuples(st.sampled_from([Retract, Delete]), st.integers(0, 5))
steps = st.lists(intervals.map(lambda ends: ("capture", ends)) | removals, min_size=1, max_size=8)


@EXAMPLES
@given(story=steps)
def test_the_store_keeps_valid_time_by_the_rules(stores: Any, story: Sequence[tuple[Any, Any]]) -> None:
    async def run() -> None:
        async with stores() as memory:
            model = SlotModel()
            for number, (step, detail) in enumerate(story):
                if step == "capture":
                    stated = Interval(day(detail[0]), day(detail[1]))
                    done = await memory.observe(
                        "depot", "managed_by", f"value {number}", validity=box(*detail), revision_policy="replace"
                    )
                    model.capture(done.primary.id, stated, memory.clock.now())
                    assert (
                        Interval(done.primary.valid_from, done.primary.valid_to)
                        == model.facts[done.primary.id].interval
                    )
                elif model.facts:
                    id_ = sorted(model.facts)[detail % len(model.facts)]
                    await memory.revise(step(record_id=id_, rationale="test"))
                    model.remove(id_)
                assert await current(memory) == {id_: fact.interval for id_, fact in model.facts.items()}

    asyncio.run(run())


async def current(memory: Memory) -> dict[UUID, Interval]:
    page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC]), first=100)
    return {
        record.id: Interval(record.valid_from, record.valid_to)
        for record in page.records
        if record.state in (RecordState.ACTIVE, RecordState.CONTESTED)
    }


SUBJECTS = ["ACME", "Acme GmbH", "acme ", "Bob"]
observations = st.fixed_dictionaries(
    {
        "subject": st.sampled_from(SUBJECTS),
        "predicate": st.sampled_from(["lives in", "lives_in", "likes"]),
        "object": st.sampled_from(["Bonn", " bonn", "Rome", 7]),
    },
    optional={
        "revision_policy": st.sampled_from(["replace", "contest"]),
        "validity": intervals.map(lambda ends: box(*ends)),
    },
)


@EXAMPLES
@given(contents=st.lists(observations, min_size=2, max_size=6), cuts=st.sets(st.integers(1, 5)))
def test_batches_of_facts_leave_what_single_captures_leave(
    stores: Any, contents: Sequence[dict[str, Any]], cuts: set[int]
) -> None:
    requests = [
        CaptureRequest(
            source="test", source_kind=SourceKind.OBSERVATION, content=dict(content), idempotency_key=str(at)
        )
        for at, content in enumerate(contents)
    ]

    async def outcome(places: Sequence[int]) -> list[Any]:
        async with stores() as memory:
            bounds = [0, *[place for place in places if place < len(requests)], len(requests)]
            try:
                for start, end in pairwise(bounds):
                    await memory.capture.capture(memory.trust, requests[start:end], batch=True)
            except ConditionsOverlap:
                return ["refused"]
            page = await memory.lookup.records(memory.trust, RecordFilter(types=[MemoryType.SEMANTIC]), first=100)
            return sorted(repr(_shape(record)) for record in page.records)

    async def run() -> None:
        single = await outcome(range(1, len(requests)))
        if single != ["refused"]:  # a refusal keeps the captures before it, and of a batch nothing
            assert await outcome(sorted(cuts)) == single

    asyncio.run(run())


def _shape(record: MemoryRecord) -> tuple[Any, ...]:
    """Return what of a fact does not depend on ids and instants of writes."""
    assert record.payload is not None
    assert record.provenance is not None
    triple = tuple(record.payload[key] for key in ("subject", "predicate", "object", "validity"))
    return triple, record.state, record.valid_from, record.valid_to, len(record.provenance["sources"]), record.version


statements = st.fixed_dictionaries(
    {
        "predicate": st.just("depth"),
        "object": st.sampled_from([12, 15, 9]),
        "conditions": st.sampled_from([{}, {}, {"env": "prod"}]),
        "revision_policy": st.sampled_from([None, "replace", "contest", "contest", "fork"]),
    }
)
resolutions = st.integers(0, 5)


@EXAMPLES
@given(story=st.lists(st.one_of(statements, statements, statements, resolutions), min_size=3, max_size=9))
def test_a_story_told_a_second_time_leaves_the_same_truth(stores: Any, story: Sequence[dict[str, Any] | int]) -> None:
    """Each capture has its time and no key; disputes are resolved in between, and only when it is told first."""

    async def run() -> None:
        async with stores() as memory:
            told = []
            for step in story:
                if isinstance(step, int):
                    await resolve_any(memory, step)
                    continue
                memory.clock.forward(timedelta(minutes=1))
                instant = memory.clock.now()
                content = {key: value for key, value in step.items() if value}
                told.append((content, instant))
                await tell(memory, content, instant)
            before = await truth(memory)
            for content, instant in told:
                await tell(memory, content, instant)
                assert await truth(memory) == before

    asyncio.run(run())


async def tell(memory: Memory, content: dict[str, Any], instant: datetime) -> None:
    more = {key: value for key, value in content.items() if key not in ("predicate", "object")}
    with suppress(ConditionsOverlap):
        await memory.observe("Ann", content["predicate"], content["object"], timestamp=instant, **more)


async def resolve_any(memory: Memory, choice: int) -> None:
    """Resolve one of the disputes, if there is one."""
    states = {id_: (await memory.record(id_)).state for id_ in sorted(await current(memory))}
    disputed = [id_ for id_, state in states.items() if state is RecordState.CONTESTED]
    if disputed:
        winner = disputed[choice % len(disputed)]
        await memory.revise(ResolveContest(record_id=winner, winner_id=winner, rationale="asked"))


async def truth(memory: Memory) -> dict[UUID, tuple[RecordState, Interval]]:
    return {id_: ((await memory.record(id_)).state, interval) for id_, interval in (await current(memory)).items()}


async def test_a_later_fact_leaves_a_present_dispute_open_until_it_begins(memory: Memory) -> None:
    facts = [await memory.observe("Atlas", "owner", name, revision_policy="contest") for name in ("Ann", "Bob")]
    begins = memory.clock.now() + timedelta(days=200)
    later = {"mode": "timeboxed", "start": begins.isoformat()}
    third = await memory.observe("Atlas", "owner", "Cy", validity=later)
    for fact in facts:
        record = await memory.lookup.record(memory.trust, fact.primary.id)
        assert record is not None
        assert (record.state, record.valid_to) == (RecordState.CONTESTED, begins)
    record = await memory.lookup.record(memory.trust, third.primary.id)
    assert record is not None
    assert (record.state, record.valid_from) == (RecordState.ACTIVE, begins)
    await memory.observe("Atlas", "owner", "Dee")
    states = [await memory.lookup.record(memory.trust, fact.primary.id) for fact in facts]
    assert [one.state for one in states if one is not None] == [RecordState.SUPERSEDED] * 2
