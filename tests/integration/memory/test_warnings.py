"""What a request gives and the service does not use, its receipt says; what may not be seen moves no warning."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_memory import EVIDENCE, Memory, trust_of

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.feedback.request import OutcomeReport
from stratagraph.memory.lessons.request import LearnLesson
from stratagraph.memory.requests.warnings import RequestWarning, WarningCode
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Amend, Fork, Merge, Retract, Supersede
from stratagraph.store.model.enums import Access, MemoryType, Outcome, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput

Noted = list[tuple[WarningCode, str]]
TURN = {"role": "user", "text": "hello"}
CALL: dict[str, Any] = {"tool_name": "grep", "args": {}, "result": None}
FACT = {"subject": "Ann", "predicate": "knows", "object": "Bo"}


def noted(answer: Any) -> Noted:
    """Return code and path of each warning, after a check of its form."""
    warnings: tuple[RequestWarning, ...] = answer.warnings
    for one in warnings:
        assert one.message.startswith(".".join(one.path) or "the"), one
    return [(one.code, ".".join(one.path)) for one in warnings]


async def test_what_is_used_is_not_warned_of(memory: Memory) -> None:
    earlier = await memory.remember(SourceKind.EVENT, {"event_kind": "deploy", "ref": "deploy-7", "thread_id": "t"})
    first = await memory.remember(SourceKind.TOOL_OUTPUT, {**CALL, "call_id": "c1", "thread_id": "t"})
    context = {
        "mentions": ["Ann", {"name": "Bo", "type": "Person", "aliases": ["Bob"]}],
        "references": ["deploy-7", str(earlier.primary.id), {"ref": "deploy-7", "predicate": "caused_by"}],
        "labels": ["ops"],
    }
    second = await memory.remember(
        SourceKind.TOOL_OUTPUT, {**CALL, "depends_on": ["c1"], "thread_id": "t", "my_own": 1}, context=context
    )
    fact = await memory.remember(SourceKind.OBSERVATION, {**FACT, "evidence": list(EVIDENCE), "revision": {}})
    assert [noted(one) for one in (earlier, first, second, fact)] == [[], [], [], []]


@pytest.mark.parametrize(
    ("kind", "content", "context", "expected"),
    [
        (SourceKind.AGENT_TURN, {**TURN, "thread": "t"}, None, [("KEY_RESEMBLES_KNOWN", "content.thread")]),
        (SourceKind.EVENT, {"sumary": "x"}, None, [("KEY_RESEMBLES_KNOWN", "content.sumary")]),
        (SourceKind.EVENT, {}, {"thread_id": "t"}, [("KEY_NOT_READ", "context.thread_id")]),
        (SourceKind.EVENT, {}, {"references": ["no such"]}, [("REFERENCE_NOT_FOUND", "context.references.0")]),
        (
            SourceKind.EVENT,
            {"ref": "me"},
            {"references": [{"ref": "me"}]},
            [("REFERENCE_NOT_FOUND", "context.references.0")],
        ),
        (SourceKind.EVENT, {}, {"artifacts": ["a.txt"]}, [("VALUE_NOT_USED", "context.artifacts.0")]),
        (SourceKind.EVENT, {}, {"labels": [str(n) for n in range(13)]}, [("VALUE_NOT_USED", "context.labels")]),
        (SourceKind.TOOL_OUTPUT, {**CALL, "depends_on": ["c"]}, None, [("CALL_NOT_FOUND", "content.depends_on")]),
        (
            SourceKind.TOOL_OUTPUT,
            {**CALL, "depends_on": ["c"], "thread_id": "t"},
            None,
            [("CALL_NOT_FOUND", "content.depends_on")],
        ),
        (
            SourceKind.OBSERVATION,
            {**FACT, "revision": {"status": "retracted"}},
            None,
            [("VALUE_NOT_USED", "content.revision")],
        ),
        (
            SourceKind.OBSERVATION,
            {**FACT, "evidence": [{"source_type": "record", "source_id": str(UUID(int=9))}]},
            None,
            [("REFERENCE_NOT_FOUND", "content.evidence.0")],
        ),
    ],
)
async def test_what_is_not_used_is_warned_of(
    memory: Memory, kind: SourceKind, content: dict[str, Any], context: dict[str, Any] | None, expected: list[Any]
) -> None:
    key = "again"
    kept = await memory.remember(kind, content, context=context, idempotency_key=key)
    assert noted(kept) == [(WarningCode[code], path) for code, path in expected]
    # Sent again, it says what the request alone shows, and nothing of what is stored.
    again = await memory.remember(kind, content, context=context, idempotency_key=key)
    assert again.replayed
    of_store = {WarningCode.REFERENCE_NOT_FOUND, *([WarningCode.CALL_NOT_FOUND] if "thread_id" in content else [])}
    assert noted(again) == [one for one in noted(kept) if one[0] not in of_store]


async def test_an_ambiguous_name_is_warned_of(memory: Memory) -> None:
    for mail in ("a@x.example", "b@x.example"):
        await memory.entity("Kim", identifiers=[{"namespace": "email", "value": mail}])
    kept = await memory.remember(SourceKind.EVENT, {"summary": "hello"}, context={"mentions": ["Ann", "Kim"]})
    assert noted(kept) == [(WarningCode.MENTION_NOT_LINKED, "context.mentions.1")]


async def test_masked_secrets_are_warned_of(memory: Memory) -> None:
    token = "ghp_" + "a1B2" * 9
    kept = await memory.remember(
        SourceKind.EVENT, {"summary": f"login {token}"}, trust=trust_of(ceiling=Sensitivity.LOW)
    )
    assert noted(kept) == [(WarningCode.SECRET_MASKED, "content")]
    assert token not in kept.warnings[0].message


@pytest.mark.parametrize(
    ("kind", "content", "path"),
    [
        (SourceKind.AGENT_TURN, {**TURN, "threadId": "t"}, "content.threadId"),
        (SourceKind.TOOL_OUTPUT, {**CALL, "call-id": "c"}, "content.call-id"),
        (SourceKind.EVENT, {"Thread ID": "t"}, "content.Thread ID"),
        (SourceKind.OBSERVATION, {**FACT, "revisionPolicy": "replace"}, "content.revisionPolicy"),
        (
            SourceKind.OBSERVATION,
            {**FACT, "evidence": [{"kind": "human", "ref": "x", "timeStamp": "y"}]},
            "content.evidence.0.timeStamp",
        ),
    ],
)
async def test_another_spelling_of_a_known_key_stores_nothing(
    memory: Memory, kind: SourceKind, content: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await memory.remember(kind, content)
    assert ".".join(refused.value.path or ()) == path
    assert await memory.value("SELECT count(*) FROM record") == 0


async def test_only_access_admin_says_that_a_lesson_was_verified(memory: Memory) -> None:
    lesson = LearnLesson(task="deploy", solution="test first", verified=True)
    learned = await memory.lessons.learn(trust_of(access=Access.WRITE), lesson)
    assert noted(learned) == [
        (WarningCode.VALUE_NOT_USED, "verified"),
        (WarningCode.VALUE_NOT_USED, "verificationAttempted"),
    ]
    other = LearnLesson(task="build", solution="cache", verified=True)
    assert noted(await memory.lessons.learn(memory.trust, other)) == []


async def test_revisions_warn_of_their_own_payload_and_evidence_only(memory: Memory) -> None:
    fact = (await memory.observe("Ann", "lives_in", "Oslo")).primary
    payload = {**(fact.payload or {}), "object": "Rome"}  # read and sent back, with `kind` and `revision`
    moved = await memory.revise(Supersede(record_id=fact.id, rationale="moved", payload=payload, evidence=EVIDENCE))
    assert noted(moved) == []
    evidence = ({"source_type": "record", "source_id": str(uuid4()), "kindd": 1},)
    slip = {**payload, "object": "Bonn", "object_typ": "City"}
    again = await memory.revise(
        Supersede(record_id=moved.record.id, rationale="moved", payload=slip, evidence=evidence)
    )
    assert noted(again) == [
        (WarningCode.KEY_RESEMBLES_KNOWN, "payload.object_typ"),
        (WarningCode.REFERENCE_NOT_FOUND, "evidence.0"),
    ]
    # The key is stored now, so that it is no slip of the next request.
    back = {**(again.record.payload or {}), "object": "Kiel"}
    after = await memory.revise(Supersede(record_id=again.record.id, rationale="x", payload=back, evidence=EVIDENCE))
    assert noted(after) == []
    for given in ({"Object": "x"}, {"object": "x", "evidence": [{"Kind": "human", "ref": "y"}]}):
        with pytest.raises(InvalidInput, match="write "):
            await memory.revise(Supersede(record_id=after.record.id, rationale="x", payload=given, evidence=EVIDENCE))
    with pytest.raises(InvalidInput, match=r"evidence\.0\.sourceType: write source_type"):
        await memory.revise(
            Supersede(record_id=after.record.id, rationale="x", payload=back, evidence=({"sourceType": "user"},))
        )


async def test_revisions_warn_of_masked_secrets_and_of_fields_of_the_record(memory: Memory) -> None:
    fact = (await memory.observe("Ann", "uses", "a key")).primary
    token = "ghp_" + "a1B2" * 9
    payload = {**(fact.payload or {}), "object": token, "scope": "private"}
    done = await memory.revise(Supersede(record_id=fact.id, rationale="x", payload=payload, evidence=EVIDENCE))
    assert noted(done) == [
        (WarningCode.KEY_RESEMBLES_KNOWN, "payload.scope"),
        (WarningCode.SECRET_MASKED, "payload"),
    ]
    changes = {"object": token[:-4] + "c3D4"}
    patched = await memory.revise(Amend(record_id=done.record.id, rationale="x", changes=changes, evidence=EVIDENCE))
    assert noted(patched) == [(WarningCode.SECRET_MASKED, "changes")]
    assert token not in str(patched.warnings)


async def test_forks_and_merges_warn_too(memory: Memory) -> None:
    fact = (await memory.observe("Ann", "lives_in", "Oslo")).primary
    forked = await memory.revise(
        Fork(
            record_id=fact.id,
            rationale="summer",
            payload={"object": "Rome", "object_typ": "City"},
            conditions={"season": "summer"},
            evidence=EVIDENCE,
        )
    )
    assert noted(forked) == [(WarningCode.KEY_RESEMBLES_KNOWN, "payload.object_typ")]
    one, other = await memory.entity("Kit"), await memory.entity("Kitt")
    merged = await memory.revise(
        Merge(record_id=one, others=(other,), rationale="one", payload={"canonical_name": "Kit", "alias": ["K"]})
    )
    assert noted(merged) == [(WarningCode.KEY_RESEMBLES_KNOWN, "payload.alias")]


async def test_a_report_warns_of_what_it_could_not_credit(memory: Memory) -> None:
    fact = (await memory.observe("Ann", "lives_in", "Oslo")).primary
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="where does Ann live"))
    await memory.revise(Retract(record_id=fact.id, rationale="wrong"))
    report = OutcomeReport(retrieval=found.id, outcome=Outcome.SUCCESS, used=(fact.id,))
    done = await memory.feedback.report(memory.trust, report)
    assert done.skipped == (fact.id,)
    assert [one.code for one in done.warnings] == [WarningCode.RECORD_NOT_CREDITED]


async def test_a_hidden_record_is_warned_of_as_none(memory: Memory) -> None:
    """The same requests, about records that the caller may not see and about none, give the same warnings."""
    secret = await memory.remember(
        SourceKind.EVENT, {"ref": "secret"}, scope="b", trust=trust_of(actor="other"), sensitivity=Sensitivity.LOW
    )
    above = await memory.remember(SourceKind.EVENT, {"ref": "above"}, scope="a", sensitivity=Sensitivity.HYPER)
    redacted = await memory.remember(SourceKind.EVENT, {"ref": "redacted"}, scope="a", sensitivity=Sensitivity.MEDIUM)
    caller = trust_of(access=Access.WRITE, ceiling=Sensitivity.LOW, scopes={"a"})

    async def asked(ref: str) -> Captured:
        evidence = [{"source_type": "record", "source_id": ref}]
        request = CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content={**FACT, "evidence": evidence},
            context={"references": [{"ref": ref, "predicate": "fixes"}]},
        )
        return (await memory.capture.capture(caller, [request]))[0]

    nothing = await asked("no such")
    assert len(noted(nothing)) == 1  # one target, one warning
    for ref in ("secret", "above", "redacted", *(str(one.primary.id) for one in (secret, above, redacted))):
        hidden = await asked(ref)
        assert [(one.code, one.path, one.message) for one in hidden.warnings] == [
            (one.code, one.path, one.message) for one in nothing.warnings
        ]
    fact = nothing.primary
    evidence = ({"source_type": "record", "source_id": str(above.primary.id)},)
    unknown = ({"source_type": "record", "source_id": str(uuid4())},)
    for given in (evidence, unknown):
        again = await memory.revise(
            Supersede(
                record_id=fact.id, rationale="x", payload={**FACT, "object": given[0]["source_id"]}, evidence=given
            ),
            caller,
        )
        assert noted(again) == [(WarningCode.REFERENCE_NOT_FOUND, "evidence.0")]
        fact = again.record


async def test_warnings_of_a_batch_are_those_of_each_item(memory: Memory) -> None:
    requests = [
        CaptureRequest(source="test", source_kind=SourceKind.EVENT, content={"ref": "a"}, context={"own": 1}),
        CaptureRequest(source="test", source_kind=SourceKind.EVENT, content={}, context={"references": ["a", "b"]}),
        CaptureRequest(
            source="test",
            source_kind=SourceKind.OBSERVATION,
            content={"canonical_name": "Kit", "alias": ["K"]},
            proposed_type=MemoryType.ENTITY,
        ),
    ]
    answers = await memory.capture.capture(memory.trust, requests, batch=True)
    assert [noted(one) for one in answers] == [
        [(WarningCode.KEY_NOT_READ, "context.own")],
        [(WarningCode.REFERENCE_NOT_FOUND, "context.references.1")],
        [(WarningCode.KEY_RESEMBLES_KNOWN, "content.alias")],
    ]


async def test_tags_that_an_existing_record_does_not_get_are_warned_of(memory: Memory) -> None:
    first = await memory.observe("Ann", "knows", "Bo", tags=("a",))
    again = [await memory.observe("Ann", "knows", "Bo", tags=tags) for tags in ((), ("a",), ("a", "b"))]
    assert [noted(one) for one in (first, *again)] == [[], [], [], [(WarningCode.VALUE_NOT_USED, "tags")]]
    await memory.turn("hello", thread="t")
    outcome = {"thread_id": "t", "outcome_status": "success"}
    ended = await memory.remember(SourceKind.OUTCOME, outcome, tags=("b",), context={"references": ["nothing"]})
    assert noted(ended) == [
        (WarningCode.REFERENCE_NOT_FOUND, "context.references.0"),
        (WarningCode.VALUE_NOT_USED, "tags"),
    ]


async def test_mentions_and_references_of_an_outcome_are_no_relations(memory: Memory) -> None:
    event = await memory.remember(SourceKind.EVENT, {"ref": "r", "thread_id": "t"})
    outcome = {"thread_id": "t", "outcome_status": "success"}
    ended = await memory.remember(SourceKind.OUTCOME, outcome, context={"references": ["r"]})
    assert event.primary.id != ended.primary.id
    assert noted(ended) == [(WarningCode.VALUE_NOT_USED, "context.references.0")]
