"""Revision over HTTP and from the command line, on a running service."""

from __future__ import annotations

import json
from typing import Any

from fix_service import Client, Service, run_command

CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id version state } } ... on MemoryError { message } } }"""
REVISED = """__typename
  ... on RevisionSuccess { record { id version state payload salience } records { id state } edges { predicate }
    receipt { sequence state changes { effect record { id state } } } queued replayed }
  ... on VersionConflict { code message current }
  ... on MemoryError { code message path }"""


def mutation(name: str) -> str:
    kind = name[0].upper() + name[1:]
    return f"mutation($input: {kind}Input!) {{ {name}(input: $input) {{ {REVISED} }} }}"


async def fact(client: Client, value: Any, *, subject: str = "Alice", **content: Any) -> str:
    made = await client.data(
        CAPTURE,
        input={
            "source": "agent",
            "sourceKind": "OBSERVATION",
            "content": {"subject": subject, "predicate": "works_at", "object": value, **content},
        },
    )
    id_: str = made["captureMemory"]["primaryRecord"]["id"]
    return id_


def payload(value: Any) -> dict[str, Any]:
    return {"subject": "Alice", "predicate": "works_at", "object": value, "validity": {"mode": "global"}}


async def revise(client: Client, name: str, **given: Any) -> dict[str, Any]:
    answer = await client.data(mutation(name), input={"rationale": "because", **given})
    found: dict[str, Any] = answer[name]
    return found


async def test_a_fact_is_superseded_contested_merged_and_deleted(client: Client) -> None:
    evidence = [{"source_type": "human", "source_id": "ticket-7"}]
    first = await fact(client, "Acme")
    refused = await revise(client, "supersede", recordId=first, payload=payload("Beta"))
    assert (refused["__typename"], refused["code"]) == ("EvidenceRequired", "EVIDENCE_REQUIRED")
    done = await revise(
        client, "supersede", recordId=first, payload=payload("Beta"), evidence=evidence, expectedVersion=1
    )
    assert done["__typename"] == "RevisionSuccess", done
    second = done["record"]["id"]
    states = {record["id"]: record["state"] for record in done["records"]}
    assert (states[first], states[second]) == ("SUPERSEDED", "ACTIVE")
    assert done["receipt"]["changes"] == [{"effect": "SUPERSEDED", "record": {"id": first, "state": "SUPERSEDED"}}]
    stale = await revise(client, "retract", recordId=second, expectedVersion=9)
    assert (stale["__typename"], stale["current"]) == ("VersionConflict", 1)
    other = await fact(client, "Gamma")
    contested = await revise(client, "contest", recordId=second, contestingId=other)
    assert contested["record"]["state"] == "CONTESTED"
    resolved = await revise(client, "resolveContest", recordId=second, winnerId=second)
    assert resolved["record"] | {"payload": None, "salience": None} == {
        "id": second,
        "version": 3,
        "state": "ACTIVE",
        "payload": None,
        "salience": None,
    }
    reinforced = await revise(client, "reinforce", recordId=second)
    assert reinforced["record"]["version"] == 3
    penalized = await revise(client, "penalize", recordId=second, amount=0.25)
    assert penalized["record"]["salience"] < 0.76
    pinned = await revise(client, "pin", recordId=second, pinned=True)
    assert pinned["__typename"] == "RevisionSuccess"
    third = await fact(client, "Delta")
    merged = await revise(client, "merge", recordIds=[second, third], payload=payload("Beta Delta"))
    assert merged["record"]["payload"]["object"] == "Beta Delta"
    deleted = await revise(client, "deleteRecord", recordId=merged["record"]["id"])
    assert deleted["__typename"] == "RevisionSuccess"
    again = await revise(client, "deleteRecord", recordId=merged["record"]["id"])
    assert again["__typename"] == "NotFound"


async def test_fork_refuses_overlap_episodes_are_immutable_and_impact_is_previewed(client: Client) -> None:
    prod = await fact(client, 80, subject="api", conditions={"env": "prod"}, revision_policy="fork")
    evidence = [{"kind": "human", "ref": "ops"}]
    given: dict[str, Any] = {"recordId": prod, "payload": {"object": 8080}, "evidence": evidence}
    overlap = await revise(client, "fork", conditions={"region": "eu"}, **given)
    assert overlap["__typename"] == "ConditionsOverlap"
    forked = await revise(client, "fork", conditions={"env": "dev"}, **given)
    assert forked["__typename"] == "RevisionSuccess"
    event = await client.data(
        CAPTURE, input={"source": "agent", "sourceKind": "EVENT", "content": {"event_kind": "build", "ref": "1"}}
    )
    id_ = event["captureMemory"]["primaryRecord"]["id"]
    assert (await revise(client, "retract", recordId=id_))["__typename"] == "EpisodicImmutable"
    derived = await fact(client, "badge", subject="Team", evidence=[{"kind": "observation", "ref": prod}])
    impact = await client.data(
        "query($id: ID!) { revisionImpact(id: $id) { complete records { record { id } becomes sourcesLeft } }"
        " reevaluations { recordId } }",
        id=prod,
    )
    assert impact == {
        "revisionImpact": {
            "complete": True,
            "records": [{"record": {"id": derived}, "becomes": "CONTESTED", "sourcesLeft": 0}],
        },
        "reevaluations": [],
    }


async def test_facts_are_revised_from_the_command_line(service: Service, client: Client) -> None:
    first = await fact(client, "Acme")
    env = service.environment
    text = json.dumps(payload("Beta"))
    status, out, err = await run_command(
        *("revise", "supersede", first, "--payload", text, "--why", "moved", "--evidence", "human:ticket-7", "--json"),
        env=env,
    )
    assert status == 0, err
    second = json.loads(out)["supersede"]["record"]["id"]
    status, out, err = await run_command("revise", "impact", second, env=env)
    assert (status, out) == (0, "No record was derived from it.\n"), err
    status, out, err = await run_command("revise", "retract", first, "--why", "late", env=env)
    assert status == 1
    assert "already superseded" in " ".join(err.split())
    status, out, err = await run_command("revise", "retract", second, "--why", "wrong", env=env)
    assert status == 0, err
    assert out.startswith("retracted")
