"""`stratagraph audit verify`, as people and programs run it: its exit status is what counts."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from fix_service import Client, Service, run_command, run_process

CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) {
  ... on CaptureMemorySuccess { primaryRecord { id } } ... on MemoryError { message } } }"""


async def capture(client: Client, object_: str) -> str:
    content = {"subject": "Alice", "predicate": "prefers", "object": object_, "revision_policy": "replace"}
    made = await client.data(
        CAPTURE,
        input={"source": "t", "sourceKind": "OBSERVATION", "content": content, "reasonToRemember": f"about {object_}"},
    )
    id_: str = made["captureMemory"]["primaryRecord"]["id"]
    return id_


async def test_the_audit_is_verified_and_tampering_told(service: Service, client: Client, database_url: str) -> None:
    async def verify(*options: str) -> tuple[int, dict[str, Any]]:
        status, out, err = await run_command("audit", "verify", "--json", *options, env=service.environment)
        assert err == ""
        return status, json.loads(out)

    first, second = await capture(client, "Go"), await capture(client, "Rust")
    status, found = await verify()
    assert (status, found["whole"], found["problems"], found["faults"]) == (0, True, [], 0)
    assert found["entries"] > found["chains"] > 2
    status, out, err = await run_command("audit", "verify", env=service.environment)
    assert status == 0, err
    assert "Whole." in out
    assert "audit entries" in err  # the progress is for people, and not part of the answer

    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE audit SET actor = 'nobody' WHERE id = %s AND seq = 1", [first])
        connection.execute("SET session_replication_role = replica")
        connection.execute("DELETE FROM record WHERE id = %s", [second])  # the audit outlives it
        connection.execute("UPDATE audit_note SET rationale = 'x' WHERE id = %s", [second])
    status, found = await verify()
    assert (status, found["whole"], found["faults"]) == (1, False, 2)
    told = {(problem["tenant"], problem["record"], problem["seq"], problem["kind"]) for problem in found["problems"]}
    assert told == {("default", first, 1, "link"), ("default", second, 1, "note")}
    status, out, _ = await run_process("audit", "verify", env={**service.environment, "COLUMNS": "200"})
    assert status == 1
    assert first in out
    assert "Not whole: 2 faults" in out

    status, found = await verify("--record", second)
    assert (status, [problem["kind"] for problem in found["problems"]]) == (1, ["note"])
    status, found = await verify("--tenant", "default", "--record", first)
    assert (status, [problem["kind"] for problem in found["problems"]]) == (1, ["link"])


async def test_a_verification_of_nothing_is_refused(service: Service) -> None:
    for options, says in (
        (("--tenant", "acne"), "no tenant 'acne'"),
        (("--record", "01a1ff04-892f-76e7-af0c-fd209776999d"), "no audit"),
        (("--record", "x"), "not a UUID"),
    ):
        status, out, err = await run_command("audit", "verify", "--json", *options, env=service.environment)
        assert (status, out) == (1, "")
        assert says in " ".join(err.split())
