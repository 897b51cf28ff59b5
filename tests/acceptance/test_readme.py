"""The README is tried: its first query gives the answer it shows, its settings and commands exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fix_service import Client

from stratagraph.service.settings import PREFIX, Settings

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


async def test_the_first_query_gives_the_answer_that_is_shown(client: Client) -> None:
    remember, ask = blocks("graphql")
    captured = await client.data(remember)
    assert captured["captureMemory"]["primaryRecord"]["name"] == "Alice prefers Go"
    answer = {"data": await client.data(ask)}
    assert answer == json.loads(blocks("json")[0])


def test_every_setting_is_documented_and_no_other() -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    # `STRATAGRAPH_NEO4J_URI`, `_USER` stands for two.
    said = set(re.findall(r"STRATAGRAPH_[A-Z0-9]+(?:_[A-Z0-9]+)*", README))
    said |= {f"{PREFIX}NEO4J{suffix}" for suffix in re.findall(r"`(_[A-Z]+)`", README)}
    assert known - said == set()
    assert said - known == set()
