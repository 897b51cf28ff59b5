"""Plans that do some things in some order: an engine names candidates, their payloads decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stratagraph.memory.explore.answers import MatchedStep
from stratagraph.memory.explore.session import QuerySession
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.traversal.links import PLAN_CANDIDATES, SqlExplorer, steps_in_order

READ_AT_ONCE = 50  # whole plans


@dataclass(frozen=True, slots=True)
class Match:
    """A plan, and its steps that answer, in the order asked for."""

    record: MemoryRecord
    steps: tuple[MatchedStep, ...]


async def matching(session: QuerySession, ops: Sequence[str], *, first: int) -> tuple[list[Match], bool]:
    """The newest `first` plans with steps of these ops in this order; and whether there were more candidates than are
    looked at."""
    ids = await session.engine.plans(session.caller, ops, most=PLAN_CANDIDATES)
    cut = len(ids) >= PLAN_CANDIDATES
    if session.engine.plans_up_to < session.caller.ceiling:  # the mirror does not name the steps of the others
        beyond = await SqlExplorer(session.reader.connection, session.reader.now).plans(
            session.caller, ops, most=PLAN_CANDIDATES
        )
        cut = cut or len(beyond) >= PLAN_CANDIDATES
        heads = await session.current(beyond)
        ids = [*ids, *(id_ for id_, head in heads.items() if head.sensitivity > session.engine.plans_up_to)]
    order = sorted(set(ids), reverse=True)
    found: list[Match] = []
    for start in range(0, len(order), READ_AT_ONCE):
        page = order[start : start + READ_AT_ONCE]
        records = await session.shown(page)
        found += [match for id_ in page if id_ in records and (match := _match(records[id_], ops)) is not None]
        if len(found) >= first:
            break
    return found[:first], cut


def _match(record: MemoryRecord, ops: Sequence[str]) -> Match | None:
    if record.type is not MemoryType.PLAN_GRAPH or record.payload is None:
        return None
    steps = steps_in_order(record.payload, ops)
    if steps is None:
        return None
    return Match(record, tuple(MatchedStep(id=id_, op=op) for id_, op in zip(steps, ops, strict=True)))
