"""Working off the queue of re-evaluations that one transaction would not have had room for."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from stratagraph.memory.propagation import reachable, reevaluate
from stratagraph.store.keys.tenancy import Caller, Directory, Tenant
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import ConditionsOverlap, StatementFailed, StoreUnavailable
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role, elevated, savepoint
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.reevaluations import (
    due_reevaluations,
    postpone_reevaluation,
    settle_reevaluations,
)
from stratagraph.store.records.writing import finish

ACTOR = "propagation"
LONGEST_PAUSE = timedelta(hours=1)
_log = structlog.get_logger(__name__)


def everything_of(tenant: Tenant, actor: str) -> Caller:
    """All of a tenant, for background work on it."""
    trust = Trust(tenant=tenant.name, actor=actor, access=Access.ADMIN, ceiling=Sensitivity.HYPER, scopes=None)
    return Caller(tenant=tenant, trust=trust, scopes=None)


async def reevaluate_due(database: Database, directory: Directory, *, now: datetime, batch: int) -> int:
    """Look at one batch of what is due; returns how many. What fails is kept, with the kind of its error, for later.

    Any number of servers may do this: each takes what no other holds.
    """
    async with database.background(Role.JOBS) as connection:
        due = await due_reevaluations(connection, now=now, limit=batch)
        by_tenant: dict[int, list[UUID]] = defaultdict(list)
        for number, entry in due:
            by_tenant[number].append(entry.record)
        for number, ids in sorted(by_tenant.items()):
            caller = everything_of(await directory.tenant_by_id(number), ACTOR)
            try:
                async with savepoint(connection), elevated(connection, caller.bounds):
                    rows = await lock_records(
                        connection, caller.tenant, {*ids, *await reachable(connection, caller, ids)}
                    )
                    at = max([now, *(row.updated_at + RESOLUTION for row in rows.values())])
                    done = await reevaluate(connection, directory, caller, doubtful=ids, actor=ACTOR, at=at)
                    await settle_reevaluations(connection, caller.tenant, ids)
                    await finish(connection, caller.tenant, done.changes)
            except StoreUnavailable:
                raise
            except (StatementFailed, ConditionsOverlap, KeyError, ValueError) as error:
                _log.error("re-evaluation failed", error=type(error).__name__, records=len(ids))
                attempts = max(entry.attempts for number_, entry in due if number_ == number)
                pause = min(LONGEST_PAUSE, timedelta(seconds=10) * 2 ** min(attempts, 10))
                for id_ in ids:
                    await postpone_reevaluation(
                        connection, caller.tenant, id_, error=type(error).__name__, next_try_at=now + pause
                    )
    return len(due)
