"""docs/graph-questions.md shows what `planGraph` answers, and its picture is drawn from that answer.

With STRATAGRAPH_TEST_PICTURES=docs/pictures the test writes the picture.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fix_service import CAPTURE, Client
from plan_picture import draw

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = os.environ.get("STRATAGRAPH_TEST_PICTURES")


ASK = """query { retrieveGraph(input: {taskDescriptor: "deploy Lantern"}) {
  ... on RetrieveGraphSuccess { retrievalId } } }"""
REPORT = """mutation($input: ReportOutcomeInput!) { reportOutcome(input: $input) {
  __typename ... on MemoryError { message } } }"""


def step(id_: str, op: str) -> dict[str, Any]:
    return {"id": id_, "op": op}


PLAN = {
    "plan_id": "deploy-lantern",
    "version": "1",
    "intent": "deploy Lantern without logging anybody out",
    "nodes": [
        step("build", "build_image"),
        step("test", "run_tests"),
        step("migrate", "migrate_database"),
        step("canary", "deploy_canary"),
        step("watch", "watch the error rate"),
        step("ship", "deploy"),
    ],
    "edges": [
        {"from": source, "to": target, "kind": kind}
        for source, target, kind in (
            ("build", "test", "control"),
            ("build", "migrate", "control"),
            ("test", "canary", "control"),
            ("migrate", "canary", "control"),
            ("canary", "watch", "control"),
            ("watch", "ship", "control"),
            ("build", "canary", "data"),
        )
    ],
}


async def capture(client: Client, plan: dict[str, Any]) -> str:
    given = {"source": "test", "sourceKind": "OBSERVATION", "proposedType": "PLAN_GRAPH", "content": plan}
    made = await client.data(CAPTURE, input=given)
    return str(made["captureMemory"]["primaryRecord"]["id"])


EXECUTED = {"build": (12, 0), "test": (12, 2), "migrate": (4, 4), "canary": (10, 0), "ship": (10, 0)}  # and failed


async def report(client: Client, plan: str) -> None:
    """Report outcomes with steps, until each has been executed and has failed as often as EXECUTED has it."""
    for number in range(max(executions for executions, _ in EXECUTED.values())):
        steps = [
            {"recordId": plan, "stepId": name, "outcome": "FAILURE" if number < failures else "SUCCESS"}
            for name, (executions, failures) in EXECUTED.items()
            if number < executions
        ]
        retrieval = (await client.data(ASK))["retrieveGraph"]["retrievalId"]
        given = {"retrievalId": retrieval, "outcome": "SUCCESS", "usedRecordIds": [plan], "steps": steps}
        assert (await client.data(REPORT, input=given))["reportOutcome"]["__typename"] == "ReportOutcomeSuccess"


async def test_the_page_shows_the_answer_and_the_picture_is_drawn_from_it(client: Client) -> None:
    _, _, page = (DOCS / "graph-questions.md").read_text().partition("## Drawing plans")
    await report(client, await capture(client, PLAN))
    ((document, shown),) = re.findall(r"```graphql\n(.*?)```\s+```json\n(.*?)```", page, flags=re.DOTALL)
    answer = await client.data(document)
    assert answer == json.loads(shown), json.dumps(answer, indent=2)
    drawn = draw(answer["planGraph"])
    if PICTURES is not None:
        await asyncio.to_thread((Path(PICTURES) / "plan-graph.svg").write_text, drawn)
    assert (DOCS / "pictures" / "plan-graph.svg").read_text() == drawn


async def test_a_large_plan_is_answered_in_groups_that_can_be_opened(client: Client) -> None:
    nodes = [step(f"s{at:03}", "test") for at in range(600)]
    edges = [{"from": "s000", "to": node["id"], "kind": "control"} for node in nodes[1:]]
    id_ = await capture(client, {"plan_id": "large", "version": "1", "nodes": nodes, "edges": edges})
    document = """query($id: ID!, $group: ID) { planGraph(id: $id, group: $group) {
      collapsed stepCount linkCount steps { id kind count label rank depth } links { source target count } } }"""
    whole = (await client.data(document, id=id_))["planGraph"]
    assert (whole["collapsed"], whole["stepCount"], whole["linkCount"]) == (True, 600, 599)
    assert sum(one["count"] for one in whole["steps"]) == 600
    assert len(whole["steps"]) <= 500
    assert sum(link["count"] for link in whole["links"]) == 599
    group = next(one for one in whole["steps"] if one["kind"] == "GROUP")
    inner = (await client.data(document, id=id_, group=group["id"]))["planGraph"]
    assert (inner["collapsed"], len(inner["steps"])) == (False, group["count"])
    assert {(one["kind"], one["rank"], one["depth"]) for one in inner["steps"]} == {("TOOL", 0, 1)}
    refused = await client(document, id=id_, group="s001")
    assert refused["errors"][0]["extensions"]["path"] == ["group"]


async def test_a_plan_of_the_future_is_refused(client: Client) -> None:
    await capture(client, PLAN)
    document = 'query($at: DateTime) { planGraph(id: "deploy-lantern", at: $at) { state } }'
    year = datetime.now(UTC).year + 2
    refused = await client(document, at=f"{year}-01-01T00:00:00Z")
    assert refused["errors"][0]["extensions"]["path"] == ["at"]
    assert await client.data(document, at="2020-01-01T00:00:00Z") == {"planGraph": None}
