"""What a caller may not see does not show in errors, lineage, limits, counts or the state of what it may see."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, trust_of
from noninterference.steps import RAISED
from noninterference.stores import story_memory

from stratagraph.memory.capture.failures import keep_failed
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.propagation import reevaluation as propagation
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.revise import contest as contesting
from stratagraph.memory.revise import linking, merge_entities, rekeyed_facts
from stratagraph.memory.revise.linking import link_due
from stratagraph.memory.revise.request import Contest, Delete, Merge, ResolveContest, Retract
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, LimitExceeded
from stratagraph.store.records import entities

LOW = trust_of(actor="low", ceiling=Sensitivity.LOW, scopes={"project:a"})
HIDDEN: dict[str, Any] = {"scope": "project:a", "sensitivity": Sensitivity.HIGH}


async def contested_by_a_hidden_fact(memory: Memory) -> tuple[UUID, UUID]:
    known = await memory.observe("Ann", "lives_in", "Rome", trust=LOW)
    hidden = await memory.observe("Ann", "lives_in", "Oslo", **HIDDEN)
    ids = known.primary.id, hidden.primary.id
    await memory.revision.revise(
        memory.trust, Contest(record_id=ids[0], contesting_id=ids[1], rationale="Oslo says no")
    )
    return ids


async def test_a_dispute_with_a_hidden_party_is_resolved_by_who_may_read_all_of_it(memory: Memory) -> None:
    known, hidden = await contested_by_a_hidden_fact(memory)
    assert (await memory.record(known, LOW)).state is RecordState.CONTESTED
    messages = set()
    for winner in (known, hidden, None):
        with pytest.raises(Forbidden) as refused:
            await memory.revision.revise(LOW, ResolveContest(record_id=known, winner_id=winner, rationale="settled"))
        messages.add(refused.value.message)
    (message,) = messages
    assert str(hidden) not in message
    assert "part" not in message  # neither a party nor parties
    await memory.revision.revise(memory.trust, ResolveContest(record_id=known, winner_id=known, rationale="settled"))
    assert (await memory.record(known, LOW)).state is RecordState.ACTIVE
    assert (await memory.record(hidden, memory.trust)).state is RecordState.SUPERSEDED


async def test_the_limit_of_a_dispute_counts_what_the_caller_may_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contesting, "MAX_PARTIES", 2)
    known, _ = await contested_by_a_hidden_fact(memory)
    other = await memory.observe("Ann", "likes", "tea", trust=LOW)
    again = Contest(record_id=known, contesting_id=other.primary.id, rationale="doubtful")
    with pytest.raises(LimitExceeded):
        await memory.revision.revise(memory.trust, again)
    assert (await memory.revision.revise(LOW, again)).record.state is RecordState.CONTESTED


async def test_a_replacement_does_not_decide_a_dispute_with_a_hidden_party(memory: Memory) -> None:
    known, _ = await contested_by_a_hidden_fact(memory)
    await memory.observe("Ann", "lives_in", "Rome", trust=LOW, revision_policy="replace")
    assert (await memory.record(known, LOW)).state is RecordState.CONTESTED
    await memory.observe(
        "Ann",
        "lives_in",
        "Rome",
        trust=trust_of(scopes={"project:a"}),
        revision_policy="replace",
        sensitivity=Sensitivity.LOW,
    )
    assert (await memory.record(known, LOW)).state is RecordState.ACTIVE


async def test_a_merge_upwards_names_its_result_only_to_who_may_see_it(memory: Memory) -> None:
    low = await memory.observe("Ann", "likes", "tea", trust=LOW, evidence=[{"kind": "event", "ref": "x"}])
    high = await memory.observe("Ann", "likes", "green tea", **HIDDEN)
    merged = await memory.revision.revise(
        memory.trust, Merge(record_id=low.primary.id, others=(high.primary.id,), rationale="the green one is meant")
    )
    assert merged.record.sensitivity is Sensitivity.HIGH
    for trust, names_it in ((LOW, False), (trust_of(ceiling=Sensitivity.MEDIUM), True), (memory.trust, True)):
        record = await memory.record(low.primary.id, trust)
        assert record.payload is not None
        assert ("superseded_by" in record.payload["revision"]) is names_it  # of a redacted record, the id is known
        (page,) = (await memory.lookup.history(trust, low.primary.id, first=1)).versions
        assert page.record.payload == record.payload
        last = (await memory.lookup.audit(trust, [low.primary.id]))[low.primary.id][-1]
        assert last.rationale == ("the green one is meant" if trust is memory.trust else None)


async def test_evidence_that_names_a_hidden_record_counts_as_a_text(memory: Memory) -> None:
    hidden = await memory.observe("Ann", "likes", "rum", **HIDDEN)
    evidence = [{"kind": "event", "ref": str(hidden.primary.id)}]
    before = await memory.observe("Bob", "likes", "gin", trust=LOW, evidence=evidence)
    await memory.revision.revise(memory.trust, Retract(record_id=hidden.primary.id, rationale="wrong"))
    after = await memory.observe("Bob", "likes", "ale", trust=LOW, evidence=evidence)
    await memory.revision.revise(memory.trust, Delete(record_id=hidden.primary.id, rationale="gone"))
    later = await memory.observe("Bob", "likes", "mead", trust=LOW, evidence=evidence)
    for kept in (before, after, later):
        assert (await memory.record(kept.primary.id, LOW)).state is RecordState.ACTIVE


async def dependents(memory: Memory, source: UUID, number: int, **more: Any) -> None:
    for position in range(number):
        evidence = [{"kind": "event", "ref": str(source)}]
        await memory.observe("Cat", "knows", position, evidence=evidence, **more)


async def test_hidden_dependents_use_up_no_budget_and_are_not_counted(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "BUDGET", 2)
    source = (await memory.observe("Ann", "likes", "tea", trust=LOW)).primary.id
    await dependents(memory, source, 3, **HIDDEN)
    await dependents(memory, source, 2, trust=LOW)
    impacts, _ = await memory.revision.impact(LOW, source)
    assert [(one.record.sensitivity, one.becomes) for one in impacts] == [(Sensitivity.LOW, RecordState.CONTESTED)] * 2
    done = await memory.revision.revise(LOW, Retract(record_id=source, rationale="wrong"))
    assert done.queued == 0
    assert [record.state for record in done.records if record.id != source] == [RecordState.CONTESTED] * 2
    assert await memory.revision.waiting(LOW) == []
    assert len(await memory.revision.waiting(memory.trust)) == 3


async def test_hidden_namesakes_do_not_displace_a_visible_entity(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entities, "NAMESAKES", 2)
    for number in range(3):
        identifiers = [{"namespace": "email", "value": f"{number}@x.example"}]
        content = {"canonical_name": "Ann", "identifiers": identifiers}
        await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY, **HIDDEN)
    first = await memory.observe("Ann", "likes", "tea", trust=LOW)
    again = await memory.observe("Ann", "likes", "gin", trust=LOW)
    assert again.mentions[0].entity == first.mentions[0].entity


async def test_a_failed_batch_shows_only_the_captures_that_the_caller_could_read(memory: Memory) -> None:
    caller = await memory.directory.resolve(memory.trust)
    requests = [
        CaptureRequest(
            source="test",
            source_kind=SourceKind.AGENT_TURN,
            content={"role": "user", "text": "tea"},
            scope="project:a",
            sensitivity=level,
        )
        for level in (Sensitivity.HIGH, Sensitivity.LOW, Sensitivity.HYPER, Sensitivity.LOW)
    ]
    drafts = memory.capture._drafts(caller, requests, batch=True, now=memory.clock.now())
    await memory.directory.scopes(caller.tenant, {"project:a"}, create=True)
    await keep_failed(memory.database, memory.directory, caller, drafts, OSError(), at=memory.clock.now())
    ids = [draft.candidate for draft in drafts]
    page = await memory.failed_captures.page(LOW, first=10, after=None)
    found = [(one.capture.id, one.capture.batch, one.capture.position) for one in page.captures]
    assert found == [(ids[1], ids[1], 0), (ids[3], ids[1], 1)]
    page = await memory.failed_captures.page(LOW, first=1, after=page.end_cursor)
    assert page.captures == ()
    page = await memory.failed_captures.page(memory.trust, first=10, after=None)
    assert [(one.capture.batch, one.capture.position) for one in page.captures] == [
        (ids[0], position) for position in range(4)
    ]


async def two_entities(memory: Memory, **more: Any) -> tuple[UUID, UUID]:
    """Capture two entities in the scope of LOW; return their ids."""
    ids = []
    for name in ("Acme", "Acme Corp"):
        kept = await memory.remember(
            SourceKind.OBSERVATION, {"canonical_name": name}, proposed_type=MemoryType.ENTITY, trust=LOW, **more
        )
        ids.append(kept.primary.id)
    return ids[0], ids[1]


@pytest.mark.parametrize(("limit", "number"), [("MAX_REKEYED", 3), ("MAX_RIVALS", 3), ("MAX_PARTIES", 3)])
async def test_the_limits_of_a_merge_of_entities_count_what_the_caller_may_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, limit: str, number: int
) -> None:
    """A hidden slot that exceeds them takes several values from then on; nothing of it is lost."""
    ids = await two_entities(memory)
    for position in range(number + 1):
        years = [f"{2010 + position + after}-01-01T00:00:00Z" for after in (0, 1)]
        at = {"mode": "timeboxed", "start": years[0], "end": years[1]}
        for name in ("Acme", "Acme Corp"):
            value = f"{name} {position}"
            await memory.observe(name, "seat", value, validity=at, revision_policy="replace", **HIDDEN)
    for module in (rekeyed_facts, merge_entities):
        if hasattr(module, limit):
            monkeypatch.setattr(module, limit, number)
    merge = Merge(record_id=ids[0], others=(ids[1],), rationale="one firm")
    done = await memory.revision.revise(LOW, merge)
    facts = [
        record
        for record in (await memory.lookup.records(memory.trust, first=100)).records
        if record.type is MemoryType.SEMANTIC
    ]
    state = RecordState.ACTIVE if limit != "MAX_REKEYED" else RecordState.CONTESTED
    assert [record.state for record in facts] == [state] * 2 * (number + 1)
    relations = await memory.lookup.relations(memory.trust, [record.id for record in facts])
    subjects = {edge.target for edges in relations.values() for edge in edges if edge.predicate == "subject_entity"}
    assert subjects == {done.record.id}


@pytest.mark.parametrize("limit", ["MAX_REKEYED", "MAX_RIVALS", "MAX_PARTIES"])
async def test_the_limits_of_a_merge_of_entities_hold_for_what_the_caller_may_read(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    ids = await two_entities(memory)
    for name in ("Acme", "Acme Corp"):
        await memory.observe(name, "seat", f"{name} 1", trust=LOW, revision_policy="replace")
    for module in (rekeyed_facts, merge_entities):
        if hasattr(module, limit):
            monkeypatch.setattr(module, limit, 0)
    with pytest.raises(LimitExceeded):
        await memory.revision.revise(LOW, Merge(record_id=ids[0], others=(ids[1],), rationale="one firm"))


async def test_hidden_records_do_not_keep_visible_ones_from_being_linked(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by their number nor by a limit that they exceed."""
    monkeypatch.setattr(linking, "MAX_RECORDS", 2)
    monkeypatch.setattr(rekeyed_facts, "MAX_PARTIES", 1)
    seen_ids = [(await memory.turn("we met Zeta Corp", scope="project:a", trust=LOW)).primary.id for _ in range(2)]
    for number in range(3):
        await memory.turn(f"{number}: Zeta Corp again", **HIDDEN)
    for name in ("Zeta", "Zeta Corp"):  # literals as subjects, as long as both are ambiguous
        for number in range(2):
            identifiers = [{"namespace": "email", "value": f"{name}{number}@x.example"}]
            content = {"canonical_name": name, "identifiers": identifiers}
            await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY, **HIDDEN)
    content = {"canonical_name": "Zeta Corp", "aliases": [{"value": "Zeta"}]}
    kept = await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY, trust=LOW)
    done = await link_due(memory.database, memory.directory, now=memory.clock.now(), batch=100)
    assert done.set_aside == 0
    relations = await memory.lookup.relations(LOW, seen_ids)
    assert [{edge.target for edge in relations[id_]} for id_ in seen_ids] == [{kept.primary.id}] * 2


async def test_a_writer_does_not_learn_what_a_policy_rule_lifts_out_of_its_sight(memory: Memory) -> None:
    store = story_memory(memory.database)
    hidden = {"scope": "project:a", "sensitivity": Sensitivity.HYPER}
    known = await store.observe("Ann", "likes", "tea", trust=store.trust, **hidden)
    lifted: dict[str, Any] = {"trust": LOW, "tags": (RAISED,), "scope": "project:a"}
    for more in ({"value": "gin"}, {"value": "tea"}, {"value": "rum", "revision_policy": "fork"}):
        done = await store.observe("Ann", "likes", more.pop("value"), **more, **lifted)
        assert (done.primary.id, done.primary.redacted) == (done.candidate, True)
        assert (done.created, done.edges, done.mentions, done.changes) == ((), (), (), ())
    records = (await store.lookup.records(store.trust, RecordFilter(types=[MemoryType.SEMANTIC]), first=10)).records
    assert len(records) == 3  # tea was known
    assert {record.sensitivity for record in records} == {Sensitivity.HYPER}
    assert (await store.record(known.primary.id, store.trust)).state is RecordState.CONTESTED
