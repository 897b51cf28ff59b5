"""The API over HTTP, on a real server process and a real database."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
from fix_memory import until
from fix_service import Client, Service, run_command, running

CAPTURE = """mutation Capture($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess {
    primaryRecord { id name type state salience payload relations { predicate inverse } auditLog { action actor } }
    createdRecords { name } edges { predicate } receipt { candidateId sequence state } replayed }
  ... on MemoryError { code message retryable path } } }"""
RETRIEVE = """query Retrieve($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename
  ... on RetrieveGraphSuccess {
    roots nodes { record { id name type redacted payload } root hop score why { words names } }
    edges { predicate sourceId targetId } limits { reached hubs } freshness { engine fallback } retrievalId rendering }
  ... on MemoryError { code message path } } }"""
EVENT: dict[str, Any] = {
    "source": "test",
    "sourceKind": "EVENT",
    "content": {"event_kind": "build", "ref": "ci#1", "summary": "the build is green"},
}


async def test_a_captured_fact_is_retrieved_as_a_graph(client: Client) -> None:
    captured = await client.data(
        CAPTURE,
        input={
            "source": "agent",
            "sourceKind": "OBSERVATION",
            "content": {"subject": "Alice", "predicate": "works_at", "object": "Acme"},
        },
    )
    made = captured["captureMemory"]
    assert made["__typename"] == "CaptureMemorySuccess"
    assert made["primaryRecord"]["state"] == "ACTIVE"
    assert {relation["predicate"] for relation in made["primaryRecord"]["relations"]} == {
        "subject_entity",
        "object_entity",
    }
    assert made["primaryRecord"]["auditLog"] == [{"action": "create", "actor": "single-user"}]
    found = await client.data(
        RETRIEVE,
        input={"taskDescriptor": "where does Alice work", "atLeastSequence": made["receipt"]["sequence"]},
    )
    answer = found["retrieveGraph"]
    assert made["primaryRecord"]["id"] in {node["record"]["id"] for node in answer["nodes"]}
    assert answer["freshness"]["engine"] == "SQL"


async def test_a_capture_says_when_it_may_be_pruned(client: Client) -> None:
    capture = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { ... on CaptureMemorySuccess {
      primaryRecord { id createdAt lifecycle { dueAt } } } } }"""
    record = (await client.data(capture, input=EVENT))["captureMemory"]["primaryRecord"]
    due, created = (datetime.fromisoformat(text) for text in (record["lifecycle"]["dueAt"], record["createdAt"]))
    assert timedelta(hours=9) < due - created < timedelta(hours=11)
    pin = """mutation($id: ID!) { pin(input: {recordId: $id, pinned: true, rationale: "keep"}) {
      ... on RevisionSuccess { record { lifecycle { dueAt } } } ... on MemoryError { message } } }"""
    pinned = (await client.data(pin, id=record["id"]))["pin"]
    assert pinned["record"]["lifecycle"]["dueAt"] is None


async def test_an_answer_says_which_times_it_read(client: Client) -> None:
    ask = """query($task: String!) { retrieveGraph(input: {taskDescriptor: $task}) { ... on RetrieveGraphSuccess {
      nothingKnown namedTimes { words start end } } } }"""

    async def times(task: str) -> Any:
        answer = (await client.data(ask, task=task))["retrieveGraph"]
        return [(one["words"], one["start"] and one["start"][:10], one["end"][:10]) for one in answer["namedTimes"]]

    assert await times("what was said on 2025-11-18?") == [("2025-11-18", "2025-11-18", "2025-11-19")]
    assert await times("what was said before 3 May 2024?") == [("3 May 2024", None, "2024-05-03")]
    assert await times("what was said the other day?") == []


