"""Erasure over HTTP and from the command line, on a running service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fix_service import CAPTURE, Client, Service, run_command

ERASE = """mutation($input: EraseInput!) { erase(input: $input) { __typename
  ... on EraseSuccess { replayed receipt { id kind actor at startedAt counts { name count } hashes digest elsewhere
    elsewhereComplete } }
  ... on MemoryError { code message path retryable } } }"""


async def remember(client: Client, text: str, token: str | None = None, **more: Any) -> str:
    given = {"source": "agent", "sourceKind": "AGENT_TURN", "content": {"role": "user", "text": text}, **more}
    made = await client.data(CAPTURE, token, input=given)
    id_: str = made["captureMemory"]["primaryRecord"]["id"]
    return id_


async def erase(client: Client, token: str | None = None, **given: Any) -> dict[str, Any]:
    answer = await client.data(ERASE, token, input={"rationale": "ticket 4711", **given})
    found: dict[str, Any] = answer["erase"]
    return found


async def test_erasing_a_record_returns_a_receipt_with_counts(client: Client) -> None:
    id_ = await remember(client, "Zorblax was here")
    done = await erase(client, recordId=id_, idempotencyKey="k")
    assert done["__typename"] == "EraseSuccess", done
    receipt = done["receipt"]
    counts = {entry["name"]: entry["count"] for entry in receipt["counts"]}
    assert counts["records.episodic"] == 1
    assert (receipt["kind"], len(receipt["hashes"])) == ("record", 1)
    assert "Zorblax" not in json.dumps(receipt)
    assert id_ not in json.dumps(receipt)
    after = await client.data("query($id: ID!) { record(id: $id) { id } }", id=id_)
    assert after["record"] is None
    again = await erase(client, recordId=id_, idempotencyKey="k")
    assert again == {**done, "replayed": True}
    other = await erase(client, recordId=id_, rationale="another", idempotencyKey="k")
    assert (other["__typename"], other["path"]) == ("IdempotencyMismatch", ["idempotencyKey"])
    assert (await erase(client, recordId=id_))["__typename"] == "NotFound"


async def test_a_receipt_is_verified_from_the_command_line(client: Client, service: Service, tmp_path: Path) -> None:
    id_ = await remember(client, "Zorblax was here")
    answer = await client.data(
        """mutation($input: EraseInput!) { erase(input: $input) { ... on EraseSuccess {
        receipt { salt targetHash hashes digest } } } }""",
        input={"rationale": "ticket 4711", "recordId": id_},
    )
    receipt, ids = tmp_path / "receipt.json", tmp_path / "ids.txt"
    receipt.write_text(json.dumps(answer["erase"]["receipt"]))
    ids.write_text(f"{id_}\n")
    command = ("erase", "verify", str(receipt), "--ids", str(ids))
    status, out, err = await run_command(*command, "--target", id_, env=service.environment)
    assert (status, err) == (0, "")
    assert out.splitlines() == ["The target is the receipt's.", "The ids are exactly those that the receipt covers."]
    status, out, _ = await run_command(*command, "--target", "x", "--json", env=service.environment)
    assert (status, json.loads(out)["is_target"]) == (1, False)
    status, _, err = await run_command("erase", "verify", str(ids), "--target", "x", env=service.environment)
    assert (status, "one JSON object" in err) == (1, True)


async def test_erase_requires_exactly_one_target(client: Client) -> None:
    for given in ({}, {"scope": "a", "tenant": "default"}, {"recordId": "no-uuid"}):
        assert (await erase(client, **given))["__typename"] == "InvalidInput"


async def test_erase_refuses_a_lesser_credential_and_revokes_those_of_an_erased_tenant(
    client: Client, service: Service
) -> None:
    tokens = {}
    for name, access, options in (
        ("writer", "write", ["--tenant", "acme", "--scope", "project:a"]),
        ("owner", "admin", ["--tenant", "acme", "--scope", "*", "--max-sensitivity", "hyper"]),
    ):
        status, out, err = await run_command(
            *("token", "create", name, "--access", access, *options, "--json"), env=service.environment
        )
        assert status == 0, err
        tokens[name] = json.loads(out)["token"]
    await remember(client, "Zorblax", tokens["writer"])
    for given in ({"scope": "project:a"}, {"tenant": "acme"}):
        assert (await erase(client, tokens["writer"], **given))["code"] == "FORBIDDEN"
    assert (await erase(client, tokens["owner"], tenant="default"))["code"] == "NOT_FOUND"
    done = await erase(client, tokens["owner"], tenant="acme")
    assert done["__typename"] == "EraseSuccess", done
    counts = {entry["name"]: entry["count"] for entry in done["receipt"]["counts"]}
    assert (counts["credential"], counts["records.episodic"]) == (2, 1)
    refused = await client("{ health { ok } records { nodes { id } } }", tokens["owner"])
    assert "errors" in refused


async def test_the_erase_command_shows_what_will_be_deleted_and_asks_to_confirm(
    client: Client, service: Service
) -> None:
    env = service.environment
    id_ = await remember(client, "Zorblax was here", scope="project:a")
    await remember(client, "so was Quux", scope="project:a")
    kept = await remember(client, "and Grue")
    status, out, _ = await run_command("erase", "record", id_, "--why", "ticket", env=env)  # standard input is closed
    assert status == 1
    assert "erases 1 records" in out
    status, _, err = await run_command("erase", "record", id_, "--why", "ticket", "--json", env=env)
    assert status == 1
    assert "--yes" in err
    status, out, err = await run_command("erase", "record", id_, "--why", "ticket", "--yes", "--json", env=env)
    assert status == 0, err
    assert json.loads(out)["counts"]["records.episodic"] == 1
    status, out, err = await run_command("erase", "scope", "project:a", "--why", "ticket", "--yes", env=env)
    assert status == 0, err
    assert "Erased. Receipt" in out
    status, _, err = await run_command("erase", "scope", "project:a", "--why", "ticket", "--yes", env=env)
    assert status == 1
    assert "not found" in err
    left = await client.data("{ records { nodes { id } } }")
    assert kept in {node["id"] for node in left["records"]["nodes"]}
    status, out, err = await run_command("erase", "tenant", "default", "--why", "ticket", "--yes", "--json", env=env)
    assert status == 0, err
    receipt = json.loads(out)
    assert receipt["kind"] == "tenant"
    status, out, err = await run_command("erase", "receipts", "--json", env=env)
    assert status == 0, err
    assert {one["kind"] for one in json.loads(out)} == {"record", "scope", "tenant"}
    assert "Zorblax" not in out
