"""Failed captures over HTTP and on the command line, on a running service."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from fix_memory import SPARING_S, until
from fix_service import CAPTURE, Client, Service, run_command

FAILED = """{ failedCaptures { nodes { candidateId batchId position actor sourceKind scope sensitivity stage error
  attempts nextTryAt createdAt } pageInfo { hasNextPage } } }"""
RETRY = """mutation($id: ID!) { retryCapture(id: $id) {
  ... on RetryCaptureSuccess { captures { candidateId sequence record { id name } } }
  ... on MemoryError { code message } } }"""
DROP = """mutation($id: ID!) { dropCapture(id: $id) {
  ... on DropCaptureSuccess { candidateIds } ... on MemoryError { code message } } }"""
FAIL = """CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
CREATE TRIGGER fail BEFORE INSERT ON record FOR EACH ROW EXECUTE FUNCTION fail()"""
MEND = "DROP FUNCTION fail() CASCADE"


async def captures(service: Service, *arguments: str, status: int = 0) -> Any:
    code, out, err = await run_command("captures", *arguments, "--json", env=service.environment)
    assert code == status, err
    return json.loads(out) if out else err


async def fail(client: Client, text: str) -> str:
    given = {"source": "agent", "sourceKind": "AGENT_TURN", "content": {"role": "user", "text": text}}
    answer = (await client.data(CAPTURE, input=given))["captureMemory"]
    assert answer["code"] == "UNAVAILABLE"
    known = (await client.data(FAILED))["failedCaptures"]["nodes"]
    return next(str(one["candidateId"]) for one in known if one["candidateId"] in answer["message"])


async def test_failed_captures_are_listed_retried_and_dropped(
    service: Service, client: Client, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(FAIL)
        by_http, by_command, by_job, gone, dropped = [
            await fail(client, f"the zeppelin {number}") for number in range(5)
        ]
        listed = (await client.data(FAILED))["failedCaptures"]["nodes"]
        assert [one["candidateId"] for one in listed] == [by_http, by_command, by_job, gone, dropped]
        assert {one["stage"] for one in listed} == {"commit"}
        assert "zeppelin" not in json.dumps(listed) + json.dumps(await captures(service, "list"))
        refused = (await client.data(RETRY, id=by_http))["retryCapture"]
        assert refused["code"] == "UNAVAILABLE"
        assert "failed again" in refused["message"]
        (again,) = await captures(service, "retry", by_command, status=1)
        assert (again["outcome"], again["records"]) == ("failed", [])
        connection.execute(MEND)
        (stored,) = (await client.data(RETRY, id=by_http))["retryCapture"]["captures"]
        assert (stored["candidateId"], stored["record"]["name"]) == (by_http, "user: the zeppelin 0")
        (retried,) = await captures(service, "retry", by_command)
        assert (retried["outcome"], len(retried["records"])) == ("stored", 1)
        assert (await client.data(DROP, id=gone))["dropCapture"] == {"candidateIds": [gone]}
        assert (await client.data(RETRY, id=gone))["retryCapture"]["code"] == "NOT_FOUND"
        assert await captures(service, "drop", dropped) == {"dropped": [dropped]}
        connection.execute("UPDATE candidate SET next_try_at = now() WHERE state = 'failed'")

        async def stored_by_the_job() -> bool:
            return not (await client.data(FAILED))["failedCaptures"]["nodes"]

        await until(stored_by_the_job, every_s=SPARING_S)
        texts = connection.execute("SELECT text FROM record ORDER BY text").fetchall()
    assert texts == [(f"user: the zeppelin {number}",) for number in (0, 1, 2)]
    assert await captures(service, "list") == []
    code, out, _ = await run_command("captures", "list", env=service.environment)
    assert (code, out.strip()) == (0, "There are no failed captures.")


async def test_a_command_for_failed_captures_names_what_it_needs(service: Service) -> None:
    for arguments in (["retry"], ["drop", "--all", "01a20265-536d-7518-9b9a-acc42629bb0c"]):
        code, _, err = await run_command("captures", *arguments, env=service.environment)
        assert code == 1
        assert "give either the ids of failed captures, or --all" in " ".join(err.split())
    code, _, err = await run_command(
        "captures", "retry", "01a20265-536d-7518-9b9a-acc42629bb0c", env=service.environment
    )
    assert code == 1
    assert "There is no failed capture" in " ".join(err.split())
