"""A store with hubs for benchmarks, loaded in bulk: entities drawn by Zipf's law, and facts about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import md5
from uuid import UUID

import psycopg
from graphs import WRITTEN_AT_ONCE
from harness import Store
from rich.progress import Progress
from sqlalchemy import text

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.words import DIMENSIONS

ENTITIES = 2_000
STANDING = 50  # facts of a hub that are current, hold, or are visible to a low caller, where all others are not
# Each kind of hub, and what is so of all its facts but STANDING: their state, validity and sensitivity.
HUBS = {
    "current": (1, "[,)", 1),
    "superseded": (3, "[,)", 1),
    "expired": (1, "[,2020-01-01)", 1),
    "hidden": (1, "[,)", 4),
}
PAYLOAD = """{"kind": "semantic", "subject": "a", "predicate": "uses", "object": "b", "validity": {"mode": "global"}}"""

FILL_ENTITIES = """
    INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload,
      provenance, created_at, occurred_at, updated_at, version, row_version, terms, impacts)
    SELECT :tenant, md5('entity' || n)::uuid, 3, :scope, 1, 1, 0.8, '{}', 'entity ' || n, 'an entity',
      '{"kind": "entity"}', '{"sources": []}', :at, :at, :at, 1, 1, '{}', CAST(:impacts AS sparsevec)
    FROM generate_series(CAST(:first AS bigint), :last) AS n
"""
FILL_FACTS = """
    INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload,
      provenance, created_at, occurred_at, updated_at, version, row_version, terms, impacts, fact_key, slot_key,
      condition_key, single_valued, validity)
    SELECT :tenant, md5('fact' || n)::uuid, 4, :scope, CASE WHEN stands THEN 1 ELSE :sensitivity END,
      CASE WHEN stands THEN 1 ELSE :state END, 0.8, '{}', 'fact ' || n, 'a fact',
      CAST(:payload AS jsonb), '{"sources": []}', :at, :at, :at, 1, 1, '{}', CAST(:impacts AS sparsevec),
      md5('fact' || n)::bytea, md5('slot' || n)::bytea, '', false,
      CASE WHEN stands THEN tstzrange(NULL, NULL) ELSE CAST(:validity AS tstzrange) END
    FROM generate_series(CAST(:first AS bigint), :last) AS n,
      LATERAL (SELECT n % :facts >= :facts - :standing AS stands) s
"""
FILL_SALIENCE = """
    INSERT INTO salience (tenant, id, s, t0, curve, half_life_s, min_salience, reinforcement_gain, pinned,
      deletion_policy)
    SELECT :tenant, md5(:kind || n)::uuid, 1, :at, 1, 1e9, 0, 0.1, false, 1
    FROM generate_series(CAST(:first AS bigint), :last) AS n
"""
FILL_RELATIONS = """
    INSERT INTO relation (tenant, id, source, target, predicate, weight, created_at, row_version, source_past,
      source_acl, target_acl, source_until)
    SELECT :tenant, md5(:predicate || 'relation' || n)::uuid, md5('fact' || n)::uuid,
      CASE WHEN CAST(:hub AS uuid) IS NULL
        THEN md5('entity' || (10 + floor((:entities - 10) * power(random() + 0 * n, 3)))::bigint)::uuid
        ELSE CAST(:hub AS uuid) END,
      :predicate, :weight, :at, 1, :state > 2 AND n % :facts < :facts - :standing,
      :scope * 8 + CASE WHEN n % :facts < :facts - :standing THEN :sensitivity ELSE 1 END, :scope * 8 + 1,
      CASE WHEN n % :facts < :facts - :standing THEN upper(CAST(:validity AS tstzrange)) END
    FROM generate_series(CAST(:first AS bigint), :last) AS n
"""


def hub_id(name: str) -> UUID:
    """Return the id of the entity that is the hub of this kind."""
    number = list(HUBS).index(name)
    return UUID(bytes=md5(f"entity{number}".encode(), usedforsecurity=False).digest())


@dataclass(frozen=True, slots=True, kw_only=True)
class HubStore:
    """A store whose first entities are hubs with `facts` facts each; the other entities are drawn by Zipf's law."""

    where: Store
    tenant: Tenant
    facts: int

    async def fill(self, bars: Progress) -> None:
        directory = self.where.directory
        scope = (await directory.scopes(self.tenant, ["team/hubs"], create=True))["team/hubs"]
        predicates = await directory.predicates(self.tenant, ("subject_entity", "object_entity"))
        common = {
            "tenant": self.tenant.id,
            "scope": scope,
            "at": datetime.now(UTC),
            "impacts": f"{{1:0.5}}/{DIMENSIONS}",
            "entities": ENTITIES,
            "facts": self.facts,
            "standing": STANDING,
            "payload": PAYLOAD,
        }
        await self._run(FILL_ENTITIES, **common, first=0, last=ENTITIES - 1)
        await self._run(FILL_SALIENCE, **common, kind="entity", first=0, last=ENTITIES - 1)
        bar = bars.add_task("filling hubs", total=len(HUBS) * self.facts)
        first = -(-ENTITIES // self.facts) * self.facts
        for name, (state, validity, sensitivity) in HUBS.items():
            for start in range(first, first + self.facts, WRITTEN_AT_ONCE):
                last = min(start + WRITTEN_AT_ONCE, first + self.facts) - 1
                rows = common | {"first": start, "last": last}
                await self._run(FILL_FACTS, **rows, state=state, validity=validity, sensitivity=sensitivity)
                await self._run(FILL_SALIENCE, **rows, kind="fact")
                for predicate, hub, weight in (("subject_entity", hub_id(name), 1.0), ("object_entity", None, 0.9)):
                    await self._run(
                        FILL_RELATIONS,
                        **rows,
                        state=state,
                        validity=validity,
                        sensitivity=sensitivity,
                        predicate=predicates[predicate],
                        hub=hub,
                        weight=weight,
                    )
                bars.advance(bar, last + 1 - start)
            first += self.facts
        async with await psycopg.AsyncConnection.connect(self.where.url, autocommit=True) as connection:
            await connection.execute("VACUUM (ANALYZE) record, relation, salience")  # as autovacuum does after a while

    async def _run(self, statement: str, **values: object) -> None:
        named = {name: value for name, value in values.items() if f":{name}" in statement}
        async with self.where.database.engine.begin() as connection:
            # Skips the checks of foreign keys, which these rows satisfy except for the slots of facts.
            await connection.execute(text("SET LOCAL session_replication_role = replica"))
            await connection.execute(text(statement), named)
