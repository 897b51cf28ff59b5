"""The change feed loses nothing, repeats nothing and inverts nothing, whatever writers do at the same time."""

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
    """A registered consumer; what was written before it does not concern it."""
    feed = Feed(database, "test")
    assert await feed.register()
    return feed


async def taken(feed: Feed, owner: str = "me") -> Lease:
    lease = await feed.lease(owner)
    assert lease is not None
    return lease


async def drained(feed: Feed, lease: Lease) -> tuple[list[LoggedChange], Lease]:
    """Everything up to the newest snapshot, and the lease as it is then."""
    changes: list[LoggedChange] = []
    while (page := await feed.page(lease)) is not None:
        changes += page.changes
        advanced = await feed.advance(lease, page)
        assert advanced is not None
        lease = advanced
    return changes, lease


async def log(database: Database, tenant: Tenant, count: int) -> list[UUID]:
    """One transaction with `count` changes."""
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
    lease = await taken(feed)
    written = await log(database, tenant, 3) + await log(database, tenant, 2)
    await feed.take_snapshot()
    seen, lease = await drained(feed, lease)
    assert ids(seen) == written
    assert {(change.tenant, change.kind, change.version, change.op) for change in seen} == {
        (tenant.id, Kind.RECORD, 1, "U")
    }
    await feed.take_snapshot()
    assert await drained(feed, lease) == ([], lease)


async def test_what_was_written_before_a_consumer_registered_is_not_its_to_read(
    database: Database, tenant: Tenant
) -> None:
    await log(database, tenant, 3)
    feed = Feed(database, "late")
    assert await feed.register()
    assert not await feed.register()
    after = await log(database, tenant, 2)
    await feed.take_snapshot()
    assert ids((await drained(feed, await taken(feed)))[0]) == after


async def test_each_consumer_reads_everything(feed: Feed, database: Database, tenant: Tenant) -> None:
    other = Feed(database, "other")
    await other.register()
    written = await log(database, tenant, 4)
    await feed.take_snapshot()
    for consumer in (feed, other):
        assert ids((await drained(consumer, await taken(consumer)))[0]) == written


@pytest.mark.parametrize("logged_first", [True, False], ids=["logged early", "only begun early"])
async def test_a_long_open_writer_neither_stalls_the_others_nor_is_lost(
    feed: Feed, database: Database, tenant: Tenant, database_url: str, *, logged_first: bool
) -> None:
    lease = await taken(feed)
    late = new_id()
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute("SELECT pg_current_xact_id()")
        if logged_first:
            await writer.execute(LOG, (late, 1))
        others = [id_ for _ in range(20) for id_ in await log(database, tenant, 1)]
        await feed.take_snapshot()
        seen, lease = await drained(feed, lease)
        assert ids(seen) == others
        if not logged_first:
            await writer.execute(LOG, (late, 1))
        await writer.commit()
    await feed.take_snapshot()
    seen, lease = await drained(feed, lease)
    assert ids(seen) == [late]


async def test_a_rollback_leaves_nothing(feed: Feed, database: Database, database_url: str) -> None:
    lease, before = await taken(feed), await snapshots(database)
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute(LOG, (new_id(), 1))
        await feed.take_snapshot()
        await writer.rollback()
    await feed.take_snapshot()
    assert await drained(feed, lease) == ([], lease)
    assert await snapshots(database) == before


KEYS = 60
WRITERS = 8
SECONDS = 3.0


@dataclass
class Chaos:
    """Writers that take their transaction ids early, dawdle and roll back, and a reader as one would first write it."""

    url: str
    naive: list[tuple[int, int]] = field(default_factory=list)
    written: threading.Event = field(default_factory=threading.Event)

    def write(self, number: int, until_s: float) -> None:
        luck = random.Random(number)
        with psycopg.connect(self.url) as connection:
            while time.monotonic() < until_s:
                with connection.transaction() as transaction:
                    self._write_one(connection, luck)
                    if luck.random() < 0.05:
                        raise psycopg.Rollback(transaction)

    def _write_one(self, connection: psycopg.Connection, luck: random.Random) -> None:
        if luck.random() < 0.3:
            connection.execute("SELECT pg_current_xact_id()")
        self._dawdle(luck)
        for key in sorted(luck.sample(range(1, KEYS + 1), luck.choice([1, 1, 2, 4]))):
            row = connection.execute(
                "UPDATE chaos SET version = version + 1 WHERE id = %s RETURNING version", (key,)
            ).fetchone()
            assert row is not None
            connection.execute(LOG, (UUID(int=key), row[0]))
        self._dawdle(luck)

    @staticmethod
    def _dawdle(luck: random.Random) -> None:
        if luck.random() < 0.2:
            time.sleep(luck.random() * 0.05)

    def read_naively(self) -> None:
        """`seq > cursor`, until the writers are done and nothing more comes."""
        cursor = 0
        with psycopg.connect(self.url, autocommit=True) as connection:
            while True:
                last_look = self.written.is_set()
                rows = connection.execute(
                    "SELECT seq, id, version FROM sync_log WHERE seq > %s ORDER BY seq LIMIT 200", (cursor,)
                ).fetchall()
                self.naive += [(row[1].int, row[2]) for row in rows]
                if rows:
                    cursor = rows[-1][0]
                elif last_look:
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


