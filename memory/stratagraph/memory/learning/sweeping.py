"""The sweeps of this installation, of which one that fails does not stop the others or the learning from episodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import structlog

from stratagraph.memory.learning.sweep import GroupWriter, Sweep, Swept
from stratagraph.memory.requests.retrying import is_outage
from stratagraph.store.learning.runs import StoredRun
from stratagraph.store.model.errors import error_kind

_log = structlog.get_logger(__name__)


class Sweeping:
    """Takes the steps of the sweeps, in their order."""

    def __init__(self, sweeps: Sequence[Sweep]) -> None:
        self._sweeps = sweeps
        self._ended: set[tuple[UUID, str]] = set()  # runs, and the sweeps that have failed in them

    async def is_due(self, now: datetime, names: Collection[str]) -> bool:
        """Return whether one of the sweeps `names` may have something to do; one that fails has nothing."""
        due = False
        for sweep in self._sweeps:
            if sweep.name in names:
                try:
                    due |= await sweep.is_due(now)
                except Exception as error:
                    self._note(sweep, error)
        return due

    async def waiting(self, run: StoredRun, *, most: int) -> dict[str, int]:
        """Return how much each sweep of a run still has in its queue, at most `most` each, by name."""
        going_on = [one for one in self._sweeps if one.name in run.stages and (run.id, one.name) not in self._ended]
        return {sweep.name: await sweep.waiting(run.began_at, most=most) for sweep in going_on}

    async def step(self, writer: GroupWriter, run: StoredRun) -> tuple[str, Swept] | None:
        """Take the next step of the first sweep of the run that has one; return its name and what it did.

        None if no step is left. A sweep that fails takes no more steps in the run. Raises StoreUnavailable if the
        database cannot be reached.
        """
        for sweep in self._sweeps:
            if sweep.name not in run.stages or (run.id, sweep.name) in self._ended:
                continue
            try:
                done = await sweep.step(writer, run)
            except Exception as error:
                self._note(sweep, error)
                self._ended.add((run.id, sweep.name))
                continue
            if done is not None:
                return sweep.name, done
        return None

    def close(self) -> None:
        """Let all sweeps take steps again, in the next run."""
        self._ended.clear()

    def _note(self, sweep: Sweep, error: Exception) -> None:
        """Log why a sweep failed. Raises `error` if the database cannot be reached."""
        if is_outage(error):
            raise error
        _log.warning("a sweep of learning failed", sweep=sweep.name, error=error_kind(error))
