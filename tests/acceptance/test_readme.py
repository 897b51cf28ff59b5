"""The README and docs/revising.md are correct: their queries return the answers shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fix_service import Client

ROOT = Path(__file__).resolve().parents[2]


def blocks(language: str, page: str = "README.md") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


async def test_the_first_query_returns_the_answer_shown(client: Client) -> None:
    remember, ask = blocks("graphql")[:2]
    captured = await client.data(remember)
    assert captured["captureMemory"]["primaryRecord"]["name"] == "Alice prefers Go"
    answer = {"data": await client.data(ask)}
    assert answer == json.loads(blocks("json")[0])


async def test_names_and_times_are_settled_as_shown(client: Client) -> None:
    (document,) = (one for one in blocks("graphql", "docs/revising.md") if "mentions { name outcome }" in one)
    (shown,) = blocks("json", "docs/revising.md")
    assert {"data": await client.data(document)} == json.loads(shown)


async def test_what_is_revised_was_captured_by_the_first_query(client: Client) -> None:
    remember, ask = blocks("graphql")[:2]
    await client.data(remember)
    (revise,) = (block for block in blocks("sh", "docs/revising.md") if "revise retract" in block)
    questions = re.findall(r'ask "(.*?)"', revise)
    assert questions
    for question in questions:
        asked = re.sub(r'taskDescriptor: ".*?"', f'taskDescriptor: "{question}"', ask)
        found = await client.data(asked.replace("why { names }", "why { matchedWords }"))
        first = found["retrieveGraph"]["nodes"][0]
        assert first["record"]["name"] == "Alice prefers Go"
        assert len(first["why"]["matchedWords"]) > 1, "the fact is about what is asked, and not only about whom"


def test_every_command_that_needs_the_environment_names_it() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py")]
    for page in pages:
        assert not re.findall(r"^ *python .*", page.read_text(), flags=re.MULTILINE), page
