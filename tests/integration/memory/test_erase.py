"""Erasure of a record, an entity, a scope or a tenant: no trace is left, and nothing else is deleted
(docs/specification.md, Forgetting and erasing).
"""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_erasing import WHY, Store, entity_named, fail_to_capture, rename, source
from fix_memory import Memory, trust_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Contest, Delete, Merge, Pin, Supersede
from stratagraph.store.erasure.receipts import ErasureKind, Receipt
from stratagraph.store.model.enums import Access, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import (
    Forbidden,
    IdempotencyMismatch,
    InvalidInput,
    RecordNotFound,
    StatementFailed,
    StoreUnavailable,
    StratagraphError,
)
from stratagraph.store.model.trust import Trust
from stratagraph.store.model.words import query_terms
from stratagraph.store.postgres.database import Role
from stratagraph.store.records.tombstones import blocked_derivations, derivation_key

HIGH = Sensitivity.HIGH


# By record


async def test_a_fact_is_erased_with_its_history_and_derived_records(store: Store) -> None:
    memory = store.memory
    first = await memory.observe(
        "Zorblax", "lives_in", "Quuxville", revision_policy="replace", reason_to_remember="Fnordwhy"
    )
    fact = first.primary.id
    derived = await memory.observe("Zorblax", "is_neighbour_of", "Plughtown", evidence=source(fact))
    further = await memory.observe("Plughtown", "is_near", "Xyzzyburg", evidence=source(derived.primary.id))
    await memory.observe("Zorblax", "lives_in", "Quuxville", idempotency_key="again")
    await memory.observe("Zorblax", "lives_in", "Quuxville", idempotency_key="again")
    await memory.revision.revise(memory.trust, Pin(record_id=fact, pinned=True, rationale="Grueflag"))
    await fail_to_capture(
        memory,
        CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content={"subject": "Zorblax", "predicate": "lives_in", "object": "Quuxville"},
        ),
    )
    await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="Zorblax Quuxville"))
    await store.run_jobs()
    markers = ("Zorblax", "Quuxville", "Fnordwhy", "Plughtown", "Xyzzyburg", "Grueflag", str(fact))
    before = await store.everything_stored()
    assert [marker for marker in markers if marker not in before] == []

    receipt = await store.erase(record_id=fact)

    assert not any([await store.has(id_) for id_ in (fact, derived.primary.id, further.primary.id)])
    after = await store.everything_stored()
    assert [marker for marker in markers[:-1] if marker in after] == []
    assert receipt.kind is ErasureKind.RECORD
    assert receipt.counts["records.semantic"] == 3
    assert receipt.counts["records.entity"] == 3  # Zorblax, Quuxville and Plughtown: no other record refers to them
    assert receipt.counts["candidates"] >= 4
    assert receipt.counts["history"] >= 1
    assert len(receipt.hashes) == 6
    await store.run_jobs()
    later = await store.everything_stored()
    assert [marker for marker in markers[:-1] if marker in later] == []
    assert await store.audit_chain_is_valid()
    tombstones = await memory.rows("SELECT cause FROM tombstone")
    assert {row["cause"] for row in tombstones} == {3}
    assert await memory.rows("SELECT 1 FROM retrieval WHERE :id = ANY (roots || nodes)", id=fact) == []


async def test_a_tombstone_blocks_derivation_from_older_sources_only(store: Store) -> None:
    memory = store.memory
    captured = await memory.observe("Alice", "likes", "tea")
    old = memory.clock.now()
    (row,) = await memory.rows("SELECT fact_key, scope FROM record WHERE id = :id", id=captured.primary.id)
    await store.erase(record_id=captured.primary.id)
    memory.clock.forward(timedelta(hours=1))
    tenant = (await memory.directory.resolve(memory.trust)).tenant

    key = derivation_key(tenant, MemoryType.SEMANTIC, row["scope"], bytes(row["fact_key"]))
    async with memory.database.background(Role.JOBS) as connection:
        assert await blocked_derivations(connection, tenant, {key: old}) == {key}
        assert await blocked_derivations(connection, tenant, {key: memory.clock.now()}) == set()
    assert (await memory.observe("Alice", "likes", "tea")).primary.state is RecordState.ACTIVE


async def test_a_derived_record_with_other_support_loses_only_that_support(store: Store) -> None:
    memory = store.memory
    one = await memory.remember(SourceKind.EVENT, {"event_kind": "seen", "ref": "Markerref", "summary": "a Markersaw"})
    other = await memory.turn("a parrot sings")
    fact = await memory.observe(
        "parrot", "can", "sing",
        evidence=[
            {"source_type": "event", "source_id": "Markerref", "quote": "Markerquote"}, *source(other.primary.id)
        ],
    )  # fmt: skip
    await memory.revision.revise(
        memory.trust, Contest(record_id=fact.primary.id, evidence=tuple(source(other.primary.id)), rationale="hm")
    )
    for marker in ("Markerref", "Markersaw", "Markerquote", str(one.primary.id)):
        assert marker in await store.everything_stored()
    receipt = await store.erase(record_id=one.primary.id)
    assert receipt.counts["records.episodic"] == 1
    assert "records.semantic" not in receipt.counts
    left = await memory.lookup.record(memory.trust, fact.primary.id)
    assert left is not None
    assert {item["ref"] for item in (left.provenance or {})["sources"]} == {str(other.primary.id)}
    relations = (await memory.lookup.relations(memory.trust, [left.id]))[left.id]
    assert {r.source for r in relations if r.predicate == "derived_semantic"} == {other.primary.id}
    after = await store.everything_stored()
    assert [marker for marker in ("Markerref", "Markersaw", "Markerquote") if marker in after] == []
    history = await memory.rows("SELECT provenance::text || payload::text AS content FROM record_history")
    assert history
    assert not any(str(one.primary.id) in row["content"] for row in history)


