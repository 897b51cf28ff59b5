"""Several revisions in one transaction leave what they leave one by one, in their order; or nothing at all."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_memory import EVIDENCE, Memory, memory_of, trust_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from model.comparing import observe_store

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.revise.request import (
    MAX_REVISIONS,
    Amend,
    Contest,
    Delete,
    Fork,
    Merge,
    Penalize,
    Pin,
    Reinforce,
    RejectDuplicate,
    RemoveLesson,
    ResolveContest,
    Retract,
    Revise,
    Supersede,
    Unmerge,
    VerifyLesson,
)
from stratagraph.memory.revise.service import Revised
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import Access, MemoryType, SourceKind
from stratagraph.store.model.errors import (
    EvidenceRequired,
    IdempotencyMismatch,
    InvalidInput,
    RecordNotFound,
    StratagraphError,
    VersionConflict,
)
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database

FACTS = (("Alice", "works_at", "Acme"), ("Alice", "works_at", "Globex"), ("Bob", "lives_in", "Oslo"))
SKILL = {"skill_name": "deploy", "triggers": [{"signal": "release"}], "recipe": [{"step": "build"}], "version": "1"}
PLACES = st.integers(0, 9)
# A kind of revision, the place of its record, the place of another one, and a word that changes something.
STEP = st.tuples(st.integers(0, 13), PLACES, PLACES, st.sampled_from(["red", "green", "blue"]))


def observed(content: dict[str, Any], **more: Any) -> CaptureRequest:
    return CaptureRequest(source="test", source_kind=SourceKind.OBSERVATION, content=content, **more)


async def begin(memory: Memory, trust: Trust) -> list[UUID]:
    """Fill a tenant, and return the ids of its records by place."""
    facts = [{"subject": one, "predicate": two, "object": three} for one, two, three in FACTS]
    ids = [(await memory.capture.capture(trust, [observed(content)]))[0].primary.id for content in facts]
    sources = [{"source_type": "observation", "source_id": str(ids[0])}]
    derived = {"subject": "Team", "predicate": "knows", "object": "Alice", "evidence": sources}
    requests = [
        observed(derived),
        observed({"canonical_name": "Alice", "types": ["person"]}, proposed_type=MemoryType.ENTITY),
        observed({"canonical_name": "Alicia", "types": ["person"]}, proposed_type=MemoryType.ENTITY),
        observed(SKILL, proposed_type=MemoryType.COMPETENCE),
        CaptureRequest(
            source="test",
            source_kind=SourceKind.WORKING_STATE,
            content={"thread_id": "t", "state": "planning", "next_actions": ["think"]},
        ),
        CaptureRequest(source="test", source_kind=SourceKind.AGENT_TURN, content={"role": "user", "text": "hello"}),
    ]
    ids += [(await memory.capture.capture(trust, [request]))[0].primary.id for request in requests]
    lesson = await memory.lessons.learn(trust, LearnLesson(task="ship", solution="test"))
    return [*ids, lesson.captured.primary.id]


def request_of(step: tuple[int, int, int, str], ids: Sequence[UUID]) -> Revise:
    kind, place, other, word = step
    common: dict[str, Any] = {"record_id": ids[place], "rationale": f"because of {word}"}
    fact = {"subject": "Alice", "predicate": "works_at", "object": word}
    kinds: list[Callable[[], Revise]] = [
        lambda: Retract(**common),
        lambda: Reinforce(**common),
        lambda: Penalize(**common, amount=0.25),
        lambda: Pin(**common, pinned=other % 2 == 0),
        lambda: Amend(**common, changes={"summary": word} if place in (4, 5) else {"object": word}, evidence=EVIDENCE),
        lambda: Amend(**common, changes={"recipe": [{"step": word}], "next_actions": [word], "note": None}),
        lambda: Supersede(**common, payload=fact, evidence=EVIDENCE),
        lambda: Fork(**common, payload=fact, conditions={"place": word}, evidence=EVIDENCE),
        lambda: Contest(**common, contesting_id=ids[other]),
        lambda: ResolveContest(**common, winner_id=ids[other]),
        lambda: Merge(**common, others=(ids[other],)),
        lambda: Unmerge(**common),
        lambda: RejectDuplicate(**common, other_id=ids[other]),
        lambda: VerifyLesson(**common, verified=True) if other % 2 else RemoveLesson(**common),
    ]
    return kinds[kind]()


async def state_of(memory: Memory, trust: Trust, ids: Sequence[UUID], done: Sequence[Revised]) -> Any:
    """Return the store, with each id replaced by its place or by the revision that made it."""
    names = {id_: f"place {place}" for place, id_ in enumerate(ids)}
    for number, one in enumerate(done):
        for place, record in enumerate(one.records):
            names.setdefault(record.id, f"{number}: {record.type.label} {place}")
    root = await memory.directory.resolve(trust)
    found = await observe_store(memory.database, memory.directory, root, memory.clock.now())
    assert not found.problems
    for id_, record in found.records.items():  # entities of names, made beside the records
        names.setdefault(id_, f"{record.type.label} {record.name}")

    def named(value: Any) -> Any:
        text = repr(value)
        for id_, name in names.items():
            text = text.replace(str(id_), name)
        return re.sub(r"candidate:[0-9a-f-]{36}", "candidate", text)

    records = {}
    for id_, record in found.records.items():
        row = found.rows[id_]
        records[names[id_]] = (
            record.state.label,
            row["version"],
            named(record.payload),
            (row["valid_from"], row["valid_to"]),
            round(row["s"], 6),
            row["pinned"],
            found.audits.get(id_),
            sorted(named(source["ref"]) for source in (record.provenance or {}).get("sources", ()))
            if not any(source["ref"].startswith("candidate:") for source in (record.provenance or {})["sources"])
            else None,
        )
    relations = {
        kind: sorted((named(str(source)), named(str(target))) for source, target in edges)
        for kind, edges in found.relations.items()
    }
    return records, relations


async def check(memory: Memory, steps: Sequence[tuple[int, int, int, str]]) -> str:
    one_by_one, together = (trust_of(tenant=f"{name}-{uuid4().hex[:12]}") for name in ("single", "batch"))
    ids = {trust: await begin(memory, trust) for trust in (one_by_one, together)}
    done: list[Revised] = []
    refused: StratagraphError | None = None
    accepted: list[tuple[int, int, int, str]] = []
    for step in steps:
        try:
            done.append(await memory.revision.revise(one_by_one, request_of(step, ids[one_by_one])))
            accepted.append(step)
        except StratagraphError as error:
            refused = error
            break
    # Without what would come after the refused one: its form is checked before any is made.
    requests = [request_of(step, ids[together]) for step in steps[: len(accepted) + 1]]
    if refused is not None:
        before = await state_of(memory, together, ids[together], [])
        with pytest.raises(type(refused)) as raised:
            await memory.revision.revise_all(together, requests, idempotency_key="k")
        at = ["items", str(len(accepted)), requests[len(accepted)].field]
        assert raised.value.path == [*at, *(refused.path or [])]
        assert await state_of(memory, together, ids[together], []) == before
    if accepted:
        again = [
            await memory.revision.revise_all(together, requests[: len(accepted)], idempotency_key="k") for _ in range(2)
        ]
        assert [one.replayed for batch in again for one in batch] == [False] * len(done) + [True] * len(done)
        assert [one.record.id for one in again[0]] == [one.record.id for one in again[1]]
        expected = await state_of(memory, one_by_one, ids[one_by_one], done)
        assert await state_of(memory, together, ids[together], again[0]) == expected
    return "refused" if refused is not None else "accepted"


def test_a_batch_leaves_what_its_revisions_leave_one_by_one(database_url: str) -> None:
    with asyncio.Runner() as runner:
        database = Database(database_url)
        runner.run(database.__aenter__())
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        ends: list[str] = []

        @settings(
            max_examples=20,
            deadline=None,
            phases=[phase for phase in Phase if phase is not Phase.explain],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(STEP, min_size=1, max_size=6))
        def run(steps: list[tuple[int, int, int, str]]) -> None:
            ends.append(runner.run(check(memory, steps)))

        try:
            run()
        finally:
            runner.run(database.__aexit__(None, None, None))
        assert {"refused", "accepted"} <= set(ends)


async def test_a_long_batch_of_accepted_revisions_of_every_kind(memory: Memory) -> None:
    steps = [
        *(
            (3, 6, 0, "red"),
            (4, 4, 0, "red"),
            (4, 4, 0, "blue"),
            (5, 6, 0, "red"),
            (5, 7, 0, "green"),
            (8, 0, 1, "red"),
        ),
        *((9, 0, 1, "red"), (4, 2, 0, "green"), (12, 4, 5, "red"), (10, 4, 5, "red"), (13, 9, 1, "red")),
        *((1, 7, 0, "red"), (2, 9, 0, "red"), (7, 1, 0, "blue"), (0, 1, 0, "red"), (13, 9, 0, "red")),
    ]
    assert await check(memory, steps) == "accepted"


async def test_what_a_batch_may_not_hold_is_refused_by_its_path(memory: Memory) -> None:
    id_ = (await memory.observe("Alice", "works_at", "Acme")).primary.id
    fine = Pin(record_id=id_, rationale="keep", pinned=True)
    many = functools.partial(memory.revision.revise_all, memory.trust)
    for wrong, path in (
        ([], ["items"]),
        ([fine] * (MAX_REVISIONS + 1), ["items"]),
        ([fine, Delete(record_id=id_, rationale="away")], ["items", "1"]),
        (
            [fine, Retract(record_id=id_, rationale="no", idempotency_key="x")],
            ["items", "1", "retract", "idempotencyKey"],
        ),
        ([fine, Retract(record_id=id_, rationale=" ")], ["items", "1", "retract", "rationale"]),
        ([fine, Amend(record_id=id_, rationale="no", changes={})], ["items", "1", "amend", "changes"]),
    ):
        with pytest.raises(InvalidInput) as raised:
            await many(wrong)
        assert raised.value.path == path
        assert raised.value.message.startswith(".".join(path[:3]))
    with pytest.raises(EvidenceRequired) as unproven:
        await many([fine, Amend(record_id=id_, rationale="no", changes={"object": "Initech"})])
    assert unproven.value.path == ["items", "1", "amend", "evidence"]
    with pytest.raises(RecordNotFound) as missing:
        await many([fine, Retract(record_id=uuid4(), rationale="no")])
    assert missing.value.path == ["items", "1", "retract", "recordId"]
    with pytest.raises(VersionConflict) as conflict:
        await many([fine, Retract(record_id=id_, rationale="no", expected_version=7)])
    assert conflict.value.path == ["items", "1", "retract", "expectedVersion"]
    record = await memory.record(id_)
    assert record.lifecycle is not None
    assert not record.lifecycle.pinned


async def test_the_key_of_a_batch_is_that_of_all_its_revisions(memory: Memory) -> None:
    id_ = (await memory.observe("Alice", "works_at", "Acme")).primary.id
    pins = [Pin(record_id=id_, rationale="keep", pinned=pinned) for pinned in (True, False)]
    await memory.revision.revise_all(memory.trust, pins, idempotency_key="k")
    for other in (pins[:1], [*pins, pins[0]], pins[::-1]):
        with pytest.raises(IdempotencyMismatch):
            await memory.revision.revise_all(memory.trust, other, idempotency_key="k")
    with pytest.raises(IdempotencyMismatch):
        await memory.revision.revise(
            memory.trust, Pin(record_id=id_, rationale="keep", pinned=True, idempotency_key="k")
        )


async def test_batches_of_the_same_records_in_other_orders_end_all(memory: Memory) -> None:
    ids = [(await memory.observe(f"Person {n}", "works_at", "Acme")).primary.id for n in range(6)]

    async def revise(order: Sequence[UUID], word: str) -> list[Revised]:
        changes = [Amend(record_id=one, rationale=word, changes={"note": word}, evidence=EVIDENCE) for one in order]
        return await memory.revision.revise_all(memory.trust, changes)

    done = await asyncio.gather(
        *(revise(ids if n % 2 else ids[::-1], f"word {n}") for n in range(6)), return_exceptions=True
    )
    won = [one for one in done if not isinstance(one, BaseException)]
    assert len(won) == 1  # the others find the records superseded
    assert all(isinstance(one, VersionConflict) for one in done if isinstance(one, BaseException))
    (notes,) = {frozenset((one.record.payload or {})["note"] for one in won[0])}
    assert len(notes) == 1
    reader = trust_of(actor="reader", access=Access.READ)
    with pytest.raises(StratagraphError):
        await memory.revision.revise_all(reader, [Pin(record_id=ids[0], rationale="no", pinned=True)])


async def test_batches_and_single_writers_of_the_same_names_all_end(memory: Memory) -> None:
    """A batch takes the locks of all its revisions in the order of single writers, so none waits for another one."""
    people = [f"Person {number}" for number in range(4)]
    ids = [await memory.entity(name) for name in people]
    facts = [(await memory.observe(name, "works_at", "Acme")).primary.id for name in people]

    async def batch(number: int) -> None:
        turned = [*facts[number % 4 :], *facts[: number % 4]]
        changes: list[Revise] = [
            Amend(
                record_id=one,
                changes={"object": f"Firm {number}", "subject": people[-1 - place]},
                evidence=EVIDENCE,
                rationale=f"batch {number}",
            )
            for place, one in enumerate(turned[:2])
        ]
        changes.append(Amend(record_id=ids[number % 4], changes={"aliases": [{"value": f"P{number}"}]}, rationale="so"))
        await memory.revision.revise_all(memory.trust, changes)

    async def single(number: int) -> None:
        fact = {"subject": people[number % 4], "predicate": "works_at", "object": f"Place {number}"}
        change = Supersede(record_id=facts[number % 4], payload=fact, evidence=EVIDENCE, rationale="single")
        await memory.revision.revise(memory.trust, change)

    async def capture(number: int) -> None:
        fact = {"subject": people[-1 - number % 4], "predicate": "works_at", "object": f"Firm {number}"}
        await memory.capture.capture(memory.trust, [observed({**fact, "revision_policy": "replace"})])

    works = [work(number) for number in range(6) for work in (batch, single, capture)]
    done = await asyncio.gather(*works, return_exceptions=True)
    assert {type(one) for one in done if one is not None} <= {VersionConflict}
    assert sum(one is None for one in done) >= 6  # all captures, at least
    assert await memory.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
