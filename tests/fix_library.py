"""Programs that open a store within themselves, in processes of their own, and the processes that they leave."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread

from fix_memory import until
from fix_service import Forked, environment

from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph_client import AsyncMemory
from stratagraph_client.operations.enums import MemoryType
from stratagraph_client.operations.input_types import RecordFilter

# Writes until its file `stop` exists, and prints each text once it is stored.
WRITER = """
import asyncio, itertools, sys, uuid
from pathlib import Path
import stratagraph
from stratagraph_client.operations.input_types import AgentTurnInput, MemoryInput, RememberInput

async def main(path, name, stop):
    async with stratagraph.open(path) as memory:
        print("open", flush=True)
        for number in itertools.count():
            if Path(stop).exists():
                return
            turn = MemoryInput(agentTurn=AgentTurnInput(role="user", text=f"{name} {number}"))
            given = RememberInput(source="test", memory=turn, idempotencyKey=str(uuid.uuid4()))
            await memory.operations.remember(given)
            print(f"{name} {number}", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


# Opens a store, forks if it is told to, and waits for a signal.
HOLDER = """
import os, signal, sys, time
import stratagraph

with stratagraph.open(sys.argv[1]) as memory:
    memory.remember("The parrot sings")
    print("open", flush=True)
    if sys.argv[2:] == ["fork"]:
        child = os.fork()
        if child == 0:
            os.close(1)
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
    signal.pause()
"""


class Program:
    """A Python program that the fork server runs, and the lines that it has printed so far."""

    def __init__(self, text: str, *arguments: str) -> None:
        self._error = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `close`
        self.process = Forked(["-c", text, *arguments], environment(), self._error)
        self.lines: list[str] = []
        self._changed = Condition()
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.strip())
                self._changed.notify_all()

    def await_lines(self, number: int, within_s: float = 60.0) -> list[str]:
        """Wait until it has printed so many lines, and return them."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.lines) >= number, within_s), (self.lines, self.error)
            return list(self.lines)

    @property
    def error(self) -> str:
        """What it has written to standard error."""
        self._error.seek(0)
        return self._error.read()

    def wait(self, within_s: float = 60.0) -> int:
        """Wait for its end and return its status."""
        status = self.process.wait(within_s)
        self._reader.join(within_s)
        return status

    def close(self) -> None:
        """Kill it if it runs, and close its files."""
        self.process.kill()
        self.wait()
        self.process.stdout.close()
        self._error.close()


@contextmanager
def programs(text: str, *arguments: tuple[str, ...]) -> Iterator[list[Program]]:
    """Run a program once with each of the arguments; the second and further ones start when the first has printed."""
    started: list[Program] = []
    try:
        for one in arguments:
            started.append(Program(text, *one))
            started[0].await_lines(1)
        yield started
    finally:
        for program in started:
            program.close()


def runs_postgres(path: Path) -> bool:
    """Return whether the embedded Postgres of a data directory runs."""
    return EmbeddedPostgres(path).is_running()


async def texts(memory: AsyncMemory) -> Counter[str]:
    """Return the texts of all messages, and how often each is stored."""
    found: Counter[str] = Counter()
    after = None
    while True:
        page = await memory.operations.records(
            filter_=RecordFilter(types=[MemoryType.EPISODIC]), first=100, after=after
        )
        found.update(str(one.text) for one in page.nodes)
        if not page.pageInfo.hasNextPage:
            return found
        after = page.pageInfo.endCursor


async def stops(path: Path) -> None:
    """Wait until the Postgres of `path` has stopped."""

    async def has_stopped() -> bool:
        return not runs_postgres(path)

    await until(has_stopped)