async def test_records_that_support_only_each_other_are_erased_with_their_source(store: Store) -> None:
    memory = store.memory
    root = await memory.turn("a parrot sings")
    one = await memory.observe("parrot", "can", "sing", evidence=source(root.primary.id))
    two = await memory.observe("bird", "can", "sing", evidence=source(one.primary.id))
    await memory.observe("parrot", "can", "sing", evidence=source(two.primary.id))
    await store.erase(record_id=root.primary.id)
    assert not await store.has(one.primary.id)
    assert not await store.has(two.primary.id)


async def test_a_derived_record_without_active_support_is_kept_as_contested(store: Store) -> None:
    memory = store.memory
    one, other = await memory.turn("a parrot sings"), await memory.observe("Bob", "saw", "it")
    fact = await memory.observe("parrot", "can", "sing", evidence=[*source(one.primary.id), *source(other.primary.id)])
    await memory.revision.revise(
        memory.trust, Contest(record_id=other.primary.id, evidence=tuple(source(one.primary.id)), rationale="no")
    )
    await store.erase(record_id=one.primary.id)
    left = await memory.lookup.record(memory.trust, fact.primary.id)
    assert left is not None
    assert left.state is RecordState.CONTESTED


async def test_neither_deletion_policy_nor_pin_prevents_erasure(store: Store) -> None:
    memory = store.memory
    fact = (await memory.observe("Alice", "likes", "tea")).primary.id
    await memory.rows("UPDATE salience SET deletion_policy = 3 RETURNING id")
    await memory.revision.revise(memory.trust, Pin(record_id=fact, pinned=True, rationale="dear"))
    with pytest.raises(StratagraphError, match="cannot be deleted"):
        await memory.revision.revise(memory.trust, Delete(record_id=fact, rationale="no more"))
    await store.erase(record_id=fact)
    assert not await store.has(fact)


async def conversation(memory: Memory, thread: str, *texts: str, **more: Any) -> list[Captured]:
    return [await memory.turn(text, thread=thread, **more) for text in texts]


@pytest.mark.parametrize("sensitivity", [Sensitivity.LOW, HIGH], ids=["plain", "encrypted"])
async def test_an_erased_member_is_removed_from_its_closed_episode(store: Store, sensitivity: Sensitivity) -> None:
    memory = store.memory
    more: dict[str, Any] = {"sensitivity": sensitivity}
    captured = await conversation(memory, "t", "Zorblax opens", "the parrot sings", "all is well", **more)
    done = {"thread_id": "t", "outcome_status": "success", "reason": "it sang"}
    episode = (await memory.remember(SourceKind.OUTCOME, done, **more)).primary.id
    before = await memory.lookup.record(memory.trust, episode)
    assert before is not None
    assert "Zorblax" in (before.text or "")
    asked = RetrieveRequest(task_descriptor="Zorblax", memory_types=(MemoryType.EPISODIC,))
    assert (await memory.retrieve.retrieve(memory.trust, asked)).roots
    await store.erase(record_id=captured[0].primary.id)
    left = await memory.lookup.record(memory.trust, episode)
    assert left is not None
    assert (left.text or "").startswith("Episode of t: 2 events, success. It began with: user: the parrot sings")
    payload = left.payload or {}
    assert [entry["record_id"] for entry in payload["timeline"]] == [str(one.primary.id) for one in captured[1:]]
    assert "Zorblax" not in await store.everything_stored()
    (row,) = await memory.rows("SELECT terms FROM record WHERE id = :id", id=episode)
    history = await memory.rows("SELECT terms FROM record_history WHERE id = :id AND terms <> '{}'", id=episode)
    assert {tuple(one["terms"]) for one in history} == {tuple(row["terms"])}
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    assert query_terms(tenant.index_key, "Zorblax")[0] not in row["terms"]
    assert query_terms(tenant.index_key, "parrot")[0] in row["terms"]
    assert (await memory.lookup.audit(memory.trust, [episode]))[episode][-1].rationale == "it sang"


async def test_a_thread_continues_after_its_last_member_was_erased(store: Store) -> None:
    memory = store.memory
    one, two = await conversation(memory, "t", "the first", "the second")
    await store.erase(record_id=two.primary.id)
    three = await memory.turn("the third", thread="t")
    followed = {edge.target for edge in three.edges if edge.predicate == "follows"}
    assert followed == {one.primary.id}
    await store.run_jobs()
    (row,) = await memory.rows("SELECT id FROM episode")
    left = await memory.lookup.record(memory.trust, row["id"])
    assert left is not None
    assert "the second" not in (left.text or "")
    assert len((left.payload or {})["timeline"]) == 2


