"""Following changes: what a stream costs, what it survives, and where its position ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, trust_of, until

from stratagraph.memory.changes import following as following_module
from stratagraph.memory.changes.change import Change, ChangeKind
from stratagraph.memory.changes.service import Changes, ChangeStream
from stratagraph.memory.revise.request import Delete
from stratagraph.store.feed import change_log
from stratagraph.store.feed.changes import Change as Logged
from stratagraph.store.feed.changes import Kind, Seen, log_changes
from stratagraph.store.feed.positions import open_place, seal_place
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import InvalidInput, PositionExpired
from stratagraph.store.postgres.database import Role

LATER_S = 0.5  # ten looks at the log


@pytest.fixture
def changes(memory: Memory) -> Changes:
    return Changes(memory.database, memory.directory, memory.clock)


async def taken(stream: ChangeStream, number: int) -> list[Change]:
    """Take that many changes from a stream."""
    found: list[Change] = []
    async with asyncio.timeout(30):
        while len(found) < number:
            await stream.wait()
            found += (await stream.take()).changes
    return found


async def test_a_log_that_nobody_follows_is_not_read_and_no_snapshot_is_stored_for_it(
    memory: Memory, changes: Changes
) -> None:
    async def snapshots() -> Any:
        return await memory.value("SELECT count(*) FROM sync_snapshot")

    await memory.turn("before")
    async with changes.stream(memory.trust) as stream:
        await memory.turn("followed")
        assert [one.kind for one in await taken(stream, 1)] == [ChangeKind.CREATED]
        assert changes.following.followers == 1
    assert changes.following.followers == 0
    before, stored = memory.database.statements, await snapshots()
    await memory.turn("unheard")
    written = memory.database.statements - before
    before = memory.database.statements
    await asyncio.sleep(LATER_S)
    assert memory.database.statements == before
    assert await snapshots() == stored
    assert written < 20


async def test_a_hundred_streams_read_what_one_reads(
    memory: Memory, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is read by one task, and what it means is read once for all with the same bounds."""
    reads: Counter[str] = Counter()
    resolve, read = changes.resolver.resolve, changes.log.read

    async def counted_resolve(*arguments: Any, **more: Any) -> Any:
        reads["meaning"] += 1
        return await resolve(*arguments, **more)

    async def counted_read(place: Any, **more: Any) -> Any:
        reads["log for one stream"] += more["tenant"] is not None
        return await read(place, **more)

    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(changes.stream(memory.trust)) for _ in range(100)]
        await memory.turn("until all have come to the same place")
        await asyncio.gather(*(taken(one, 1) for one in opened))
        monkeypatch.setattr(changes.resolver, "resolve", counted_resolve)
        monkeypatch.setattr(changes.log, "read", counted_read)
        for number in range(3):
            await memory.turn(f"turn {number}")
            await asyncio.gather(*(taken(one, 1) for one in opened))
    assert reads == Counter({"meaning": 3, "log for one stream": 0})


async def test_many_small_windows_and_slow_readers_get_each_change_once_and_in_order(
    memory: Memory, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following_module, "WINDOW", 3)
    monkeypatch.setattr(following_module, "KEPT_SEGMENTS", 2)
    monkeypatch.setattr(following_module, "KEPT_CHANGES", 4)
    monkeypatch.setattr(change_log, "PAGE", 2)
    async with changes.stream(memory.trust) as quick, changes.stream(memory.trust) as slow:
        first = asyncio.create_task(taken(quick, 40))
        ids = []
        for number in range(8):
            for turn in range(5):
                kept = await memory.turn(f"{number} and {turn}")
                ids.append(kept.primary.id)
        by_quick = [one.subject for one in await first]
        by_slow = [one.subject for one in await taken(slow, 40)]
        assert by_quick == by_slow == ids
        assert len(changes.following._segments) <= 2


async def test_a_transaction_that_commits_late_is_not_missed(memory: Memory, changes: Changes) -> None:
    early = (await memory.turn("early")).primary.id
    tenant = (await memory.directory.resolve(memory.trust)).tenant.id
    async with changes.stream(memory.trust) as stream:
        async with memory.database.background(Role.FEED) as connection:
            await log_changes(connection, tenant, [Logged(kind=Kind.RECORD, id=early, version=1)])
            late = (await memory.turn("late")).primary.id
            assert [one.subject for one in await taken(stream, 1)] == [late]
        assert [one.subject for one in await taken(stream, 1)] == [early]


