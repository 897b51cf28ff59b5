"""A plan that is composed for a task, over HTTP: found, drawn by both of its ids, and reported on."""

from __future__ import annotations

from typing import Any

from fix_service import Client, Service, run_command

CAPTURE = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) {
  __typename ... on MemoryError { message } } }"""
ASK = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) {
  ... on RetrieveGraphSuccess { retrievalId roots nodes { record { id name confidence payload } }
    edges { sourceId targetId predicate } }
  ... on MemoryError { message } } }"""
DRAW = "query($id: ID!) { planGraph(id: $id) { id planId composed steps { op } } }"
REPORT = """mutation($input: ReportOutcomeInput!) { reportOutcome(input: $input) {
  ... on ReportOutcomeSuccess { penalizedIds skippedIds } ... on MemoryError { message } } }"""
TASKS = {"cancel_order": "please cancel order {}", "return_item": "I want to send back the kettle that came with {}"}
TASK = "please cancel order W9001, and send back the kettle that came with W9002"


def conversation(thread: str, tool: str, asked: str) -> list[dict[str, Any]]:
    call = {"tool_name": tool, "args": {"order_id": thread}, "result": "ok"}
    said: list[tuple[str, dict[str, Any]]] = [
        ("AGENT_TURN", {"role": "user", "text": asked.format(thread)}),
        ("TOOL_OUTPUT", call),
        ("OUTCOME", {"outcome_status": "success"}),
    ]
    return [
        {"source": "agent", "sourceKind": kind, "content": {**content, "thread_id": thread}, "scope": "shop"}
        for kind, content in said
    ]


async def test_a_composed_plan_is_found_drawn_and_reported_on(service: Service, client: Client) -> None:
    for number in range(4):
        for place, (tool, asked) in enumerate(TASKS.items()):
            items = conversation(f"W{7000 + 10 * number + place}", tool, asked)
            assert "message" not in (await client.data(CAPTURE, input={"items": items}))["captureMemories"]
    code, _, err = await run_command("consolidate", "--json", env=service.environment)
    assert code == 0, err
    wanted = {"taskDescriptor": TASK, "memoryTypes": ["PLAN_GRAPH", "COMPETENCE"], "scopes": ["shop"], "rootLimit": 3}
    found = (await client.data(ASK, input=wanted))["retrieveGraph"]
    records = {node["record"]["id"]: node["record"] for node in found["nodes"]}
    plan = records[found["roots"][0]]
    assert plan["payload"]["composed"] is True
    assert {node["op"] for node in plan["payload"]["nodes"]} == {*TASKS}
    parts = set(plan["payload"]["derived_from"])
    assert {records[part]["name"] for part in parts} == {f"skill:{tool}" for tool in TASKS}
    linked = {(edge["sourceId"], edge["targetId"]) for edge in found["edges"] if edge["predicate"] == "derived_from"}
    assert {(plan["id"], part) for part in parts} <= linked
    for id_ in (plan["id"], plan["payload"]["plan_id"]):
        drawn = (await client.data(DRAW, id=id_))["planGraph"]
        assert (drawn["id"], drawn["composed"]) == (plan["id"], True)
        assert {step["op"] for step in drawn["steps"]} == {*TASKS}
    report = {"retrievalId": found["retrievalId"], "outcome": "FAILURE", "usedRecordIds": [plan["id"]]}
    done = (await client.data(REPORT, input=report))["reportOutcome"]
    assert parts <= set(done["penalizedIds"])
    assert done["skippedIds"] == []
    again = (await client.data(ASK, input=wanted))["retrieveGraph"]
    weaker = {node["record"]["id"]: node["record"] for node in again["nodes"]}[plan["id"]]
    assert weaker["confidence"] < plan["confidence"]