async def test_an_episode_is_erased_with_its_members_and_the_reason_of_its_outcome(store: Store) -> None:
    memory = store.memory
    captured = await conversation(memory, "t-Threadmark", "Zorblax opens", "the Quuxparrot sings")
    uri = await store.put(b"the Blobmarker bytes")
    tool = await memory.remember(
        SourceKind.TOOL_OUTPUT,
        {
            "thread_id": "t-Threadmark",
            "tool_name": "Toolmarker",
            "args": {"q": "Argmarker"},
            "result": "Resultmarker",
            "artifacts": [uri],
        },
    )
    done = {"thread_id": "t-Threadmark", "outcome_status": "failure", "reason": "Reasonmarker"}
    episode = (await memory.remember(SourceKind.OUTCOME, done)).primary.id
    markers = (
        *("Threadmark", "Zorblax", "Quuxparrot", "Blobmarker", "Toolmarker", "Argmarker", "Resultmarker"),
        "Reasonmarker",
        uri.removeprefix("sha256:"),
    )
    before = await store.everything_stored()
    assert [marker for marker in markers if marker not in before and marker != "Blobmarker"] == []
    assert len([path for path in store.files.rglob("*") if path.is_file()]) == 1
    receipt = await store.erase(record_id=episode)
    assert receipt.counts["artifacts"] == 1
    assert receipt.counts["records.episodic"] == 4
    assert not any([await store.has(one.primary.id) for one in (*captured, tool)])
    after = await store.everything_stored()
    assert [marker for marker in markers if marker in after] == []
    assert [path for path in store.files.rglob("*") if path.is_file()] == []
    assert await store.audit_chain_is_valid()


async def test_an_artifact_referenced_by_another_record_is_kept(store: Store) -> None:
    memory = store.memory
    uri = await store.put(b"shared")
    one = await memory.remember(SourceKind.EVENT, {"event_kind": "build", "ref": "a", "artifacts": [uri]})
    await store.put(b"shared")
    await memory.remember(SourceKind.EVENT, {"event_kind": "build", "ref": "b", "artifacts": [uri]})
    receipt = await store.erase(record_id=one.primary.id)
    assert "artifacts" not in receipt.counts
    assert (await store.artifacts.get(memory.trust, uri)).data == b"shared"


async def test_a_failed_capture_of_the_same_text_is_erased_in_its_scope_only(store: Store) -> None:
    memory = store.memory
    captured = await memory.turn("Zorblax is here", scope="project:a")
    for scope in ("project:a", "project:b"):
        request = CaptureRequest(
            source="test",
            source_kind=SourceKind.AGENT_TURN,
            content={"role": "user", "text": "Zorblax is here"},
            scope=scope,
        )
        await fail_to_capture(memory, request)
    await store.erase(trust_of(access=Access.WRITE, scopes={"project:a"}), record_id=captured.primary.id)
    left = await memory.rows("SELECT input ->> 'scope' AS scope FROM candidate WHERE state = 'failed'")
    assert [row["scope"] for row in left] == ["project:b"]


async def test_a_working_record_is_erased_with_its_earlier_versions(store: Store) -> None:
    memory = store.memory
    for summary in ("Zorblax is asked", "Quuxparrot is asked"):
        state = {"thread_id": "w", "state": "executing", "context_summary": summary, "next_actions": [f"ask {summary}"]}
        record = (await memory.remember(SourceKind.WORKING_STATE, state)).primary.id
    assert "Zorblax" in await store.everything_stored()
    await store.erase(record_id=record)
    after = await store.everything_stored()
    assert [marker for marker in ("Zorblax", "Quuxparrot") if marker in after] == []


async def test_a_plan_is_erased_with_its_name_and_steps(store: Store) -> None:
    memory = store.memory
    plan = {
        "kind": "plan_graph",
        "plan_id": "Zorblaxplan",
        "version": "1",
        "nodes": [{"id": "a", "op": "Quuxop"}, {"id": "b", "op": "Fnordop"}],
        "edges": [{"from": "a", "to": "b", "kind": "control"}],
        "intent": "Grueintent",
    }
    record = await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH)
    markers = ("Zorblaxplan", "Quuxop", "Fnordop", "Grueintent")
    before = await store.everything_stored()
    assert [marker for marker in markers if marker not in before] == []
    await store.erase(record_id=record.primary.id)
    after = await store.everything_stored()
    assert [marker for marker in markers if marker in after] == []


