"""`stratagraph jobs` and the report of the jobs in `health`, on a running service."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from fix_memory import SPARING_S, until
from fix_service import CAPTURE, Client, Service, run_command

JOBS = {
    "close-episodes",
    "consolidate",
    "count-words",
    "import-spans",
    "link-names",
    "log-days",
    "prune",
    "reevaluate",
    "retry-captures",
    "sweep-artifacts",
    "take-census",
    "trim-logs",
}


async def jobs(service: Service, *arguments: str, status: int = 0) -> Any:
    code, out, err = await run_command("jobs", *arguments, "--json", env=service.environment)
    assert code == status, err
    return json.loads(out) if out else err


async def report(client: Client) -> dict[str, Any]:
    answer = await client.data("{ health { checks { name ok detail } } }")
    found: dict[str, Any] = next(part for part in answer["health"]["checks"] if part["name"] == "jobs")
    return found


async def test_jobs_run_on_schedule_and_are_listed(service: Service, client: Client) -> None:
    async def all_ran() -> bool:
        return {one["name"] for one in await jobs(service, "list") if one["runs"]} == JOBS - {"consolidate"}

    await until(all_ran, every_s=SPARING_S)
    listed = {one["name"]: one for one in await jobs(service, "list")}
    assert listed.keys() == JOBS
    soon = datetime.now(UTC) + timedelta(hours=5)
    assert datetime.fromisoformat(listed["consolidate"]["next_run_at"]) > soon  # what may take minutes waits
    assert all(one["error"] is None and one["failures"] == 0 for one in listed.values())
    assert listed["log-days"]["result"]["days_created"] >= 0
    assert listed["consolidate"]["waiting"] == {"unlearned_episodes": 0, "records_to_compare": 0}
    assert await report(client) == {"name": "jobs", "ok": True, "detail": "run on schedule"}
    code, out, _ = await run_command("jobs", "list", env={**service.environment, "COLUMNS": "200"})
    assert code == 0
    assert "close-episodes" in out


async def test_a_row_that_is_set_aside_is_listed_and_reported(
    service: Service, client: Client, database_url: str
) -> None:
    given = {"source": "agent", "sourceKind": "AGENT_TURN", "content": {"role": "user", "text": "a remark"}}
    made = await client.data(CAPTURE, input=given)
    id_ = made["captureMemory"]["primaryRecord"]["id"]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            """UPDATE salience SET curve = 3, params = '{"name": "unknown"}', due_at = now() WHERE id = %s""", [id_]
        )
    ran = await jobs(service, "run", "prune")
    assert (ran["result"]["set_aside"], ran["error"]) == (1, None)
    aside = await jobs(service, "set-aside")
    assert [(one["job"], one["id"], one["error"], one["attempts"]) for one in aside] == [
        ("prune", id_, "InvalidInput in store.model.curves.custom_curve", 1)
    ]
    assert await jobs(service, "set-aside", "--job", "count-words") == []
    found = await report(client)
    assert not found["ok"]
    assert found["detail"] == "1 rows of this tenant are set aside: see `stratagraph jobs set-aside`"
    code, out, _ = await run_command("jobs", "set-aside", env={**service.environment, "COLUMNS": "200"})
    assert code == 0
    assert id_ in out


async def test_an_unknown_job_is_refused_with_the_known_names(service: Service) -> None:
    error = await jobs(service, "run", "prnue", status=1)
    assert "there is no job 'prnue'" in error
    assert "prune" in error
