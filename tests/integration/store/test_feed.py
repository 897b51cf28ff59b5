"""The change feed delivers every change once and in order, under concurrent writers."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from fix_memory import Memory, until
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Change, Kind, LoggedChange, append_changes
from stratagraph.store.feed.consumer import WINDOW_SNAPSHOTS, Feed
from stratagraph.store.feed.leases import Lease
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.snapshots import trim_snapshots
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.dead_letters import DeadLetters
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.partitions import count_default_rows, drop_days, make_days

LOG = "INSERT INTO sync_log (shard, tenant, kind, id, version, op) VALUES (0, 1, 1, %s, %s, 'U')"


@pytest.fixture
async def tenant(directory: Directory) -> Tenant:
    found = await directory.tenant("acme", create=True)
    assert found is not None
    return found


@pytest.fixture
async def feed(database: Database) -> Feed:
    """A registered consumer; it reads only changes written after its registration."""
    feed = Feed(database, "test")
    assert await feed.register()
    return feed


async def take_lease(feed: Feed, owner: str = "me") -> Lease:
    lease = await feed.lease(owner)
    assert lease is not None
    return lease


async def read_all(feed: Feed, lease: Lease) -> tuple[list[LoggedChange], Lease]:
    """Read up to the newest snapshot; return the changes and the advanced lease."""
    changes: list[LoggedChange] = []
    while (page := await feed.page(lease)) is not None:
        changes += page.changes
        advanced = await feed.advance(lease, page)
        assert advanced is not None
        lease = advanced
    return changes, lease


async def log(database: Database, tenant: Tenant, count: int) -> list[UUID]:
    """Append `count` changes in one transaction; return their ids."""
    ids = [new_id() for _ in range(count)]
    async with database.engine.begin() as connection:
        await append_changes(connection, tenant, [Change(kind=Kind.RECORD, id=id_, version=1) for id_ in ids])
    return ids


def ids(changes: Sequence[LoggedChange]) -> list[UUID]:
    return [change.id for change in changes]


async def scalar(connection: AsyncConnection, statement: str) -> int:
    return int((await connection.execute(text(statement))).scalar_one())


async def snapshots(database: Database) -> int:
    async with database.engine.begin() as connection:
        return await scalar(connection, "SELECT count(*) FROM sync_snapshot")


async def expire(database: Database) -> None:
    async with database.engine.begin() as connection:
        await connection.execute(text("UPDATE sync_cursor SET lease_until = clock_timestamp() - interval '1 s'"))


async def test_a_change_appears_exactly_once_and_in_order(feed: Feed, database: Database, tenant: Tenant) -> None:
    lease = await take_lease(feed)
    written = await log(database, tenant, 3) + await log(database, tenant, 2)
    await feed.take_snapshot()
    seen, lease = await read_all(feed, lease)
    assert ids(seen) == written
    assert {(change.tenant, change.kind, change.version, change.op) for change in seen} == {
        (tenant.id, Kind.RECORD, 1, "U")
    }
    await feed.take_snapshot()
    assert await read_all(feed, lease) == ([], lease)


async def test_changes_written_before_a_consumer_registered_are_not_delivered(
    database: Database, tenant: Tenant
) -> None:
    await log(database, tenant, 3)
    feed = Feed(database, "late")
    assert await feed.register()
    assert not await feed.register()
    after = await log(database, tenant, 2)
    await feed.take_snapshot()
    assert ids((await read_all(feed, await take_lease(feed)))[0]) == after


async def test_each_consumer_reads_everything(feed: Feed, database: Database, tenant: Tenant) -> None:
    other = Feed(database, "other")
    await other.register()
    written = await log(database, tenant, 4)
    await feed.take_snapshot()
    for consumer in (feed, other):
        assert ids((await read_all(consumer, await take_lease(consumer)))[0]) == written


@pytest.mark.parametrize("logged_first", [True, False], ids=["logged before", "only begun before"])
async def test_a_long_transaction_does_not_delay_others_and_is_not_lost(
    feed: Feed, database: Database, tenant: Tenant, database_url: str, *, logged_first: bool
) -> None:
    lease = await take_lease(feed)
    late = new_id()
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute("SELECT pg_current_xact_id()")
        if logged_first:
            await writer.execute(LOG, (late, 1))
        others = [id_ for _ in range(20) for id_ in await log(database, tenant, 1)]
        await feed.take_snapshot()
        seen, lease = await read_all(feed, lease)
        assert ids(seen) == others
        if not logged_first:
            await writer.execute(LOG, (late, 1))
        await writer.commit()
    await feed.take_snapshot()
    seen, lease = await read_all(feed, lease)
    assert ids(seen) == [late]


async def test_a_rolled_back_change_is_not_delivered(feed: Feed, database: Database, database_url: str) -> None:
    lease, before = await take_lease(feed), await snapshots(database)
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute(LOG, (new_id(), 1))
        await feed.take_snapshot()
        await writer.rollback()
    await feed.take_snapshot()
    assert await read_all(feed, lease) == ([], lease)
    assert await snapshots(database) == before


KEYS = 60
WRITERS = 8
SECONDS = 3.0


@dataclass
class RandomWriters:
    """Writers that take transaction ids early, pause and roll back, and a naive reader with a cursor over `seq`."""

    url: str
    naive: list[tuple[int, int]] = field(default_factory=list)
    written: threading.Event = field(default_factory=threading.Event)

    def write(self, number: int, until_s: float) -> None:
        rng = random.Random(number)
        with psycopg.connect(self.url) as connection:
            while time.monotonic() < until_s:
                with connection.transaction() as transaction:
                    self._write_one(connection, rng)
                    if rng.random() < 0.05:
                        raise psycopg.Rollback(transaction)

    def _write_one(self, connection: psycopg.Connection, rng: random.Random) -> None:
        if rng.random() < 0.3:
            connection.execute("SELECT pg_current_xact_id()")
        self._pause(rng)
        for key in sorted(rng.sample(range(1, KEYS + 1), rng.choice([1, 1, 2, 4]))):
            row = connection.execute(
                "UPDATE counter SET version = version + 1 WHERE id = %s RETURNING version", (key,)
            ).fetchone()
            assert row is not None
            connection.execute(LOG, (UUID(int=key), row[0]))
        self._pause(rng)

    @staticmethod
    def _pause(rng: random.Random) -> None:
        if rng.random() < 0.2:
            time.sleep(rng.random() * 0.05)

    def read_naively(self) -> None:
        """Read with `seq > cursor` until the writers are done and no more rows are returned."""
        cursor = 0
        with psycopg.connect(self.url, autocommit=True) as connection:
            while True:
                is_last = self.written.is_set()
                rows = connection.execute(
                    "SELECT seq, id, version FROM sync_log WHERE seq > %s ORDER BY seq LIMIT 200", (cursor,)
                ).fetchall()
                self.naive += [(row[1].int, row[2]) for row in rows]
                if rows:
                    cursor = rows[-1][0]
                elif is_last:
                    return
                else:
                    time.sleep(0.001)


def inversions(seen: Sequence[tuple[int, int]]) -> int:
    newest: dict[int, int] = {}
    found = 0
    for key, version in seen:
        found += version <= newest.get(key, 0)
        newest[key] = max(version, newest.get(key, 0))
    return found


async def test_under_random_writers_the_feed_loses_nothing_where_a_cursor_over_seq_loses_rows(
    feed: Feed, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.consumer.PAGE", 50)
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE counter (id int PRIMARY KEY, version bigint NOT NULL DEFAULT 0)")
        connection.execute("INSERT INTO counter SELECT g FROM generate_series(1, %s) g", (KEYS,))
    random_writers = RandomWriters(database_url)
    lease = await take_lease(feed)
    seen: list[LoggedChange] = []
    end = time.monotonic() + SECONDS
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(WRITERS + 1) as pool:
        naive = loop.run_in_executor(pool, random_writers.read_naively)
        writers = asyncio.gather(
            *(loop.run_in_executor(pool, random_writers.write, number, end) for number in range(WRITERS))
        )
        while not writers.done():
            await feed.take_snapshot()
            more, lease = await read_all(feed, lease)
            seen += more
        random_writers.written.set()
        await writers
        await naive
    await feed.take_snapshot()
    seen += (await read_all(feed, lease))[0]

    with psycopg.connect(database_url) as connection:
        logged = connection.execute("SELECT seq, id, version FROM sync_log").fetchall()
        truth: dict[int, int] = dict(connection.execute("SELECT id, version FROM counter").fetchall())
    assert len(logged) > 500
    assert sorted(change.seq for change in seen) == sorted(row[0] for row in logged)
    ours = [(change.id.int, change.version) for change in seen]
    assert inversions(ours) == 0
    assert {key: max((v for k, v in ours if k == key), default=0) for key in truth} == truth
    assert len(random_writers.naive) < len(logged), "the naive reader must lose rows, or the test proves nothing"


async def test_only_one_worker_holds_the_lease(feed: Feed) -> None:
    assert await feed.lease("one") is not None
    assert await feed.lease("two") is None
    assert await feed.lease("one") is None


async def test_of_workers_that_ask_concurrently_one_gets_the_lease(feed: Feed) -> None:
    leases = await asyncio.gather(*(feed.lease(f"worker {number}") for number in range(8)))
    assert len([lease for lease in leases if lease is not None]) == 1


async def test_an_expired_lease_is_taken_over_and_its_old_owner_is_fenced(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    old = await take_lease(feed, "old")
    written = await log(database, tenant, 3)
    await feed.take_snapshot()
    page = await feed.page(old)
    assert page is not None
    await expire(database)
    new = await take_lease(feed, "new")
    assert new.epochs[0] > old.epochs[0]
    assert new.snapshot == old.snapshot
    assert await feed.advance(old, page) is None
    assert not await feed.renew(old)
    await feed.release(old)
    assert await feed.lease("third") is None, "a release by the old owner must not free the lease of the new one"
    seen, new = await read_all(feed, new)
    assert ids(seen) == written
    assert await feed.renew(new)
    await feed.release(new)
    assert (await take_lease(feed, "third")).snapshot == new.snapshot


async def test_an_owner_that_takes_its_expired_lease_again_fences_its_old_lease(feed: Feed, database: Database) -> None:
    before = await take_lease(feed, "same")
    await expire(database)
    after = await take_lease(feed, "same")
    assert after.epochs[0] > before.epochs[0]
    assert not await feed.renew(before)
    assert await feed.renew(after)


async def test_reading_a_window_larger_than_a_page_resumes_after_the_last_page_read(
    feed: Feed, database: Database, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.consumer.PAGE", 10)
    lease = await take_lease(feed, "first")
    written = await log(database, tenant, 25)
    await feed.take_snapshot()
    page = await feed.page(lease)
    assert page is not None
    assert not page.last
    advanced = await feed.advance(lease, page)
    assert advanced is not None
    assert (advanced.snapshot, advanced.window_snapshot, advanced.window_seq) == (
        lease.snapshot,
        page.window_snapshot,
        page.changes[-1].seq,
    )

    later = await log(database, tenant, 5)  # belongs to the next window, not to the open one
    await feed.take_snapshot()
    await expire(database)
    resumed = await take_lease(feed, "second")
    assert (resumed.snapshot, resumed.window_snapshot, resumed.window_seq) == (
        advanced.snapshot,
        advanced.window_snapshot,
        advanced.window_seq,
    )
    seen, done = await read_all(feed, resumed)
    assert ids(page.changes) + ids(seen) == written + later
    assert (done.window_snapshot, done.window_seq) == (None, 0)


async def test_a_window_that_ends_with_a_full_page_is_read_once(
    feed: Feed, database: Database, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.consumer.PAGE", 5)
    lease = await take_lease(feed)
    written = await log(database, tenant, 10)
    await feed.take_snapshot()
    assert ids((await read_all(feed, lease))[0]) == written


async def test_after_an_outage_a_window_spans_a_bounded_number_of_snapshots(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    lease = await take_lease(feed)
    written = []
    for _ in range(WINDOW_SNAPSHOTS + 5):
        written += await log(database, tenant, 1)
        await feed.take_snapshot()
    page = await feed.page(lease)
    assert page is not None
    assert ids(page.changes) == written[:WINDOW_SNAPSHOTS]
    assert ids((await read_all(feed, lease))[0]) == written


async def test_a_consumer_far_behind_reads_ever_more_snapshots_at_once(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    lease = await take_lease(feed)
    written = []
    for _ in range(5 * WINDOW_SNAPSHOTS):
        written += await log(database, tenant, 1)
        await feed.take_snapshot()
    sizes, read = [], []
    while (page := await feed.page(lease)) is not None:
        sizes.append(len(page.changes))
        read += ids(page.changes)
        lease = lease.after(page)
    assert sizes == [WINDOW_SNAPSHOTS, 2 * WINDOW_SNAPSHOTS, 2 * WINDOW_SNAPSHOTS]
    assert read == written


async def test_no_snapshot_is_stored_when_nothing_is_written(
    feed: Feed, database: Database, tenant: Tenant, database_url: str
) -> None:
    async def snapshots_added(times: int) -> int:
        before = await snapshots(database)
        for _ in range(times):
            await feed.take_snapshot()
            async with database.engine.begin() as connection:  # a transaction that logs nothing needs no snapshot
                await connection.execute(text("SELECT pg_current_xact_id()"))
        return await snapshots(database) - before

    assert await snapshots_added(5) == 0
    await log(database, tenant, 1)
    assert await snapshots_added(5) == 1
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute(LOG, (new_id(), 1))
        await log(database, tenant, 1)
        assert await snapshots_added(5) == 1
        await writer.commit()
        assert await snapshots_added(5) == 1
    assert await snapshots_added(5) == 0


async def test_concurrent_snapshots_do_not_wait_for_each_other(feed: Feed, database: Database, tenant: Tenant) -> None:
    await log(database, tenant, 1)
    before = await snapshots(database)
    await asyncio.gather(*(feed.take_snapshot() for _ in range(8)))
    assert await snapshots(database) >= before + 1


async def test_lag_counts_waiting_changes_seconds_and_dead_letters(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    assert await Feed(database, "never registered").lag() is None
    lease = await take_lease(feed)
    nothing = await feed.lag()
    assert nothing is not None
    assert (nothing.changes, nothing.seconds, nothing.dead_letters) == (0, 0.0, 0)
    await log(database, tenant, 7)
    await feed.take_snapshot()

    async def measurable() -> bool:
        lag = await feed.lag()
        return lag is not None and lag.seconds > 0.05

    await until(measurable)
    waiting = await feed.lag()
    assert waiting is not None
    assert waiting.changes == 7
    seen, lease = await read_all(feed, lease)
    letters = DeadLetters(database, "test")
    await letters.add(seen[0], "Neo.ClientError.Example")
    caught_up = await feed.lag()
    assert caught_up is not None
    assert (caught_up.changes, caught_up.seconds, caught_up.dead_letters) == (0, 0.0, 1)
    assert await letters.delete(seen[:1]) == 1
    assert (await feed.lag()) == nothing


async def test_a_token_is_seen_once_its_own_transaction_is_applied(
    feed: Feed, database: Database, tenant: Tenant, database_url: str
) -> None:
    lease = await take_lease(feed)
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        row = await (await writer.execute("SELECT pg_current_xact_id()::text")).fetchone()
        assert row is not None
        early = str(row[0])
        async with database.engine.begin() as connection:
            token = str(await scalar(connection, "SELECT pg_current_xact_id()::text"))
            await append_changes(connection, tenant, [Change(kind=Kind.RECORD, id=new_id(), version=1)])
        assert not await feed.seen(token)
        await feed.take_snapshot()
        assert not await feed.seen(token), "a snapshot alone applies nothing"
        _, lease = await read_all(feed, lease)
        assert await feed.seen(token)
        assert not await feed.seen(early), "an older transaction that is still open is not applied"
        await writer.execute(LOG, (new_id(), 1))
        await writer.commit()
    await feed.take_snapshot()
    await read_all(feed, lease)
    assert await feed.seen(early)
    assert not await Feed(database, "never registered").seen(token)


async def test_a_consumer_in_the_same_database_applies_and_advances_in_one_transaction(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    lease = await take_lease(feed)
    written = await log(database, tenant, 3)
    await feed.take_snapshot()
    page = await feed.page(lease)
    assert page is not None
    async with database.engine.begin() as connection:
        assert await feed.advance(lease, page, connection=connection) is not None
        await connection.rollback()
    await expire(database)
    again = await take_lease(feed)
    assert again.snapshot == lease.snapshot
    assert ids((await read_all(feed, again))[0]) == written


async def transaction_of(memory: Memory, token: str) -> str:
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.reading(caller.bounds) as connection:
        (transaction,) = await Sequences().parse(connection, caller.tenant, token, path=["atLeastSequence"])
        return transaction


async def test_a_capture_logs_every_row_and_its_token_is_seen(memory: Memory, feed: Feed) -> None:
    kept = await memory.observe("Alice", "works_at", "Acme")
    await feed.take_snapshot()
    seen, _ = await read_all(feed, await take_lease(feed))
    assert {change.id for change in seen if change.kind is Kind.RECORD} == {record.id for record in kept.created}
    assert {change.id for change in seen if change.kind is Kind.RELATION} == {edge.id for edge in kept.edges}
    assert await feed.seen(await transaction_of(memory, kept.sequence))


class PreparedTransactions:
    """A simulation of Citus workers: a table lists two-phase commits whose rows cannot be read yet."""

    async def in_doubt(self, connection: AsyncConnection) -> frozenset[str]:
        return frozenset((await connection.execute(text("SELECT name FROM prepared"))).scalars())


class TwoPhase:
    """A commit that is in every later snapshot, but whose log row can be read only after `finish`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.id = new_id()

    def commit(self) -> None:
        with psycopg.connect(self._url) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS prepared (name text)")
            connection.execute("GRANT SELECT ON prepared TO PUBLIC")
            connection.execute("INSERT INTO prepared VALUES ('citus_0_1')")
            row = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
        assert row is not None
        self._xid = row[0]

    def finish(self) -> None:
        with psycopg.connect(self._url) as connection:
            connection.execute(
                "INSERT INTO sync_log (shard, xid, tenant, kind, id, version, op) VALUES (0, %s, 1, 1, %s, 1, 'U')",
                (self._xid, self.id),
            )
            connection.execute("DELETE FROM prepared")


