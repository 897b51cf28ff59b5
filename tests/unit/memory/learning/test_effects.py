"""Which tools change state is told from what a simulated world shows of them, whatever the tools are called."""

from __future__ import annotations

from functools import reduce
from random import Random

import pytest
from fix_episodes import call, episode

from stratagraph.memory.learning.procedures.effects import Effect, ToolEvidence, effect_of
from stratagraph.memory.learning.procedures.observation import observe


def lived(random: Random, number: int, *, get: str, put: str, note: str) -> dict[str, ToolEvidence]:
    """Return the evidence of an episode in a world of numbered objects, which `get` shows and `put` changes."""
    key = f"object-{random.randrange(1000)}"
    world = {"id": key, "owner": f"owner-{number}", "state": "open"}
    happened: list[object] = [f"show {key} please"]
    for _ in range(random.randint(1, 3)):
        happened.append(call(get, {"id": key}, dict(world)))
        if random.random() < 0.5:
            happened.append(call(note, {"text": f"thinking of {number}"}, ""))
        if random.random() < 0.6:
            happened.append("yes, go ahead")
            world["state"] = random.choice(["closed", "held", "lost"]) + str(random.random())
            happened.append(call(put, {"id": key, "state": world["state"]}, "ok"))
            happened.append(call(get, {"id": key}, dict(world)))
    found = observe(episode(f"life {number}", *happened, minute=number))  # type: ignore[arg-type]
    assert found is not None
    return dict(found.evidence)


@pytest.mark.parametrize("names", [("get", "put", "note"), ("delete_all", "show_only", "commit")])
def test_what_changes_state_is_told_by_what_later_readings_show(names: tuple[str, str, str]) -> None:
    get, put, note = names
    random = Random(7)
    lives = [lived(random, number, get=get, put=put, note=note) for number in range(40)]
    total = {
        tool: effect_of(reduce(ToolEvidence.merged, (life[tool] for life in lives if tool in life))) for tool in names
    }
    assert total == {get: Effect.READS, put: Effect.CHANGES, note: Effect.INTERNAL}


def test_little_evidence_decides_nothing() -> None:
    assert effect_of(ToolEvidence()) is Effect.UNKNOWN
    assert effect_of(ToolEvidence(calls=1, runs=1, confirmed=1, informed=1)) is Effect.UNKNOWN
