"""The queries of docs/graph-questions.md return the answers shown there, over HTTP and as commands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fix_service import CAPTURE, Client, Service, run_command
from model_explore import STORY

PAGE = (
    (Path(__file__).resolve().parents[2] / "docs" / "graph-questions.md").read_text().partition("## Drawing plans")[0]
)
ENTITY = "query($name: String!) { entities(name: $name, first: 1) { id } }"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


async def capture_story(client: Client) -> dict[str, str]:
    """Capture the story; return ids by the names that the page's queries use."""
    ids: dict[str, str] = {}
    for kind, proposed, content in STORY:
        filled = json.loads(json.dumps(content).replace("FACT", ids.get("fact", "FACT")))
        made = await client.data(
            CAPTURE,
            input={"source": "test", "sourceKind": kind.name, "content": filled}
            | ({"proposedType": proposed.name} if proposed is not None else {}),
        )
        ids.setdefault("fact", made["captureMemory"]["primaryRecord"]["id"])
    for name in ("Alice", "Bern", "Acme"):
        ids[name.lower()] = (await client.data(ENTITY, name=name))["entities"][0]["id"]
    return ids


async def test_every_query_of_the_page_returns_the_answer_shown(client: Client) -> None:
    ids = await capture_story(client)
    examples = re.findall(r"```graphql\n(.*?)```\s+```json\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(examples) == 5
    for document, shown in examples:
        answer = await client.data(document, **{name: ids[name] for name in re.findall(r"\$(\w+):", document)})
        assert answer == json.loads(shown), json.dumps(answer, indent=2, ensure_ascii=False)


ERROR = "__typename ... on MemoryError { code retryable path }"


async def test_an_unknown_record_is_not_found_and_an_argument_out_of_bounds_is_named(client: Client) -> None:
    ids = await capture_story(client)
    documents = {
        f"query($id: ID!, $to: ID!) {{ explainPath(from: $id, to: $to) {{ {ERROR} }} }}": "explainPath",
        f"query($id: ID!) {{ impact(id: $id) {{ {ERROR} }} }}": "impact",
        f"query($id: ID!) {{ relatedEntities(id: $id) {{ {ERROR} }} }}": "relatedEntities",
        f"query($id: ID!) {{ expand(id: $id) {{ {ERROR} }} }}": "expand",
    }
    for document, name in documents.items():
        more = {"to": ids["acme"]} if "$to" in document else {}
        assert await client.data(document, id=UNKNOWN_ID, **more) == {
            name: {"__typename": "NotFound", "code": "NOT_FOUND", "retryable": False, "path": None}
        }
    for question, path in (
        ("explainPath(from: $id, to: $id)", "to"),
        ('explainPath(from: $id, to: "x")', "to"),
        ("impact(id: $id, hops: 7)", "hops"),
        ('expand(id: $id, loadedIds: ["x"])', "loadedIds.0"),
        ("relatedEntities(id: $id, first: 101)", "first"),
        ('relatedEntities(id: $id, atLeastSequence: "7")', "atLeastSequence"),
        ("plansContaining(ops: [])", "ops"),
    ):
        variables = {"id": ids["acme"]} if "$id" in question else {}
        head = "query($id: ID!)" if variables else "query"
        answer: dict[str, Any] = await client.data(f"{head} {{ found: {question} {{ {ERROR} }} }}", **variables)
        assert answer["found"] == {
            "__typename": "InvalidInput",
            "code": "INVALID_INPUT",
            "retryable": False,
            "path": path.split("."),
        }


async def test_every_graph_question_takes_the_sequence_of_a_receipt(client: Client) -> None:
    ids = await capture_story(client)
    capture = CAPTURE.replace("primaryRecord { id }", "primaryRecord { id } receipt { sequence }")
    content = {"subject": "Carol", "predicate": "works_at", "object": "Acme"}
    made = await client.data(capture, input={"source": "test", "sourceKind": "OBSERVATION", "content": content})
    fact, sequence = made["captureMemory"]["primaryRecord"]["id"], made["captureMemory"]["receipt"]["sequence"]
    found = await client.data(
        """query($id: ID!, $fact: ID!, $after: String!) {
          explainPath(from: $id, to: $fact, atLeastSequence: $after) { ... on PathExplanation { paths { weight } } }
          impact(id: $id, hops: 1, atLeastSequence: $after) { ... on Impact { nodes { record { id } } } }
          relatedEntities(id: $id, atLeastSequence: $after) { ... on RelatedEntities { entities { entity { name } } } }
          expand(id: $id, atLeastSequence: $after) { ... on Expansion { neighbours { record { id } } } }
          plansContaining(ops: ["build"], atLeastSequence: $after) { ... on PlanMatches { plans { record { id } } } }
          planGraph(id: "release", atLeastSequence: $after) { planId }
        }""",
        id=ids["acme"],
        fact=fact,
        after=sequence,
    )
    assert found["explainPath"]["paths"]
    assert fact in {node["record"]["id"] for node in found["impact"]["nodes"]}
    assert "Carol" in {one["entity"]["name"] for one in found["relatedEntities"]["entities"]}
    assert fact in {one["record"]["id"] for one in found["expand"]["neighbours"]}
    assert len(found["plansContaining"]["plans"]) == 1
    assert found["planGraph"] == {"planId": "release"}


async def test_the_explore_commands_print_text_and_json(client: Client, service: Service) -> None:
    ids = await capture_story(client)
    env = service.environment

    async def run(*arguments: str, status: int = 0) -> str:
        found, out, err = await run_command("explore", *arguments, env=env)
        assert found == status, err
        return out if status == 0 else err

    sentence = "Alice ←subject entity— Alice works at Acme —object entity→ Acme"
    assert sentence in " ".join((await run("path", ids["alice"], ids["acme"])).split())
    paths = json.loads(await run("path", ids["alice"], ids["acme"], "--k", "1", "--json"))["explainPath"]
    assert [path["sentence"] for path in paths["paths"]] == [sentence]
    assert paths["freshness"]["engine"] == "SQL"
    impact = json.loads(await run("impact", ids["acme"], "--json"))["impact"]
    assert impact["total"] == len(impact["nodes"]) == 4
    assert "hop 1: 3 semantic" in await run("impact", ids["acme"])
    plans = json.loads(await run("plans", "build", "ship", "--json"))["plansContaining"]
    assert [[step["id"] for step in plan["steps"]] for plan in plans["plans"]] == [["a", "c"]]
    assert "build (a) → ship (c)" in await run("plans", "build", "ship")
    assert "no plan has these steps in this order" in await run("plans", "ship", "build")
    related = json.loads(await run("related", ids["acme"], "--json"))["relatedEntities"]
    assert {one["entity"]["name"] for one in related["entities"]} == {"Alice", "Bob", "Bern"}
    assert "in 1" in await run("related", ids["acme"])
    expansion = json.loads(await run("expand", ids["acme"], "--loaded", ids["fact"], "--json"))["expand"]
    assert ids["fact"] not in {one["record"]["id"] for one in expansion["neighbours"]}
    assert "fact object of" in await run("expand", ids["acme"])
    assert UNKNOWN_ID in " ".join((await run("impact", UNKNOWN_ID, status=1)).split())
    assert "is not a UUID" in " ".join((await run("related", "x", status=1)).split())
