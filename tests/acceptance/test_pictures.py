"""Each picture of a front end is one document over HTTP, and the same operations refuse what cannot be."""

from __future__ import annotations

import json
from typing import Any

from fix_service import CAPTURE, Client, Service, run_command

PICTURES = {
    "history": "query($fact: ID!) { slotHistory(id: $fact) { text state validFrom relationPage { nodes { id } } } }",
    "disputes": """{ disputes {
      nodes { since parties { name state redacted } } pageInfo { hasNextPage endCursor } } }""",
    "thread": """{ thread(id: "standup") { id working { type } episodes { nodes { name } }
      turns(first: 2) { nodes { text } pageInfo { hasNextPage endCursor } } } }""",
    "fading": """{ fading(until: "2030-01-01T00:00:00Z", first: 1) {
      totalCount nodes { dueAt awaitsLearning record { name } } pageInfo { hasNextPage } } }""",
    "versions": """{ planVersions(planId: "release") { version stepCount current record { name } } }""",
    "handle": """{ plan: recordByHandle(handle: {plan: {name: "release", version: "1"}}) { payload }
      event: recordByHandle(handle: {ref: "build-7"}) { text } }""",
    "list": """{ records(filter: {types: [SEMANTIC], subject: "Ann", predicate: "lives in"}, order: OCCURRED_DESC,
      first: 1) { totalCount cut nodes { text } pageInfo { hasNextPage endCursor } } }""",
    "entities": """{ entityPage(name: "ann") { nodes { name relationPage(first: 1) {
      nodes { predicate } pageInfo { hasNextPage } } } } }""",
}

CREATED = ["filter", "created"]


async def capture(client: Client, kind: str, content: dict[str, Any], **more: Any) -> str:
    given = {"source": "test", "sourceKind": kind, "content": content, **more}
    made: str = (await client.data(CAPTURE, input=given))["captureMemory"]["primaryRecord"]["id"]
    return made


async def test_each_picture_is_one_request(client: Client) -> None:
    for text in ("first", "second", "third"):
        await capture(client, "AGENT_TURN", {"role": "user", "text": text, "thread_id": "standup"})
    await capture(client, "WORKING_STATE", {"thread_id": "standup", "state": "executing"})
    await capture(client, "EVENT", {"text": "the build is green", "ref": "build-7"})
    facts = [
        await capture(
            client,
            "OBSERVATION",
            {"subject": "Ann", "predicate": "lives_in", "object": place},
            timestamp=f"{year}-01-01T00:00:00Z",
        )
        for year, place in ((2020, "Bern"), (2021, "Oslo"))
    ]
    for version in ("1", "2"):
        content = {"plan_id": "release", "version": version, "nodes": [{"id": "s", "op": "build"}], "edges": []}
        await capture(client, "OBSERVATION", content, proposedType="PLAN_GRAPH")
    contested = """mutation($id: ID!) { contest(input: {recordId: $id, rationale: "doubtful",
      evidence: [{kind: "human", ref: "ticket"}]}) { __typename } }"""
    assert (await client.data(contested, id=facts[1]))["contest"]["__typename"] == "RevisionSuccess"

    async def ask(name: str) -> Any:
        return await client.data(PICTURES[name], **({"fact": facts[0]} if name == "history" else {}))

    history = (await ask("history"))["slotHistory"]
    assert len(history) == 2
    assert all(one["relationPage"]["nodes"] for one in history)
    (dispute,) = (await ask("disputes"))["disputes"]["nodes"]
    assert dispute["since"] is not None
    assert len(dispute["parties"]) >= 2
    thread = (await ask("thread"))["thread"]
    assert [one["text"] for one in thread["turns"]["nodes"]] == ["user: third", "user: second"]
    assert thread["turns"]["pageInfo"]["hasNextPage"] is True
    assert (thread["working"]["type"], len(thread["episodes"]["nodes"])) == ("WORKING", 1)
    fading = (await ask("fading"))["fading"]
    assert fading["totalCount"] >= len(fading["nodes"]) == 1
    versions = (await ask("versions"))["planVersions"]
    assert [(one["version"], one["stepCount"]) for one in versions] == [("2", 1), ("1", 1)]
    handles = await ask("handle")
    assert (handles["plan"]["payload"]["version"], handles["event"]["text"].splitlines()[0]) == (
        "1",
        "the build is green",
    )
    page = (await ask("list"))["records"]
    assert (page["totalCount"], page["cut"], page["pageInfo"]["hasNextPage"]) == (2, False, True)
    assert "Oslo" in page["nodes"][0]["text"]
    (ann,) = (await ask("entities"))["entityPage"]["nodes"]
    assert ann["relationPage"]["pageInfo"]["hasNextPage"] is True


async def test_what_cannot_be_listed_is_refused_with_its_path(client: Client) -> None:
    for question, path in (
        ('records(filter: {ids: ["x"]})', ["filter", "ids"]),
        ('records(filter: {created: {from: "2026-02-01T00:00:00Z", before: "2026-01-01T00:00:00Z"}})', CREATED),
        ('records(after: "AAAA")', ["after"]),
        ('records(asOf: "2099-01-01T00:00:00Z")', ["asOf"]),
        ("disputes(first: 0)", ["first"]),
        ('entityPage(name: "x", after: "AAAA")', ["after"]),
    ):
        answer = await client(f"{{ {question} {{ pageInfo {{ hasNextPage }} }} }}")
        (error,) = answer["errors"]
        assert (error["extensions"]["code"], error["extensions"]["path"]) == ("INVALID_INPUT", path)


async def test_the_command_lists_records_by_a_filter(client: Client, service: Service) -> None:
    for name, place in (("Ann", "Bern"), ("Bo", "Oslo")):
        await capture(client, "OBSERVATION", {"subject": name, "predicate": "lives_in", "object": place}, tags=["home"])

    async def run(*arguments: str, status: int = 0) -> str:
        found, out, err = await run_command(*arguments, env=service.environment)
        assert found == status, err
        return out if status == 0 else err

    everything = json.loads(await run("records", "--type", "semantic", "--tag", "home", "--json"))["records"]
    assert everything["totalCount"] == 2
    shown = await run("records", "--subject", "Ann", "--predicate", "lives in")
    assert "Bern" in shown
    assert "Oslo" not in shown
    page = await run("records", "--type", "semantic", "--order", "name", "--ascending", "--first", "1")
    assert "Ann" in page
    cursor = page.partition("--after ")[2].strip()
    further = await run(
        "records", "--type", "semantic", "--order", "name", "--ascending", "--first", "1", "--after", cursor
    )
    assert "Bo" in further
    assert "More follow" not in further
    assert "no records" in await run("records", "--as-of", "2020-01-01T00:00:00Z")
    ann = (await client.data('{ entityPage(name: "Ann") { nodes { id } } }'))["entityPage"]["nodes"][0]["id"]
    assert "is none of active, contested" in " ".join((await run("records", "--state", "odd", status=1)).split())
    then = json.loads(await run("explore", "expand", ann, "--valid-at", "2020-01-01T00:00:00Z", "--json"))["expand"]
    assert then["freshness"]["engine"] == "SQL"
