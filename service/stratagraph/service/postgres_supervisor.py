"""Starts the embedded PostgreSQL again when it ends while the service runs.

The server may be killed by hand, or by the kernel when memory is short. Until it answers again, requests are answered
with UNAVAILABLE. The pause between two starts doubles, also when the server starts and soon ends again.

Of the processes that use a server, the one that holds a lock starts it again. The others watch: they connect anew once
it runs, and read from the lock's file why it does not. When the holder ends, another one takes the lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import IO

from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.service.forks import not_for_forks
from stratagraph.service.private_files import open_private
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import Misconfigured

LOCK_FILE = "postgres-supervisor.lock"  # in the data directory
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorConfig:
    """How often the server is looked at, and how long the pauses between starts are, in seconds."""

    poll_s: float = 0.5
    first_pause_s: float = 0.5  # after the first start; doubles with each further one
    longest_pause_s: float = 30.0
    stable_s: float = 60.0  # a server that has run for so long counts as sound: the next pause is the first again


class PostgresSupervisor:
    """Watches the server of one data directory. `on_restart` is awaited after each successful start, by any process.

    Use it inside `EmbeddedPostgres.running`. `restarts` counts the successful starts by this process.
    """

    def __init__(
        self,
        server: EmbeddedPostgres,
        on_restart: Callable[[], Awaitable[None]],
        config: SupervisorConfig | None = None,
    ) -> None:
        self._server = server
        self._on_restart = on_restart
        self._config = config or SupervisorConfig()
        self._attempts = 0  # starts since the server was last sound
        self._started_at = time.monotonic()
        self._problem: str | None = None
        self._lock: IO[str] | None = None  # the file, while this process holds its lock
        self._held = contextlib.ExitStack()  # closes it
        self._pid = server.pid
        self.restarts = 0

    @property
    def problem(self) -> str | None:
        """Why the server does not run, in words; None if it runs or is about to be started."""
        if self._lock is not None or self._server.is_running():
            return self._problem
        with contextlib.suppress(OSError):
            return (self._server.directory / LOCK_FILE).read_text() or None
        return None

    async def run(self) -> None:
        """Start the server whenever it has ended, until cancelled. A start that fails is repeated after a pause."""
        try:
            while True:
                pause_s = await self.run_once()
                await asyncio.sleep(pause_s)
        finally:
            self.close()

    def close(self) -> None:
        """Leave the starting of the server to other processes."""
        self._held.close()
        self._lock = None

    async def run_once(self) -> float:
        """Start the server if it has ended and no other process does; return the seconds until the next look."""
        config = self._config
        if not self._leads():
            if self._server.pid != self._pid and self._server.is_running():
                self._pid = self._server.pid
                await self._on_restart()
            return config.poll_s
        if self._server.is_running():
            self._publish_problem(None)
            if time.monotonic() - self._started_at > config.stable_s:
                self._attempts = 0
            return config.poll_s
        pause_s = min(config.longest_pause_s, config.first_pause_s * 2.0 ** min(self._attempts, 20))
        self._attempts += 1
        if self._problem is None:
            _log.warning("embedded postgres has ended and is started again")
        try:
            started = await asyncio.to_thread(self._server.restart)
        except Exception as error:  # any error: the service must go on, and the next attempt may succeed
            problem = _problem_of(error)
            if problem != self._problem:
                kind, log = type(error).__name__, str(self._server.log)
                _log.error(
                    "embedded postgres does not start; further attempts follow", error=kind, reason=problem, log=log
                )
            self._publish_problem(problem)
            return pause_s
        self._publish_problem(None)
        self._pid = self._server.pid
        self._started_at = time.monotonic()
        if started:
            self.restarts += 1
            await self._on_restart()
            _log.info("embedded postgres started again", restarts=self.restarts)
        return pause_s

    def _leads(self) -> bool:
        """Return whether it is this process that starts the server; take the lock if no process has it."""
        if self._lock is None:
            try:
                file = open_private(self._server.directory / LOCK_FILE, "a+")
            except OSError:  # no file descriptor is left; another process may have one
                return False
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return False
            file.truncate(0)  # what the process before us wrote
            self._lock = self._held.enter_context(file)
            self._held.enter_context(not_for_forks(file.fileno()))
        return True

    def _publish_problem(self, problem: str | None) -> None:
        """Keep the problem, also for the processes that only watch."""
        if problem == self._problem:
            return
        self._problem = problem
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.write(problem or "")
            self._lock.flush()


def _problem_of(error: Exception) -> str:
    """Return the error in words. The message of a failed start quotes the server's log, so it is not repeated."""
    if isinstance(error, Misconfigured):
        return error.message
    return "the embedded Postgres has ended and does not start: see postgres.log in STRATAGRAPH_DATA_DIR"
