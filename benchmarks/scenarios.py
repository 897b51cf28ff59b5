"""The weeks of `tests/acceptance/scenarios`, played over HTTP, and the places of what their questions need."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from shipped_service import ShippedService, shipped_service

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # the weeks are data of the tests

from acceptance.scenarios.checks import ask
from acceptance.scenarios.memory_over_http import Memory
from acceptance.scenarios.week import WEEKS, Question, load

KEYS = {"agent": "medium", "owner": "hyper"}  # name of the credential: its ceiling
SETTINGS = {
    "single_user": "off",
    "rate": "1000000",
    "burst": "1000000",
}
JOBS = ("link-names", "reevaluate", "count-words")  # on which the answers depend
PLACES = (1, 3, 10)
FAINT = 0.25  # strength below which an answer does not look like one


def scenario_figures(embedder: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Return how early the questions of all weeks find what they need, and how many unknown things are empty.

    `embedder` are the settings of an embedder; without any, records are found by words and names. A problem is solved
    if the record of its solution is among the first 10 nodes.
    """
    with shipped_service({**SETTINGS, **embedder}) as service, httpx.Client(timeout=60) as client:
        weeks = []
        for name in WEEKS:
            memory = Memory(load(name), service.url, dict(_tokens(service, name)), client)
            memory.play(None)
            assert not memory.failures, memory.failures
            weeks.append(memory)
        for name in JOBS:
            service.command("jobs", "run", name, "--json")
        if embedder:
            service.await_vectors()
        known, solved, unknown, unheard = [], [], [], []
        for memory in weeks:
            known += _rows(memory, [one for one in memory.week.questions if one.want])
            solved += _rows(memory, memory.week.problems)
            unknown += _rows(memory, [one for one in memory.week.questions if one.unknown])
            unheard += _rows(memory, memory.week.unheard)
    return {
        "questions": _early(known) | {"made_empty": sum(row["nodes"] == 0 for row in known)},
        "problems": _early(solved)
        | {
            "made_empty": sum(row["nodes"] == 0 for row in solved),
            "not_among_10": [row["question"] for row in solved if (row["place"] or 99) > 10],
        },
        "unknown": {"asked": len(unknown), "empty": sum(row["empty"] for row in unknown)},
        "unheard": {
            "asked": len(unheard),
            "empty": sum(row["empty"] for row in unheard),
            "faint": sum(row["strength"] < FAINT for row in unheard),
            "answered": {row["asked"]: row["strength"] for row in unheard if not row["empty"]},
        },
    }


def _rows(memory: Memory, questions: Sequence[Question]) -> list[dict[str, Any]]:
    return [ask(memory, one, memory.url, "SQL")[1] | {"asked": one.ask} for one in questions]


def _early(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the number of questions, and the number of those whose needed record is among the first nodes."""
    places = [row["place"] for row in rows if row["place"] is not None]
    return {"asked": len(rows)} | {f"among_{most}": sum(place <= most for place in places) for most in PLACES}


def _tokens(service: ShippedService, week: str) -> Iterator[tuple[str, str]]:
    for name, ceiling in KEYS.items():
        options = ("--tenant", week, "--access", "write", "--max-sensitivity", ceiling, "--scope", "*")
        yield name, json.loads(service.command("token", "create", f"{week}-{name}", "--json", *options))["token"]


if __name__ == "__main__":
    print(json.dumps(scenario_figures(), indent=1))
