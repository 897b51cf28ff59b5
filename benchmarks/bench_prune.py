"""Measure the time of a pruning pass in a small and a large store with the same number of due records."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Annotated, Any

import typer
from harness import (
    Bound,
    Case,
    Store,
    filled_stores,
    interleaved,
    machine,
    percentile,
    report,
    server,
    summary,
)
from rich.progress import Progress
from sqlalchemy import text

from stratagraph.consolidation.jobs.prune import PruneConfig
from stratagraph.store.erasure.pruning import prune_due
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.words import DIMENSIONS
from stratagraph.store.postgres.database import Role

LIMIT = 2.0  # times the median of the smaller store
EPISODE = 20  # records: one episode and its members
FILLED_AT_ONCE = 50_000  # records in one transaction
WARM_UP = 2  # rounds

# Episodes that learning has read, :numbers of them, each of EPISODE records. Every member is part of the episode and
# follows the one before; all will fade in a year, by which time nobody prunes here. Ids follow from the numbers.
FILL = (
    """
    INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload,
      provenance, created_at, occurred_at, updated_at, version, row_version, terms, impacts)
    SELECT :tenant, md5(n::text)::uuid, 1, :scope, 1, 1, 0.8, '{}', 'event ' || n, repeat('what happened ', 30),
      '{"kind": "episodic", "timeline": []}', '{"sources": [], "created_by": "bench"}', :at, :at, :at, 1, 1,
      ARRAY[n % 1000, 1000 + n % 7, 2000 + n % 5000], CAST(:impacts AS sparsevec)
    FROM unnest(CAST(:numbers AS bigint[])) AS e, generate_series(e * :size, e * :size + :size - 1) AS n
    """,
    """
    INSERT INTO salience (tenant, id, s, t0, curve, half_life_s, min_salience, reinforcement_gain, pinned,
      deletion_policy, due_at)
    SELECT :tenant, md5(n::text)::uuid, 1, :at, 1, 3155760, 0, 0.1, false, 1,
      :at + interval '1 year' + n * interval '1 s'
    FROM unnest(CAST(:numbers AS bigint[])) AS e, generate_series(e * :size, e * :size + :size - 1) AS n
    """,
    """
    INSERT INTO audit_head (tenant, id, seq, hash)
    SELECT :tenant, md5(n::text)::uuid, 1, sha256(n::text::bytea)
    FROM unnest(CAST(:numbers AS bigint[])) AS e, generate_series(e * :size, e * :size + :size - 1) AS n
    ON CONFLICT (tenant, id) DO NOTHING
    """,
    """
    INSERT INTO episode (tenant, id, thread_key, scope, sensitivity, opened_at, closes_at, closed_at, events,
      learned_at)
    SELECT :tenant, md5((e * :size)::text)::uuid, sha256(e::text::bytea), :scope, 1, :at, :at, :at, :size - 1, :at
    FROM unnest(CAST(:numbers AS bigint[])) AS e
    """,
    """
    INSERT INTO episode_event (tenant, episode, position, record)
    SELECT :tenant, md5((e * :size)::text)::uuid, n - e * :size, md5(n::text)::uuid
    FROM unnest(CAST(:numbers AS bigint[])) AS e, generate_series(e * :size + 1, e * :size + :size - 1) AS n
    """,
    """
    INSERT INTO relation (tenant, id, source, target, predicate, weight, created_at, row_version)
    SELECT :tenant, gen_random_uuid(), md5(n::text)::uuid, md5(target::text)::uuid, :predicate, 0.5, :at, 1
    FROM unnest(CAST(:numbers AS bigint[])) AS e, generate_series(e * :size + 1, e * :size + :size - 1) AS n,
      LATERAL (SELECT e * :size AS target UNION SELECT n - 1) AS ends
    """,
)
MAKE_DUE = """
    UPDATE salience SET s = 0, due_at = :at - interval '1 h' FROM unnest(CAST(:numbers AS bigint[])) AS e,
      generate_series(e * :size, e * :size + :size - 1) AS n
    WHERE tenant = :tenant AND salience.id = md5(n::text)::uuid
