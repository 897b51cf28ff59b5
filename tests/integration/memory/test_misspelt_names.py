"""Entities are found by a name with a typo, weaker than by the name, under the caller's trust and from an index."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fix_memory import Memory, trust_of
from sqlalchemy import text

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.search import similar_names

MANY_NAMES = """
INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload, provenance,
  created_at, occurred_at, updated_at, version, row_version, terms, impacts)
SELECT :tenant, gen_random_uuid(), 3, 1, 0, 1, 1, '{}', 'Kubernetes ' || n, '', '{}', '{}', now(), now(), now(), 1, 1,
  '{}', '{}/1000000000'
FROM generate_series(1, 20000) AS n
"""


async def scores(memory: Memory, question: str, **trust: object) -> dict[str, float]:
    as_of = trust.pop("as_of", None)
    caller = trust_of(**trust) if trust else memory.trust  # type: ignore[arg-type]
    request = RetrieveRequest(task_descriptor=question, as_of=as_of)  # type: ignore[arg-type]
    found = await memory.retrieve.retrieve(caller, request)
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


async def test_an_alias_with_a_typo_finds_its_entity(memory: Memory) -> None:
    content = {"canonical_name": "Payments", "aliases": [{"value": "Moneymover"}, {"value": "Old Ledger"}]}
    await memory.remember(SourceKind.OBSERVATION, content, proposed_type=MemoryType.ENTITY)
    await memory.observe("Grafana", "status", "fine")
    for misspelt, alias in [("Moneymovr", "Moneymover"), ("Ledgre", "Old Ledger")]:
        found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor=f"what about {misspelt}"))
        (root,) = [node for node in found.nodes if node.root]
        assert (root.record.name, root.why.names) == ("Payments", [alias])


async def test_a_name_with_a_typo_is_found_in_the_past(memory: Memory) -> None:
    """The entity must have existed then, and scores as it does now."""
    memory.clock.at = SystemClock().now() + timedelta(hours=1)
    at = memory.clock.now()
    await memory.observe("Kubernetes", "status", "fine")
    memory.clock.forward(timedelta(seconds=5))
    assert "Kubernetes" in await scores(memory, "what about Kuberntes")
    present = await scores(memory, "what about Kuberntes")
    then = await scores(memory, "what about Kuberntes", as_of=memory.clock.now())
    assert then == pytest.approx(present, rel=1e-6)
    assert await scores(memory, "what about Kuberntes", as_of=at) == {}


async def test_of_very_many_names_like_a_word_none_is_found(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those count that the caller may read."""
    monkeypatch.setattr(similar_names, "ALIKE", 3)
    trust = {"scopes": ["project:a"], "ceiling": Sensitivity.MEDIUM}
    for name in ("Kubernetes", "Kubernetex", "Kuberneto"):
        await memory.observe(name, "status", "fine", scope="project:a")
    for name in ("Kubernetis", "Kuberneta"):
        await memory.observe(name, "status", "fine", scope="project:b")
    assert "Kubernetes" in await scores(memory, "what about Kuberntes", **trust)
    assert "Kubernetes" not in await scores(memory, "what about Kuberntes")
    await memory.observe("Kubernetto", "status", "fine", scope="project:a")
    assert await scores(memory, "what about Kuberntes", **trust) == {}


async def test_the_names_of_one_tenant_cost_another_one_nothing(memory: Memory) -> None:
    """Rows and pages that a look-up reads, beside a tenant with very many names like the word."""
    await memory.observe("Kubernetes", "status", "fine")
    caller = await memory.directory.resolve(memory.trust)
    rival = (await memory.directory.resolve(trust_of(tenant="rival"))).tenant
    plan_of = (
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT id FROM record"
        " WHERE tenant = CAST(:tenant AS bigint) AND type = 3 AND 'Kuberntes' <<%"
        r" (name || ' ' || jsonb_path_query_array(payload, '$.aliases[*].value')\:\:text)"
    )

    async def read() -> tuple[float, int]:
        """Return the rows that the index names, and the pages that are read."""
        async with memory.database.engine.begin() as connection:
            for name in ("enable_seqscan", "enable_indexscan"):
                await connection.execute(text(f"SET LOCAL {name} = off"))
            await connection.execute(text("SET LOCAL pg_trgm.strict_word_similarity_threshold = 0.3"))
            found = await connection.execute(text(plan_of), {"tenant": caller.tenant.id})
            plan = found.scalar_one()[0]["Plan"]
        return plan["Plans"][0]["Actual Rows"], plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    before = await read()
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("SET LOCAL session_replication_role = replica"))  # no scope, no keys
        await connection.execute(text(MANY_NAMES), {"tenant": rival.id})
        await connection.execute(text("ANALYZE record"))
    rows, pages = await read()
    assert rows <= 5  # all that the tenant has
    assert pages <= before[1] + 100  # of 20,000 entries that the index skips
    async with memory.database.reading(caller.bounds) as connection:
        found = await similar_names.find_similar_names(connection, ["Kuberntes"], limit=5)
    assert [one.name for one in found] == ["Kubernetes"]