async def test_a_two_phase_commit_is_lost_without_a_barrier_and_awaited_with_one(
    database: Database, tenant: Tenant, database_url: str
) -> None:
    plain = Feed(database, "plain")
    await plain.register()
    lease = await take_lease(plain)
    unawaited = TwoPhase(database_url)
    unawaited.commit()
    seen_before = await log(database, tenant, 1)
    await plain.take_snapshot()
    assert ids((await read_all(plain, lease))[0]) == seen_before
    unawaited.finish()
    await log(database, tenant, 1)

    with_barrier = Feed(database, "with barrier", barrier=PreparedTransactions())
    await with_barrier.register()
    held = await take_lease(with_barrier)
    awaited = TwoPhase(database_url)
    awaited.commit()
    others = await log(database, tenant, 1)
    before = await snapshots(database)
    taking = asyncio.create_task(with_barrier.take_snapshot())
    await asyncio.sleep(0.1)  # a snapshot that did not wait would be stored within this time
    assert await snapshots(database) == before
    awaited.finish()
    await taking
    assert await snapshots(database) == before + 1
    assert set(ids((await read_all(with_barrier, held))[0])) == {awaited.id, *others}

    everything = ids((await read_all(plain, await take_expired_lease(plain, database)))[0])
    assert awaited.id in everything
    assert unawaited.id not in everything, "this change must be lost, or the test proves nothing"