async def test_an_encrypted_record_is_erased_like_any_other(store: Store) -> None:
    memory = store.memory
    secret = await memory.observe("Zorblax", "has", "Quuxitis", sensitivity=HIGH, reason_to_remember="Fnordwhy")
    derived = await memory.observe(
        "Zorblax", "takes", "Gruepills", sensitivity=HIGH, evidence=source(secret.primary.id)
    )
    other = await memory.turn("another source", sensitivity=HIGH)
    both = await memory.observe(
        "Plugh", "is", "Xyzzy", sensitivity=HIGH,
        evidence=[*source(secret.primary.id), *source(other.primary.id)],
    )  # fmt: skip
    await fail_to_capture(
        memory,
        CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content={"subject": "Zorblax", "predicate": "has", "object": "Quuxitis"},
            sensitivity=HIGH,
        ),
    )
    assert "Quuxitis" in "\n".join(await store.decrypted())
    await store.erase(record_id=secret.primary.id)
    assert not await store.has(derived.primary.id)
    decrypted = "\n".join(await store.decrypted())
    assert "Xyzzy" in decrypted
    assert [marker for marker in ("Quuxitis", "Gruepills", str(secret.primary.id)) if marker in decrypted] == []
    left = await memory.rows("SELECT id FROM candidate WHERE state = 'failed'")
    assert left == []
    ids = {secret.primary.id, derived.primary.id}
    assert await memory.rows("SELECT 1 FROM audit_note WHERE id = ANY(:ids)", ids=list(ids)) == []
    kept = await memory.lookup.record(memory.trust, both.primary.id)
    assert kept is not None
    assert {item["ref"] for item in (kept.provenance or {})["sources"]} == {str(other.primary.id)}


async def test_the_rationale_of_a_revision_is_erased_from_every_record_it_changed(store: Store) -> None:
    memory = store.memory
    old = (await memory.observe("Bob", "lives_in", "Rome", reason_to_remember="heard at dinner")).primary.id
    revised = await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=old,
            payload={"kind": "semantic", "subject": "Bob", "predicate": "lives_in", "object": "Zorblaxton",
                     "validity": {"mode": "global"}},
            evidence=({"kind": "human", "ref": "Fnordref"},),
            rationale="he moved to Zorblaxton, says Quuxsister",
        ),
    )  # fmt: skip
    assert "Quuxsister" in await store.everything_stored()
    await store.erase(record_id=revised.record.id)
    assert await store.has(old)
    after = await store.everything_stored()
    assert [marker for marker in ("Zorblaxton", "Quuxsister", "Fnordref")
            if marker in after] == []  # fmt: skip
    assert "heard at dinner" in after
    kept = await memory.lookup.record(memory.trust, old)
    assert kept is not None
    assert "superseded_by" not in (kept.payload or {}).get("revision", {})
    assert await store.audit_chain_is_valid()


async def test_the_audit_notes_of_a_deleted_record_are_erased(store: Store) -> None:
    memory = store.memory
    fact = (await memory.observe("Bob", "lives_in", "Rome", reason_to_remember="Zorblax said so")).primary.id
    await memory.revision.revise(memory.trust, Delete(record_id=fact, rationale="Quuxreason"))
    assert "Quuxreason" in await store.everything_stored()
    stranger = trust_of(access=Access.WRITE, scopes={"project:x"}, ceiling=Sensitivity.PUBLIC)
    with pytest.raises(RecordNotFound):
        await store.erase(stranger, record_id=fact)
    assert await store.erasure.preview(memory.trust, Erase(record_id=fact)) == {"records.entity": 2}
    receipt = await store.erase(record_id=fact)
    assert receipt.counts["audit_notes"] == 2
    after = await store.everything_stored()
    assert [marker for marker in ("Zorblax", "Quuxreason") if marker in after] == []
    with pytest.raises(RecordNotFound):
        await store.erase(record_id=fact)


async def test_an_entity_mentioned_by_another_record_is_kept_without_the_erased_mention(store: Store) -> None:
    memory = store.memory
    first = await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "call", "ref": "Refmarker", "summary": "a call"},
        context={"mentions": ["Bob"]},
    )
    second = await memory.turn("Bob again", context={"mentions": ["Bob"]})
    bob = await entity_named(memory, "Bob")
    assert "Refmarker" in await store.everything_stored()
    await store.erase(record_id=first.primary.id)
    assert await store.has(bob)
    assert "Refmarker" not in await store.everything_stored()
    await store.erase(record_id=second.primary.id)
    assert not await store.has(bob)


async def test_a_second_erasure_is_not_found_and_a_retry_with_its_key_gets_the_same_receipt(store: Store) -> None:
    memory = store.memory
    fact = (await memory.observe("Alice", "likes", "tea")).primary.id
    first = await store.erase_and_return_result(record_id=fact, idempotency_key="k")
    again = await store.erase_and_return_result(record_id=fact, idempotency_key="k")
    assert (first.replayed, again.replayed) == (False, True)
    assert again.receipt == first.receipt
    with pytest.raises(RecordNotFound):
        await store.erase(record_id=fact)
    with pytest.raises(IdempotencyMismatch):
        await store.erase(record_id=fact, rationale="another", idempotency_key="k")


@pytest.mark.parametrize(
    ("trust", "error"),
    [
        (trust_of(access=Access.READ), Forbidden),
        (trust_of(access=Access.WRITE, ceiling=Sensitivity.PUBLIC), Forbidden),
        (trust_of(access=Access.WRITE, scopes={"project:b"}), RecordNotFound),
        (trust_of(tenant="rival"), RecordNotFound),
    ],
    ids=["reader", "redacted", "other scope", "other tenant"],
)
async def test_an_unauthorized_caller_erases_nothing(store: Store, trust: Trust, error: type[StratagraphError]) -> None:
    memory = store.memory
    fact = (await memory.observe("Alice", "likes", "tea", scope="project:a")).primary.id
    await memory.directory.resolve(trust)
    before = await memory.rows("SELECT t::text AS content FROM record t ORDER BY 1")
    with pytest.raises(error):
        await store.erase(trust, record_id=fact)
    assert await memory.rows("SELECT t::text AS content FROM record t ORDER BY 1") == before
    assert await memory.rows("SELECT 1 FROM erasure") == []


