"""Time as the client needs it: a clock, pauses between attempts, and which process and event loop it works in."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
FIRST_CONTACT_S = 3.0  # of attempts to connect, for a client that has never reached a service


@dataclass
class Timing:
    """The clock, the pauses and the chance of one client; tests bring their own. Seconds throughout."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    async_sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: random.Random = field(default_factory=random.Random)

    def pause_s(self, attempt: int) -> float:
        """Return how long to wait after the failed attempt with this number, from 0: longer each time, with jitter."""
        longest: float = min(FIRST_PAUSE_S * 2.0 ** min(attempt, 16), LONGEST_PAUSE_S)
        return longest * self.chance.uniform(0.5, 1.0)


class Home:
    """The process, and for the async client the event loop, in which a client's connections can be used."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None

    def check(self) -> None:
        """Raise RuntimeError in another process than that which made the client."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "This client was made before the process forked, and its connections belong to the parent process."
                " Make a client in each process."
            )

    def async_check(self) -> None:
        """Raise RuntimeError in another process, or in another event loop than that of the first call."""
        self.check()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError(
                "This AsyncMemory has been used in another event loop, to which its connections belong. Make one in"
                " each event loop, as inside the function given to asyncio.run, or use Memory, which needs none."
            )


def seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds that a header Retry-After names, also where it names an instant; None for neither."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (at - datetime.now(at.tzinfo or UTC)).total_seconds())
