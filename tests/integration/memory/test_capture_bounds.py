"""What the edge of captures and revisions refuses (docs/specification.md, Capture and Relations)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_memory import Memory, memory_of, trust_of
from sqlalchemy import text

from stratagraph.memory.requests.bounds import MAX_AHEAD
from stratagraph.memory.revise.request import Contest, Supersede
from stratagraph.store.keys import directory
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION, rfc3339
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import EvidenceRequired, InvalidInput, LimitExceeded, StratagraphError
from stratagraph.store.model.predicates import INVERSES, LINEAGE, inverse

KIND, TIME = {"kind": "human", "ref": "ticket-7"}, "2026-05-01T10:00:00Z"
FACT = {"subject": "Kestrel", "predicate": "uses", "object": "tea"}


@pytest.mark.parametrize(
    ("entry", "field", "error"),
    [
        ({**KIND, "kind": "rumour"}, "kind", InvalidInput),
        ({"ref": "ticket-7"}, "kind", InvalidInput),
        ({"source_type": "gossip", "source_id": "x"}, "source_type", InvalidInput),
        ({"kind": "human"}, "ref", InvalidInput),
        ({**KIND, "ref": " \t"}, "ref", InvalidInput),
        ({**KIND, "ref": 7}, "ref", InvalidInput),
        ({"source_type": "event", "source_id": ""}, "source_id", InvalidInput),
        ({**KIND, "timestamp": "2026-05-01T10:00:00"}, "timestamp", InvalidInput),
        ({**KIND, "timestamp": "yesterday"}, "timestamp", InvalidInput),
        ({**KIND, "timestamp": 1_777_000_000}, "timestamp", InvalidInput),
        ({"note": "no source"}, None, EvidenceRequired),
        ("ticket-7", None, InvalidInput),
    ],
)
async def test_evidence_is_checked_alike_in_captures_and_revisions(
    memory: Memory, entry: Any, field: str | None, error: type[StratagraphError]
) -> None:
    kept = (await memory.observe("Kestrel", "is", "new")).primary.id
    tail = ["evidence", "1", *([field] if field else [])]
    with pytest.raises(error) as captured:
        await memory.observe("Kestrel", "uses", "tea", evidence=[KIND, entry])
    assert captured.value.path == ["content", *tail]
    payload = {**FACT, "validity": {"mode": "global"}}
    for request in (
        Supersede(record_id=kept, rationale="x", payload=payload, evidence=(KIND, entry)),
        Contest(record_id=kept, rationale="x", evidence=(KIND, entry)),
    ):
        with pytest.raises(error) as revised:
            await memory.revision.revise(memory.trust, request)
        assert revised.value.path == tail
    with pytest.raises(error) as given:
        await memory.revision.revise(
            memory.trust,
            Supersede(record_id=kept, rationale="x", payload={**payload, "evidence": [KIND, entry]}),
        )
    assert given.value.path == ["payload", *tail]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"source_type": "tool", "source_id": "tool://git", "timestamp": TIME}, "tool_call"),
        ({"source_type": "observation", "source_id": "note 3"}, "observation"),
        ({**KIND, "timestamp": "2026-05-01T12:00:00+02:00"}, "human"),
    ],
)
async def test_both_forms_of_evidence_become_sources(memory: Memory, given: dict[str, Any], kind: str) -> None:
    fact = (await memory.observe("Kestrel", "uses", "tea", evidence=[given])).primary
    assert fact.provenance is not None
    (source,) = fact.provenance["sources"]
    assert (source["kind"], source["ref"]) == (kind, given.get("source_id") or given["ref"])
    if "timestamp" in given:
        assert source["timestamp"] == TIME


async def test_an_event_may_lie_five_minutes_ahead_and_no_more(memory: Memory) -> None:
    def whole(instant: str) -> dict[str, Any]:
        past = {"t": TIME, "event_kind": "note", "ref": ""}
        return {"timeline": [{**past, "t": instant}, past]}

    latest = memory.clock.now() + timedelta(seconds=1) + MAX_AHEAD
    await memory.turn("on time", timestamp=latest)
    memory.clock.forward(-timedelta(seconds=1))
    with pytest.raises(InvalidInput, match="5 minutes ahead") as caught:
        await memory.turn("too early", timestamp=latest + RESOLUTION)
    assert caught.value.path == ["timestamp"]
    memory.clock.forward(-timedelta(seconds=1))
    await memory.remember(SourceKind.EPISODE, whole(rfc3339(latest)))
    memory.clock.forward(-timedelta(seconds=1))
    with pytest.raises(InvalidInput, match="5 minutes ahead") as caught:
        await memory.remember(SourceKind.EPISODE, whole(rfc3339(latest + RESOLUTION)))
    assert caught.value.path == ["content", "timeline"]


async def test_evidence_may_lie_five_minutes_ahead_and_no_more(memory: Memory) -> None:
    """In captures and in revisions; a fact with evidence of next year would make every correction late news."""
    latest = memory.clock.now() + timedelta(seconds=1) + MAX_AHEAD
    on_time, early = ({**KIND, "timestamp": rfc3339(at)} for at in (latest, latest + RESOLUTION))
    kept = (await memory.observe("Kestrel", "uses", "tea", evidence=[on_time])).primary.id
    memory.clock.forward(-timedelta(seconds=1))
    with pytest.raises(InvalidInput, match="5 minutes ahead") as caught:
        await memory.observe("Kestrel", "uses", "coffee", evidence=[KIND, early])
    assert caught.value.path == ["content", "evidence", "1", "timestamp"]
    for request, path in (
        (Supersede(record_id=kept, rationale="x", payload=FACT, evidence=(early,)), ["evidence"]),
        (Supersede(record_id=kept, rationale="x", payload={**FACT, "evidence": [early]}), ["payload", "evidence"]),
        (Contest(record_id=kept, rationale="x", evidence=(early,)), ["evidence"]),
    ):
        with pytest.raises(InvalidInput, match="5 minutes ahead") as caught:
            await memory.revision.revise(memory.trust, request)
        assert caught.value.path == [*path, "0", "timestamp"]


async def test_evidence_without_a_reference_is_refused_as_such(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"evidence\.0\.ref: is missing"):
        await memory.observe("Kestrel", "uses", "tea", evidence=[{"kind": "human"}])


async def test_a_fact_may_hold_from_a_later_time(memory: Memory) -> None:
    start = rfc3339(memory.clock.now() + timedelta(days=365))
    fact = (await memory.observe("Kestrel", "uses", "coffee", validity={"mode": "timeboxed", "start": start})).primary
    assert fact.payload is not None
    assert fact.payload["validity"]["start"] == start


async def test_a_global_fact_takes_no_conditions(memory: Memory) -> None:
    for more in (
        {"validity": {"mode": "global", "conditions": {"team": "core"}}},
        {"validity": {"mode": "global"}, "conditions": {"team": "core"}},
    ):
        with pytest.raises(InvalidInput, match="use the mode conditional") as caught:
            await memory.observe("Kestrel", "uses", "tea", **more)
        assert caught.value.path == ["content", "validity"]


TURN = {"role": "user", "text": "hello"}


@pytest.mark.parametrize(
    ("kind", "content", "more"),
    [
        (SourceKind.OBSERVATION, {**FACT, "subject": " "}, {}),
        (SourceKind.OBSERVATION, {**FACT, "predicate": "\t"}, {}),
        (SourceKind.OBSERVATION, {**FACT, "predicate": "--"}, {}),
        (SourceKind.AGENT_TURN, TURN, {"context": {"mentions": [" "]}}),
        (SourceKind.AGENT_TURN, TURN, {"context": {"mentions": [{"name": "\n"}]}}),
        (SourceKind.AGENT_TURN, TURN, {"context": {"mentions": [{"name": "A", "aliases": [" "]}]}}),
        (SourceKind.AGENT_TURN, TURN, {"context": {"mentions": [{"name": "A", "aliases": [{"value": " "}]}]}}),
        (
            SourceKind.AGENT_TURN,
            TURN,
            {"context": {"mentions": [{"name": "A", "identifiers": [{"namespace": " ", "value": "x"}]}]}},
        ),
        (
            SourceKind.AGENT_TURN,
            TURN,
            {"context": {"mentions": [{"name": "A", "identifiers": [{"namespace": "x", "value": " "}]}]}},
        ),
        (SourceKind.AGENT_TURN, TURN, {"context": {"references": [" "]}}),
        (SourceKind.AGENT_TURN, TURN, {"idempotency_key": " "}),
        (SourceKind.AGENT_TURN, {**TURN, "thread_id": " "}, {}),
        (SourceKind.AGENT_TURN, {**TURN, "ref": " "}, {}),
        (SourceKind.WORKING_STATE, {"thread_id": " ", "state": "planning"}, {}),
        (SourceKind.OBSERVATION, {"canonical_name": " "}, {"proposed_type": MemoryType.ENTITY}),
    ],
)
async def test_blank_names_and_references_are_refused(
    memory: Memory, kind: SourceKind, content: dict[str, Any], more: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        await memory.remember(kind, content, **more)


async def test_predicates_of_facts_have_one_spelling(memory: Memory) -> None:
    ids = set()
    for said in ("works at", "Works At", "works-at", "worksAt", "works_at", "  works  at "):
        fact = (await memory.observe("Alice", said, "Acme")).primary
        assert fact.payload is not None
        assert fact.payload["predicate"] == "works_at"
        ids.add(fact.id)
    assert len(ids) == 1
    done = await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=ids.pop(),
            rationale="moved",
            payload={"subject": "Alice", "predicate": "worksAt", "object": "Beta", "validity": {"mode": "global"}},
            evidence=(KIND,),
        ),
    )
    assert done.record.payload is not None
    assert done.record.payload["predicate"] == "works_at"


SYSTEM = sorted({*LINEAGE, *(inverse(name) for name in LINEAGE), *(f"inverse_of:{name}" for name in LINEAGE)})


@pytest.mark.parametrize("predicate", SYSTEM)
async def test_relations_of_the_system_are_refused_in_references(memory: Memory, predicate: str) -> None:
    target = str((await memory.turn("first")).primary.id)
    with pytest.raises(InvalidInput, match=r"written by the system only; (use|give|name)") as caught:
        await memory.turn("second", context={"references": [{"ref": target, "predicate": predicate}]})
    assert caught.value.path == ["context", "references", "0", "predicate"]


@pytest.mark.parametrize("predicate", sorted({*INVERSES} - LINEAGE))
async def test_other_relations_of_the_registry_stay_open(memory: Memory, predicate: str) -> None:
    target = (await memory.turn("first")).primary.id
    for name in (predicate, inverse(predicate)):
        done = await memory.turn("second", context={"references": [{"ref": str(target), "predicate": name}]})
        assert {edge.predicate for edge in done.edges if target in (edge.source, edge.target)} == {predicate}


async def test_a_new_skill_rests_on_the_evidence_of_its_revision(memory: Memory) -> None:
    """It is given apart from the payload, and not as a reference, which callers may not use for it."""
    source = (await memory.turn("the old way fails")).primary.id
    skill = {"skill_name": "deploy", "triggers": [{"signal": "release"}], "recipe": [{"step": "push"}]}
    kept = await memory.remember(SourceKind.OBSERVATION, skill, proposed_type=MemoryType.COMPETENCE)
    done = await memory.revision.revise(
        memory.trust,
        Supersede(
            record_id=kept.primary.id,
            rationale="better",
            payload={**skill, "recipe": [{"step": "tag"}]},
            evidence=({"kind": "event", "ref": str(source)},),
        ),
    )
    assert ("derived_semantic", source, done.record.id) in {(e.predicate, e.source, e.target) for e in done.edges}


def bounded(memory: Memory, limit: int) -> Memory:
    made = memory_of(memory.database, Directory(memory.database, memory.directory.vault, max_free_predicates=limit))
    made.clock.at = memory.clock.at
    return made


async def refer(memory: Memory, target: UUID, predicate: str, **more: Any) -> None:
    await memory.turn("x", context={"references": [{"ref": str(target), "predicate": predicate}]}, **more)


async def test_a_credential_uses_a_bounded_number_of_predicates_of_its_own(memory: Memory) -> None:
    target = (await memory.turn("first")).primary.id
    store = bounded(memory, 3)
    for number in range(3):
        await refer(store, target, f"p{number}")
    with pytest.raises(LimitExceeded, match="3 predicates of its own") as caught:
        await refer(store, target, "p3")
    assert caught.value.path == ["context", "references"]
    await refer(store, target, "p0")
    await refer(store, target, "caused_by")
    await refer(store, target, "p3", trust=trust_of(actor="other"))
    again = bounded(memory, 3)  # another process
    await refer(again, target, "p2")
    with pytest.raises(LimitExceeded):
        await refer(again, target, "p4")


async def test_at_the_limit_of_the_tenant_no_predicate_shows_that_others_use_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "MAX_PREDICATES", len(INVERSES.keys() | LINEAGE) + 3)
    target = (await memory.turn("first")).primary.id
    for name in ("p0", "p1"):
        await refer(memory, target, name)
    other = trust_of(actor="other")
    await refer(memory, target, "p0", trust=other)  # within the limit, whoever uses it
    await refer(memory, target, "p2")
    messages = set()
    for name in ("p1", "p2", "p3"):
        with pytest.raises(LimitExceeded, match="this tenant would have more than") as refused:
            await refer(memory, target, name, trust=other)
        messages.add(refused.value.message)
    assert len(messages) == 1
    await refer(memory, target, "p0", trust=other)
    await refer(memory, target, "caused_by", trust=other)  # of the registry, and new to the tenant


async def test_predicates_claimed_at_once_stay_within_the_limit(memory: Memory) -> None:
    target = (await memory.turn("first")).primary.id
    stores = [bounded(memory, 5) for _ in range(4)]
    done = await asyncio.gather(
        *(refer(store, target, f"q{index}_{number}") for number in range(4) for index, store in enumerate(stores)),
        return_exceptions=True,
    )
    refused = [one for one in done if one is not None]
    assert all(isinstance(one, LimitExceeded) for one in refused)
    assert len(done) - len(refused) == 5
    async with memory.database.engine.begin() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM free_predicate"))).scalar_one() == 5


async def test_an_unknown_ref_is_no_error(memory: Memory) -> None:
    await refer(memory, uuid4(), "caused_by")
