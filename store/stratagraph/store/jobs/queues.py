"""How much waits for the background jobs, and what they could not process of one tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.postgres.queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantProblems:
    """What could not be processed of one tenant: rows that jobs set aside, changes that the mirror refused."""

    set_aside: int = 0
    dead_letters: int = 0


async def count_queues(database: Database) -> Mapping[str, int]:
    """Return the lengths of the queues of all tenants, keyed by queue, each counted up to 10,000.

    The keys are failed_captures, given_up_captures, reevaluations, texts_to_read, due_episodes (to be closed),
    entities_to_link, unlearned_episodes (closed ones, also those that wait for their outcome) and records_to_compare.
    Raises StoreUnavailable.
    """
    async with database.background(Role.JOBS) as connection:
        return dict((await fetch(connection, "count_queues"))[0])


async def count_tenant_queues(database: Database, tenant: int) -> Mapping[str, int]:
    """Return the lengths of the queues of one tenant, keyed by queue, each counted up to 10,000.

    The keys are failed_captures, given_up_captures and reevaluations. Raises StoreUnavailable.
    """
    async with database.background(Role.JOBS) as connection:
        return dict((await fetch(connection, "count_tenant_queues", tenant=tenant))[0])


async def count_tenant_problems(database: Database, tenant: int) -> TenantProblems:
    """Return what could not be processed of one tenant. Raises StoreUnavailable."""
    async with database.background(Role.JOBS) as connection:
        set_aside = (await fetch(connection, "count_tenant_set_aside", tenant=tenant))[0]["number"]
    async with database.background(Role.FEED) as connection:
        dead_letters = (await fetch(connection, "count_tenant_dead_letters", tenant=tenant))[0]["number"]
    return TenantProblems(set_aside=set_aside, dead_letters=dead_letters)
