"""Entities are found by a name with a typo, weaker than by the name, under the caller's trust and from an index."""

from __future__ import annotations

import pytest
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.enums import Sensitivity


async def scores(memory: Memory, question: str, **trust: object) -> dict[str, float]:
    caller = trust_of(**trust) if trust else memory.trust  # type: ignore[arg-type]
    found = await memory.retrieve.retrieve(caller, RetrieveRequest(task_descriptor=question))
    return {node.record.name: node.score for node in found.nodes if node.record.id in found.roots and node.record.name}


async def test_a_misspelt_name_finds_its_entity_and_scores_below_a_name_as_it_is_spelled(memory: Memory) -> None:
    for name in ("Kubernetes", "Anna Kowalski", "Postgres", "Grafana"):
        await memory.observe(name, "status", "fine")
    for misspelt, name in [("Kubernets", "Kubernetes"), ("Kowalsky", "Anna Kowalski"), ("Postgers", "Postgres")]:
        assert (await scores(memory, f"what about {misspelt}"))[name] > 0.1
        both = await scores(memory, f"what about {misspelt} and Grafana")
        assert 0 < both[name] < both["Grafana"]
    assert max((await scores(memory, "what about zebrafish")).values(), default=0.0) < 0.1


@pytest.mark.parametrize("hidden", ["scope", "sensitivity"])
async def test_a_hidden_name_is_not_found_and_changes_nothing(memory: Memory, hidden: str) -> None:
    await memory.observe("Kubernetes", "status", "fine", scope="project:a")
    trust = {"scopes": ["project:a"], "ceiling": Sensitivity.MEDIUM}
    at = memory.clock.now()
    before = await scores(memory, "what about Kubernets", **trust)
    assert "Kubernetes" in before
    more = {"scope": "project:b"} if hidden == "scope" else {"scope": "project:a", "sensitivity": Sensitivity.HYPER}
    for name in ("Kubernetis", "Kuberneta", "Kubernetss"):
        await memory.observe(name, "status", "fine", **more)
    memory.clock.at = at
    assert await scores(memory, "what about Kubernets", **trust) == before


async def test_names_are_found_from_the_index(memory: Memory) -> None:
    await memory.observe("Kubernetes", "status", "fine")
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("SET LOCAL enable_seqscan = off"))
        await connection.execute(text("SET LOCAL enable_indexscan = off"))
        plan = await connection.execute(text("EXPLAIN SELECT id FROM record WHERE 'Kubernets' <<% name AND type = 3"))
        assert "record_name_ix" in "\n".join(plan.scalars())
