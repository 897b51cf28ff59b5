"""`stratagraph consolidate` beside a running service: learn, report, undo."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from fix_service import Client, Service, run_command

CAPTURE = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) {
  ... on CaptureMemoriesSuccess { results { __typename } } ... on MemoryError { message } } }"""
RUNS = "{ consolidationRuns { nodes { id state episodes stages { name outputs } groups { scope canUndo } } } }"
AGAIN = """mutation ($id: ID!) { learnAgain(input: {id: $id}) {
  __typename ... on LearnAgainSuccess { episodes } ... on MemoryError { code message path } } }"""


async def consolidate(service: Service, *arguments: str, status: int = 0) -> Any:
    code, out, err = await run_command("consolidate", *arguments, "--json", env=service.environment)
    assert code == status, err
    return json.loads(out) if out else err


async def test_a_person_learns_now_reads_the_report_and_undoes_it(service: Service, client: Client) -> None:
    event = {"thread_id": "t", "event_kind": "step", "summary": "found the key"}
    done = {"thread_id": "t", "outcome_status": "success"}
    items = [
        {"source": "agent", "sourceKind": kind, "content": content}
        for kind, content in (("EVENT", event), ("OUTCOME", done))
    ]
    assert (await client.data(CAPTURE, input={"items": items}))["captureMemories"]["results"]
    foretold = await consolidate(service, "--dry-run")
    learned = await consolidate(service)
    if learned["episodes"]:  # else the service's own job was faster
        told = {one["name"] for one in foretold["stages"]}  # without what learning does from queues
        assert foretold["stages"] == [one for one in learned["stages"] if one["name"] in told]
    (run,) = (await client.data(RUNS))["consolidationRuns"]["nodes"]
    assert (run["state"], run["episodes"]) == ("FINISHED", 1)
    outputs = {stage["name"]: stage["outputs"] for stage in run["stages"]}
    assert (outputs["compression"], outputs["structural-facts"]) == (1, 1)
    assert [one["id"] for one in (await consolidate(service, "runs"))["consolidationRuns"]["nodes"]] == [run["id"]]
    refused = (await client.data(AGAIN, id=run["id"]))["learnAgain"]
    assert (refused["__typename"], refused["code"], refused["path"]) == ("InvalidInput", "INVALID_INPUT", ["id"])
    undone = (await consolidate(service, "undo", run["id"], "--why", "too eager"))["undoRun"]
    assert (undone["complete"], undone["kept"], undone["run"]["state"]) == (True, [], "UNDONE")
    assert (await consolidate(service))["episodes"] == 0
    again = [(await client.data(AGAIN, id=run["id"]))["learnAgain"] for _ in range(2)]
    assert again == [{"__typename": "LearnAgainSuccess", "episodes": count} for count in (1, 0)]
    await consolidate(service)
    runs = (await client.data(RUNS))["consolidationRuns"]["nodes"]
    assert [(one["state"], one["episodes"]) for one in runs] == [("FINISHED", 1), ("UNDONE", 1)]
    unknown = (await client.data(AGAIN, id=str(UUID(int=7))))["learnAgain"]
    assert (unknown["__typename"], unknown["code"]) == ("NotFound", "NOT_FOUND")
    assert "no stage 'x'" in await consolidate(service, "--stage", "x", status=1)