async def test_under_chaos_nothing_is_lost_or_inverted_where_a_cursor_over_seq_loses_rows(
    feed: Feed, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.consumer.PAGE", 50)
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE chaos (id int PRIMARY KEY, version bigint NOT NULL DEFAULT 0)")
        connection.execute("INSERT INTO chaos SELECT g FROM generate_series(1, %s) g", (KEYS,))
    chaos = Chaos(database_url)
    lease = await taken(feed)
    seen: list[LoggedChange] = []
    end = time.monotonic() + SECONDS
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(WRITERS + 1) as pool:
        naive = loop.run_in_executor(pool, chaos.read_naively)
        writers = asyncio.gather(*(loop.run_in_executor(pool, chaos.write, number, end) for number in range(WRITERS)))
        while not writers.done():
            await feed.take_snapshot()
            more, lease = await drained(feed, lease)
            seen += more
        chaos.written.set()
        await writers
        await naive
    await feed.take_snapshot()
    seen += (await drained(feed, lease))[0]

    with psycopg.connect(database_url) as connection:
        logged = connection.execute("SELECT seq, id, version FROM sync_log").fetchall()
        truth: dict[int, int] = dict(connection.execute("SELECT id, version FROM chaos").fetchall())
    assert len(logged) > 500
    assert sorted(change.seq for change in seen) == sorted(row[0] for row in logged)
    ours = [(change.id.int, change.version) for change in seen]
    assert inversions(ours) == 0
    assert {key: max((v for k, v in ours if k == key), default=0) for key in truth} == truth
    assert len(chaos.naive) < len(logged), "the chaos was too tame to prove anything"


async def test_only_one_worker_holds_the_lease(feed: Feed) -> None:
    assert await feed.lease("one") is not None
    assert await feed.lease("two") is None
    assert await feed.lease("one") is None


async def test_of_workers_that_ask_at_once_one_gets_the_lease(feed: Feed) -> None:
    leases = await asyncio.gather(*(feed.lease(f"worker {number}") for number in range(8)))
    assert len([lease for lease in leases if lease is not None]) == 1


async def test_an_expired_lease_is_taken_over_and_its_old_owner_is_fenced(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    old = await taken(feed, "old")
    written = await log(database, tenant, 3)
    await feed.take_snapshot()
    page = await feed.page(old)
    assert page is not None
    await expire(database)
    new = await taken(feed, "new")
    assert new.epochs[0] > old.epochs[0]
    assert new.snapshot == old.snapshot
    assert await feed.advance(old, page) is None
    assert not await feed.renew(old)
    await feed.release(old)
    assert await feed.lease("third") is None, "a release by the old owner must not free what the new one holds"
    seen, new = await drained(feed, new)
    assert ids(seen) == written
    assert await feed.renew(new)
    await feed.release(new)
    assert (await taken(feed, "third")).snapshot == new.snapshot


async def test_an_owner_that_comes_back_under_its_own_name_is_still_fenced(feed: Feed, database: Database) -> None:
    before = await taken(feed, "same")
    await expire(database)
    after = await taken(feed, "same")
    assert after.epochs[0] > before.epochs[0]
    assert not await feed.renew(before)
    assert await feed.renew(after)


async def test_a_window_larger_than_a_page_is_resumed_where_it_stopped(
    feed: Feed, database: Database, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.consumer.PAGE", 10)
    lease = await taken(feed, "first")
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

    later = await log(database, tenant, 5)  # belongs to the next window, not to the one that is open
    await feed.take_snapshot()
    await expire(database)
    resumed = await taken(feed, "second")
    assert (resumed.snapshot, resumed.window_snapshot, resumed.window_seq) == (
        advanced.snapshot,
        advanced.window_snapshot,
        advanced.window_seq,
    )
    seen, done = await drained(feed, resumed)
    assert ids(page.changes) + ids(seen) == written + later
    assert (done.window_snapshot, done.window_seq) == (None, 0)


async def test_a_window_that_ends_exactly_with_a_page_repeats_nothing(
    feed: Feed, database: Database, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.consumer.PAGE", 5)
    lease = await taken(feed)
    written = await log(database, tenant, 10)
    await feed.take_snapshot()
    assert ids((await drained(feed, lease))[0]) == written


async def test_after_an_outage_a_window_spans_a_bounded_number_of_snapshots(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    lease = await taken(feed)
    written = []
    for _ in range(WINDOW_SNAPSHOTS + 5):
        written += await log(database, tenant, 1)
        await feed.take_snapshot()
    page = await feed.page(lease)
    assert page is not None
    assert ids(page.changes) == written[:WINDOW_SNAPSHOTS]
    assert ids((await drained(feed, lease))[0]) == written


async def test_no_snapshot_is_stored_when_nothing_is_written(
    feed: Feed, database: Database, tenant: Tenant, database_url: str
) -> None:
    async def grown_by(times: int) -> int:
        before = await snapshots(database)
        for _ in range(times):
            await feed.take_snapshot()
            async with database.engine.begin() as connection:  # transactions that log nothing are not news
                await connection.execute(text("SELECT pg_current_xact_id()"))
        return await snapshots(database) - before

    assert await grown_by(5) == 0
    await log(database, tenant, 1)
    assert await grown_by(5) == 1
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute(LOG, (new_id(), 1))
        await log(database, tenant, 1)
        assert await grown_by(5) == 1
        await writer.commit()
        assert await grown_by(5) == 1
    assert await grown_by(5) == 0


async def test_concurrent_snapshots_do_not_wait_for_each_other(feed: Feed, database: Database, tenant: Tenant) -> None:
    await log(database, tenant, 1)
    before = await snapshots(database)
    await asyncio.gather(*(feed.take_snapshot() for _ in range(8)))
    assert await snapshots(database) >= before + 1


async def test_lag_counts_what_waits_and_how_long(feed: Feed, database: Database, tenant: Tenant) -> None:
    assert await Feed(database, "never ran").lag() is None
    lease = await taken(feed)
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
    seen, lease = await drained(feed, lease)
    letters = DeadLetters(database, "test")
    await letters.add(seen[0], "Neo.ClientError.Example")
    caught_up = await feed.lag()
    assert caught_up is not None
    assert (caught_up.changes, caught_up.seconds, caught_up.dead_letters) == (0, 0.0, 1)
    assert await letters.delete(seen[:1]) == 1
    assert (await feed.lag()) == nothing


async def test_a_token_counts_as_applied_once_its_own_transaction_is(
    feed: Feed, database: Database, tenant: Tenant, database_url: str
) -> None:
    lease = await taken(feed)
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
        _, lease = await drained(feed, lease)
        assert await feed.seen(token)
        assert not await feed.seen(early), "an older transaction that is still open is not applied"
        await writer.execute(LOG, (new_id(), 1))
        await writer.commit()
    await feed.take_snapshot()
    await drained(feed, lease)
    assert await feed.seen(early)
    assert not await Feed(database, "never ran").seen(token)


async def test_a_consumer_in_the_same_database_applies_and_advances_in_one_transaction(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    lease = await taken(feed)
    written = await log(database, tenant, 3)
    await feed.take_snapshot()
    page = await feed.page(lease)
    assert page is not None
    async with database.engine.begin() as connection:
        assert await feed.advance(lease, page, connection=connection) is not None
        await connection.rollback()
    await expire(database)
    again = await taken(feed)
    assert again.snapshot == lease.snapshot
    assert ids((await drained(feed, again))[0]) == written


async def test_a_capture_tells_the_feed_every_row_it_wrote_and_its_token_is_seen(memory: Memory, feed: Feed) -> None:
    kept = await memory.observe("Alice", "works_at", "Acme")
    await feed.take_snapshot()
    seen, _ = await drained(feed, await taken(feed))
    assert {change.id for change in seen if change.kind is Kind.RECORD} == {record.id for record in kept.created}
    assert {change.id for change in seen if change.kind is Kind.RELATION} == {edge.id for edge in kept.edges}
    assert await feed.seen(kept.sequence.rpartition(":")[2])


class Prepared:
    """A stand-in for the workers of a Citus: two-phase commits whose rows cannot be read yet stand in a table."""

    async def in_doubt(self, connection: AsyncConnection) -> frozenset[str]:
        return frozenset((await connection.execute(text("SELECT name FROM prepared"))).scalars())


class TwoPhase:
    """A commit that is in every snapshot from now on, and whose row of the log can be read only once it is finished."""

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


async def test_a_two_phase_commit_is_lost_without_a_barrier_and_waited_for_with_one(
    database: Database, tenant: Tenant, database_url: str
) -> None:
    plain = Feed(database, "plain")
    await plain.register()
    lease = await taken(plain)
    unlucky = TwoPhase(database_url)
    unlucky.commit()
    seen_before = await log(database, tenant, 1)
    await plain.take_snapshot()
    assert ids((await drained(plain, lease))[0]) == seen_before
    unlucky.finish()
    await log(database, tenant, 1)

    careful = Feed(database, "careful", barrier=Prepared())
    await careful.register()
    held = await taken(careful)
    waited_for = TwoPhase(database_url)
    waited_for.commit()
    others = await log(database, tenant, 1)
    before = await snapshots(database)
    taking = asyncio.create_task(careful.take_snapshot())
    await asyncio.sleep(0.1)  # a snapshot that did not wait would be stored by then
    assert await snapshots(database) == before
    waited_for.finish()
    await taking
    assert await snapshots(database) == before + 1
    assert set(ids((await drained(careful, held))[0])) == {waited_for.id, *others}

    everything = ids((await drained(plain, await renewed(plain, database)))[0])
    assert waited_for.id in everything
    assert unlucky.id not in everything, "the stand-in shows nothing if this is not lost"


async def renewed(feed: Feed, database: Database) -> Lease:
    await expire(database)
    return await taken(feed)


async def test_a_two_phase_commit_that_stays_in_doubt_blocks_snapshots_and_is_reported(
    database: Database, tenant: Tenant, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.feed.snapshots.BARRIER_S", 0.05)
    feed = Feed(database, "test", barrier=Prepared())
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


async def test_cursors_are_shared_out_handed_on_and_joined_again(database: Database, tenant: Tenant) -> None:
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
    seen_first, first = await drained(feed, first)
    seen_second, second = await drained(feed, second)
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


async def test_a_lease_from_before_the_clock_was_set_back_holds_nothing_up(feed: Feed, database: Database) -> None:
    before = await taken(feed, "dead")
    async with database.engine.begin() as connection:
        await connection.execute(text("UPDATE sync_cursor SET lease_until = clock_timestamp() + interval '1 hour'"))
    after = await taken(feed, "alive")
    assert after.epochs > before.epochs
    assert await feed.renew(before) is None


DAY = date(2026, 6, 1)


async def test_a_day_is_dropped_once_every_consumer_has_read_it(feed: Feed, database: Database, tenant: Tenant) -> None:
    await make_days(database, DAY)
    lease = await taken(feed)
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
    for other in ("words", "test"):
        reader = Feed(database, other)
        seen, _ = await drained(reader, lease if other == "test" else await taken(reader))
        assert len(seen) >= 2
    dropped = await drop_days(database, later)
    assert (dropped.days, dropped.default_rows, dropped.stale) == (1, 1, ())
    assert "sync_log_20260601" not in await days(database)
    assert await count_default_rows(database) == 0


async def test_what_was_logged_before_its_day_was_made_moves_there_and_is_read_once(
    feed: Feed, database: Database, tenant: Tenant
) -> None:
    lease = await taken(feed)
    first = await log(database, tenant, 3)
    await feed.take_snapshot()
    seen, lease = await drained(feed, lease)
    second = await log(database, tenant, 2)
    assert await count_default_rows(database) == 5
    assert await make_days(database, datetime.now(UTC).date()) == 8
    assert await count_default_rows(database) == 0
    await feed.take_snapshot()
    more, lease = await drained(feed, lease)
    assert ids(seen + more) == first + second


async def test_a_consumer_that_stays_away_is_forgotten_if_it_can_read_everything_afresh(
    database: Database, tenant: Tenant
) -> None:
    lazy, needed = Feed(database, "lazy", rereads=True), Feed(database, "needed")
    for consumer in (lazy, needed):
        assert await consumer.register()
    await log(database, tenant, 1)
    await lazy.take_snapshot()
    today = datetime.now(UTC).date()
    assert (await drop_days(database, today)).stale == ()
    assert (await drop_days(database, today + timedelta(days=9))).stale == ("lazy",)
    assert await lazy.register(), "it begins anew"
    assert not await needed.register()


async def days(database: Database) -> list[str]:
    async with database.engine.begin() as connection:
        rows = await connection.execute(
            text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'sync_log'::regclass")
        )
        return sorted(rows.scalars())