@pytest.mark.parametrize(
    "trust",
    [
        trust_of(access=Access.WRITE),
        trust_of(ceiling=Sensitivity.HIGH),
        trust_of(scopes={"project:b"}),
    ],
    ids=["no admin", "lower ceiling", "other scopes"],
)
async def test_erasing_an_entity_scope_or_tenant_needs_an_unrestricted_administrator(
    store: Store, trust: Trust
) -> None:
    memory = store.memory
    await memory.observe("Alice", "likes", "tea", scope="project:a")
    alice = await entity_named(memory, "Alice")
    before = await memory.rows("SELECT t::text AS content FROM record t ORDER BY 1")
    for what in ({"entity_id": alice}, {"scope": "project:a"}, {"tenant": "acme"}):
        with pytest.raises(Forbidden):
            await store.erase(trust, **what)
        with pytest.raises(Forbidden):
            await store.erasure.preview(trust, Erase(**what))
    assert await memory.rows("SELECT t::text AS content FROM record t ORDER BY 1") == before


async def test_the_administrator_of_a_scope_may_erase_it_but_not_unscoped_records(store: Store) -> None:
    memory = store.memory
    fact = (await memory.observe("Alice", "likes", "tea", scope="project:a")).primary.id
    await memory.observe("Alice", "likes", "tea", scope="")
    owner = trust_of(scopes={"project:a"})
    with pytest.raises(Forbidden):
        await store.erase(owner, scope="")
    await store.erase(owner, scope="project:a")
    assert not await store.has(fact)


async def test_a_receipt_counts_only_records_visible_to_the_caller(store: Store) -> None:
    memory = store.memory
    caller = trust_of(access=Access.WRITE, scopes={"project:a"}, ceiling=Sensitivity.LOW)
    captured = await memory.turn("a parrot sings", trust=caller, scope="project:a")
    hidden = await memory.observe(
        "parrot", "can", "sing", scope="project:a", sensitivity=HIGH, evidence=source(captured.primary.id)
    )
    request = Erase(record_id=captured.primary.id, rationale=WHY)
    assert await store.erasure.preview(caller, request) == {"records.episodic": 1}
    receipt = await store.erase(caller, record_id=captured.primary.id)
    assert await store.has(hidden.primary.id)
    assert receipt.counts == {"records.episodic": 1}
    assert len(receipt.hashes) == 1


