"""Typed contents, typed payloads, warnings and JSON Schemas over HTTP, and warnings on the command line."""

from __future__ import annotations

import json

import httpx
from fix_service import Client, Service, run_command
from jsonschema import Draft202012Validator

REMEMBER = """mutation($input: RememberInput!) { remember(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id typed { __typename
      ... on Fact { subject object validity { mode } } } relations { target { name } } }
    receipt { warnings { code message path } } }
  ... on MemoryError { code message path } } }"""


async def test_a_typed_memory_is_stored_and_shown_with_its_warnings(client: Client) -> None:
    fact = {"subject": "Ann Lee", "predicate": "works_at", "object": "Acme", "validity": {"mode": "GLOBAL"}}
    given = {"source": "test", "memory": {"fact": fact}, "context": {"references": [{"ref": "nothing"}]}}
    kept = (await client.data(REMEMBER, input=given))["remember"]
    assert kept["primaryRecord"]["typed"] == {
        "__typename": "Fact",
        "subject": "Ann Lee",
        "object": "Acme",
        "validity": {"mode": "GLOBAL"},
    }
    assert {one["target"]["name"] for one in kept["primaryRecord"]["relations"]} == {"Ann Lee", "Acme"}
    (warning,) = kept["receipt"]["warnings"]
    assert (warning["code"], warning["path"]) == ("REFERENCE_NOT_FOUND", ["context", "references", "0"])
    slip = {"source": "test", "memory": {"event": {"extra": {"threadId": "t"}}}}
    refused = (await client.data(REMEMBER, input=slip))["remember"]
    assert refused["path"] == ["memory", "event", "extra", "threadId"]


async def test_a_memory_of_two_kinds_is_refused_before_anything_is_run(client: Client) -> None:
    for memory in ({}, {"event": {}, "agentTurn": {"role": "u", "text": "x"}}, {"event": None}):
        body = {"query": REMEMBER, "variables": {"input": {"source": "test", "memory": memory}}}
        answer = await client.http.post(f"{client.url}/graphql", json=body)
        assert "data" not in answer.json()
        assert answer.json()["errors"]
    literal = 'mutation { remember(input: {source: "x", memory: {event: {}, fact: null}}) { __typename } }'
    answer = await client.http.post(f"{client.url}/graphql", json={"query": literal})
    assert answer.json()["errors"]


async def test_the_schemas_are_served_without_a_credential(client: Client) -> None:
    async with httpx.AsyncClient() as http:
        listed = (await http.get(f"{client.url}/schemas")).json()
        assert {"event", "semantic", "evidence", "context"} <= {one["name"] for one in listed}
        for one in listed:
            answer = await http.get(f"{client.url}{one['path']}")
            assert answer.headers["content-type"] == "application/schema+json"
            assert "max-age" in answer.headers["cache-control"]
            schema = answer.json()
            Draft202012Validator.check_schema(schema)
            assert (schema["$id"], schema["title"]) == (one["path"], one["title"])
        event = Draft202012Validator((await http.get(f"{client.url}/schemas/event.json")).json())
        assert event.is_valid({"event_kind": "x", "own": 1})
        assert not event.is_valid({"event_kind": 1})
        missing = await http.get(f"{client.url}/schemas/nothing.json")
        assert missing.status_code == 404
        assert "working_state" in missing.json()["errors"][0]["message"]


async def test_the_command_line_prints_warnings(client: Client, service: Service) -> None:
    fact = {"subject": "Bo Ray", "predicate": "works_at", "object": "Acme"}
    kept = (await client.data(REMEMBER, input={"source": "test", "memory": {"fact": fact}}))["remember"]
    change = ("revise", "supersede", kept["primaryRecord"]["id"], "--why", "moved", "--evidence", "human:ticket-7")
    slip = json.dumps({**fact, "object": "Beta", "object_typ": "Company"})
    status, out, err = await run_command(*change, "--payload", slip, env=service.environment)
    assert status == 0, err
    assert "warning: payload.object_typ: " in out
    wrong = json.dumps({**fact, "objectType": "Company"})
    status, _, err = await run_command(*change, "--payload", wrong, env=service.environment)
    assert status != 0
    assert "write object_type" in err