async def test_a_receipt_says_what_became_of_names_and_of_stored_records(client: Client) -> None:
    capture = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { ... on CaptureMemorySuccess {
      primaryRecord { id validTo } receipt { mentions { name outcome entityId candidateIds }
      changes { effect record { id validTo state version } } } } ... on MemoryError { message } } }"""

    async def observe(place: str, **more: Any) -> dict[str, Any]:
        content = {"subject": "Zoe Day", "predicate": "based_at", "object": place, "revision_policy": "replace", **more}
        given = {"source": "agent", "sourceKind": "OBSERVATION", "content": content}
        answer: dict[str, Any] = (await client.data(capture, input=given))["captureMemory"]
        return answer

    first = await observe("Bonn")
    (created,) = first["receipt"]["mentions"]
    assert (created["name"], created["outcome"], created["candidateIds"]) == ("Zoe Day", "CREATED", [])
    later = "2999-01-01T00:00:00Z"
    second = await observe("Rome", validity={"mode": "timeboxed", "start": later})
    assert second["receipt"]["mentions"] == [{**created, "outcome": "MATCHED"}]
    trimmed = {"id": first["primaryRecord"]["id"], "state": "ACTIVE", "version": 1, "validTo": later}
    (change,) = second["receipt"]["changes"]
    change["record"]["validTo"] = change["record"]["validTo"].replace("+00:00", "Z")
    assert change == {"effect": "TRIMMED", "record": trimmed}


async def test_a_batch_is_answered_in_order_and_every_query_works(client: Client) -> None:
    batch = await client.data(
        """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) { __typename
          ... on CaptureMemoriesSuccess { results { primaryRecord { id name } } } ... on MemoryError { message } } }""",
        input={
            "items": [
                EVENT,
                {
                    "source": "agent",
                    "sourceKind": "OBSERVATION",
                    "proposedType": "PLAN_GRAPH",
                    "content": {
                        "plan_id": "ship",
                        "version": "1",
                        "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "push"}],
                        "edges": [{"from": "a", "to": "b", "kind": "data"}],
                    },
                },
            ]
        },
    )
    names = [result["primaryRecord"]["name"] for result in batch["captureMemories"]["results"]]
    assert names == ["the build is green", "Plan: ship"]
    first = batch["captureMemories"]["results"][0]["primaryRecord"]["id"]
    found = await client.data(
        """query($id: ID!) { record(id: $id) { name lifecycle { decay { curve halfLifeSeconds } deletionPolicy }
            provenance { sources { kind ref timestamp } } }
          records(first: 1) { nodes { name } pageInfo { hasNextPage endCursor } }
          entities(name: "nobody") { id }
          planGraph(id: "ship") { planId version steps { id op rank } links { source target kind } criticalPath
            metrics { executionCount } }
          health { ok version checks { name ok detail } } }""",
        id=first,
    )
    assert found["record"]["lifecycle"]["decay"] == {"curve": "EXPONENTIAL", "halfLifeSeconds": 3600.0}
    assert found["records"]["pageInfo"]["hasNextPage"]
    assert found["planGraph"]["links"] == [{"source": "a", "target": "b", "kind": "DATA"}]
    assert found["planGraph"]["criticalPath"] == ["a", "b"]
    assert found["health"]["ok"]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"sourceKind": "RUMOUR"}, "SourceKind"),
    ({"timestamp": "2026-01-01T00:00:00"}, "no UTC offset"),
    ({"timestamp": "yesterday"}, "RFC 3339"),
    ({"proposedType": "SEMANTIC"}, "makes a record of type episodic"),
    ({"content": "free text"}, "must be a JSON object"),
    ({"content": {"event_kind": ""}}, "event_kind"),
    ({"content": {"event_kind": "x", "blob": "y" * (1 << 20)}}, "at most"),
    ({"tags": [""]}, "must not be blank"),
    ({"scope": "x" * 300}, "at most 256"),
    ({"sensitivity": "SECRET"}, "Sensitivity"),
    ({"source": ""}, "must not be blank"),
]


async def test_invalid_input_is_refused_with_advice_and_writes_nothing(client: Client) -> None:
    for change, expected in BAD:
        answer = await client(CAPTURE, input=EVENT | change)
        if "errors" in answer:
            assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
            message = answer["errors"][0]["message"]
        else:
            result = answer["data"]["captureMemory"]
            assert result["__typename"] == "InvalidInput", change
            assert result["code"] == "INVALID_INPUT"
            assert not result["retryable"]
            message = result["message"]
        assert expected in message, change
    left = await client.data("{ records(first: 1) { nodes { id } } }")
    assert left["records"]["nodes"] == []


async def test_malformed_requests_are_answered_with_an_error_in_json(client: Client) -> None:
    bodies: list[tuple[dict[str, Any], int]] = [
        ({"content": b"{not json", "headers": {"content-type": "application/json"}}, 400),
        ({"content": b"query={health{ok}}", "headers": {"content-type": "text/plain"}}, 415),
        ({"content": b"x" * (17 << 20), "headers": {"content-type": "application/json"}}, 413),
    ]
    for request, status in bodies:
        response = await client.http.post(f"{client.url}/graphql", **request)
        assert response.status_code == status
        assert response.json()["errors"][0]["extensions"]["code"] in ("INVALID_INPUT", "LIMIT_EXCEEDED")
    deep = "{ a " * 300 + "}" * 300
    for document in ("{ nothing }", deep, "{ " + "health { ok } " * 900 + "}"):
        answer = await client(document)
        assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"


async def test_get_requests_and_foreign_host_headers_are_refused(client: Client) -> None:
    got = await client.http.get(f"{client.url}/graphql", params={"query": "{ health { ok } }"})
    assert got.status_code >= 400
    foreign = await client.http.post(
        f"{client.url}/graphql", json={"query": "{ health { ok } }"}, headers={"host": "evil.example"}
    )
    assert foreign.status_code == 400


async def test_a_page_of_records_is_answered_with_relations_and_audit_log(client: Client, service: Service) -> None:
    """The number of SQL statements per page is checked by the integration tests."""
    for number in range(5):
        content = {"role": "user", "text": f"message {number}", "thread_id": "t"}
        await client.data(CAPTURE, input={"source": "s", "sourceKind": "AGENT_TURN", "content": content})
    found = await client.data(
        "{ records(first: 50) { nodes { name payload relations { predicate } auditLog { action } } } }"
    )
    nodes = found["records"]["nodes"]
    assert len(nodes) == 6
    episode = next(node for node in nodes if node["name"] == "Episode t")
    assert len(episode["payload"]["timeline"]) == 5
    assert len(episode["relations"]) == 5


async def test_an_api_key_limits_what_its_holder_may_read_and_write(database_url: str, tmp_path: Path) -> None:
    with running(database_url=database_url, data_dir=str(tmp_path / "data")) as service:
        assert service.url is not None

        async def key(*options: str) -> tuple[str, str]:
            status, out, err = await run_command(
                "token", "create", "tester", "--json", *options, env=service.environment
            )
            assert status == 0, err
            made = json.loads(out)
            return made["id"], made["token"]

        _, writer = await key("--access", "write", "--max-sensitivity", "high", "--scope", "*")
        reader_id, reader = await key("--access", "read", "--max-sensitivity", "low", "--scope", "project:b")
        async with httpx.AsyncClient(timeout=30) as http:
            client = Client(http, service.url)
            for token in (None, "nonsense", "sg_" + "0" * 32 + "_AAAA", writer[:-2] + "zz"):
                answer = await client("{ health { ok } }", token)
                assert answer["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
            for scope, level in (("project:a", "LOW"), ("project:b", "LOW"), ("project:b", "HIGH")):
                await client.data(CAPTURE, writer, input=EVENT | {"scope": scope, "sensitivity": level})
            found = await client.data(RETRIEVE, reader, input={"taskDescriptor": "build"})
            assert [node["record"]["name"] for node in found["retrieveGraph"]["nodes"]] == ["the build is green"]
            refused = await client.data(CAPTURE, reader, input=EVENT)
            assert refused["captureMemory"]["__typename"] == "Forbidden"
            widened = await client.data(RETRIEVE, reader, input={"taskDescriptor": "x", "scopes": ["project:a"]})
            assert widened["retrieveGraph"]["__typename"] == "Forbidden"
            status, _, err = await run_command("token", "revoke", reader_id, env=service.environment)
            assert status == 0, err
            answer = await client("{ health { ok } }", reader)
            assert answer["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_a_stopping_server_finishes_requests_in_progress(service: Service, client: Client) -> None:
    async def capture(number: int) -> dict[str, Any]:
        return await client(CAPTURE, input=EVENT | {"idempotencyKey": f"k{number}"})

    in_progress = [asyncio.create_task(capture(number)) for number in range(20)]
    done, _ = await asyncio.wait(in_progress, return_when=asyncio.FIRST_COMPLETED)
    assert done
    status = await asyncio.to_thread(service.stop)
    assert status == 0
    for task in await asyncio.gather(*in_progress, return_exceptions=True):
        if isinstance(task, dict):
            assert task["data"]["captureMemory"]["__typename"] == "CaptureMemorySuccess"
        else:
            assert isinstance(task, httpx.TransportError)  # sent after the server stopped accepting connections


async def test_the_health_probes_and_graphiql_answer(client: Client) -> None:
    assert (await client.http.get(f"{client.url}/livez")).json()["status"] == "alive"
    health = (await client.http.get(f"{client.url}/healthz")).json()
    assert health["status"] == "ok"
    assert {"database", "clock", "feed", "jobs", "mirror"} <= {one["name"] for one in health["checks"] if one["ok"]}
    assert (await client.http.get(f"{client.url}/readyz")).status_code == 200
    page = await client.http.get(f"{client.url}/graphiql")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["content-type"].startswith("text/html")


async def test_a_service_is_not_ready_once_a_newer_version_has_migrated_its_database(
    client: Client, database_url: str
) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        found = await (await connection.execute("SELECT version_num FROM alembic_version")).fetchone()
        assert found is not None
        await connection.execute("UPDATE alembic_version SET version_num = '9999'")

        async def answers(status: int) -> bool:
            return (await client.http.get(f"{client.url}/readyz")).status_code == status

        await until(lambda: answers(503))
        assert (await client.http.get(f"{client.url}/readyz")).json()["failing"] == ["database"]
        (check,) = [
            check
            for check in (await client.data("{ health { checks { name detail } } }"))["health"]["checks"]
            if check["name"] == "database"
        ]
        assert "migrated to revision 9999" in check["detail"]
        await connection.execute("UPDATE alembic_version SET version_num = %s", found)
        await until(lambda: answers(200))
