"""Waiting until an answer is in the log: another process that gave it may not have written it yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

from stratagraph.memory.requests.retrying import retried
from stratagraph.store.model.clock import SystemClock
from stratagraph.store.model.errors import NotLoggedYet, RecordNotFound
from stratagraph.store.model.ids import made_at

WAIT_S = 3.0  # seconds for which a request waits until another process has logged an answer
POLL_S = 0.1  # seconds between two looks
YOUNG_S = 30.0  # seconds; an answer older than this and not in the log is not waited for
IDS_CLOCK = SystemClock()  # ids are made by the clock of the machine, whatever a service is given
T = TypeVar("T")


class NotLoggedError(Exception):
    """The answer `id` is not in the log, or not yet. `path` is the argument that names it."""

    def __init__(self, id_: UUID, path: Sequence[str]) -> None:
        self.id, self.path = id_, list(path)
        super().__init__()


async def when_logged(commit: Callable[[], Awaitable[T]], *, of: str) -> T:
    """Return the result of the transaction `commit`, run again while it raises NotLoggedError, up to WAIT_S seconds.

    `of` is what the log has an entry of, as in "the log has no `of` 0190…". Raises RecordNotFound, or NotLoggedYet for
    an answer that is young enough to be waiting still.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return await retried(commit)
        except NotLoggedError as error:
            is_young = _is_young(error.id)
            if not is_young or time.monotonic() >= deadline:
                raise _not_found(error, of, is_young=is_young) from None
        await asyncio.sleep(POLL_S)


def _is_young(id_: UUID) -> bool:
    made = made_at(id_)
    return made is not None and (IDS_CLOCK.now() - made).total_seconds() < YOUNG_S


def _not_found(error: NotLoggedError, of: str, *, is_young: bool) -> RecordNotFound:
    missing = f"{'.'.join(error.path)}: the log has no {of} {error.id} by this credential."
    if is_young:
        return NotLoggedYet(
            error.id,
            f"{missing} If this credential asked, it may still be waiting to be logged: try again shortly. Otherwise"
            " report with the credential that asked.",
            path=error.path,
        )
    return RecordNotFound(
        error.id, f"{missing} Check the id, and report with the credential that asked.", path=error.path
    )