@pytest.mark.parametrize(
    "what",
    [{}, {"scope": "a", "tenant": "acme"}, {"tenant": "acme", "rationale": " "}, {"scope": "a", "idempotency_key": ""}],
    ids=["nothing", "two", "no reason", "empty key"],
)
async def test_an_invalid_request_is_refused(store: Store, what: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await store.erase(**what)


# By entity


async def test_an_entity_is_erased_with_every_record_linked_to_it(store: Store) -> None:
    memory = store.memory
    mentions = [{"name": "Zorblax", "type": "Person", "identifiers": [{"namespace": "email", "value": "zb@quux.org"}]}]
    turn = await memory.turn("he said Fnordword", thread="t", context={"mentions": mentions})
    other = await memory.turn("the weather is fine", thread="t")
    fact = await memory.observe("Zorblax", "works_at", "Acme", scope=None)
    object_ = await memory.observe("Bob", "married", "Zorblax", sensitivity=HIGH)
    derived = await memory.observe("Gruehouse", "is", "sold", evidence=source(fact.primary.id))
    zorblax = await entity_named(memory, "Zorblax")
    await rename(
        memory, zorblax, "Zorblax", aliases=[{"value": "Plughman"}], summary="a Xyzzyist",
        identifiers=[{"namespace": "email", "value": "zb@quux.org"}],
    )  # fmt: skip
    done = {"thread_id": "t", "outcome_status": "success", "reason": "Plughman was glad"}
    episode = (await memory.remember(SourceKind.OUTCOME, done)).primary.id
    note = await memory.turn("somebody wrote: zorblax, plughman, was here")
    await memory.rows("DELETE FROM relation WHERE source = :id RETURNING id", id=note.primary.id)
    await memory.rows("UPDATE record SET interpretation = NULL WHERE id = :id RETURNING id", id=note.primary.id)
    await fail_to_capture(
        memory,
        CaptureRequest(source="t", source_kind=SourceKind.AGENT_TURN, content={"role": "user", "text": "ZORBLAX?"}),
    )
    acme = await entity_named(memory, "Acme")
    await memory.observe("Acme", "is_in", "Rome")
    with pytest.raises(InvalidInput, match="contains a name of the entity"):
        await store.erase(entity_id=zorblax, rationale="Plughman asked")
    receipt = await store.erase(entity_id=zorblax)
    for erased in (zorblax, turn.primary.id, fact.primary.id, object_.primary.id, derived.primary.id):
        assert not await store.has(erased)
    assert await store.has(acme)
    assert await store.has(other.primary.id)
    assert await store.has(episode)
    assert set(receipt.elsewhere) == {note.primary.id, episode}  # the reason of the outcome has a name of it
    assert receipt.elsewhere_complete
    for elsewhere in receipt.elsewhere:
        await store.erase(record_id=elsewhere)
    after = (await store.everything_stored()).casefold()
    markers = ("zorblax", "fnordword", "gruehouse", "plughman", "xyzzyist", "zb@quux.org")
    assert [marker for marker in markers if marker in after] == []
    assert await store.audit_chain_is_valid()


async def test_merged_entities_are_erased_together(store: Store) -> None:
    memory = store.memory
    one = await memory.turn("Fnordword", context={"mentions": ["Zorblax"]})
    two = await memory.turn("Grueword", context={"mentions": ["Quuxman"]})
    first, second = await entity_named(memory, "Zorblax"), await entity_named(memory, "Quuxman")
    await memory.revision.revise(memory.trust, Merge(record_id=first, others=(second,), rationale="the same"))
    await store.erase(entity_id=second)
    assert not any([await store.has(id_) for id_ in (first, second, one.primary.id, two.primary.id)])
    after = await store.everything_stored()
    assert [marker for marker in ("Zorblax", "Quuxman", "Fnordword", "Grueword") if marker in after] == []


async def test_erasing_a_fact_as_an_entity_is_refused(store: Store) -> None:
    fact = (await store.memory.observe("Alice", "likes", "tea")).primary.id
    with pytest.raises(InvalidInput, match="type semantic, not an entity"):
        await store.erase(entity_id=fact)


# By scope and tenant


async def fill(memory: Memory, mark: str, store: Store, **more: Any) -> list[UUID]:
    """Capture records of most kinds, each with `mark` in its text; return their ids."""
    trust = more.get("trust")
    fact = await memory.observe(f"{mark}who", "likes", f"{mark}tea", reason_to_remember=f"{mark}why", **more)
    derived = await memory.observe(f"{mark}x", "is", "y", evidence=source(fact.primary.id), **more)
    secret = await memory.observe(f"{mark}who", "has", f"{mark}secret", **{**more, "sensitivity": HIGH})
    uri = await store.put(f"{mark}bytes".encode(), trust)
    turns = await conversation(memory, f"{mark}thread", f"{mark}one", f"{mark}two", **more)
    event = {"event_kind": f"{mark}kind", "ref": f"{mark}ref", "artifacts": [uri]}
    made = await memory.remember(SourceKind.EVENT, event, idempotency_key=f"{mark}key", **more)
    state = {"thread_id": f"{mark}w", "state": "planning", "context_summary": f"{mark}now"}
    working = await memory.remember(SourceKind.WORKING_STATE, state, **more)
    working = await memory.remember(SourceKind.WORKING_STATE, {**state, "state": "waiting"}, **more)
    done = {"thread_id": f"{mark}thread", "outcome_status": "success", "reason": f"{mark}reason"}
    episode = await memory.remember(SourceKind.OUTCOME, done, **more)
    request = CaptureRequest(
        source=f"{mark}src",
        source_kind=SourceKind.AGENT_TURN,
        content={"role": "user", "text": f"{mark}failed"},
        scope=more.get("scope"),
    )
    await fail_to_capture(memory, request, trust)
    captured = (fact, derived, secret, *turns, made, working, episode)
    return [one.primary.id for one in captured]


async def test_a_scope_is_erased_and_another_with_the_same_words_is_kept(store: Store) -> None:
    memory = store.memory
    gone = await fill(memory, "Zorblax", store, scope="project:a")
    kept = await fill(memory, "Quux", store, scope="project:b")
    same = (await memory.observe("Zorblaxwho", "likes", "Zorblaxtea", scope="project:b")).primary.id
    deleted = (await memory.observe("it", "was", "there", scope="project:a", reason_to_remember="Fnordwhy")).primary.id
    await memory.revision.revise(memory.trust, Delete(record_id=deleted, rationale="Gruewhy"))
    await store.run_jobs()
    request = Erase(scope="project:a", rationale=WHY)
    previewed = await store.erasure.preview(memory.trust, request)
    progress: list[int] = []
    receipt = (await store.erasure.erase(memory.trust, request, advance=progress.append)).receipt
    assert sum(progress) == sum(previewed.values())
    assert {name: n for name, n in receipt.counts.items() if name.startswith("records.")} == previewed
    assert receipt.finished_at is not None
    assert not any([await store.has(id_) for id_ in gone])
    assert all([await store.has(id_) for id_ in (*kept, same)])
    (scope,) = await memory.rows("SELECT id FROM scope WHERE name = 'project:a'")
    await store.run_jobs()
    for table in ("record", "tombstone", "episode", "entity_term", "fact_slot", "word_change"):
        left = await memory.rows(f"SELECT * FROM {table} WHERE scope = :scope", scope=scope["id"])  # noqa: S608
        assert bool(left) is (table == "tombstone"), table
    counts = "SELECT 1 FROM word_count, unnest(cells) AS packed WHERE packed >> 32 = :scope"
    assert await memory.rows(counts, scope=scope["id"]) == []
    after = await store.everything_stored()
    where = [
        row for row in after.split("\n") if "Zorblax" in row and "Zorblaxwho" not in row and "Zorblaxtea" not in row
    ]
    assert where == []
    assert [marker for marker in ("Zorblaxwhy", "Zorblaxsecret", "Zorblaxbytes", "Zorblaxone", "Fnordwhy", "Gruewhy")
            if marker in after] == []  # fmt: skip
    assert await store.audit_chain_is_valid()
    await store.run_jobs()
    assert await memory.rows("SELECT 1 FROM record WHERE scope = :scope", scope=scope["id"]) == []
    again = await memory.observe("Zorblaxwho", "likes", "Zorblaxtea", scope="project:a")
    assert again.primary.scope == "project:a"


async def test_an_interrupted_erasure_of_a_scope_resumes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = store.memory
    monkeypatch.setattr("stratagraph.memory.erase.batches.BATCH", 3)
    await fill(memory, "Zorblax", store, scope="project:a")
    before = sum((await store.erasure.preview(memory.trust, Erase(scope="project:a"))).values())
    request = Erase(scope="project:a", rationale=WHY, idempotency_key="k")

    def crash(_: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.erasure.erase(memory.trust, request, advance=crash)
    left = sum((await store.erasure.preview(memory.trust, Erase(scope="project:a"))).values())
    assert 0 < left < before
    finished = (await store.erasure.erase(memory.trust, request)).receipt
    assert finished.finished_at is not None
    assert sum(n for name, n in finished.counts.items() if name.startswith("records.")) == before
    assert len(finished.hashes) == before
    assert (await store.erasure.erase(memory.trust, request)).receipt == finished
    assert "Zorblax" not in await store.everything_stored()
    assert len(await memory.rows("SELECT 1 FROM erasure")) == 1
    with pytest.raises(RecordNotFound):
        await store.erase(scope="project:a")


async def test_a_tenant_is_erased_and_another_with_the_same_words_is_kept(store: Store) -> None:
    memory = store.memory
    rival = trust_of(tenant="rival", actor="rivalactor")
    await fill(memory, "Zorblax", store)
    kept = await fill(memory, "Quux", store, trust=rival)
    same = (await memory.observe("Grue", "is", "here", trust=rival)).primary.id
    await memory.observe("Grue", "is", "here")
    await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="Grue"))
    await store.run_jobs()
    (tenant,) = await memory.rows("SELECT id FROM tenant WHERE name = 'acme'")
    await store.erase(record_id=(await memory.turn("old Fnordturn")).primary.id, rationale="an old Fnordreason")
    receipt = await store.erase(tenant="acme", idempotency_key="k")
    tables = await memory.rows(
        "SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'",
    )
    left = {
        row["name"]
        for row in tables
        if await memory.rows(f"SELECT 1 FROM {row['name']} WHERE tenant = :id LIMIT 1", id=tenant["id"])  # noqa: S608
    }
    assert {name for name in left if not name.startswith("sync_log")} == {"erasure"}
    assert await memory.rows("SELECT 1 FROM tenant WHERE name = 'acme'") == []
    after = await store.everything_stored()
    assert [marker for marker in ("Zorblax", "Fnord", "acme") if marker in after] == []
    assert all([await store.has(id_) for id_ in (*kept, same)])
    assert receipt.counts["data_keys"] == 1
    assert receipt.counts["artifacts"] == 1
    assert receipt.counts["audit"] > 0
    again = await store.erase_and_return_result(tenant="acme", idempotency_key="k")
    assert again.replayed
    assert again.receipt == receipt
    with pytest.raises(RecordNotFound):
        await store.erase(tenant="acme")
    with pytest.raises(RecordNotFound):
        await store.erase(tenant="rival")
    await store.run_jobs()
    assert await store.audit_chain_is_valid()
    fresh = await memory.observe("a", "new", "life")  # the name may be used again, by a new and empty tenant
    assert fresh.primary.state is RecordState.ACTIVE
    assert len((await memory.lookup.records(memory.trust, first=100)).records) == 2  # the fact and its subject
    assert receipt.id in {one.id for one in await store.erasure.receipts()}


