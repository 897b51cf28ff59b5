"""Measure word search: its answers and times beside PostgreSQL's full-text search, and what its index costs."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from time import perf_counter, process_time
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
from word_stores import LEVELS, SCOPES, WordStore, plain_search
from word_writes import WriteCost
from wording import Wording

from stratagraph.memory.retrieve.weights import CANDIDATES
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import DAY, Decay
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import Role
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.inserting import NewRecord, insert_records
from stratagraph.store.search.present import search_recent
from stratagraph.store.search.word_counts import WordCounter
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import search_words

LIMIT = 10.0  # seconds after which a second of captures at 1,000 records per second must be counted
SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (1_000, 10_000)
ADDED_AT_ONCE = 1_000  # records whose counting is measured
KINDS = ("normal", "common", "long")
# As in the shared experiments: no filter, most scopes, one scope of 1.7 % of the records, and one of 0.1 %.
FILTERS = {
    "none": trust(),
    "wide": trust(scopes=SCOPES[:60], ceiling=Sensitivity.MEDIUM),
    "mid": trust(scopes=SCOPES[9:10]),
    "rare": trust(scopes=SCOPES[99:]),
}
WIDE, NARROW = ("none", "wide"), ("mid", "rare")
ASKED_PLAINLY = 8  # questions of each kind and filter that PostgreSQL's full-text search answers
WRITTEN = 100  # records of a batch whose inserting and deleting is measured


@dataclass(frozen=True, slots=True)
class Asking:
    """A caller and its questions at one store."""

    filled: WordStore
    caller: Caller
    questions: Sequence[str]
    index: WordIndex

    async def answer(self, question: str) -> tuple[list[UUID], float]:
        """Return the answer and the milliseconds of the search, in an open transaction."""
        async with self.filled.where.database.reading(self.caller.bounds) as connection:
            now, types, most, began = datetime.now(UTC), tuple(MemoryType), CANDIDATES, perf_counter()
            found = await search_words(connection, self.index, self.caller, question, types=types, now=now, limit=most)
            return [id_ for id_, _ in found], (perf_counter() - began) * 1_000

    async def answer_plainly(self, question: str) -> float:
        """Return the milliseconds of PostgreSQL's full-text search, in an open transaction."""
        async with self.filled.where.database.reading(self.caller.bounds) as connection:
            began = perf_counter()
            await plain_search(connection, self.caller, question)
            return (perf_counter() - began) * 1_000

    async def recall(self) -> float | None:
        """Return the mean share of the exact best ten that are among the first ten answers; None if nothing matches."""
        shares = []
        for question in self.questions[:ASKED_PLAINLY]:
            answer, _ = await self.answer(question)
            share = self.filled.recall(self.caller, question, answer, place=10)
            shares += [] if share is None else [share]
        return statistics.mean(shares) if shares else None


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


async def _write_records(filled: WordStore, number: int) -> None:
    records = [_record(filled.tenant, filled.wording, 0, 0) for _ in range(number)]
    await _insert(filled.where, filled.tenant, records)


