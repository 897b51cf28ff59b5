"""Revisions: supersede, fork, contest, retract, merge, delete and salience events
(docs/specification.md, Revision).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import EVIDENCE, Memory, trust_of
from sqlalchemy import text

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.propagation.queue import reevaluate_due
from stratagraph.memory.propagation.reevaluation import BUDGET, reevaluate
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.merged_payloads import merged_entity
from stratagraph.memory.revise.request import (
    Contest,
    Delete,
    Fork,
    Merge,
    Penalize,
    Pin,
    Reinforce,
    ResolveContest,
    Retract,
    Supersede,
)
from stratagraph.memory.revise.service import Revised
from stratagraph.store.model.enums import Access, AuditAction, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import (
    ConditionsOverlap,
    DeletionForbidden,
    EpisodicImmutable,
    EvidenceRequired,
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    RecordNotFound,
    StratagraphError,
    VersionConflict,
)
from stratagraph.store.model.payloads import parse_payload
from stratagraph.store.records.inserting import NewRelation, insert_relations
from stratagraph.store.records.locking import lock_records


def fact(value: Any, *, subject: str = "Alice", predicate: str = "works_at", **more: Any) -> dict[str, Any]:
    validity = more.pop("validity", {"mode": "global"})
    return {"subject": subject, "predicate": predicate, "object": value, "validity": validity, **more}


async def supersede(memory: Memory, id_: UUID, payload: dict[str, Any], **more: Any) -> Revised:
    request = Supersede(record_id=id_, payload=payload, rationale="corrected", **({"evidence": EVIDENCE} | more))
    return await memory.revision.revise(memory.trust, request)


async def actions(memory: Memory, id_: UUID) -> list[tuple[str, str, str | None]]:
    log = (await memory.lookup.audit(memory.trust, [id_]))[id_]
    return [(entry.action, entry.actor, entry.rationale) for entry in log]


async def derived(memory: Memory, value: str, *sources: UUID) -> Captured:
    return await memory.observe(
        "Team", "uses", value, evidence=[{"source_type": "observation", "source_id": str(source)} for source in sources]
    )


SKILL = {
    "skill_name": "deploy",
    "triggers": [{"signal": "release", "conditions": {"env": "staging"}}],
    "recipe": [{"step": "build"}],
    "version": "1",
    "performance": {"success_count": 3, "failure_count": 1, "avg_latency_ms": 100.0},
}


async def capture_as(memory: Memory, memory_type: MemoryType, content: dict[str, Any], **more: Any) -> Captured:
    return await memory.remember(SourceKind.OBSERVATION, content, proposed_type=memory_type, **more)


async def test_a_superseded_fact_is_no_longer_current_and_is_kept_as_history(memory: Memory) -> None:
    old = (await memory.observe("Alice", "works_at", "Acme")).primary
    done = await supersede(memory, old.id, fact("Beta"))
    assert done.record.id != old.id
    assert (done.record.state, done.record.payload and done.record.payload["object"]) == (RecordState.ACTIVE, "Beta")
    before = await memory.record(old.id)
    assert (before.state, before.salience, before.version) == (RecordState.SUPERSEDED, 0.0, 2)
    assert before.payload is not None
    assert before.payload["revision"] == {"superseded_by": str(done.record.id)}
    assert (await actions(memory, old.id))[-1] == ("supersede", "tester", "corrected")
    assert [(edge.source, edge.predicate, edge.target) for edge in done.edges if edge.predicate == "supersedes"] == [
        (done.record.id, "supersedes", old.id)
    ]
    found = await memory.lookup.record(memory.trust, done.record.id)
    assert found is not None
    assert found.provenance is not None
    assert [source["ref"] for source in found.provenance["sources"]] == ["ticket-7"]


async def test_a_new_fact_needs_evidence(memory: Memory) -> None:
    old = (await memory.observe("Alice", "works_at", "Acme")).primary
    with pytest.raises(EvidenceRequired):
        await supersede(memory, old.id, fact("Beta"), evidence=())
    assert (await memory.record(old.id)).state is RecordState.ACTIVE


async def test_a_stale_expected_version_is_refused_with_the_current_one(memory: Memory) -> None:
    old = (await memory.observe("Alice", "works_at", "Acme")).primary
    await memory.revision.revise(memory.trust, Contest(record_id=old.id, evidence=EVIDENCE, rationale="doubt"))
    with pytest.raises(VersionConflict) as caught:
        await supersede(memory, old.id, fact("Beta"), expected_version=1)
    assert caught.value.current == 2
    assert (await supersede(memory, old.id, fact("Beta"), expected_version=2)).record.state is RecordState.ACTIVE


@pytest.mark.parametrize("kind", ["supersede", "fork", "contest", "resolve_contest", "retract", "merge"])
async def test_every_revision_of_an_episode_is_refused(memory: Memory, kind: str) -> None:
    """EPISODIC_IMMUTABLE takes precedence over EVIDENCE_REQUIRED."""
    turn = (await memory.turn("hello")).primary
    other = (await memory.turn("again")).primary
    request = {
        "supersede": Supersede(record_id=turn.id, payload={}, rationale="no"),
        "fork": Fork(record_id=turn.id, payload={}, conditions={"a": 1}, rationale="no"),
        "contest": Contest(record_id=turn.id, rationale="no"),
        "resolve_contest": ResolveContest(record_id=turn.id, rationale="no"),
        "retract": Retract(record_id=turn.id, rationale="no"),
        "merge": Merge(record_id=turn.id, others=(other.id,), rationale="no"),
    }[kind]
    with pytest.raises(EpisodicImmutable):
        await memory.revision.revise(memory.trust, request)


async def test_a_record_that_is_no_longer_current_cannot_be_revised(memory: Memory) -> None:
    old = (await memory.observe("Alice", "works_at", "Acme")).primary
    await supersede(memory, old.id, fact("Beta"))
    with pytest.raises(VersionConflict, match="already superseded"):
        await supersede(memory, old.id, fact("Gamma"))
    with pytest.raises(VersionConflict):
        await memory.revision.revise(memory.trust, Reinforce(record_id=old.id, rationale="still useful"))


async def test_superseding_with_an_existing_fact_reuses_that_fact(memory: Memory) -> None:
    one = (await memory.observe("Alice", "works_at", "Acme")).primary
    existing = (await memory.observe("Alice", "works_at", "Beta")).primary
    done = await supersede(memory, one.id, fact("Beta"))
    assert done.record.id == existing.id
    assert (await memory.record(one.id)).state is RecordState.SUPERSEDED


async def test_superseding_a_fact_displaces_whatever_the_new_one_contradicts(memory: Memory) -> None:
    wrong = (await memory.observe("Bob", "works_at", "Acme")).primary
    other = (await memory.observe("Alice", "works_at", "Beta", revision_policy="replace")).primary
    done = await supersede(memory, wrong.id, fact("Gamma"))
    assert (await memory.record(wrong.id)).state is RecordState.SUPERSEDED
    assert (await memory.record(other.id)).state is RecordState.SUPERSEDED
    assert {(change.record.id, change.effect) for change in done.changes} == {
        (wrong.id, Effect.SUPERSEDED),
        (other.id, Effect.SUPERSEDED),
    }


async def test_a_fork_needs_conditions_that_exclude_those_of_the_original(memory: Memory) -> None:
    prod = (await memory.observe("api", "port", 80, conditions={"env": "prod"}, revision_policy="fork")).primary
    payload = fact(8080, subject="api", predicate="port")
    done = await memory.revision.revise(
        memory.trust,
        Fork(record_id=prod.id, payload=payload, conditions={"env": "dev"}, evidence=EVIDENCE, rationale="dev differs"),
    )
    assert done.record.payload is not None
    assert done.record.payload["validity"] == {"mode": "conditional", "conditions": {"env": "dev"}}
    assert (await memory.record(prod.id)).state is RecordState.ACTIVE
    for conditions in ({"env": ["dev", "test"]}, {"region": "eu"}):
        with pytest.raises(ConditionsOverlap):
            await memory.revision.revise(
                memory.trust,
                Fork(
                    record_id=prod.id,
                    payload=fact(9090, subject="api", predicate="port"),
                    conditions=conditions,
                    evidence=EVIDENCE,
                    rationale="overlaps",
                ),
            )


@pytest.mark.parametrize("predicate", ["-", "!!!", "\u200b", " "])
async def test_a_fork_to_a_predicate_without_a_word_is_refused(memory: Memory, predicate: str) -> None:
    prod = (await memory.observe("api", "port", 80, conditions={"env": "prod"}, revision_policy="fork")).primary
    payload = fact(8080, subject="api", predicate=predicate)
    fork = Fork(record_id=prod.id, payload=payload, conditions={"env": "dev"}, evidence=EVIDENCE, rationale="differs")
    with pytest.raises(InvalidInput, match="a fork must keep the subject and predicate"):
        await memory.revision.revise(memory.trust, fork)


def test_an_entity_whose_alias_is_not_visible_can_be_merged() -> None:
    """Earlier versions took such names. A merge drops them, since they cannot be stored again."""
    unseen = {"canonical_name": "\u200b", "aliases": [{"value": "\u3164"}, {"value": "Annie"}]}
    merged = merged_entity([{"kind": "entity", "canonical_name": "Ann"}, unseen])
    assert merged["aliases"] == [{"value": "Annie"}]
    assert parse_payload(MemoryType.ENTITY, merged)["canonical_name"] == "Ann"


async def test_a_contest_marks_both_facts_and_its_resolution_keeps_the_winner(memory: Memory) -> None:
    one = (await memory.observe("Alice", "works_at", "Acme")).primary
    other = (await memory.observe("Alice", "works_at", "Beta")).primary
    await memory.revision.revise(
        memory.trust, Contest(record_id=one.id, contesting_id=other.id, rationale="cannot both be")
    )
    assert (await memory.record(one.id)).state is RecordState.CONTESTED
    assert (await memory.record(other.id)).state is RecordState.CONTESTED
    done = await memory.revision.revise(
        memory.trust, ResolveContest(record_id=one.id, winner_id=other.id, rationale="asked her")
    )
    assert (done.record.id, done.record.state) == (other.id, RecordState.ACTIVE)
    assert (await memory.record(one.id)).state is RecordState.SUPERSEDED


async def test_a_contest_by_evidence_records_an_event_and_can_be_resolved_for_the_fact(memory: Memory) -> None:
    one = (await memory.observe("Alice", "works_at", "Acme")).primary
    with pytest.raises(EvidenceRequired):
        await memory.revision.revise(memory.trust, Contest(record_id=one.id, rationale="I doubt it"))
    done = await memory.revision.revise(
        memory.trust, Contest(record_id=one.id, evidence=EVIDENCE, rationale="she left in May")
    )
    event = next(record for record in done.records if record.type is MemoryType.EPISODIC)
    assert "she left in May" in (event.text or "")
    await memory.revision.revise(memory.trust, ResolveContest(record_id=one.id, winner_id=one.id, rationale="no"))
    assert (await memory.record(one.id)).state is RecordState.ACTIVE
    with pytest.raises(InvalidInput, match="not contested"):
        await memory.revision.revise(memory.trust, ResolveContest(record_id=one.id, rationale="again"))


async def test_a_contest_resolved_without_a_winner_retracts_both_facts(memory: Memory) -> None:
    one = (await memory.observe("Alice", "works_at", "Acme")).primary
    other = (await memory.observe("Alice", "works_at", "Beta")).primary
    await memory.revision.revise(
        memory.trust, Contest(record_id=one.id, contesting_id=other.id, rationale="cannot both be")
    )
    await memory.revision.revise(memory.trust, ResolveContest(record_id=other.id, rationale="neither"))
    assert (await memory.record(one.id)).state is RecordState.RETRACTED
    assert (await memory.record(other.id)).state is RecordState.RETRACTED


async def test_retracting_one_contested_fact_restores_the_other(memory: Memory) -> None:
    one = (await memory.observe("Alice", "works_at", "Acme")).primary
    other = (await memory.observe("Alice", "works_at", "Beta")).primary
    await memory.revision.revise(
        memory.trust, Contest(record_id=one.id, contesting_id=other.id, rationale="cannot both be")
    )
    await memory.revision.revise(memory.trust, Retract(record_id=one.id, rationale="wrong"))
    assert (await memory.record(other.id)).state is RecordState.ACTIVE


async def test_retracting_contests_derived_facts_without_remaining_support(memory: Memory) -> None:
    one = (await memory.observe("Alice", "prefers", "vim")).primary
    two = (await memory.observe("Bob", "prefers", "vim")).primary
    both = (await derived(memory, "vim", one.id, two.id)).primary
    alone = (await derived(memory, "tabs", one.id)).primary
    further = (await derived(memory, "tab width 8", alone.id)).primary
    impact, more = await memory.revision.impact(memory.trust, one.id)
    assert more is False
    assert {(item.record.id, item.becomes, item.sources_left) for item in impact} == {
        (both.id, RecordState.ACTIVE, 1),
        (alone.id, RecordState.CONTESTED, 0),
        (further.id, RecordState.CONTESTED, 0),
    }
    assert (await memory.record(alone.id)).state is RecordState.ACTIVE  # the preview changed nothing
    done = await memory.revision.revise(memory.trust, Retract(record_id=one.id, rationale="was a joke"))
    assert {record.id for record in done.records} == {one.id, alone.id, further.id}
    states = {id_: (await memory.record(id_)).state for id_ in (both.id, alone.id, further.id)}
    assert states == {
        both.id: RecordState.ACTIVE,
        alone.id: RecordState.CONTESTED,
        further.id: RecordState.CONTESTED,
    }
    # New evidence makes the fact active again, and with it the facts derived from it.
    await memory.observe("Team", "uses", "tabs", evidence=[{"kind": "human", "ref": "style guide"}])
    assert (await memory.record(alone.id)).state is RecordState.ACTIVE
    assert (await memory.record(further.id)).state is RecordState.ACTIVE


@pytest.mark.parametrize(
    ("is_disputed", "is_unsupported", "why"),
    [
        (True, False, "another record contests this one"),
        (False, True, "no source of this record is valid any more"),
        (True, True, "no source of this record is valid any more, and another record contests it"),
    ],
)
async def test_the_audit_log_says_why_a_re_evaluation_contests_a_record(
    memory: Memory, is_disputed: bool, is_unsupported: bool, why: str
) -> None:
    source = (await memory.observe("Alice", "prefers", "vim")).primary
    fact = (await derived(memory, "tabs", source.id)).primary
    other = (await memory.observe("Bob", "prefers", "emacs")).primary
    caller = await memory.directory.resolve(memory.trust)
    if is_disputed:  # a dispute that is open again, as an undone merge leaves it
        again = NewRelation(source=fact.id, target=other.id, predicate="contested_by", weight=1.0)
        async with memory.database.writing(caller.bounds) as connection:
            await insert_relations(connection, memory.directory, caller.tenant, [again], at=memory.clock.now())
    if is_unsupported:
        await memory.revision.revise(memory.trust, Retract(record_id=source.id, rationale="was a joke"))
    else:
        memory.clock.forward(timedelta(seconds=1))
        at = memory.clock.now()
        async with memory.database.writing(caller.bounds) as connection:
            await lock_records(connection, caller.tenant, [fact.id])
            await reevaluate(connection, memory.directory, caller, doubtful=[fact.id], actor="me", at=at)
    assert (await memory.record(fact.id)).state is RecordState.CONTESTED
    (entries,) = (await memory.lookup.audit(memory.trust, [fact.id])).values()
    assert (entries[-1].action, entries[-1].rationale) == (AuditAction.CONTEST, why)


async def test_replacing_a_fact_contests_the_facts_derived_from_it(memory: Memory) -> None:
    old = (await memory.observe("Alice", "works_at", "Acme", revision_policy="replace")).primary
    dependent = (await derived(memory, "Acme badge", old.id)).primary
    await memory.observe("Alice", "works_at", "Beta", revision_policy="replace")
    assert (await memory.record(dependent.id)).state is RecordState.CONTESTED


async def test_a_fact_derived_from_a_retracted_fact_is_contested_from_the_start(memory: Memory) -> None:
    old = (await memory.observe("Alice", "works_at", "Acme")).primary
    await memory.revision.revise(memory.trust, Retract(record_id=old.id, rationale="wrong"))
    late = (await derived(memory, "Acme badge", old.id)).primary
    assert (await memory.record(late.id)).state is RecordState.CONTESTED


async def test_merging_facts_keeps_their_sources_and_derived_facts(memory: Memory) -> None:
    one = (await memory.observe("Alice", "works_at", "Acme", evidence=[{"kind": "human", "ref": "a"}])).primary
    two = (await memory.observe("Alice", "works_at", "ACME Inc", evidence=[{"kind": "human", "ref": "b"}])).primary
    dependent = (await derived(memory, "badge", two.id)).primary
    done = await memory.revision.revise(
        memory.trust, Merge(record_id=one.id, others=(two.id,), rationale="one company")
    )
    assert done.record.provenance is not None
    assert {source["ref"] for source in done.record.provenance["sources"]} == {"a", "b"}
    assert (await memory.record(one.id)).state is RecordState.SUPERSEDED
    assert (await memory.record(two.id)).state is RecordState.SUPERSEDED
    assert (await memory.record(dependent.id)).state is RecordState.ACTIVE
    await memory.revision.revise(memory.trust, Retract(record_id=done.record.id, rationale="wrong after all"))
    assert (await memory.record(dependent.id)).state is RecordState.CONTESTED


async def test_a_merged_entity_has_the_names_identifiers_and_relations_of_both(memory: Memory) -> None:
    one = (await capture_as(memory, MemoryType.ENTITY, {"canonical_name": "PostgreSQL"})).primary
    two = (
        await capture_as(
            memory,
            MemoryType.ENTITY,
            {"canonical_name": "Postgres", "identifiers": [{"namespace": "wikidata", "value": "Q192490"}]},
        )
    ).primary
    about = await memory.observe("Postgres", "written_in", "C")
    for predicate in ("written_in", "licensed_under"):
        await memory.observe("PostgreSQL", predicate, "C and its own licence")
    done = await memory.revision.revise(
        memory.trust, Merge(record_id=two.id, others=(one.id,), rationale="the same database")
    )
    assert done.record.id == one.id  # the one with more facts, wherever it is in the request
    assert done.record.payload is not None
    assert [alias["value"] for alias in done.record.payload["aliases"]] == ["Postgres"]
    assert [entity.id for entity in await memory.lookup.entities(memory.trust, "postgres", scope=None, first=5)] == [
        one.id
    ]
    edges = (await memory.lookup.relations(memory.trust, [one.id]))[one.id]
    assert about.primary.id in {edge.source for edge in edges if edge.predicate == "subject_entity"}
    again = await memory.observe("Postgres", "licence", "PostgreSQL licence")
    assert one.id in {edge.target for edge in again.edges}


async def test_merging_skills_adds_up_their_statistics(memory: Memory) -> None:
    one = (await capture_as(memory, MemoryType.COMPETENCE, SKILL)).primary
    two = (
        await capture_as(
            memory,
            MemoryType.COMPETENCE,
            SKILL
            | {"skill_name": "ship", "performance": {"success_count": 1, "failure_count": 3, "avg_latency_ms": 300.0}},
        )
    ).primary
    done = await memory.revision.revise(memory.trust, Merge(record_id=one.id, others=(two.id,), rationale="same"))
    assert done.record.payload is not None
    assert done.record.payload["performance"] == {
        "success_count": 4,
        "failure_count": 4,
        "success_rate": 0.5,
        "avg_latency_ms": 200.0,
    }
    assert done.record.payload["version"] == "2"


async def test_a_merge_takes_the_higher_sensitivity_and_refuses_different_scopes(memory: Memory) -> None:
    low = (await memory.observe("Alice", "works_at", "Acme", sensitivity=Sensitivity.LOW)).primary
    high = (await memory.observe("Alice", "works_at", "Acme", sensitivity=Sensitivity.MEDIUM)).primary
    assert low.id != high.id
    done = await memory.revision.revise(memory.trust, Merge(record_id=low.id, others=(high.id,), rationale="same"))
    assert done.record.sensitivity is Sensitivity.MEDIUM
    elsewhere = (await memory.observe("Alice", "works_at", "Acme", scope="project:x")).primary
    with pytest.raises(InvalidInput, match="scopes"):
        await memory.revision.revise(
            memory.trust, Merge(record_id=done.record.id, others=(elsewhere.id,), rationale="same")
        )


async def test_superseding_a_skill_creates_a_record_and_an_entity_is_updated_in_place(memory: Memory) -> None:
    skill = (await capture_as(memory, MemoryType.COMPETENCE, SKILL)).primary
    done = await supersede(memory, skill.id, SKILL | {"recipe": [{"step": "build"}, {"step": "test"}]})
    assert done.record.id != skill.id
    assert done.record.payload is not None
    assert (done.record.payload["skill_name"], done.record.payload["version"]) == ("deploy", "2")
    with pytest.raises(InvalidInput, match="skill_name"):
        await supersede(memory, done.record.id, SKILL | {"skill_name": "other"})
    entity = (await capture_as(memory, MemoryType.ENTITY, {"canonical_name": "Berlin"})).primary
    done = await supersede(memory, entity.id, {"canonical_name": "Berlin", "summary": "capital"}, expected_version=1)
    assert (done.record.id, done.record.version) == (entity.id, 2)


async def test_a_skill_is_forked_only_for_conditions_that_exclude_its_own(memory: Memory) -> None:
    skill = (await capture_as(memory, MemoryType.COMPETENCE, SKILL)).primary
    payload = SKILL | {"recipe": [{"step": "ask"}]}
    with pytest.raises(ConditionsOverlap):
        await memory.revision.revise(
            memory.trust, Fork(record_id=skill.id, payload=payload, conditions={"team": "a"}, rationale="careful")
        )
    done = await memory.revision.revise(
        memory.trust, Fork(record_id=skill.id, payload=payload, conditions={"env": "prod"}, rationale="careful")
    )
    assert done.record.payload is not None
    assert done.record.payload["triggers"][0]["conditions"] == {"env": "prod"}
    assert (await memory.record(skill.id)).state is RecordState.ACTIVE


async def test_salience_events_do_not_change_the_version(memory: Memory) -> None:
    record = (await memory.observe("Alice", "works_at", "Acme")).primary
    await memory.revision.revise(memory.trust, Penalize(record_id=record.id, amount=0.4, rationale="misled us"))
    after = await memory.record(record.id)
    assert after.salience == pytest.approx(0.6, abs=1e-5)
    await memory.revision.revise(memory.trust, Reinforce(record_id=record.id, rationale="helped"))
    after = await memory.record(record.id)
    assert after.salience == pytest.approx(0.7, abs=1e-5)
    assert after.version == 1
    assert [action for action, _, _ in await actions(memory, record.id)] == ["create", "decay", "reinforce"]
    await memory.revision.revise(memory.trust, Pin(record_id=record.id, pinned=True, rationale="keep"))
    pinned = await memory.record(record.id)
    assert pinned.lifecycle is not None
    assert pinned.lifecycle.pinned
    assert pinned.version == 1
    for amount in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="amount"):
            await memory.revision.revise(memory.trust, Penalize(record_id=record.id, amount=amount, rationale="x"))


async def test_a_revision_needs_write_access_and_a_fully_visible_record(memory: Memory) -> None:
    record = (await memory.observe("Alice", "earns", 1, sensitivity=Sensitivity.HIGH, scope="project:x")).primary
    cases: list[tuple[Any, type[StratagraphError]]] = [
        (trust_of(ceiling=Sensitivity.MEDIUM), Forbidden),
        (trust_of(ceiling=Sensitivity.LOW), RecordNotFound),
        (trust_of(scopes={"project:y"}), RecordNotFound),
        (trust_of(tenant="other"), RecordNotFound),
        (trust_of(access=Access.READ), Forbidden),
    ]
    for trust, error in cases:
        with pytest.raises(error):
            await memory.revision.revise(trust, Retract(record_id=record.id, rationale="mine"))
    unscoped = (await memory.observe("Alice", "likes", "tea")).primary
    with pytest.raises(Forbidden, match="only read"):
        await memory.revision.revise(
            trust_of(scopes={"project:x"}), Retract(record_id=unscoped.id, rationale="not mine")
        )
    assert (await memory.record(record.id)).state is RecordState.ACTIVE


async def test_a_retry_with_the_same_idempotency_key_is_answered_as_a_replay(memory: Memory) -> None:
    old = (await memory.observe("Alice", "works_at", "Acme")).primary
    first = await supersede(memory, old.id, fact("Beta"), idempotency_key="k1")
    again = await supersede(memory, old.id, fact("Beta"), idempotency_key="k1")
    assert (again.record.id, again.replayed, first.replayed) == (first.record.id, True, False)
    with pytest.raises(IdempotencyMismatch):
        await supersede(memory, old.id, fact("Gamma"), idempotency_key="k1")


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (Retract(record_id=UUID(int=1), rationale="  "), "rationale"),
        (Retract(record_id=UUID(int=1), rationale="x", expected_version=0), "expectedVersion"),
        (Supersede(record_id=UUID(int=1), rationale="x", payload={"a": "\x00"}), "payload"),
        (Supersede(record_id=UUID(int=1), rationale="x", payload={}, evidence=({"kind": "human"},)), "evidence"),
        (Merge(record_id=UUID(int=1), rationale="x", others=(UUID(int=1),)), "recordIds"),
    ],
)
async def test_invalid_input_names_its_field(memory: Memory, request_: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await memory.revision.revise(memory.trust, request_)
    assert caught.value.path is not None
    assert caught.value.path[0] == field


async def test_deleting_leaves_only_a_tombstone_and_the_audit_log(memory: Memory) -> None:
    record = (await memory.observe("Alice", "works_at", "Acme")).primary
    dependent = (await derived(memory, "badge", record.id)).primary
    await supersede(memory, record.id, fact("Acme Ltd"))
    done = await memory.revision.revise(
        memory.trust, Delete(record_id=record.id, rationale="never said", idempotency_key="d1")
    )
    assert done.record.id == record.id
    assert await memory.lookup.record(memory.trust, record.id) is None
    assert (await memory.record(dependent.id)).state is RecordState.CONTESTED
    async with memory.database.engine.begin() as connection:
        for table, left in {"record": 0, "record_history": 0, "tombstone": 1, "audit_head": 1}.items():
            rows = await connection.execute(
                text(f"SELECT count(*) FROM {table} WHERE id = :id"),  # noqa: S608
                {"id": record.id},
            )
            assert rows.scalar_one() == left, table
        last = await connection.execute(
            text("SELECT action FROM audit WHERE id = :id ORDER BY seq DESC LIMIT 1"), {"id": record.id}
        )
        assert last.scalar_one() == "delete"
    again = await memory.revision.revise(
        memory.trust, Delete(record_id=record.id, rationale="never said", idempotency_key="d1")
    )
    assert (again.replayed, again.record.id, again.record.redacted) == (True, record.id, True)
    with pytest.raises(RecordNotFound):
        await memory.revision.revise(memory.trust, Delete(record_id=record.id, rationale="again"))


async def test_a_record_with_deletion_policy_never_cannot_be_deleted(memory: Memory) -> None:
    record = (await memory.observe("Alice", "born", 1990)).primary
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("UPDATE salience SET deletion_policy = 3 WHERE id = :id"), {"id": record.id})
    with pytest.raises(DeletionForbidden, match="never"):
        await memory.revision.revise(memory.trust, Delete(record_id=record.id, rationale="try"))


async def test_a_retraction_contests_derived_records_invisible_to_the_caller(memory: Memory) -> None:
    """Neither the preview nor the answer mentions them."""
    record = (await memory.observe("Alice", "works_at", "Acme", sensitivity=Sensitivity.LOW)).primary
    hidden = (
        await memory.observe(
            "Team",
            "uses",
            "badge",
            sensitivity=Sensitivity.HYPER,
            evidence=[{"source_type": "observation", "source_id": str(record.id)}],
        )
    ).primary
    low = trust_of(ceiling=Sensitivity.LOW)
    impact, _ = await memory.revision.impact(low, record.id)
    assert impact == []
    done = await memory.revision.revise(low, Retract(record_id=record.id, rationale="wrong"))
    assert [one.id for one in done.records] == [record.id]
    assert (await memory.record(hidden.id)).state is RecordState.CONTESTED


async def test_re_evaluations_over_the_budget_are_queued_and_completed_later(memory: Memory) -> None:
    record = (await memory.observe("Alice", "works_at", "Acme")).primary
    evidence = [{"source_type": "observation", "source_id": str(record.id)}]
    count = BUDGET + 30
    for start in range(0, count, 115):
        requests = [
            CaptureRequest(
                source="test",
                source_kind=SourceKind.OBSERVATION,
                content={"subject": f"s{number}", "predicate": "p", "object": number, "evidence": evidence},
            )
            for number in range(start, min(count, start + 115))
        ]
        await memory.capture.capture(memory.trust, requests, batch=True)
    done = await memory.revision.revise(memory.trust, Retract(record_id=record.id, rationale="wrong"))
    assert done.queued == count
    waiting = await memory.revision.waiting(memory.trust)
    assert len(waiting) == 200
    assert {entry.cause for entry in waiting} == {record.id}
    memory.clock.forward(timedelta(seconds=1))
    while (await reevaluate_due(memory.database, memory.directory, now=memory.clock.now(), batch=100)).due:
        pass
    async with memory.database.engine.begin() as connection:
        rows = await connection.execute(text("SELECT state, count(*) FROM record WHERE type = 4 GROUP BY state"))
        assert {row[0]: row[1] for row in rows} == {2: count, 4: 1}
    assert await memory.revision.waiting(memory.trust) == []
