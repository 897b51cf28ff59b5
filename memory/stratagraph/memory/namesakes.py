"""Entities of one name that nothing tells apart: merged before earlier records are linked to them.

A capture finds the entity that exists, so two of one name are left by an upgrade that compares names in another way:
they were captured in two spellings, or before and after it. See docs/specification.md, Entities.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from uuid import UUID

import structlog

from stratagraph.memory.learning.duplicates.finding import MAX_CLUSTER, Search, are_one
from stratagraph.memory.reevaluating import caller_of, everything_of
from stratagraph.memory.retrying import is_outage, retried
from stratagraph.memory.revise.merge import merge
from stratagraph.memory.revise.request import Merge
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.groups import Group
from stratagraph.store.learning.namesakes import find_namesakes
from stratagraph.store.model.errors import TenantErased, WriteCollision, error_kind
from stratagraph.store.postgres.database import Database, Role, elevated
from stratagraph.store.records.link_requests import lock_link_requests
from stratagraph.store.records.reading import Reader

RATIONALE = "of one name, and nothing tells them apart"
_log = structlog.get_logger(__name__)


async def unite_namesakes(database: Database, directory: Directory, *, actor: str, now: datetime, limit: int) -> None:
    """Merge those of the next `limit` queued entities whose keys an upgrade has changed with those of their name.

    They are merged within one scope and sensitivity. Each name is a transaction of its own. Entities whose merge fails,
    or is refused, stay as they are, and consolidation lists them.
    """
    found: list[tuple[Group, list[UUID]]] = []
    async with database.background(Role.JOBS) as connection:
        by_tenant: dict[int, list[UUID]] = defaultdict(list)
        for number, entity in await lock_link_requests(connection, now=now, limit=limit):
            by_tenant[number].append(entity)
        for number, entities in sorted(by_tenant.items()):
            tenant = await directory.tenant_by_id(number)
            with suppress(TenantErased):
                async with elevated(connection, everything_of(tenant, actor).bounds):
                    found += await find_namesakes(connection, tenant, entities, most=MAX_CLUSTER + 1)
    for group, ids in found:
        if len(ids) > MAX_CLUSTER:
            continue
        try:
            await _unite(database, directory, group, ids, actor=actor, now=now)
        except Exception as error:
            if is_outage(error) or isinstance(error, WriteCollision):
                raise  # the job tries them again
            _log.warning("entities of one name stay apart", entities=len(ids), error=error_kind(error))


async def _unite(
    database: Database, directory: Directory, group: Group, ids: Sequence[UUID], *, actor: str, now: datetime
) -> None:
    """Merge the entities of one name in a group, unless something tells them apart."""

    async def attempt() -> None:
        caller = await caller_of(directory, group, actor)
        async with database.writing(caller.bounds) as connection:
            reader = Reader(connection, directory, caller, now)
            search = Search(connection=connection, tenant=caller.tenant, group=group, reader=reader, is_sealed=True)
            if not await are_one(search, ids):
                return
            work = UnitOfWork(connection, directory, caller, now, RATIONALE)
            await merge(work, Merge(record_id=ids[0], others=tuple(ids[1:]), rationale=RATIONALE))
            await work.settle()
            await append_changes(connection, caller.tenant, work.changes)

    await retried(attempt)