async def _count(where: Store) -> tuple[int, float]:
    """Count and index all waiting changes; return their number and the seconds that it took."""
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
        for table in ("word_count", "word_change", "word_segment", "word_block", "record"):
            cursor = await connection.execute(
                psycopg.sql.SQL("SELECT count(*), pg_table_size({0}), pg_indexes_size({0}) FROM {1}").format(
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
    """Measure what inserting the records of WRITTEN captures takes in one transaction, and deleting them."""
    took: dict[str, list[float]] = {"insert": [], "delete": []}
    for _ in range(rounds):
        records = [_record(tenant, wording, 0, 0) for _ in range(WRITTEN)]
        ids: list[UUID] = [record.id for record in records]
        began = perf_counter()
        await _insert(where, tenant, records)
        took["insert"].append((perf_counter() - began) * 1_000)
        async with where.database.background(Role.ERASE) as connection:
            began = perf_counter()
            await fetch(connection, "delete_records", tenant=tenant.id, ids=ids)
            took["delete"].append((perf_counter() - began) * 1_000)
    return {name: summary(times) for name, times in took.items()}


def _recent(where: Store, caller: Caller) -> Callable[[], Awaitable[object]]:
    async def search() -> object:
        async with where.database.reading(caller.bounds) as connection:
            return await search_recent(connection, types=tuple(MemoryType), now=datetime.now(UTC), limit=20)

    return search


async def _load(stack: AsyncExitStack, url: str, size: int, bars: Progress) -> tuple[WordStore, dict[str, Any]]:
    """Return a filled and indexed store, and what the filling tells."""
    where = await stack.enter_async_context(store(url, f"words_{size}"))
    tenant = await where.directory.tenant("bench", create=True)
    assert tenant is not None  # create=True
    filled = WordStore(where, tenant, Wording(size), size)
    await filled.fill(bars)
    began = process_time()
    _, indexing_s = await _count(where)
    figures: dict[str, Any] = {
        "indexing_all": {
            "us_per_record": round(indexing_s / size * 1e6, 1),
            "of_it_own_processor_us": round((process_time() - began) / size * 1e6, 1),
        },
        "size": await _sizes(where, size),
    }
    await filled.add_plain_index()
    return filled, figures


async def _added(filled: WordStore) -> tuple[dict[str, Any], Bound]:
    """Measure the counting and indexing of a second of captures, and the writes themselves."""
    where, tenant, size = filled.where, filled.tenant, filled.size
    await _insert(where, tenant, [_record(tenant, filled.wording, 0, 0) for _ in range(ADDED_AT_ONCE)])
    changes, took_s = await _count(where)
    figures = {
        "counting_a_second_of_captures": {"changes": changes, "s": round(took_s, 3)},
        "writes_ms_per_batch": await _writes(where, tenant, filled.wording, 10),
    }
    await _count(where)
    return figures, Bound(name=f"{size}: seconds to count and index {ADDED_AT_ONCE}", value=took_s, limit=LIMIT)


async def _asked(
    asking: dict[tuple[str, str, int], Asking], rounds: int, *, plainly: bool, title: str
) -> dict[tuple[str, str, int], list[float]]:
    """Ask the first `rounds` questions of each in turn; return the milliseconds of the searches."""
    took: dict[tuple[str, str, int], list[float]] = {key: [] for key in asking}
    with progress() as bars:
        bar = bars.add_task(title, total=rounds)
        for number in range(rounds):
            for key, one in asking.items():
                question = one.questions[number]
                took[key].append(await one.answer_plainly(question) if plainly else (await one.answer(question))[1])
            bars.advance(bar)
    return took


async def _measure(url: str, *, sizes: Sequence[int], rounds: int) -> tuple[dict[str, Any], list[Bound]]:
    figures: dict[str, Any] = {}
    asking: dict[tuple[str, str, int], Asking] = {}
    recent: dict[tuple[str, int], Case] = {}
    bounds: list[Bound] = []
    async with AsyncExitStack() as stack:
        with progress() as bars:
            for size in sizes:
                filled, figures[f"{size}"] = await _load(stack, url, size, bars)
                index = WordIndex()  # one for all callers, as a process of the service has it
                for kind in KINDS:
                    questions = filled.questions(kind, rounds)
                    for name, who in FILTERS.items():
                        caller = await filled.where.directory.resolve(who)
                        asking[kind, name, size] = Asking(filled, caller, questions, index)
                        recent[name, size] = Case(run=_recent(filled.where, caller))
        first = await _asked(asking, rounds, plainly=False, title="first searches")
        took = await _asked(asking, rounds, plainly=False, title="searching")
        plain = await _asked(asking, ASKED_PLAINLY, plainly=True, title="ts_rank")
        recalls = {key: await one.recall() for key, one in asking.items()}
        newest = await interleaved(recent, rounds, title="recent")
        for (kind, name, size), times in took.items():
            key = (kind, name, size)
            figures[f"{size}"].setdefault(kind, {})[name] = {
                "ms": summary(times),
                "first_ms": summary(first[key]),
                "or_ts_rank_ms": summary(plain[key]),
                "times_faster": round(statistics.median(plain[key]) / statistics.median(times), 1),
                "recall_at_10": recalls[key],
            }
        for (name, size), times in newest.items():
            figures[f"{size}"].setdefault("recent", {})[name] = summary(times)
        smallest = asking["normal", "none", sizes[0]].filled
        figures["write_cost"] = await WriteCost(smallest).measure(3 * rounds // 4, partial(_write_records, smallest))
        for one in {size: asking["normal", "none", size] for size in sizes}.values():
            added, bound = await _added(one.filled)
            figures[f"{one.filled.size}"] |= added
            bounds.append(bound)
    return figures, [*bounds, *_bounds(sizes, took, plain, recalls, newest, figures["write_cost"])]


def _bounds(
    sizes: Sequence[int],
    took: dict[tuple[str, str, int], list[float]],
    plain: dict[tuple[str, str, int], list[float]],
    recalls: dict[tuple[str, str, int], float | None],
    newest: dict[tuple[str, int], list[float]],
    write_cost: dict[str, Any],
) -> list[Bound]:
    least, most = sizes[0], sizes[-1]

    def median_share(kind: str, name: str) -> float:
        return round(statistics.median(took[kind, name, most]) / statistics.median(plain[kind, name, most]), 4)

    def growth(kind: str, name: str) -> float:
        return round(percentile(took[kind, name, most], 0.95) / percentile(took[kind, name, least], 0.95), 3)

    found = [
        Bound(
            name="share of the exact best ten that is missed",
            value=round(1 - min(recall for recall in recalls.values() if recall is not None), 4),
            limit=0.02,
        )
    ]
    found += [
        Bound(name=f"{kind}, {name}: p95 of largest over smallest store", value=growth(kind, name), limit=2.0)
        for kind in KINDS
        for name in FILTERS
    ]
    found += [
        Bound(name=f"{kind}, {name}: time over that of OR + ts_rank", value=median_share(kind, name), limit=0.01)
        for kind in ("common", "long")
        for name in WIDE
    ]
    found += [
        Bound(name=f"{kind}, {name}: time over that of OR + ts_rank", value=median_share(kind, name), limit=1.0)
        for kind in KINDS
        for name in NARROW
    ]
    found += [
        Bound(name=f"{kind}, {name}: ms at {least}", value=statistics.median(took[kind, name, least]), limit=5.0)
        for kind in KINDS
        for name in FILTERS
    ]
    found += [
        Bound(name=f"{how}: a write over one with a plain GIN index", value=write_cost[how]["ratio"], limit=1.5)
        for how in ("batch of 100", "single")
    ]
    slower = max(percentile(newest[name, most], 0.95) / percentile(newest[name, least], 0.95) for name in FILTERS)
    return [*found, Bound(name="recent: p95 of largest over smallest store", value=round(slower, 3), limit=3.0)]


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Stores of 10³ and 10⁴ records.")] = False,
    largest: Annotated[int, typer.Option("--largest", help="Leave out stores of more records.")] = SIZES[-1],
) -> None:
    """Measure word search at 10⁴, 10⁵ and 10⁶ records of Zipf words in 100 scopes and four sensitivities.

    Each search is compared with the exact answer, computed in Python, and with an OR of the words ordered by ts_rank,
    over a GIN index of tsvectors; times are those of the searches within a transaction. Bounds: at most 2 % of the best
    ten are missed; the 95th percentile at the largest size is at most twice that at the smallest; common and long
    questions take at most a hundredth of OR + ts_rank, and those of one scope never more; at the smallest size a search
    takes at most 5 ms; a write costs at most 1.5 times one of a plain GIN index; a second of captures at 1,000 records
    per second is counted and indexed within ten seconds. One JSON document on standard output; exit code 1 if a bound
    is missed.
    """
    with server() as url:
        sizes, rounds = (QUICK_SIZES, 20) if quick else ([size for size in SIZES if size <= largest], 60)
        figures, bounds = asyncio.run(_measure(url, sizes=sizes, rounds=rounds))
        about = machine(url)
    report("words", figures, bounds=bounds, machine=about)


if __name__ == "__main__":
    typer.run(main)
