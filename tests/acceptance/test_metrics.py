"""/metrics of a running service: complete, without anything of tenants and records, and not open to the outside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
from checkout import ROOT
from fix_memory import SPARING_S, until
from fix_service import Client, Service, run_command, running
from prometheus_client.parser import text_string_to_metric_families

from stratagraph.consolidation.registry import JOBS
from stratagraph.graphql.request_record import OTHER, ROUTES
from stratagraph.graphql.telemetry import INTROSPECTION
from stratagraph.store.model import errors
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.postgres.database import POOL_SIZE, SPARE_CONNECTIONS

CANARY = "canarybird"
CAPTURE = """mutation canarybird($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id } } ... on MemoryError { code } } }"""
ASK = """query canarybird($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { ... on RetrieveGraphSuccess {
  retrievalId nodes { record { id } } } } }"""
REPORT = """mutation canarybird($input: ReportOutcomeInput!) { reportOutcome(input: $input) { __typename
  ... on ReportOutcomeSuccess { reinforcedIds replayed } ... on MemoryError { code path } } }"""
PARTS = {"database", "mirror"}
PLAIN = {"accept": "text/plain"}


async def samples(http: httpx.AsyncClient, url: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Return the values of /metrics by name and labels."""
    response = await http.get(f"{url}/metrics", headers=PLAIN)
    assert response.status_code == 200
    assert CANARY not in response.text
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def labels(found: dict[tuple[tuple[str, str], ...], float], name: str) -> set[str]:
    return {dict(key)[name] for key in found}


async def test_the_metrics_are_complete_and_their_labels_are_names_of_the_code(
    client: Client, service: Service
) -> None:
    async def all_jobs_ran() -> bool:
        runs = (await samples(client.http, client.url)).get("stratagraph_job_runs_total", {})
        waiting = {dict(key)["job"] for key, count in runs.items() if count == 0}
        # All but `embed` and `interpret-captures`: there are no models. Learning runs after its interval first.
        return len(runs) == len(JOBS) - 2 and waiting == {"consolidate"}

    await until(all_jobs_ran, every_s=SPARING_S)
    content = {"role": "user", "text": CANARY}
    item = {"source": CANARY, "sourceKind": "AGENT_TURN", "content": content, "scope": CANARY, "tags": [CANARY]}
    await client.data(CAPTURE, input=item)
    asked = (await client.data(ASK, input={"taskDescriptor": CANARY}))["retrieveGraph"]
    used = [node["record"]["id"] for node in asked["nodes"]]
    report = {"retrievalId": asked["retrievalId"], "outcome": "SUCCESS", "usedRecordIds": used}
    for replayed in (False, True):
        done = (await client.data(REPORT, input=report))["reportOutcome"]
        assert (done["reinforcedIds"], done["replayed"]) == (used, replayed)
    other = (await client.data(REPORT, input=report | {"outcome": "FAILURE"}))["reportOutcome"]
    assert (other["__typename"], other["path"]) == ("IdempotencyMismatch", ["retrievalId"])
    before = await samples(client.http, client.url)
    await client.data(CAPTURE, input=item)
    refused = await client.data(CAPTURE, input=item | {"content": {"role": "user"}})
    assert refused["captureMemory"]["code"] == "INVALID_INPUT"
    await client(f"{{ {CANARY} }}")
    await client("query canarybird { __schema { queryType { name } } }")
    await client("{ a: health { ok } b: records { nodes { id } } }")
    await client.http.get(f"{client.url}/{CANARY}", headers={"x-canary": CANARY})
    await client.http.request("PROPFIND", f"{client.url}/artifacts/{CANARY}")
    await client.http.put(f"{client.url}/artifacts", content=CANARY, headers={"authorization": CANARY})
    after = await samples(client.http, client.url)

    def grown(name: str, **wanted: str) -> float:
        key = tuple(sorted(wanted.items()))
        return after[name][key] - before.get(name, {}).get(key, 0.0)

    assert grown("stratagraph_requests_total", route="/graphql", method="POST", status="200") == 5
    assert grown("stratagraph_requests_total", route=OTHER, method="GET", status="404") == 1
    assert labels(after["stratagraph_requests_total"], "route") <= {*ROUTES, OTHER}
    assert OTHER in labels(after["stratagraph_requests_total"], "method")
    count = "stratagraph_operation_duration_seconds_count"
    assert grown(count, kind="mutation", operation="captureMemory") == 2
    assert grown(count, kind="query", operation=INTROSPECTION) == 1
    assert grown(count, kind="query", operation="several") == 1
    assert grown("stratagraph_errors_total", code="INVALID_INPUT") == 3, (
        "the mutation's, that of the invalid document, and that of the unknown method"
    )
    assert grown("stratagraph_errors_total", code="UNAUTHENTICATED") == 1
    assert labels(after["stratagraph_errors_total"], "code") <= {
        one.code for one in vars(errors).values() if isinstance(one, type) and issubclass(one, StratagraphError)
    }

    async def outcome_is_measured() -> bool:  # a measurement is used for a second
        after.update(await samples(client.http, client.url))
        return after["stratagraph_reported_outcomes_total"][(("outcome", "success"),)] == 1

    await until(outcome_is_measured, every_s=SPARING_S)

    async def records_are_counted() -> bool:  # every ten seconds
        after.update(await samples(client.http, client.url))
        return "stratagraph_records" in after

    await until(records_are_counted, every_s=SPARING_S)
    assert labels(after["stratagraph_records"], "state") == {"active", "contested", "past"}
    assert labels(after["stratagraph_records"], "type") <= {memory_type.label for memory_type in MemoryType}
    assert labels(after["stratagraph_reported_outcomes_total"], "outcome") == {"success", "failure", "partial"}
    for records in ("returned", "used"):
        assert after["stratagraph_reported_records_total"][(("records", records),)] == len(used)
    assert after["stratagraph_retrieval_usefulness"][()] == 1
    assert after["stratagraph_up"][(("part", "database"),)] == 1
    assert labels(after["stratagraph_up"], "part") <= PARTS
    code, listed, _ = await run_command("jobs", "list", "--json", env=service.environment)
    assert code == 0
    names = {job["name"] for job in json.loads(listed)}
    for name in ("runs_total", "failed_runs_total", "failures", "overdue_seconds"):
        assert labels(after[f"stratagraph_job_{name}"], "job") == names
    assert labels(after["stratagraph_job_last_run_timestamp_seconds"], "job") == names - {"consolidate"}
    assert labels(after["stratagraph_queue_depth"], "queue") == {
        *("failed_captures", "given_up_captures", "reevaluations", "texts_to_read", "due_episodes"),
        *("entities_to_link", "unlearned_episodes", "records_to_compare"),
    }
    assert (
        after["stratagraph_pool_connections"][(("pool", "callers"), ("state", "size"))] == POOL_SIZE + SPARE_CONNECTIONS
    )
    assert labels(after["stratagraph_pool_connections"], "state") == {"size", "in_use", "waiting"}
    assert after["process_resident_memory_bytes"][()] > 1 << 20
    documented = set(re.findall(r"`(stratagraph_\w+)`", (ROOT / "docs" / "observing.md").read_text()))
    present = {re.sub("_(bucket|count|sum)$", "", name) for name in after if name.startswith("stratagraph_")}
    assert present <= documented
    nothing_to_take_them_of = ("competence_", "plan_", "memory_growth_")
    absent = ("mirror_", "embedded_", "feed_", "process_", "embedder_", "records_to_embed", *nothing_to_take_them_of)
    assert all(name.removeprefix("stratagraph_").startswith(absent) for name in documented - present)


