"""Random histories of captures and revisions on several connections, compared with the model in tests/model.

`make soak` runs 10,000 steps.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest
from fix_memory import ManualClock
from histories import Histories, SharedState
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from stratagraph.memory.propagation import reevaluation as propagation

# The explain phase would run a failing history hundreds of times more.
SMALL = settings(
    max_examples=8,
    stateful_step_count=35,
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("budget", [propagation.BUDGET, 1], ids=["at once", "queued"])
def test_random_histories_agree_with_the_model(database_url: str, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget of one, nearly all dependent records are updated through the queue of re-evaluations."""
    monkeypatch.setattr(propagation, "BUDGET", budget)
    size = SMALL
    if settings.get_current_profile_name() == "soak":
        asked = settings()
        size = settings(SMALL, max_examples=asked.max_examples, stateful_step_count=asked.stateful_step_count)
    with asyncio.Runner() as runner:
        shared = SharedState(runner, ManualClock(datetime(2026, 6, 1, 12, tzinfo=UTC)), is_queued=budget == 1)
        monkeypatch.setattr(Histories, "shared", shared, raising=False)
        stack = AsyncExitStack()
        try:
            runner.run(shared.open(database_url, stack))
            run_state_machine_as_test(Histories, settings=size)
        finally:
            runner.run(stack.aclose())
    print(f"\n{shared.histories} histories, {shared.steps} steps")
    for what, times in sorted(shared.outcomes.items()):
        print(f"{times:6} {what}")
