"""What every step of an erasure works with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.store.event_log import get_logger
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.postgres.database import Database

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ErasureContext:
    """The database, directory, clock and artifacts that an erasure uses."""

    database: Database
    directory: Directory
    clock: Clock
    artifacts: Artifacts

    async def discard(self, tenant: Tenant, orphans: Collection[bytes]) -> None:
        """Remove the bytes of artifacts after the commit; on failure, leave them to the background jobs.

        The erasure is committed, so a failing object store must not turn it into an error.
        """
        if not orphans:
            return
        try:
            await self.artifacts.remove_released(tenant, orphans)
        except StratagraphError as error:
            _log.warning("artifacts not removed, left to the background jobs", code=error.code)


def sees_everything(caller: Caller) -> bool:
    """Return whether the caller may read all records of the tenant in full."""
    return caller.scopes is None and caller.ceiling is Sensitivity.HYPER
