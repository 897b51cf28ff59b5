"""The past over HTTP: `record(asOf)`, `history`, `retrieveGraph(asOf)` (docs/specification.md, History)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fix_service import Client

CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) {
  ... on CaptureMemorySuccess { primaryRecord { id createdAt updatedAt } } ... on MemoryError { message } } }"""
RECORD = """query($id: ID!, $asOf: DateTime) { record(id: $id, asOf: $asOf) {
  version state salience payload updatedAt relations { predicate } auditLog { action } lifecycle { pinned } } }"""
HISTORY = """query($id: ID!, $first: Int, $after: String) { history(id: $id, first: $first, after: $after) {
  nodes { validFrom validTo record { version state payload relations { predicate } auditLog { action } } }
  pageInfo { hasNextPage endCursor } } }"""
RETRIEVE = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename
  ... on RetrieveGraphSuccess { nodes { record { id name version payload relations { predicate targetId } } }
    freshness { engine fallback } }
  ... on MemoryError { code message path } } }"""


async def capture(client: Client, kind: str, **content: Any) -> dict[str, Any]:
    made = await client.data(CAPTURE, input={"source": "test", "sourceKind": kind, "content": content})
    record: dict[str, Any] = made["captureMemory"]["primaryRecord"]
    return record


def just_before(instant: str) -> str:
    return (datetime.fromisoformat(instant) - timedelta(microseconds=1)).isoformat()


async def test_a_past_record_has_the_payload_and_audit_log_of_that_instant(client: Client) -> None:
    first = await capture(client, "WORKING_STATE", thread_id="t", state="planning", context_summary="one")
    second = await capture(client, "WORKING_STATE", thread_id="t", state="blocked", context_summary="two")
    assert first["id"] == second["id"]
    id_, changed = first["id"], second["updatedAt"]
    then = (await client.data(RECORD, id=id_, asOf=just_before(changed)))["record"]
    assert (then["version"], then["payload"]["context_summary"], then["updatedAt"]) == (1, "one", first["createdAt"])
    assert [entry["action"] for entry in then["auditLog"]] == ["create"]
    now = (await client.data(RECORD, id=id_, asOf=changed))["record"]
    assert (now["version"], now["payload"]["context_summary"]) == (2, "two")
    assert [entry["action"] for entry in now["auditLog"]] == ["create", "revise"]
    assert (await client.data(RECORD, id=id_, asOf=just_before(first["createdAt"])))["record"] is None


async def test_a_past_record_has_the_state_salience_and_relations_of_that_instant(client: Client) -> None:
    fact = {"subject": "Alice", "predicate": "lives_in", "revision_policy": "replace"}
    old = await capture(client, "OBSERVATION", object="Bern", **fact)
    new = await capture(client, "OBSERVATION", object="Basel", **fact)
    then = (await client.data(RECORD, id=old["id"], asOf=just_before(new["createdAt"])))["record"]
    now = (await client.data(RECORD, id=old["id"]))["record"]
    assert (then["state"], now["state"]) == ("ACTIVE", "SUPERSEDED")
    assert then["salience"] > 0.99
    assert now["salience"] == 0
    assert {relation["predicate"] for relation in then["relations"]} == {"subject_entity", "object_entity"}
    assert {relation["predicate"] for relation in now["relations"]} == {"subject_entity", "object_entity", "supersedes"}


async def test_history_pages_through_the_versions_newest_first(client: Client) -> None:
    for number in range(5):
        kept = await capture(client, "WORKING_STATE", thread_id="t", state="planning", context_summary=str(number))
    page = (await client.data(HISTORY, id=kept["id"], first=3))["history"]
    assert page["pageInfo"]["hasNextPage"]
    rest = (await client.data(HISTORY, id=kept["id"], after=page["pageInfo"]["endCursor"]))["history"]
    assert not rest["pageInfo"]["hasNextPage"]
    versions = page["nodes"] + rest["nodes"]
    assert [version["record"]["payload"]["context_summary"] for version in versions] == ["4", "3", "2", "1", "0"]
    assert [len(version["record"]["auditLog"]) for version in versions] == [5, 4, 3, 2, 1]
    assert versions[0]["validTo"] is None
    assert [version["validTo"] for version in versions[1:]] == [version["validFrom"] for version in versions[:-1]]
    unknown = (await client.data(HISTORY, id="00000000-0000-7000-8000-000000000000"))["history"]
    assert unknown == {"nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": None}}


async def test_a_past_graph_contains_only_what_was_known_at_that_instant(client: Client) -> None:
    fact = {"subject": "Alice", "predicate": "lives_in", "revision_policy": "replace"}
    await capture(client, "OBSERVATION", object="Bern", **fact)
    new = await capture(client, "OBSERVATION", object="Basel", **fact)
    asked = {"taskDescriptor": "where does Alice live", "asOf": just_before(new["createdAt"])}
    found = (await client.data(RETRIEVE, input=asked))["retrieveGraph"]
    names = {node["record"]["name"] for node in found["nodes"]}
    assert "Alice lives in Bern" in names
    assert names.isdisjoint({"Alice lives in Basel", "Basel"})
    assert found["freshness"] == {"engine": "SQL", "fallback": None}
    relations = [relation for node in found["nodes"] for relation in node["record"]["relations"]]
    assert relations
    assert "supersedes" not in {relation["predicate"] for relation in relations}


async def test_an_episode_in_a_past_graph_has_only_its_earlier_events(client: Client) -> None:
    await capture(client, "AGENT_TURN", role="user", text="the espresso machine leaks", thread_id="t")
    later = await capture(client, "AGENT_TURN", role="user", text="it is repaired", thread_id="t")
    asked = {"taskDescriptor": "espresso machine", "asOf": just_before(later["createdAt"]), "maxHops": 2}
    found = (await client.data(RETRIEVE, input=asked))["retrieveGraph"]
    episode = next(node["record"] for node in found["nodes"] if node["record"]["name"] == "Episode t")
    assert [event["summary"] for event in episode["payload"]["timeline"]] == ["the espresso machine leaks"]


async def test_an_instant_in_the_future_or_without_an_offset_is_refused(client: Client) -> None:
    kept = await capture(client, "AGENT_TURN", role="user", text="hello")
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    refused = (await client.data(RETRIEVE, input={"taskDescriptor": "hello", "asOf": tomorrow}))["retrieveGraph"]
    assert (refused["code"], refused["path"]) == ("INVALID_INPUT", ["asOf"])
    answer = await client(RECORD, id=kept["id"], asOf=tomorrow)
    error = answer["errors"][0]["extensions"]
    assert (error["code"], error["retryable"], error["path"]) == ("INVALID_INPUT", False, ["asOf"])
    naive = await client(RECORD, id=kept["id"], asOf="2026-01-01T00:00:00")
    assert "no UTC offset" in naive["errors"][0]["message"]