def listener_of(log: Path) -> str:
    """Return the address of the metrics' own listener, which the service logs."""
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        if entry["event"] == "metrics are served":
            return str(entry["url"]).removesuffix("/metrics")
    raise AssertionError("the service did not log the address of its metrics")


async def test_with_credentials_the_metrics_are_only_on_a_listener_of_their_own(
    database_url: str, tmp_path: Path
) -> None:
    given = {"database_url": database_url, "single_user": "off", "data_dir": str(tmp_path / "data")}
    log = tmp_path / "log"
    async with httpx.AsyncClient() as http:
        with running(**given) as service:
            out = (
                await run_command("token", "create", "root", "--access", "admin", "--json", env=service.environment)
            )[1]
            token = {"Authorization": f"Bearer {json.loads(out)['token']}"}
            for headers in ({}, token):
                answer = await http.get(f"{service.url}/metrics", headers=headers)
                assert answer.status_code == 404, "an administrator of one tenant does not operate the service"
        with running(**given, metrics_port="0", log=str(log)) as service:
            own = listener_of(log)
            assert own.startswith("http://127.0.0.1:")
            assert (await samples(http, own))["stratagraph_up"][(("part", "database"),)] == 1
            assert (await http.get(f"{own}/readyz")).json() == {"status": "ready"}
            assert (await http.get(f"{own}/metrics", headers={"host": "evil.example"})).status_code == 400
            for path in ("/graphql", "/artifacts"):
                assert (await http.post(f"{own}{path}")).status_code == 404
            assert (await http.get(f"{service.url}/metrics", headers=token)).status_code == 404
            assert service.stop() == 0


async def test_a_process_without_the_api_has_metrics_on_a_listener(database_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    given = {"database_url": database_url, "single_user": "off", "data_dir": str(tmp_path / "data")}
    with running("--only", "jobs", **given, metrics_port="0", log=str(log)) as service:
        assert service.url is None
        async with httpx.AsyncClient() as http:

            async def jobs_run() -> bool:
                runs = (await samples(http, listener_of(log))).get("stratagraph_job_runs_total", {})
                return sum(runs.values()) > 0

            await until(jobs_run, every_s=SPARING_S)
