"""Plans with some steps in some order: an engine names candidates, and their payloads decide."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from stratagraph.memory.explore.answers import MatchedPlan, MatchedStep, Plans
from stratagraph.memory.explore.session import QuerySession
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.traversal.links import PLAN_CANDIDATES, SqlExplorer
from stratagraph.store.traversal.plan_steps import steps_in_order

READ_AT_ONCE = 50  # plans, with their payloads


async def find_plans(session: QuerySession, ops: Sequence[str], *, first: int) -> Plans:
    """Return the newest `first` plans that have a step of each operation in `ops`, in this order.

    Each step must be reachable from the one before, directly or over other steps.
    """
    candidates, cut = await _candidates(session, ops)
    found: list[MatchedPlan] = []
    for start in range(0, len(candidates), READ_AT_ONCE):
        page = candidates[start : start + READ_AT_ONCE]
        records = await session.shown(page)
        found += [match for id_ in page if id_ in records and (match := _match(records[id_], ops)) is not None]
        if len(found) > first:
            break
    return Plans(
        plans=tuple(found[:first]),
        has_more=len(found) > first,
        reached=("plans",) if cut else (),
        answered_by=session.answered_by,
        as_of=session.as_of,
    )


async def _candidates(session: QuerySession, ops: Sequence[str]) -> tuple[list[UUID], bool]:
    """Return plans that may match, newest first, and whether there may be more than are read."""
    now = session.reader.now
    ids = await session.engine.plans(session.caller, ops, at=now, most=PLAN_CANDIDATES)
    cut = len(ids) >= PLAN_CANDIDATES
    if session.engine.plans_up_to < session.caller.ceiling:  # the mirror does not name the steps of more sensitive ones
        sql = SqlExplorer(session.reader.connection)
        by_sql = await sql.plans(session.caller, ops, at=now, most=PLAN_CANDIDATES)
        cut = cut or len(by_sql) >= PLAN_CANDIDATES
        heads = await session.current(by_sql)
        ids = [*ids, *(id_ for id_, head in heads.items() if head.sensitivity > session.engine.plans_up_to)]
    return sorted(set(ids), reverse=True), cut


def _match(record: MemoryRecord, ops: Sequence[str]) -> MatchedPlan | None:
    if record.type is not MemoryType.PLAN_GRAPH or record.payload is None:
        return None
    steps = steps_in_order(record.payload, ops)
    if steps is None:
        return None
    return MatchedPlan(
        record=record, steps=tuple(MatchedStep(id=id_, op=op) for id_, op in zip(steps, ops, strict=True))
    )