async def take_expired_lease(feed: Feed, database: Database) -> Lease:
    await expire(database)
    return await take_lease(feed)


async def test_a_two_phase_commit_that_stays_in_doubt_blocks_snapshots_and_is_reported(
    database: Database, tenant: Tenant, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.snapshots.BARRIER_S", 0.05)
    feed = Feed(database, "test", barrier=PreparedTransactions())
    await feed.take_snapshot()
    stuck = TwoPhase(database_url)
    stuck.commit()
    await log(database, tenant, 1)
    before = await snapshots(database)
    with pytest.raises(StoreUnavailable, match="in doubt"):
        await feed.take_snapshot()
    assert await snapshots(database) == before
    stuck.finish()
    await feed.take_snapshot()
    assert await snapshots(database) == before + 1


async def test_cursors_are_shared_between_workers_split_and_joined(database: Database, tenant: Tenant) -> None:
    feed = Feed(database, "shared", cursors=16)
    await feed.register()
    assert await feed.join("one") == 16
    assert await feed.join("two") == 8
    first = await feed.lease("one", limit=8)
    second = await feed.lease("two", limit=8)
    assert first is not None
    assert second is not None
    assert sorted(first.cursors + second.cursors) == list(range(16))
    written = await log(database, tenant, 100)
    await feed.take_snapshot()
    seen_first, first = await read_all(feed, first)
    seen_second, second = await read_all(feed, second)
    assert sorted(ids(seen_first) + ids(seen_second)) == sorted(written)
    assert min(len(seen_first), len(seen_second)) > 20
    whole = first.joined(second)
    assert len(whole.cursors) == 16
    kept, given = first.split(3)
    await feed.release(given)
    third = await feed.lease("two")
    assert third is not None
    assert third.cursors == given.cursors
    renewed_first = await feed.renew(first)
    assert renewed_first is not None
    assert renewed_first.cursors == kept.cursors
    await feed.leave("two")
    assert await feed.join("one") == 16
    assert (await feed.holders()) == {"one": 3}


async def test_a_lease_that_ends_too_far_in_the_future_is_taken_over(feed: Feed, database: Database) -> None:
    before = await take_lease(feed, "dead")
    async with database.engine.begin() as connection:
        await connection.execute(text("UPDATE sync_cursor SET lease_until = clock_timestamp() + interval '1 hour'"))
    after = await take_lease(feed, "alive")
    assert after.epochs > before.epochs
    assert await feed.renew(before) is None


DAY = date(2026, 6, 1)


async def test_a_day_partition_is_dropped_once_no_consumer_and_no_stored_snapshot_needs_it(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    await make_days(database, DAY)
    lease = await take_lease(feed)
    async with database.engine.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO sync_log (shard, day, tenant, kind, id, version, op) VALUES (0, :day, 1, 1, :id, 1, 'U')"
            ),
            [{"day": DAY, "id": new_id()}, {"day": date(2020, 1, 1), "id": new_id()}],
        )
    later = DAY + timedelta(days=30)
    kept = await days(database)
    assert (await drop_days(database, later)).default_rows == 0
    assert await count_default_rows(database) == 1
    assert set(await days(database)) == set(kept) - {f"sync_log_202606{day:02}" for day in range(2, 9)}
    await feed.take_snapshot()
    seen, _ = await read_all(feed, lease)
    assert len(seen) >= 2
    assert (await drop_days(database, later)).days == 0, "an old copy of a mirror may lack what a stored snapshot lacks"
    async with database.engine.begin() as connection:
        await connection.execute(text("UPDATE sync_snapshot SET at = at - interval '25 hours'"))
        await trim_snapshots(connection, limit=100)
    dropped = await drop_days(database, later)
    assert (dropped.days, dropped.default_rows, dropped.stale) == (1, 1, ())
    assert "sync_log_20260601" not in await days(database)
    assert await count_default_rows(database) == 0


