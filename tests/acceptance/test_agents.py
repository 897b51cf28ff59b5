"""What an agent does over HTTP and from the command line: playbooks, citations, hops by type, patches and batches."""

from __future__ import annotations

import json
from typing import Any

from fix_service import Client, Service, run_command

CAPTURE = """mutation($items: [CaptureMemoryInput!]!) { captureMemories(input: {items: $items}) {
  ... on CaptureMemoriesSuccess { results { primaryRecord { id } } } ... on MemoryError { message path } } }"""
LEARN = """mutation($task: String!) { learnLesson(input: {task: $task, solution: "run the smoke test"}) {
  ... on LearnLessonSuccess { lesson { id } } } }"""
ERROR = "... on MemoryError { code message path retryable }"
PLAYBOOK = """query($query: String, $count: Boolean) {
  playbook(query: $query, recordRetrievals: $count) { text lessonIds playbookId } }"""
CREDIT = (
    "mutation($input: CreditLessonsInput!) { creditLessons(input: $input) { ... on LessonsChanged { lessonIds } %s } }"
)
ASK = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { ... on RetrieveGraphSuccess {
  retrievalId rendering citations { number recordId } nodes { hop record { id type name } } } %s } }"""
REVISE = """mutation($input: ReviseRecordsInput!) { reviseRecords(input: $input) { __typename
  ... on ReviseRecordsSuccess { results { record { id state payload } replayed } } %s } }"""
REPORT = """mutation($input: ReportOutcomesInput!) { reportOutcomes(input: $input) { __typename
  ... on ReportOutcomesSuccess { results { retrievalId reinforcedIds replayed } } %s } }"""


async def facts(client: Client, *objects: str) -> list[str]:
    items = [
        {
            "source": "agent",
            "sourceKind": "OBSERVATION",
            "content": {"subject": "parrot", "predicate": "likes", "object": one},
        }
        for one in objects
    ]
    found = await client.data(CAPTURE, items=items)
    return [one["primaryRecord"]["id"] for one in found["captureMemories"]["results"]]


async def lesson_counts(client: Client, id_: str) -> tuple[int, int]:
    found = await client.data("query($id: ID!) { record(id: $id) { payload } }", id=id_)
    lesson = found["record"]["payload"]["lesson"]
    return lesson["retrievals"], lesson["helpful_retrievals"]


async def credit(client: Client, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await client.data(CREDIT % ERROR, input=given))["creditLessons"]
    return found


async def test_a_playbook_is_read_and_credited_by_its_id(client: Client) -> None:
    ship, sing = [(await client.data(LEARN, task=task))["learnLesson"]["lesson"]["id"] for task in ("ship", "sing")]
    found = (await client.data(PLAYBOOK, query=None, count=None))["playbook"]
    assert found["lessonIds"] == [sing, ship]
    assert [line[-4:] for line in found["text"].splitlines()[2:]] == [" [1]", " [2]"]
    assert await lesson_counts(client, ship) == (0, 0)
    about = (await client.data(PLAYBOOK, query="ship", count=None))["playbook"]
    assert about["lessonIds"] == [ship]
    for _ in range(2):
        assert await credit(client, playbookId=about["playbookId"]) == {"lessonIds": [ship]}
    assert (await lesson_counts(client, ship), await lesson_counts(client, sing)) == ((1, 1), (0, 0))
    assert await credit(client, playbookId=found["playbookId"], lessonIds=[sing]) == {"lessonIds": [sing]}
    assert (await lesson_counts(client, ship), await lesson_counts(client, sing)) == ((1, 1), (1, 1))
    for given, path in (
        ({"playbookId": "x"}, ["playbookId"]),
        ({"playbookId": found["playbookId"], "windowSeconds": 5}, ["windowSeconds"]),
        ({"lessonIds": [ship]}, ["lessonIds"]),
        ({"windowSeconds": 0}, ["windowSeconds"]),
    ):
        refused = await credit(client, **given)
        assert (refused["code"], refused["path"]) == ("INVALID_INPUT", path)
    assert await credit(client) == {"lessonIds": []}


async def test_an_answer_cites_by_numbers_and_reaches_the_types_of_each_hop(client: Client) -> None:
    nuts = await facts(client, "hazelnuts [7]", "walnuts [8]")
    request = {"taskDescriptor": "what does the parrot like?", "memoryTypes": ["SEMANTIC"], "tokenBudget": 500}
    found = (await client.data(ASK % ERROR, input={**request, "citationStyle": "NUMBER"}))["retrieveGraph"]
    lines = found["rendering"].splitlines()
    assert [one["number"] for one in found["citations"]] == list(range(1, len(lines) + 1))
    assert all(line.endswith(f" [{number}]") for number, line in enumerate(lines, 1))
    assert "[7]" not in found["rendering"]
    assert {one["recordId"] for one in found["citations"][:2]} == set(nuts)
    by_id = (await client.data(ASK % ERROR, input=request))["retrieveGraph"]
    assert [line[-37:-1] for line in by_id["rendering"].splitlines()] == [one["recordId"] for one in by_id["citations"]]
    reached = {node["record"]["type"] for node in found["nodes"] if node["hop"]}
    assert reached == {"ENTITY"}
    for hop_types, expected in (
        ([["ENTITY"]], {"ENTITY"}),
        ([["EPISODIC"]], set()),
        ([[]], {"ENTITY"}),
        (None, reached),
    ):
        narrowed = (await client.data(ASK % ERROR, input={**request, "hopTypes": hop_types}))["retrieveGraph"]
        assert {node["record"]["type"] for node in narrowed["nodes"] if node["hop"]} == expected
    refused = (await client.data(ASK % ERROR, input={**request, "hopTypes": [["ENTITY"], []]}))["retrieveGraph"]
    assert (refused["code"], refused["path"]) == ("INVALID_INPUT", ["hopTypes"])
    entity = next(node["record"]["id"] for node in found["nodes"] if node["hop"])
    why_not = """query($id: ID!, $input: RetrieveGraphInput!) { whyNot(id: $id, input: $input) {
      ... on WhyNotSuccess { returned reasons { reason message } } } }"""
    told = (await client.data(why_not, id=entity, input={**request, "hopTypes": [["EPISODIC"]]}))["whyNot"]
    assert not told["returned"]
    assert "hopTypes" in told["reasons"][-1]["message"]
    used = [found["citations"][0]["recordId"]]
    reports = [
        {"retrievalId": one["retrievalId"], "outcome": "SUCCESS", "usedRecordIds": used} for one in (found, by_id)
    ]
    wrong = [reports[0], {**reports[1], "usedRecordIds": ["01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e"]}]
    refused = (await client.data(REPORT % ERROR, input={"items": wrong}))["reportOutcomes"]
    assert (refused["__typename"], refused["path"]) == ("InvalidInput", ["items", "1", "usedRecordIds"])
    for is_again in (False, True):
        done = (await client.data(REPORT % ERROR, input={"items": reports}))["reportOutcomes"]["results"]
        assert [(one["reinforcedIds"], one["replayed"]) for one in done] == [(used, is_again)] * 2


async def test_revisions_are_patches_and_batches(client: Client) -> None:
    first, second = await facts(client, "nuts", "seeds")
    evidence = [{"kind": "human", "ref": "ticket-7"}]
    amend = {"recordId": first, "changes": {"object": "apples"}, "rationale": "seen"}
    retract = {"recordId": second, "rationale": "wrong"}
    given: dict[str, Any] = {"items": [{"retract": retract}, {"amend": amend}]}
    refused = (await client.data(REVISE % ERROR, input=given))["reviseRecords"]
    assert (refused["__typename"], refused["path"]) == ("EvidenceRequired", ["items", "1", "amend", "evidence"])
    state = "query($id: ID!) { record(id: $id) { state } }"
    assert (await client.data(state, id=second))["record"]["state"] == "ACTIVE"
    given = {"items": [{"retract": retract}, {"amend": {**amend, "evidence": evidence}}], "idempotencyKey": "k"}
    for is_again in (False, True):
        done = (await client.data(REVISE % ERROR, input=given))["reviseRecords"]["results"]
        assert [(one["record"]["state"], one["replayed"]) for one in done] == [
            ("RETRACTED", is_again),
            ("ACTIVE", is_again),
        ]
        assert done[1]["record"]["payload"]["object"] == "apples"
    both = await client(REVISE % ERROR, input={"items": [{"retract": retract, "amend": amend}]})
    assert "errors" in both
    assert "exactly one" in json.dumps(both["errors"]).lower()
    malformed = await client.data(REVISE % ERROR, input={"items": [{"retract": {**retract, "recordId": "x"}}]})
    assert malformed["reviseRecords"]["path"] == ["items", "0", "retract", "recordId"]
    rules = (await client.data("{ revisionRules { revision type allowed evidence } }"))["revisionRules"]
    assert {"revision": "AMEND", "type": "SEMANTIC", "allowed": True, "evidence": "REQUIRED"} in rules
    assert {"revision": "AMEND", "type": "EPISODIC", "allowed": False, "evidence": "NONE"} in rules


async def test_an_agent_at_a_terminal_does_the_same(service: Service, client: Client) -> None:
    env = service.environment
    nuts, seeds = await facts(client, "nuts", "seeds")
    await client.data(LEARN, task="ship")
    status, out, err = await run_command("playbook", "ship", env=env)
    assert status == 0, err
    assert out.rstrip().endswith("[1]")
    lesson, playbook = (line.split()[-1] for line in err.splitlines())
    status, out, err = await run_command("lessons", "credit", playbook, "--lesson", lesson, env=env)
    assert (status, out.split()) == (0, ["credited", lesson]), err
    asked = ["ask", "what does the parrot like?", "--type", "semantic", "--tokens", "300", "--hop-types", "entity"]
    status, out, err = await run_command(*asked, "--valid-at", "2099-01-01T00:00:00Z", env=env)
    assert status == 0, err
    assert {nuts, seeds} < {line.split()[-1] for line in out.splitlines() if line.startswith("[")}
    changes = ["--changes", '{"object": "apples"}', "--evidence", "human:ticket-7", "--why", "seen"]
    status, out, err = await run_command("revise", "amend", nuts, *changes, env=env)
    assert status == 0, err
    assert "parrot likes apples" in out
    items = json.dumps([{"pin": {"recordId": seeds, "pinned": True, "rationale": "keep"}}])
    status, out, err = await run_command("revise", "batch", items, "--key", "k", env=env)
    assert status == 0, err
    assert "parrot likes seeds" in out
    status, out, err = await run_command("revise", "batch", "{}", env=env)
    assert status != 0
    assert "must be a JSON list" in err
