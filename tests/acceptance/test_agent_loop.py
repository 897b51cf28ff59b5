"""The agent of `examples/` does better in its shop with memory than without."""

from __future__ import annotations

import importlib
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fix_api import services_of
from fix_memory import Memory

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.learning.service import Learning
from stratagraph.memory.learning.stages import build_stages

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SEEDS = (0, 1)


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for name in ("agent_loop", "shop"):
        sys.modules.pop(name, None)
    return importlib.import_module("agent_loop")


async def test_with_memory_the_agent_solves_half_as_many_tasks_again_or_makes_half_the_errors(
    memory: Memory, agent: ModuleType
) -> None:
    schema, context = build_schema(), Context(memory.trust, services_of(memory))
    learning = Learning(memory.database, memory.directory, memory.clock, build_stages())

    async def ask(document: str, variables: dict[str, Any]) -> dict[str, Any]:
        memory.clock.forward(timedelta(seconds=1))
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

    for seed in SEEDS:
        without, with_memory = await agent.compare(seed, ask, learn, scope=f"shop:{seed}")
        print(seed, without, with_memory)
        assert without.tasks == with_memory.tasks == 2 * agent.UNSEEN
        assert agent.is_worth_it(without, with_memory), (str(without), str(with_memory))