async def test_a_reader_who_was_away_is_told_once_that_what_it_saw_is_gone(memory: Memory, changes: Changes) -> None:
    """Also of a record that was raised beyond its sight and deleted afterwards, of which no history is left."""
    reader = trust_of(ceiling=Sensitivity.LOW)
    ids: dict[str, UUID] = {}
    for name, level in (("seen", Sensitivity.LOW), ("redacted", Sensitivity.MEDIUM), ("hidden", Sensitivity.HIGH)):
        ids[name] = await memory.entity(name, sensitivity=level)
    ids["raised"] = await memory.entity("raised")
    position = (await changes.page(reader)).end_position
    raise_it = "UPDATE record SET sensitivity = 3, row_version = 2 WHERE id = :id RETURNING scope"
    scope = await memory.value(raise_it, id=ids["raised"])
    tenant = (await memory.directory.resolve(memory.trust)).tenant.id
    async with memory.database.background(Role.FEED) as connection:
        seen = Seen(scope=scope, sensitivity=1, raised_to=3)
        await log_changes(connection, tenant, [Logged(kind=Kind.RECORD, id=ids["raised"], version=2, seen=seen)])
    for id_ in ids.values():
        await memory.revise(Delete(record_id=id_, rationale="away"))
    page = await changes.page(reader, after=position)
    assert {one.kind for one in page.changes} == {ChangeKind.GONE}
    told = [one.subject for one in page.changes]
    assert sorted(told) == sorted(ids[name] for name in ("seen", "redacted", "raised"))
    causes = {one.subject: one.cause for one in page.changes}
    why = causes[ids["seen"]]
    assert why is not None
    assert (why.action, why.rationale) == ("delete", "away")
    assert causes[ids["redacted"]] is None
    everything = await changes.page(memory.trust, after=position)
    assert {one.subject for one in everything.changes if one.kind is ChangeKind.GONE} == set(ids.values())


async def test_positions_that_are_old_foreign_or_made_up_are_refused_with_what_to_do(
    memory: Memory, changes: Changes
) -> None:
    position = (await changes.page(memory.trust)).end_position
    for wrong in ("", "x", position[:-1], position + "A", position[:-4] + "AAAA", "ä" * len(position)):
        with pytest.raises(InvalidInput, match="is not a position") as refused:
            await changes.page(memory.trust, after=wrong)
        assert refused.value.path == ["after"]
    with pytest.raises(InvalidInput):
        await changes.page(trust_of(tenant="other"), after=position)
    again = (await changes.page(memory.trust)).end_position
    assert again != position  # though nothing was written
    assert len(again) == len(position)
    await memory.turn("one")
    newer = (await changes.page(memory.trust, after=position)).end_position
    await memory.rows("DELETE FROM sync_snapshot WHERE id < (SELECT max(id) FROM sync_snapshot)")
    with pytest.raises(PositionExpired, match="read the present state"):
        await changes.page(memory.trust, after=position)
    assert not (await changes.page(memory.trust, after=newer)).changes
    await memory.rows("UPDATE sync_snapshot SET nonce = gen_random_uuid()")  # as in another incarnation
    with pytest.raises(PositionExpired):
        await changes.page(memory.trust, after=newer)


async def test_a_position_within_a_window_goes_on_behind_the_change(memory: Memory, changes: Changes) -> None:
    begin = (await changes.page(memory.trust)).end_position
    ids = [(await memory.turn(f"turn {number}")).primary.id for number in range(7)]
    caller = await memory.directory.resolve(memory.trust)
    every = (await changes.page(memory.trust, after=begin)).changes
    assert [one.subject for one in every] == ids
    for number, one in enumerate(every):
        rest = await changes.page(memory.trust, after=seal_place(caller.tenant, one.place), first=2)
        assert [left.subject for left in rest.changes] == ids[number + 1 : number + 3]
        assert rest.has_next == (number + 3 < len(ids))
        assert open_place(caller.tenant, rest.end_position).snapshot >= one.place.snapshot


async def test_streams_go_on_when_the_log_was_restarted(memory: Memory, changes: Changes) -> None:
    """The reader of the log begins anew; a stream whose position is gone is told so."""
    async with changes.stream(memory.trust) as stream:
        await memory.turn("one")
        await taken(stream, 1)
        await memory.rows("UPDATE sync_feed SET incarnation = 'another'")
        await memory.turn("two")

        async def is_told() -> bool:
            await stream.wait()
            try:
                await stream.take()
            except PositionExpired:
                return True
            return False

        await until(is_told)
    async with changes.stream(memory.trust) as stream:
        id_ = (await memory.turn("three")).primary.id
        assert [one.subject for one in await taken(stream, 1)] == [id_]


async def test_what_one_transaction_did_to_a_record_is_one_change(memory: Memory, changes: Changes) -> None:
    begin = (await changes.page(memory.trust)).end_position
    for value in ("Oslo", "Bergen"):
        await memory.observe("Ann", "lives_in", value, revision_policy="replace")
        memory.clock.forward(timedelta(seconds=5))
    found = (await changes.page(memory.trust, after=begin, first=500)).changes
    created = [one.subject for one in found if one.kind is ChangeKind.CREATED]
    assert len(created) == len(set(created))
    (ended,) = [one for one in found if one.kind is ChangeKind.STATE]
    assert ended.record is not None
    assert ended.record.state.name == "SUPERSEDED"
    assert ended.cause is not None
    assert ended.cause.action == "supersede"
