"""Measure the statistics of word search: their size, the time of counting, and searches by different callers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import cycle
from time import perf_counter
from typing import Annotated, Any
from uuid import UUID

import psycopg
import typer
from harness import (
    Bound,
    Case,
    Store,
    interleaved,
    machine,
    percentile,
    progress,
    report,
    server,
    store,
    summary,
    trust,
)
from rich.progress import Progress
from wording import Wording

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import DAY, Decay
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Role
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.inserting import NewRecord, insert_records
from stratagraph.store.search.recent_search import search_recent
from stratagraph.store.search.word_counts import WordCounter
from stratagraph.store.search.word_search import search_words

LIMIT = 10.0  # seconds after which a second of captures at 1,000 records per second must be counted
SIZES, QUICK_SIZES = (10_000, 100_000), (1_000, 10_000)
LOADED_AT_ONCE = 1_000  # records in one transaction
SCOPES = tuple(f"team/{number}" for number in range(100))
LEVELS = {Sensitivity.PUBLIC: 20, Sensitivity.LOW: 50, Sensitivity.MEDIUM: 20, Sensitivity.HIGH: 10}
CALLERS = {
    "one scope": trust(scopes=SCOPES[:1], ceiling=Sensitivity.LOW),
    "60 scopes": trust(scopes=SCOPES[:60], ceiling=Sensitivity.MEDIUM),
    "all scopes, low": trust(ceiling=Sensitivity.LOW),
    "everything": trust(),
}
WRITTEN = 100  # records of a batch whose logging and deleting is measured


def _record(tenant: Tenant, wording: Wording, number: int, size: int) -> NewRecord:
    pick = wording.random
    said = wording.text(30)
    now = datetime.now(UTC)
    return NewRecord(
        id=new_id(),
        type=MemoryType.EPISODIC,
        scope=pick.choice(SCOPES),
        sensitivity=pick.choices(list(LEVELS), list(LEVELS.values()))[0],
        confidence=0.8,
        tags=(),
        name=said[:80],
        text=said,
        payload={"kind": "episodic", "timeline": []},
        provenance={"sources": [], "created_by": "bench"},
        occurred_at=now - timedelta(seconds=size - number),
        decay=Decay(half_life_s=DAY),
        deletion_policy=DeletionPolicy.AUTO_PRUNE,
        terms=record_terms(tenant.index_key, said),
    )


async def _insert(where: Store, tenant: Tenant, records: Sequence[NewRecord]) -> None:
    async with where.database.engine.begin() as connection:
        await insert_records(connection, where.directory, tenant, records, actor="bench", at=datetime.now(UTC))


async def fill(where: Store, tenant: Tenant, wording: Wording, size: int, bars: Progress) -> None:
    bar = bars.add_task(f"{size} records", total=size)
    for first in range(0, size, LOADED_AT_ONCE):
        numbers = range(first, min(first + LOADED_AT_ONCE, size))
        await _insert(where, tenant, [_record(tenant, wording, number, size) for number in numbers])
        bars.advance(bar, len(numbers))


async def _count(where: Store) -> tuple[int, float]:
    """Count all waiting changes; return their number and the seconds that it took."""
    counter, began, changes = WordCounter(where.database), perf_counter(), 0
    while True:
        counted = await counter.count_changes()
        changes += counted.changes
        if not counted.more:
            return changes, perf_counter() - began


async def _sizes(where: Store, size: int) -> dict[str, Any]:
    """Return rows and bytes per record of the statistics, and bytes per record of the new indexes."""
    async with await psycopg.AsyncConnection.connect(where.url, autocommit=True) as connection:
        await connection.execute("VACUUM (ANALYZE)")
        found: dict[str, Any] = {}
        for table in ("word_count", "word_change", "record"):
            cursor = await connection.execute(
                psycopg.sql.SQL("SELECT count(*), pg_relation_size({0}), pg_indexes_size({0}) FROM {1}").format(
                    psycopg.sql.Literal(table), psycopg.sql.Identifier(table)
                )
            )
            rows, heap, indexes = await cursor.fetchone() or (0, 0, 0)
            found[table] = {
                "rows_per_record": round(rows / size, 2),
                "heap_bytes_per_record": round(heap / size, 1),
                "index_bytes_per_record": round(indexes / size, 1),
            }
        cursor = await connection.execute(
            "SELECT indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes"
            " WHERE indexrelname ~ '^record_(scope|level)_'"
        )
        found["record_indexes_bytes_per_record"] = {
            name: round(used / size, 1) for name, used in await cursor.fetchall()
        }
        return found


async def _writes(where: Store, tenant: Tenant, wording: Wording, rounds: int) -> dict[str, Any]:
    """Measure what a batch of WRITTEN captures takes, of it the logging of the terms, and deleting the batch."""
    took: dict[str, list[float]] = {"insert": [], "of it, logging": [], "delete": []}
    for _ in range(rounds):
        records = [_record(tenant, wording, 0, 0) for _ in range(WRITTEN)]
        ids: list[UUID] = [record.id for record in records]
        began = perf_counter()
        await _insert(where, tenant, records)
        took["insert"].append((perf_counter() - began) * 1_000)
        async with where.database.engine.connect() as connection:  # rolled back: the insert has logged them already
            began = perf_counter()
            await run(connection, "log_new_terms", tenant=tenant.id, ids=ids)
            took["of it, logging"].append((perf_counter() - began) * 1_000)
        async with where.database.background(Role.ERASE) as connection:
            began = perf_counter()
            await fetch(connection, "delete_records", tenant=tenant.id, ids=ids)
            took["delete"].append((perf_counter() - began) * 1_000)
    return {name: summary(times) for name, times in took.items()}


def _words(where: Store, caller: Caller, questions: Sequence[str]) -> Callable[[], Awaitable[object]]:
    upcoming = cycle(questions)

    async def search() -> object:
        async with where.database.reading(caller.bounds) as connection:
            now = datetime.now(UTC)
            return await search_words(connection, caller, next(upcoming), types=tuple(MemoryType), now=now, limit=200)

    return search


def _recent(where: Store, caller: Caller) -> Callable[[], Awaitable[object]]:
    async def search() -> object:
        async with where.database.reading(caller.bounds) as connection:
            return await search_recent(connection, types=tuple(MemoryType), now=datetime.now(UTC), limit=20)

    return search


async def _measure(url: str, *, sizes: Sequence[int], rounds: int) -> tuple[dict[str, Any], list[Bound]]:
    figures: dict[str, Any] = {}
    cases: dict[tuple[str, str, int], Case] = {}
    bounds: list[Bound] = []
    async with AsyncExitStack() as stack:
        with progress() as bars:
            for size in sizes:
                where = await stack.enter_async_context(store(url, f"words_{size}"))
                tenant = await where.directory.tenant("bench", create=True)
                assert tenant is not None  # create=True
                wording = Wording(size)
                await fill(where, tenant, wording, size, bars)
                changes, backlog_s = await _count(where)
                figures[f"{size}"] = {
                    "size": await _sizes(where, size),
                    "counting_all": {"changes": changes, "us_per_change": round(backlog_s / changes * 1e6, 1)},
                }
                await _insert(where, tenant, [_record(tenant, wording, 0, 0) for _ in range(LOADED_AT_ONCE)])
                changes, took_s = await _count(where)
                figures[f"{size}"]["counting_a_second_of_captures"] = {"changes": changes, "s": round(took_s, 3)}
                bounds.append(Bound(name=f"{size}: seconds to count {LOADED_AT_ONCE}", value=took_s, limit=LIMIT))
                figures[f"{size}"]["writes_ms_per_batch"] = await _writes(where, tenant, wording, 10)
                await _count(where)
                said = [wording.text(30) for _ in range(rounds)]
                normal = [wording.query_about(one, wording.random.randint(5, 12)) for one in said]
                common = [wording.common_words(wording.random.randint(2, 6)) for _ in range(rounds)]
                for name, who in CALLERS.items():
                    caller = await where.directory.resolve(who)
                    cases["normal words", name, size] = Case(run=_words(where, caller, normal))
                    cases["common words", name, size] = Case(run=_words(where, caller, common))
                    cases["recent", name, size] = Case(run=_recent(where, caller))
        ordered = {key: cases[key] for key in sorted(cases)}
        await interleaved(ordered, 5, title="warming up")
        took = await interleaved(ordered, rounds, title="searching")
    for (kind, name, size), times in took.items():
        figures[f"{size}"].setdefault(kind, {})[name] = summary(times)
    ratio = max(
        percentile(took["recent", name, sizes[-1]], 0.95) / percentile(took["recent", name, sizes[0]], 0.95)
        for name in CALLERS
    )
    bounds.append(Bound(name="recent: p95 of largest over smallest store", value=round(ratio, 3), limit=3.0))
    return figures, bounds


def main(quick: Annotated[bool, typer.Option("--quick", help="Stores of 10³ and 10⁴ records.")] = False) -> None:
    """Measure the statistics of word search at 10⁴ and 10⁵ records in 100 scopes and four sensitivities.

    Bounds: a second of captures at 1,000 records per second is counted within ten seconds, and the 95th percentile of
    a recency search at the largest size is at most three times that at the smallest. One JSON document on standard
    output; exit code 1 if a bound is missed.
    """
    with server() as url:
        sizes, rounds = (QUICK_SIZES, 20) if quick else (SIZES, 60)
        figures, bounds = asyncio.run(_measure(url, sizes=sizes, rounds=rounds))
        about = machine(url)
    report("words", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
