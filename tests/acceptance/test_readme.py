"""The README is correct: its first query returns the answer shown, and its commands name the environment."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fix_service import Client

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


async def test_the_first_query_returns_the_answer_shown(client: Client) -> None:
    remember, ask = blocks("graphql")[:2]
    captured = await client.data(remember)
    assert captured["captureMemory"]["primaryRecord"]["name"] == "Alice prefers Go"
    answer = {"data": await client.data(ask)}
    assert answer == json.loads(blocks("json")[0])


async def test_names_and_times_are_settled_as_shown(client: Client) -> None:
    answer = {"data": await client.data(blocks("graphql")[2])}
    assert answer == json.loads(blocks("json")[1])


async def test_what_is_revised_was_captured_by_the_first_query(client: Client) -> None:
    remember, ask = blocks("graphql")[:2]
    await client.data(remember)
    (revise,) = (block for block in blocks("sh") if "revise retract" in block)
    questions = re.findall(r'ask "(.*?)"', revise)
    assert questions
    for question in questions:
        asked = re.sub(r'taskDescriptor: ".*?"', f'taskDescriptor: "{question}"', ask)
        found = await client.data(asked.replace("why { names }", "why { matchedWords }"))
        first = found["retrieveGraph"]["nodes"][0]
        assert first["record"]["name"] == "Alice prefers Go"
        assert len(first["why"]["matchedWords"]) > 1, "the fact is about what is asked, and not only about whom"


def test_every_command_that_needs_the_environment_names_it() -> None:
    root = Path(__file__).resolve().parents[2]
    pages = [root / "README.md", root / "CONTRIBUTING.md", *root.glob("docs/**/*.md"), *root.glob("examples/*.py")]
    for page in pages:
        assert not re.findall(r"^ *python .*", page.read_text(), flags=re.MULTILINE), page
