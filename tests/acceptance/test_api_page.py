"""docs/api.md is correct: its blocks are sent from top to bottom to one service, and the answers are those shown.

A comment `# NAME: path` in a block gives the value at that path of its answer a name, which stands for it in later
blocks. A block is answered without errors, unless it has the comment `# refused: CODE`. A block of JSON below one of
GraphQL is its answer, or part of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import reduce
from typing import Any

import pytest
from checkout import ROOT
from fix_service import Client

PAGE = (ROOT / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# ([A-Z_]+): (\S+)")
REFUSED = re.compile(r"# refused: ([A-Z_]+)")


def at(value: Any, path: str) -> Any:
    return reduce(lambda found, key: found[int(key) if key.isdigit() else key], path.split("."), value)


def codes(value: Any) -> Iterator[str]:
    """Yield the codes of errors in an answer, other than in lists such as those of warnings."""
    if isinstance(value, dict):
        if isinstance(value.get("code"), str) and "message" in value:
            yield value["code"]
        for one in value.values():
            yield from codes(one)


def differences(shown: Any, found: Any, where: str) -> Iterator[str]:
    """Yield where an answer has not what is shown: each key that is shown, and every item of a list."""
    if isinstance(shown, dict) and isinstance(found, dict):
        for key, one in shown.items():
            yield from differences(one, found.get(key), f"{where}.{key}")
    elif isinstance(shown, list) and isinstance(found, list) and len(shown) == len(found):
        for number, (one, other) in enumerate(zip(shown, found, strict=True)):
            yield from differences(one, other, f"{where}.{number}")
    elif shown not in (found, "…"):
        yield f"{where}: {shown!r} is shown, {found!r} was answered"


def with_values(block: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[A-Z_]+\b", lambda word: names.get(word[0], word[0]), block)


async def test_each_block_of_the_page_is_answered_as_it_says(client: Client) -> None:
    names: dict[str, str] = {}
    answer: dict[str, Any] = {}
    for language, block in BLOCKS:
        text = with_values(block, names)
        if language == "graphql":
            answer = await client(text)
            assert "errors" not in answer or REFUSED.search(block), f"{text}\n{answer}"
            found = {*codes(answer.get("data")), *(one["extensions"]["code"] for one in answer.get("errors", ()))}
            assert found == set(REFUSED.findall(block)), f"{text}\n{answer}"
            names |= {name: str(at(answer["data"], path)) for name, path in NAMED.findall(block)}
        elif language == "json":
            assert list(differences(json.loads(text), answer, "")) == [], answer
        elif language == "sh":
            assert run(text.replace("http://127.0.0.1:8000", client.url)) != ""


def run(script: str) -> str:
    if shutil.which("curl") is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs curl", pytrace=False)
        pytest.skip("curl is not installed")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_page_has_blocks_for_every_task() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    without = {title for title, _, text in (one.partition("\n") for one in sections) if "```graphql" not in text}
    assert without <= {"Limits", "Compatibility", "Send a request", "Send documents by their hash"}, without
    assert len([language for language, _ in BLOCKS if language == "graphql"]) > 15
