"""Heavy operations give way to light ones between two slices of their computations.

They share one thread. Without this, an operation of a few milliseconds that runs beside a heavy one would wait for a
slice of it at each of its own steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

GIVE_WAY_S = 0.05  # seconds that a heavy operation waits between two slices at most, so that light ones cannot stop it


class Courtesy:
    """The light operations that run in one process. Belongs to one event loop."""

    def __init__(self) -> None:
        self._light = 0
        self._quiet = asyncio.Event()  # set while no light operation runs
        self._quiet.set()

    @contextmanager
    def light(self) -> Iterator[None]:
        """Count the block as a light operation."""
        self._light += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._light -= 1
            if not self._light:
                self._quiet.set()

    @contextmanager
    def heavy(self) -> Iterator[None]:
        """Run the block as a heavy operation, which gives way to light ones."""
        token = _heavy.set(self)
        try:
            yield
        finally:
            _heavy.reset(token)

    async def wait(self) -> None:
        """Wait until no light operation runs, but at most GIVE_WAY_S."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GIVE_WAY_S):
                await self._quiet.wait()


_heavy: ContextVar[Courtesy | None] = ContextVar("heavy", default=None)


async def give_way() -> None:
    """Let other tasks run; in a heavy operation, for as long as light operations run, within a bound."""
    await asyncio.sleep(0)
    courtesy = _heavy.get()
    if courtesy is not None:
        await courtesy.wait()
