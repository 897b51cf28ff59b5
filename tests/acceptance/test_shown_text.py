"""Stored text in the terminal of whoever runs the service: no command prints what acts on it or hides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
from fix_service import environment, run_command, running
from hostile_texts import HOSTILE, acts

CAPTURE = """mutation($i: CaptureMemoryInput!) { captureMemory(input: $i) {
  ... on CaptureMemorySuccess { primaryRecord { id } } ... on MemoryError { code message } } }"""
LEARN = """mutation($i: LearnLessonInput!) { learnLesson(input: $i) {
  ... on LearnLessonSuccess { lesson { id } } ... on MemoryError { code message } } }"""
ASK = """query($i: RetrieveGraphInput!) { retrieveGraph(input: $i) {
  ... on RetrieveGraphSuccess { rendering } } }"""
NAME = HOSTILE.replace("\r", " ").replace("\x85", " ")[:400]


async def test_no_command_prints_what_acts_in_stored_text(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    env = environment(data_dir=data)
    log = tmp_path / "log"
    with running(data_dir=data, log=str(log)) as service:
        assert service.url is not None
        async with httpx.AsyncClient() as http:

            async def post(document: str, given: dict[str, Any]) -> Any:
                body = {"query": document, "variables": {"i": given}}
                answer = (await http.post(f"{service.url}/graphql", json=body, timeout=60)).json()
                assert "message" not in str(answer), answer
                return answer["data"]

            def item(kind: str, content: dict[str, Any]) -> dict[str, Any]:
                return {"source": NAME[:200], "sourceKind": kind, "content": content, "reasonToRemember": HOSTILE}

            turn = {"role": "user", "text": HOSTILE}
            event = (await post(CAPTURE, item("AGENT_TURN", turn)))["captureMemory"]["primaryRecord"]["id"]
            fact = {
                "subject": NAME,
                "predicate": "likes",
                "object": HOSTILE,
                "evidence": [{"kind": "human", "ref": "x"}],
            }
            learned = (await post(CAPTURE, item("OBSERVATION", fact)))["captureMemory"]["primaryRecord"]["id"]
            texts = dict.fromkeys(("task", "solution", "mistake", "trigger"), HOSTILE)
            lesson = (await post(LEARN, texts))["learnLesson"]["lesson"]["id"]
            answer = await post(ASK, {"taskDescriptor": "parrot", "tokenBudget": 4_000})
        rendering = answer["retrieveGraph"]["rendering"]
        assert "parrot" in rendering
        assert acts(rendering) is None
        showing = [
            ["ask", "parrot", "--why"],
            ["ask", "parrot", "--why-not", learned],
            ["history", event],
            ["forget-preview", "--days", "3000"],
            ["audit", "show", event],
            ["explore", "related", learned],
            ["lessons", "list"],
            ["lessons", "failures"],
            ["lessons", "verify", lesson, "--why", HOSTILE],
            ["playbook"],
            ["revise", "pin", learned, "--why", HOSTILE],
        ]
        for command in showing:
            status, out, err = await run_command(*command, env=env)
            assert status == 0, (command, err, log.read_text())
            assert "parrot" in out, command
            assert acts(out) is None, command
            assert acts(err) is None, command
        status, out, err = await run_command("ask", "parrot", "--json", env=env)
        assert out.replace("\n", "").isprintable()
        assert "\x1b" in "".join(
            node["record"]["name"] for node in json.loads(out)["retrieveGraph"]["nodes"]
        )  # as it is stored
        assert service.stop() == 0
