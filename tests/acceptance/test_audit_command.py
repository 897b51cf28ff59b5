"""The output and exit status of `stratagraph audit verify`, with and without --json."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from fix_service import CAPTURE, Client, Service, run_command, run_process

UNKNOWN = "01890000-0000-7000-8000-000000000000"


async def capture(client: Client, object_: str) -> str:
    content = {"subject": "Alice", "predicate": "prefers", "object": object_, "revision_policy": "replace"}
    made = await client.data(
        CAPTURE,
        input={"source": "t", "sourceKind": "OBSERVATION", "content": content, "reasonToRemember": f"about {object_}"},
    )
    id_: str = made["captureMemory"]["primaryRecord"]["id"]
    return id_


async def test_audit_verify_accepts_an_intact_audit_and_reports_tampering(
    service: Service, client: Client, database_url: str
) -> None:
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
    assert "audit entries" in err  # the progress bar; the result is on standard output

    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE audit SET actor = 'nobody' WHERE id = %s AND seq = 1", [first])
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "DELETE FROM record WHERE id = %s", [second]
        )  # the audit entries of a deleted record are kept
        connection.execute("UPDATE audit_note SET rationale = 'x' WHERE id = %s", [second])
    status, found = await verify()
    assert (status, found["whole"], found["faults"]) == (1, False, 2)
    reported = {
        (problem["tenant"], problem["record"], problem["seq"], problem["kind"]) for problem in found["problems"]
    }
    assert reported == {("default", first, 1, "link"), ("default", second, 1, "note")}
    status, out, _ = await run_process("audit", "verify", env={**service.environment, "COLUMNS": "200"})
    assert status == 1
    assert first in out
    assert "Not whole: 2 faults" in out

    status, found = await verify("--record", second)
    assert (status, [problem["kind"] for problem in found["problems"]]) == (1, ["note"])
    status, found = await verify("--tenant", "default", "--record", first)
    assert (status, [problem["kind"] for problem in found["problems"]]) == (1, ["link"])


async def test_the_audit_log_of_a_deleted_record_is_shown(service: Service, client: Client) -> None:
    id_ = await capture(client, "Go")
    delete = "mutation($input: DeleteRecordInput!) { deleteRecord(input: $input) { __typename } }"
    await client.data(delete, input={"recordId": id_, "rationale": "never said"})
    ask = """query($id: ID!, $first: Int, $after: String) { auditLog(id: $id, first: $first, after: $after) {
      nodes { action actor rationale timestamp } pageInfo { hasNextPage endCursor } } }"""
    first = (await client.data(ask, id=id_, first=1))["auditLog"]
    after = first["pageInfo"]["endCursor"]
    rest = (await client.data(ask, id=id_, after=after))["auditLog"]
    nodes = [*first["nodes"], *rest["nodes"]]
    assert [(node["action"], node["rationale"]) for node in nodes] == [("create", "about Go"), ("delete", "never said")]
    assert (first["pageInfo"]["hasNextPage"], rest["pageInfo"]["hasNextPage"]) == (True, False)
    status, out, err = await run_command("audit", "show", "--json", id_, env=service.environment)
    assert (status, err) == (0, "")
    shown = json.loads(out)
    assert [entry["rationale"] for entry in shown["auditLog"]["nodes"]] == ["about Go", "never said"]
    status, out, _ = await run_command("audit", "show", "--first", "1", id_, env=service.environment)
    assert (status, "about Go" in out, f"--after {after}" in out) == (0, True, True)
    status, _, err = await run_command("audit", "show", UNKNOWN, env=service.environment)
    assert (status, "no record" in err) == (1, True)


async def test_audit_verify_refuses_an_unknown_tenant_or_record(service: Service) -> None:
    for options, expected in (
        (("--tenant", "acne"), "no tenant 'acne'"),
        (("--record", "01a1ff04-892f-76e7-af0c-fd209776999d"), "no entries of it"),
        (("--record", "x"), "not a UUID"),
    ):
        status, out, err = await run_command("audit", "verify", "--json", *options, env=service.environment)
        assert (status, out) == (1, "")
        assert expected in " ".join(err.split())