"""


@dataclass
class Filled:
    """One store of `records` records. Before each pass, what the last one pruned is put back and as much made due."""

    where: Store
    tenant: Tenant
    records: int
    due: int
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    gone: list[int] = field(default_factory=list)
    passes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pick = Random(self.records)
        self._config = PruneConfig()

    async def fill(self, bars: Progress) -> None:
        bar = bars.add_task(f"filling {self.records:,}", total=self.records)
        numbers = range(self.records // EPISODE)
        at_once = FILLED_AT_ONCE // EPISODE
        for start in range(0, len(numbers), at_once):
            await self._fill(numbers[start : start + at_once])
            bars.update(bar, completed=min(self.records, (start + at_once) * EPISODE))

    async def _fill(self, numbers: range | list[int]) -> None:
        scopes = await self.where.directory.scopes(self.tenant, [""], create=True)
        predicates = await self.where.directory.predicates(self.tenant, ["part_of"])
        values: dict[str, Any] = {
            "tenant": self.tenant.id,
            "numbers": list(numbers),
            "size": EPISODE,
            "scope": scopes[""],
            "predicate": predicates["part_of"],
            "at": self.at,
            "impacts": f"{{1:0.5,2:0.5}}/{DIMENSIONS}",
        }
        async with self.where.database.engine.begin() as connection:
            # Without the foreign keys' checks: what is written here fits.
            await connection.execute(text("SET LOCAL session_replication_role = replica"))
            for statement in FILL:
                named = {name: value for name, value in values.items() if f":{name}" in statement}
                await connection.execute(text(statement), named)

    async def prepare(self) -> None:
        if self.gone:
            await self._fill(self.gone)
        self.gone = self._pick.sample(range(self.records // EPISODE), self.due // EPISODE)
        async with self.where.database.engine.begin() as connection:
            await connection.execute(
                text(MAKE_DUE), {"tenant": self.tenant.id, "numbers": self.gone, "size": EPISODE, "at": self.at}
            )

    async def prune(self) -> None:
        """Prune everything that is due, in batches as the job `prune` makes them."""
        pruned = 0
        while True:
            async with self.where.database.background(Role.ERASE) as connection:
                batch = await prune_due(connection, self.where.directory, now=self.at, limit=self._config.batch)
            pruned += batch.pruned
            if batch.is_done:
                break
        self.passes.append(pruned)


async def _measure(url: str, *, sizes: tuple[int, int], due: int, rounds: int) -> tuple[dict[str, Any], list[Bound]]:
    async with AsyncExitStack() as stack:
        stores = await filled_stores(stack, url, sizes, lambda where, tenant, size: Filled(where, tenant, size, due))
        cases = {size: Case(run=filled.prune, prepare=filled.prepare) for size, filled in stores.items()}
        await interleaved(cases, WARM_UP, title="warming up")
        took = await interleaved(cases, rounds, title=f"pruning {due:,}")
    smaller, larger = sizes
    ratio = round(percentile(took[larger], 0.5) / percentile(took[smaller], 0.5), 3)
    figures = {
        "due": due,
        "larger_over_smaller": ratio,
        "records": {f"{size}": {"pass_ms": summary(took[size])} for size in sizes},
    }
    missed = sum(abs(pruned - due) for filled in stores.values() for pruned in filled.passes)
    return figures, [
        Bound(name="median pass of larger over smaller store", value=ratio, limit=LIMIT),
        Bound(name="records due and not pruned", value=missed, limit=0),
    ]


def main(
    smaller: Annotated[int, typer.Option(help="Records in the smaller store.", min=10_000)] = 10_000,
    larger: Annotated[int, typer.Option(help="Records in the larger store.")] = 1_000_000,
    due: Annotated[int, typer.Option(help="Records due in each pass.")] = 1_000,
    rounds: Annotated[int, typer.Option(help="Timed passes in each store.")] = 15,
) -> None:
    """Prune a thousand due records in stores of 10⁴ and 10⁶ records, in two databases of one server, in turn.

    Bounds: the median pass in the larger store takes at most twice that in the smaller, and every pass prunes all that
    is due. One JSON document on standard output; exit code 1 if a bound is missed.
    """
    with server() as url:
        figures, bounds = asyncio.run(_measure(url, sizes=(smaller, larger), due=due, rounds=rounds))
        about = machine(url)
    report("prune", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