async def test_an_interrupted_erasure_of_a_tenant_resumes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = store.memory
    monkeypatch.setattr("stratagraph.memory.erase.batches.BATCH", 3)
    await fill(memory, "Zorblax", store)

    def crash(_: int) -> None:
        raise ZeroDivisionError

    request = Erase(tenant="acme", rationale=WHY)
    with pytest.raises(ZeroDivisionError):
        await store.erasure.erase(memory.trust, request, advance=crash)
    assert await memory.rows("SELECT 1 FROM record")
    await store.erasure.erase(memory.trust, request)
    after = await store.everything_stored()
    assert [marker for marker in ("Zorblax", "acme") if marker in after] == []


async def test_the_audit_log_of_an_existing_tenant_cannot_be_deleted(store: Store) -> None:
    memory = store.memory
    await memory.turn("hello")
    (tenant,) = await memory.rows("SELECT id FROM tenant")
    with pytest.raises(StatementFailed, match="InsufficientPrivilege"):
        async with memory.database.background(Role.ERASE) as connection:
            await connection.execute(text("SELECT forget_audit(:id, 9)"), {"id": tenant["id"]})


# Concurrent callers


async def test_a_concurrent_capture_of_the_erased_fact_leaves_a_consistent_state(store: Store) -> None:
    memory = store.memory
    for round_ in range(6):
        fact = (await memory.observe("Alice", "likes", f"tea {round_}", context={"mentions": ["Bob"]})).primary.id

        async def capture(number: int) -> None:
            try:
                await memory.observe("Alice", "likes", f"tea {number}", context={"mentions": ["Bob"]})
            except StoreUnavailable:
                return  # kept as a candidate

        await asyncio.gather(capture(round_), store.erase(record_id=fact), capture(round_))
        assert not await store.has(fact)
        dangling = await memory.rows(
            "SELECT 1 FROM record r WHERE r.type = 4 AND NOT EXISTS (SELECT FROM relation e WHERE e.source = r.id)",
        )
        assert dangling == []
    assert await store.audit_chain_is_valid()


