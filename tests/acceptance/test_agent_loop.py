"""The agent of `examples/` gets better at the tasks of the file beside it."""

from __future__ import annotations

import importlib.util
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from fix_api import services_of
from fix_memory import Memory

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stages import build_stages

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agent_loop", EXAMPLES / "agent_loop.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for their module
    spec.loader.exec_module(module)
    return module


async def test_the_agent_is_right_more_often_in_the_second_half(memory: Memory) -> None:
    agent = example()
    agent_pause = timedelta(seconds=1)
    schema, context = build_schema(), Context(memory.trust, services_of(memory))
    learning = Learning(memory.database, memory.directory, memory.clock, build_stages())

    async def ask(document: str, variables: dict[str, Any]) -> dict[str, Any]:
        memory.clock.forward(agent_pause)
        found = await schema.execute(document, variable_values=variables, context_value=context)
        assert found.errors is None, found.errors
        assert found.data is not None
        return found.data

    async def learn() -> None:
        run = await learning.open_run(memory.clock.now())
        assert run is not None
        while await learning.run_batch(run) is not None:
            pass
        await learning.close_run(run)

    tries = await agent.work_through(agent.read(EXAMPLES / "helpdesk.jsonl"), ask, learn, scope="help")
    assert len(tries) == 24
    first, second = agent.halves(tries)
    assert second >= first + 0.25
    assert second >= 0.8
    lessons = await memory.lessons.find(memory.trust, scope="help", first=100)
    assert len(lessons) == sum(not one.is_right for one in tries)
