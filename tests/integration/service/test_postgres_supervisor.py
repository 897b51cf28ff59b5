"""An embedded PostgreSQL that has ended is started again with its data, whatever lock files it left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import psycopg
import pytest
from fix_memory import SPARING_S, until

from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.service.postgres_supervisor import PostgresSupervisor, SupervisorConfig
from stratagraph.store.model.errors import Misconfigured, StoreUnavailable
from stratagraph.store.postgres.database import Database

BROKEN_LINE = "\nno_such_setting = 1\n"
CONFIG = SupervisorConfig(first_pause_s=1.0, longest_pause_s=6.0)


class Running:
    """A running server of a directory of its own. Its main process can be killed."""

    def __init__(self, directory: Path, runs: ExitStack) -> None:
        self.server = EmbeddedPostgres(directory)
        self.url = runs.enter_context(self.server.running())
        self.restarted = 0
        self.supervisor = self.watched_by(runs)

    def watched_by(self, runs: ExitStack) -> PostgresSupervisor:
        """Return a supervisor of this server, which is closed with the others."""
        return runs.enter_context(closing(PostgresSupervisor(self.server, self.on_restart, CONFIG)))

    async def on_restart(self) -> None:
        self.restarted += 1

    @property
    def pid(self) -> int:
        return int((self.server.data / "postmaster.pid").read_text().splitlines()[0])

    def kill(self) -> None:
        """Kill the main process only, as the kernel does; the others end when they notice."""
        psutil.Process(self.pid).kill()
        while self.server.is_running():
            pass

    def value(self) -> str:
        with psycopg.connect(self.url) as connection:
            row = connection.execute("SELECT v FROM kept").fetchone()
        assert row is not None
        return str(row[0])


@pytest.fixture
def running() -> Iterator[Running]:
    # Outside pytest's directory, which is closed to the account that the server runs as.
    with TemporaryDirectory(prefix="stratagraph-supervised-") as directory, ExitStack() as runs:
        found = Running(Path(directory), runs)
        with psycopg.connect(found.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 'before' AS v")
        yield found


async def test_a_killed_server_is_started_again_and_the_pools_connect_anew(running: Running) -> None:
    async with Database(running.url) as database:
        with closing(PostgresSupervisor(running.server, database.reconnect, CONFIG)) as supervisor:
            assert await supervisor.run_once() == CONFIG.poll_s
            running.kill()
            with pytest.raises(StoreUnavailable):
                await database.probe()
            await supervisor.run_once()
            await database.probe()
            assert supervisor.restarts == 1
    assert running.value() == "before"


async def test_of_several_processes_one_starts_the_server_and_the_next_takes_over(running: Running) -> None:
    with ExitStack() as runs:
        leader, watcher = running.watched_by(runs), running.watched_by(runs)
        await leader.run_once()
        running.kill()
        configuration = running.server.data / "postgresql.conf"
        sound = configuration.read_text()
        configuration.write_text(sound + BROKEN_LINE)
        assert await watcher.run_once() == CONFIG.poll_s
        assert not running.server.is_running()
        await leader.run_once()
        assert leader.problem is not None
        assert watcher.problem == leader.problem
        configuration.write_text(sound)
        await leader.run_once()
        assert {one.problem for one in (leader, watcher)} == {None}
        await watcher.run_once()
        assert running.restarted == 2, "both connect anew"
        assert (leader.restarts, watcher.restarts) == (1, 0)
        leader.close()
        running.kill()
        await watcher.run_once()
        assert (watcher.restarts, running.value()) == (1, "before")


async def test_a_server_that_cannot_start_is_reported_and_tried_again_after_bounded_pauses(running: Running) -> None:
    supervisor, configuration = running.supervisor, running.server.data / "postgresql.conf"
    sound = configuration.read_text()
    running.kill()
    configuration.write_text(sound + BROKEN_LINE)
    assert supervisor.problem is None
    pauses = [await supervisor.run_once() for _ in range(5)]
    assert pauses == [1.0, 2.0, 4.0, 6.0, 6.0]
    assert supervisor.problem is not None
    assert "postgres.log" in supervisor.problem
    assert running.restarted == 0
    configuration.write_text(sound)
    await supervisor.run_once()
    assert supervisor.problem is None
    assert (running.restarted, supervisor.restarts) == (1, 1)
    assert running.value() == "before"


async def test_missing_data_are_reported_and_not_replaced_by_an_empty_database(running: Running) -> None:
    running.kill()
    away = running.server.data.rename(running.server.directory / "away")
    with pytest.raises(Misconfigured, match="no longer in"):
        running.server.restart()
    await running.supervisor.run_once()
    assert running.supervisor.problem is not None
    assert "no longer in" in running.supervisor.problem
    with (
        pytest.raises(Misconfigured, match="is missing, although"),
        EmbeddedPostgres(running.server.directory).running(),
    ):
        pass
    assert not running.server.data.exists()
    away.rename(running.server.data)
    await running.supervisor.run_once()
    assert running.value() == "before"


async def test_a_process_id_that_another_program_has_now_does_not_keep_the_server_from_starting(
    running: Running,
) -> None:
    running.kill()
    for name in (running.server.data / "postmaster.pid", next(running.server.directory.glob("sockets/*.lock"))):
        _, *rest = name.read_text().split("\n")
        name.write_text("\n".join([str(os.getpid()), *rest]))
    assert not running.server.is_running()
    await running.supervisor.run_once()
    assert running.restarted == 1
    assert running.pid != os.getpid()
    assert running.value() == "before"


async def test_a_table_that_was_filled_is_analysed_soon(running: Running) -> None:
    """Until then the planner knows nothing of it, and questions read whole tables."""
    with psycopg.connect(running.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE filled AS SELECT n FROM generate_series(1, 1000) n")

        async def is_analysed() -> bool:
            found = connection.execute("SELECT reltuples FROM pg_class WHERE relname = 'filled'").fetchone()
            return found == (1000,)

        await until(is_analysed, within_s=45, every_s=SPARING_S)
