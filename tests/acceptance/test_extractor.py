"""A service with a language model: a turn is read within seconds, and a model that is down delays no capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
from fix_endpoint import Reply
from fix_extractor import completion, found_in, items_of, model_server
from fix_memory import until
from fix_service import Client, run_command, running

CAPTURE = """mutation Capture($text: String!) { captureMemory(input: {source: "test", sourceKind: AGENT_TURN,
  content: {role: "user", text: $text, thread_id: "talk"}}) { ... on CaptureMemorySuccess {
    primaryRecord { id } receipt { textReading { state attempts nextTryAt } } } } }"""
READ = """query Read($id: ID!) { record(id: $id) { interpretation namedTimes { words }
  textReading { state attempts nextTryAt } }
  records(filter: {types: [SEMANTIC]}) { nodes { text provenance { createdBy } } } }"""


async def test_a_turn_is_read_soon_and_a_model_that_is_down_delays_no_capture(
    database_url: str, tmp_path: Path
) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        items = items_of(body)
        labels = [{"item": item["item"], "label": "home"} for item in items if "known" not in item]
        return completion(found_in(items) | {"mentions": [], "times": [], "labels": labels})

    async with model_server() as model, httpx.AsyncClient(timeout=30) as http:
        model.fault = answer
        with running(
            database_url=database_url,
            single_user="on",
            data_dir=str(tmp_path / "data"),
            extractor="openai",
            extractor_url=model.url,
            extractor_model="small",
        ) as service:
            assert service.url is not None
            client = Client(http, service.url)

            async def capture(text: str) -> dict[str, Any]:
                return (await client.data(CAPTURE, text=text))["captureMemory"]  # type: ignore[no-any-return]

            async def reading(captured: dict[str, Any]) -> dict[str, Any]:
                return await client.data(READ, id=captured["primaryRecord"]["id"])

            async def is_read() -> bool:
                return bool((await reading(first))["record"]["textReading"]["state"] == "DONE")

            first = await capture("Ann lives in Oslo.")
            assert first["receipt"]["textReading"]["state"] == "QUEUED"
            await until(is_read)
            found = await reading(first)
            assert found["record"]["interpretation"]["topical_labels"] == ["home"]
            assert found["record"]["textReading"] == {"state": "DONE", "attempts": 1, "nextTryAt": None}
            assert found["records"]["nodes"] == [
                {"text": "Ann lives in Oslo", "provenance": {"createdBy": "consolidation/semantic-extractor"}}
            ]

            model.fault = lambda _: Reply(503)
            second = await capture("Bob works at Initech")

            async def was_tried() -> bool:
                return bool((await reading(second))["record"]["textReading"]["attempts"])

            await until(was_tried)
            assert (await reading(second))["record"]["textReading"]["state"] == "QUEUED"
            assert (await capture("Cy likes tea"))["receipt"]["textReading"]["attempts"] == 0
            code, listed, _ = await run_command("jobs", "list", "--json", env=service.environment)
            assert code == 0
            assert "interpret-captures" in {job["name"] for job in json.loads(listed)}
            assert (await client.data("{ health { ok } }"))["health"]["ok"]
