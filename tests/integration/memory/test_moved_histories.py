"""Random histories of captures, revisions and removals, moved to another instance: nothing of them changes there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar

import psycopg
import pytest
from fix_memory import ManualClock, Memory, fresh_database, memory_of
from fix_transfer import Transfer
from histories import Histories, SharedState
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from stratagraph.store.audit.verification import verify_chains
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database

SIZE = settings(
    max_examples=10,
    stateful_step_count=15,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class MovedHistories(Histories):
    """Runs a history in one store, and then moves it to another one."""

    here: ClassVar[Memory]
    there: ClassVar[Memory]
    transfer: ClassVar[Transfer]
    moved: ClassVar[int] = 0

    def teardown(self) -> None:
        super().teardown()
        if self.root is not None:
            self._run(self._move())

    async def _move(self) -> None:
        trust = self.callers[0]
        here, there = replace(self.here, trust=trust), replace(self.there, trust=trust)
        text = await self.transfer.text(here)
        report = await self.transfer.imported(there, self.transfer.file(text))
        assert report.refused == []
        assert await self.transfer.text(there) == text
        again = await self.transfer.imported(there, self.transfer.file(text))
        assert again.refused == []
        assert (again.stored, again.relations, again.tombstones) == ({}, 0, 0)
        assert (await verify_chains(there.database, there.directory.vault, tenant=trust.tenant)).whole
        type(self).moved += 1


def test_random_histories_are_the_same_after_a_move(
    database_url: str,
    postgres_url: str,
    template_database: str,
    administrator: psycopg.Connection,
    transfer: Transfer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with asyncio.Runner() as runner, fresh_database(postgres_url, template_database, administrator) as url:
        clock = ManualClock(datetime(2026, 6, 1, 12, tzinfo=UTC))
        shared = SharedState(runner, clock, is_queued=False)
        monkeypatch.setattr(Histories, "shared", shared, raising=False)
        monkeypatch.setattr(MovedHistories, "transfer", transfer, raising=False)
        stack = AsyncExitStack()

        async def opened(address: str) -> Memory:
            database = await stack.enter_async_context(Database(address))
            return memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))

        try:
            runner.run(shared.open(database_url, stack))
            monkeypatch.setattr(MovedHistories, "here", runner.run(opened(database_url)), raising=False)
            monkeypatch.setattr(MovedHistories, "there", runner.run(opened(url)), raising=False)
            run_state_machine_as_test(MovedHistories, settings=SIZE)
        finally:
            runner.run(stack.aclose())
        assert MovedHistories.moved > 0
