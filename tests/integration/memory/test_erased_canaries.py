"""A word planted in every text that a caller can write is found nowhere after the erasure of what it was written about:
in no column of any table, no file, no decrypted content and no log.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_erasing import Store, entity_named, fail_to_capture
from fix_memory import trust_of

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.retrieve.request import RetrieveRequest
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
    Revise,
    Supersede,
    Unmerge,
)
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind

NAME = "Zqxname Zqxfamily"
HIGH = Sensitivity.HIGH
# The names of relations' predicates stay until the tenant is erased (docs/erasing.md).
PREDICATES = {"predicate.name", "free_predicate.name"}


class Planting:
    """Writes about NAME through every operation, with a canary in each text: a word that occurs nowhere else.

    `canaries` has them all. `facts` are the facts about NAME, in order of their capture.
    """

    def __init__(self, store: Store, *, scope: str, sensitivity: Sensitivity) -> None:
        self.store, self.memory = store, store.memory
        self.scope, self.sensitivity = scope, sensitivity
        self.canaries = ["zqxname", "zqxfamily"]
        self.facts: list[UUID] = []

    def word(self, what: str) -> str:
        self.canaries.append(f"zqx{len(self.canaries):03}{what}")
        return self.canaries[-1]

    def words(self, *what: str) -> dict[str, str]:
        """Return a canary for each of the fields `what`."""
        return {field: self.word(field.replace("_", "")) for field in what}

    async def capture(self, kind: SourceKind, content: dict[str, Any], **more: Any) -> Captured:
        """Capture about NAME, with a canary in each text that captures of every kind have."""
        word = self.word
        mention = {
            "name": NAME,
            "type": "Person",
            "aliases": [{"value": word("alias")}],
            "identifiers": [{"namespace": word("namespace"), "value": word("identifier")}],
        }
        context = {"mentions": [mention], "references": [word("reference")], "labels": [word("label")]}
        self.memory.clock.forward(timedelta(seconds=1))
        request = CaptureRequest(
            source=word("source"),
            source_kind=kind,
            content=content,
            context={**context, word("contextkey"): word("contextvalue")},
            reason_to_remember=word("reason"),
            summary=word("summary"),
            tags=(word("tag"),),
            idempotency_key=word("key"),
            scope=self.scope,
            sensitivity=self.sensitivity,
            **more,
        )
        return (await self.memory.capture.capture(self.memory.trust, [request]))[0]

    async def fact(self) -> UUID:
        """Capture a fact about NAME with canaries in its predicate, object and evidence."""
        content: dict[str, Any] = {
            "subject": NAME,
            "predicate": self.word("factpredicate"),
            "object": self.word("object"),
        }
        content["conditions"] = {"environment": [self.word("condition")]}
        content["evidence"] = [{"kind": "human", **self.words("ref", "hash", "created_by", "quote")}]
        self.facts.append((await self.capture(SourceKind.OBSERVATION, content)).primary.id)
        return self.facts[-1]

    async def revise(self, make: type[Revise], record: UUID, **more: Any) -> UUID:
        self.memory.clock.forward(timedelta(seconds=1))
        request = make(record_id=record, rationale=self.word("rationale"), idempotency_key=self.word("key"), **more)
        return (await self.memory.revision.revise(self.memory.trust, request)).record.id

    def evidence(self) -> tuple[dict[str, Any], ...]:
        return ({"source_type": "document", "source_id": self.word("evidenceref"), "quote": self.word("quote")},)

    def payload(self) -> dict[str, Any]:
        return {
            "kind": "semantic",
            "subject": NAME,
            "predicate": self.word("newpredicate"),
            "object": self.word("newobject"),
            "validity": {"mode": "global"},
        }

    async def plant_captures(self) -> None:
        """Capture every kind of source and type of record."""
        thread = self.word("thread")
        uri = await self.store.put(self.word("bytes").encode())
        event = {"thread_id": thread, **self.words("event_kind", "ref", "tool", "artifact_name"), "artifacts": [uri]}
        await self.capture(SourceKind.EVENT, event)
        await self.capture(SourceKind.AGENT_TURN, {"role": "user", "text": self.word("passing")})
        await self.capture(SourceKind.AGENT_TURN, {"thread_id": thread, "role": "user", "text": self.word("text")})
        call = {"thread_id": thread, **self.words("tool_name", "call_id", "result"), "args": self.words("arg")}
        await self.capture(SourceKind.TOOL_OUTPUT, call)
        state = {"thread_id": self.word("thread"), **self.words("context_summary"), "state": "planning"}
        await self.capture(SourceKind.WORKING_STATE, {**state, "next_actions": [self.word("action")]})
        await self.capture(SourceKind.WORKING_STATE, {**state, "open_questions": [self.word("question")]})
        step = {"step": self.word("step"), "tool": self.word("tool"), "validation": self.word("validation")}
        skill: dict[str, Any] = {"skill_name": self.word("skill"), "triggers": [{"signal": self.word("signal")}]}
        skill["recipe"] = [step]
        await self.capture(SourceKind.OBSERVATION, skill, proposed_type=MemoryType.COMPETENCE)
        for _ in range(2):  # the second one is merged with the first
            lesson = {
                "task": "told to nobody",
                **self.words("solution", "mistake", "trigger", "code_example", "source"),
            }
            procedure: dict[str, Any] = {
                "triggers": [{"signal": self.word("signal")}],
                "recipe": [{"step": self.word("step")}],
            }
            procedure |= {"skill_name": self.word("lesson"), "lesson": lesson}
            await self.capture(SourceKind.OBSERVATION, procedure, proposed_type=MemoryType.COMPETENCE)
        plan: dict[str, Any] = {**self.words("plan_id", "version", "intent"), "edges": []}
        plan["nodes"] = [{"id": self.word("node"), "op": self.word("op"), "params": self.words("param")}]
        await self.capture(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH)
        done = {"thread_id": thread, "outcome_status": "success", "reason": self.word("outcomereason")}
        await self.capture(SourceKind.OUTCOME, done)
        request = CaptureRequest(
            source=self.word("failedsource"),
            source_kind=SourceKind.AGENT_TURN,
            content={"role": "user", "text": f"{NAME} {self.word('failed')}"},
            scope=self.scope,
            sensitivity=self.sensitivity,
        )
        await fail_to_capture(self.memory, request)

    async def plant_revisions(self) -> UUID:
        """Revise facts about NAME in every way; return the first one, which has a rationale of most kinds."""
        first = await self.fact()
        await self.revise(Pin, first, pinned=True)
        await self.revise(Reinforce, first)
        await self.revise(Penalize, first, amount=0.1)
        await self.revise(Contest, first, evidence=self.evidence())
        await self.revise(ResolveContest, first, winner_id=first)
        await self.revise(Contest, first, contesting_id=await self.fact())
        await self.revise(ResolveContest, first, winner_id=first)
        fork = {"payload": {"kind": "semantic", "object": self.word("forked")}, "conditions": {"environment": ["x"]}}
        await self.revise(Fork, first, **fork, evidence=self.evidence())
        await self.revise(Contest, first, evidence=self.evidence())  # it stays open
        await self.revise(Supersede, await self.fact(), payload=self.payload(), evidence=self.evidence())
        await self.revise(Retract, await self.fact())
        await self.revise(Delete, await self.fact())
        return first

    async def plant_merge(self) -> None:
        """Merge another entity into the one of NAME and take it out again, and merge one for good."""
        kept = await entity_named(self.memory, NAME)
        for unmerged in (True, False):
            other = {"canonical_name": self.word("othername"), "primary_type": "Person"}
            await self.capture(SourceKind.OBSERVATION, other, proposed_type=MemoryType.ENTITY)
            (merged,) = {await entity_named(self.memory, other["canonical_name"])}
            await self.revise(Merge, kept, others=(merged,))
            if unmerged:
                await self.revise(Unmerge, merged)
                await self.store.erase(entity_id=merged)

    async def plant_traces(self) -> None:
        """Leave canaries and ids in logs, dead letters and parked jobs, as failures do."""
        await self.memory.retrieve.retrieve(self.memory.trust, RetrieveRequest(task_descriptor=NAME))
        assert (await self.memory.lessons.playbook(self.memory.trust)).lessons
        record, error = self.facts[0], self.word("error")
        values = {"id": record, "error": error, "at": self.memory.clock.now()}
        (row,) = await self.memory.rows("SELECT tenant FROM record WHERE id = :id", id=record)
        await self.memory.rows(
            "INSERT INTO job_set_aside (job, tenant, id, error, attempts, since, next_try_at)"
            " VALUES ('prune', :tenant, :id, :error, 1, :at, :at) RETURNING id",
            tenant=row["tenant"],
            **values,
        )


async def planted(store: Store, **where: Any) -> Planting:
    planting = Planting(store, **where)
    await planting.plant_captures()
    await planting.plant_revisions()
    await planting.plant_traces()
    return planting


async def assert_gone(store: Store, canaries: list[str]) -> None:
    """Check that no canary is stored anywhere, also after all jobs have run, and that the audit log is whole."""
    for _ in range(2):
        assert await store.holding(canaries) == {}
        kept = "\n".join([*await store.decrypted(), *(path.name for path in store.files.rglob("*"))]).lower()
        kept += "".join(path.read_bytes().decode(errors="replace") for path in store.files.rglob("*") if path.is_file())
        assert [word for word in canaries if word in kept] == []
        await store.run_jobs()
    assert await store.audit_chain_is_valid()


@pytest.mark.parametrize("sensitivity", [Sensitivity.LOW, HIGH], ids=["plain", "sealed"])
async def test_an_entity_leaves_no_canary(
    store: Store, sensitivity: Sensitivity, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    planting = await planted(store, scope="project:a", sensitivity=sensitivity)
    await planting.plant_merge()
    other = await store.memory.turn("somebody else was here", scope="project:a")
    await store.erase(record_id=other.primary.id, rationale=f"{NAME} asked, {planting.word('receipt')}")
    stored = "\n".join([await store.everything_stored(), *await store.decrypted()]).lower()
    assert len([word for word in planting.canaries if word in stored]) > len(planting.canaries) / 3
    store.memory.clock.forward(timedelta(hours=11))  # events that belong to no thread are pruned
    await store.run_jobs()
    assert {row["cause"] for row in await store.memory.rows("SELECT cause FROM tombstone")} == {1, 2, 3}
    await store.erase(entity_id=await entity_named(store.memory, NAME))
    await assert_gone(store, planting.canaries)
    for table, columns in (await store.tables()).items():
        if "sealed" in columns:
            assert await store.memory.rows(f"SELECT FROM {table} WHERE sealed IS NOT NULL") == []
    out, err = capfd.readouterr()
    assert "zqx" not in (caplog.text + out + err).lower()


async def test_an_event_takes_along_what_was_learned_of_it(store: Store) -> None:
    """The summary and the facts of its episode quote it, and rest on the episode, of which other events are left."""
    memory, event = store.memory, UUID(int=0)
    for thread, seen in (("one", "zqxseen the letter"), ("two", "the lamp is lit")):
        for summary in (seen, "the door was opened"):
            content = {"thread_id": thread, "event_kind": "step", "summary": summary}
            kept = await memory.remember(SourceKind.EVENT, content, scope="project:a")
            event = kept.primary.id if summary.startswith("zqx") else event
        await memory.remember(SourceKind.OUTCOME, {"thread_id": thread, "outcome_status": "success"}, scope="project:a")
    await store.run_jobs()
    learned = [row["name"] for row in await memory.rows("SELECT name FROM record WHERE type = 4 ORDER BY name")]
    assert len(learned) == 3
    assert len(await store.holding(["zqxseen"])) > 1
    await store.erase(record_id=event)
    await assert_gone(store, ["zqxseen"])
    left = [row["name"] for row in await memory.rows("SELECT name FROM record WHERE type = 4 ORDER BY name")]
    assert left == [name for name in learned if "zqx" not in name]  # the other episode still shows the other event


async def test_a_record_takes_what_was_written_against_it_along(store: Store) -> None:
    """Its rationales and counter-evidence; other records about the same name stay, without what they shared with it."""
    planting = Planting(store, scope="project:a", sensitivity=Sensitivity.LOW)
    memory = store.memory
    other = (await memory.observe("Rome", "is_in", "Italy", scope="project:a")).primary.id
    first = await planting.fact()
    await planting.revise(Pin, first, pinned=True)
    await planting.revise(Contest, first, evidence=planting.evidence())
    await planting.revise(ResolveContest, first, winner_id=first)
    await planting.revise(Contest, first, contesting_id=other)
    await planting.revise(ResolveContest, first, winner_id=other)
    assert (await memory.rows("SELECT count(*) AS n FROM record WHERE type = 1"))[0]["n"] == 1
    receipt = await store.erase(record_id=first)
    assert receipt.counts["records.episodic"] == 1
    await assert_gone(store, planting.canaries)
    assert await store.has(other)


async def test_an_event_that_contests_two_records_stays_with_the_other(store: Store) -> None:
    memory = store.memory
    note = (await memory.turn("the minutes of the meeting say otherwise")).primary.id
    one = (await memory.observe("Bob", "lives_in", "Rome")).primary.id
    two = (await memory.observe("Ann", "lives_in", "Rome")).primary.id
    for record in (one, two):
        await memory.revision.revise(memory.trust, Contest(record_id=record, contesting_id=note, rationale="no"))
    await store.erase(record_id=one)
    assert await store.has(note)


async def test_a_scope_leaves_no_canary(store: Store) -> None:
    planting = await planted(store, scope="project:a", sensitivity=Sensitivity.LOW)
    await planting.plant_merge()
    reason = planting.word("receipt")
    record = (await store.memory.turn("an old turn", scope="project:a")).primary.id
    await store.erase(record_id=record, rationale=reason)
    await store.memory.turn("another scope", scope="project:b")
    await store.erase(scope="project:a")
    await assert_gone(store, planting.canaries)


async def test_a_tenant_leaves_no_canary_not_even_its_predicates(store: Store) -> None:
    planting = await planted(store, scope="zqxscope", sensitivity=Sensitivity.LOW)
    first = planting.facts[0]
    predicate = planting.word("predicate")
    reference = {"ref": str(first), "predicate": predicate}
    await store.memory.turn("see above", scope="zqxscope", context={"references": [reference]})
    assert (await store.holding([predicate])).keys() >= PREDICATES
    kept = await store.memory.turn("kept", trust=trust_of(tenant="rival"))
    await store.erase(tenant="acme")
    assert await store.has(kept.primary.id)
    await assert_gone(store, [*planting.canaries, "zqxscope", "acme"])


async def test_only_the_name_of_a_relations_predicate_stays_of_a_record(store: Store) -> None:
    one = (await store.memory.turn("first")).primary.id
    reference = {"ref": str(one), "predicate": "zqxpredicate"}
    two = (await store.memory.turn("second", context={"references": [reference]})).primary.id
    await store.erase(record_id=two)
    assert (await store.holding(["zqxpredicate"])).keys() == PREDICATES