async def test_a_concurrent_mention_of_an_erased_entity_leaves_no_reference_to_it(store: Store) -> None:
    memory = store.memory
    for number in range(5):
        await memory.turn("first", context={"mentions": ["Bob"]})
        bob = await entity_named(memory, "Bob")

        async def mention(text_: str) -> None:
            try:
                await memory.turn(text_, context={"mentions": ["Bob"]})
            except StoreUnavailable:
                return  # kept as a candidate

        await asyncio.gather(mention("a"), store.erase(entity_id=bob), mention("b"))
        assert not await store.has(bob)
        stale = "SELECT 1 FROM record WHERE interpretation::text LIKE '%' || :id || '%'"
        assert await memory.rows(stale, id=str(bob)) == [], number


async def test_concurrent_erasures_of_one_record_make_one_receipt(store: Store) -> None:
    memory = store.memory
    turns = await conversation(memory, "t", "one", "two", "three")
    done = await asyncio.gather(
        *(store.erase(record_id=one.primary.id) for one in (*turns, turns[0])), return_exceptions=True
    )
    assert len([one for one in done if isinstance(one, RecordNotFound)]) == 1
    assert len([one for one in done if isinstance(one, Receipt)]) == 3
    assert await memory.rows("SELECT 1 FROM record") == []
    assert await memory.rows("SELECT 1 FROM episode") == []


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(links=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14), erased=st.integers(0, 3))
async def test_exactly_the_records_without_other_support_are_erased(
    store: Store, links: list[tuple[int, int]], erased: int
) -> None:
    """Compared with the definition: a record is kept while a chain of support from a kept source leads to it."""
    memory = store.memory
    mark = hashlib.sha256(repr((links, erased, memory.clock.now())).encode()).hexdigest()[:8]
    nodes: list[UUID] = []
    support: dict[int, set[int]] = {}
    for number in range(8):
        support[number] = {one for one, other in links if other == number and one < number}
        if support[number]:
            evidence = [item for one in sorted(support[number]) for item in source(nodes[one])]
            made = await memory.observe(f"{mark} {number}", "is", f"{mark}{number}", evidence=evidence)
        else:
            made = await memory.turn(f"{mark} {number}")
        nodes.append(made.primary.id)
    kept = {number for number in support if not support[number] and number != erased}
    for number in range(8):
        if number != erased and support[number] & kept:
            kept.add(number)
    await store.erase(record_id=nodes[erased])
    assert {number for number, id_ in enumerate(nodes) if await store.has(id_)} == kept


@pytest.mark.neo4j
async def test_the_mirror_keeps_only_content_free_tombstones_of_an_erased_scope(store: Store, clean_neo4j: str) -> None:
    memory = store.memory
    gone = await fill(memory, "Zorblax", store, scope="project:a")
    plan = {
        "kind": "plan_graph",
        "plan_id": "Zorblaxplan",
        "version": "1",
        "nodes": [{"id": "a", "op": "Zorblaxop"}],
        "edges": [],
    }
    await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH, scope="project:a")
    await memory.observe("Quux", "is", "here", scope="project:b")
    every = (
        "MATCH (n) OPTIONAL MATCH (n)-[r]->()"
        " RETURN collect([labels(n), properties(n), type(r), properties(r)]) AS found"
    )
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        worker = SyncWorker(memory.database, memory.directory, mirror, SyncConfig())
        await worker.run_once()
        before = str(await mirror.read(every, {}))
        assert "Zorblaxop" in before
        assert "Zorblaxtea" in before
        await store.erase(scope="project:a")
        await worker.run_once()
        after = str(await mirror.read(every, {}))
        assert "Zorblax" not in after
        assert "Quux" in after
        dead = await mirror.read(
            "MATCH (n {id: $id}) RETURN labels(n) AS labels, keys(n) AS keys", {"id": str(gone[0])}
        )
        assert [(row["labels"], sorted(row["keys"])) for row in dead] == [
            (["Mirrored", "Tomb"], ["at", "d", "dead", "gen", "id", "ten", "ver"])
        ]
        await store.erase(tenant="acme")
        await worker.run_once()
        last = str(await mirror.read(every, {}))
        assert "Quux" not in last
        assert await mirror.counts() == (0, 0)
        await worker.release()