async def test_rows_of_the_default_partition_move_to_their_day_and_are_read_once(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    lease = await take_lease(feed)
    first = await log(database, tenant, 3)
    await feed.take_snapshot()
    seen, lease = await read_all(feed, lease)
    second = await log(database, tenant, 2)
    assert await count_default_rows(database) == 5
    assert await make_days(database, datetime.now(UTC).date()) == 8
    assert await count_default_rows(database) == 0
    await feed.take_snapshot()
    more, lease = await read_all(feed, lease)
    assert ids(seen + more) == first + second


async def test_a_reader_of_the_log_and_the_making_of_days_do_not_wait_for_each_other(
    database: Database, database_url: str
) -> None:
    waits = text(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
        " AND relation IN ('sync_log'::regclass, 'sync_log_default'::regclass)"
    )

    async def is_waiting() -> bool:
        async with database.engine.begin() as connection:
            return bool((await connection.execute(waits)).scalar_one())

    async with await psycopg.AsyncConnection.connect(database_url) as reader:
        await reader.execute("LOCK TABLE ONLY sync_log IN ACCESS SHARE MODE")  # as a statement does when it begins
        making = asyncio.create_task(make_days(database, DAY + timedelta(days=400)))
        await until(is_waiting)
        await reader.execute("SET LOCAL lock_timeout = '500ms'")
        await reader.execute("SELECT count(*) FROM sync_log_default")  # and of each partition after it
        await reader.rollback()
        assert await making >= 7, "the first day may have waited for longer than a day may"


async def test_a_stale_consumer_is_dropped_if_it_can_rebuild(database: Database, tenant: Tenant) -> None:
    rebuildable, needed = Feed(database, "lazy", rereads=True), Feed(database, "needed")
    for consumer in (rebuildable, needed):
        assert await consumer.register()
    await log(database, tenant, 1)
    await rebuildable.take_snapshot()
    today = datetime.now(UTC).date()
    assert (await drop_days(database, today)).stale == ()
    assert (await drop_days(database, today + timedelta(days=9))).stale == ("lazy",)
    assert await rebuildable.register(), "it was dropped, so it registers as new"
    assert not await needed.register()


async def days(database: Database) -> list[str]:
    async with database.engine.begin() as connection:
        rows = await connection.execute(
            text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'sync_log'::regclass")
        )
        return sorted(rows.scalars())
