"""Finding the records of an export that are stored here under other ids, before anything is stored.

An entity is the same as the one here that has an identifier of it, a fact as one of the same content and state, unless
it took the place of what is active here. Both are mapped to the one here, wherever the file names them, and are not
stored again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from stratagraph.memory.transfer.contradictions import may_write, removal
from stratagraph.memory.transfer.import_session import ImportSession
from stratagraph.memory.transfer.new_ids import MappedIds
from stratagraph.memory.transfer.one_ahead import in_thread
from stratagraph.memory.transfer.restoration_report import check_most
from stratagraph.memory.transfer.search_words import words_of
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import RecordLine
from stratagraph.store.transfer.checking import check_record
from stratagraph.store.transfer.known import EqualFact, find_equal_facts, find_known, stored_ids
from stratagraph.store.transfer.restorable import Restorable

_DIFFERS = (
    "the fact {} says the same, and is {} here for another time or in another state; revise one of the two as the other"
)
_OVERTAKES = (
    "takes the place of what the fact {} says, which is active here; supersede or retract that one, then import again"
)
_Numbered = tuple[int, Restorable]


async def map_entities(session: ImportSession) -> None:
    """Map the entities of the file that have identifiers of exactly one here; remember those that cannot be stored."""
    tenant, mapped = session.writer.tenant, MappedIds()
    async for lines in in_thread(session.records_of(MemoryType.ENTITY)):
        records = await _restorable(session, lines)
        session.lost |= {line.id for _, line in lines} - {one.id for _, one in records}
        async with session.database.writing(session.writer.bounds) as connection:  # readers may not read keys
            known = await find_known(connection, tenant, [one for _, one in records], slots={})
        for number, one in records:
            if one.id in known.records:
                continue
            here = known.taken.get(one.id, ())
            free = [id_ for id_ in here if id_ not in session.ids and not mapped.has_taken(id_)]
            if not session.restore_erased and removal(one, known) is not None:
                session.lost.add(one.id)
            elif len(here) == len(free) == 1:
                mapped.add(one.id, free[0])
                session.report.map(number, one.line.type.label, one.id, free[0])
            elif here:
                session.lost.add(one.id)
        check_most(len(session.lost))
    session.mapped = mapped  # only now, so that all lines of entities are read alike


async def map_facts(session: ImportSession) -> None:
    """Map the facts of the file that are stored here too; remember those that contradict one of the same content here.

    These are current facts that are in another state here, and current ones that took the place of one, directly or
    not, which is active here. The latter are not mapped either: what they superseded would come as superseded by the
    fact here, which stands beside it.
    """
    tenant, mapped = session.writer.tenant, list[tuple[int, UUID, UUID, bool]]()
    taken: set[UUID] = set()
    differing: dict[UUID, EqualFact] = {}
    overtaken: dict[UUID, UUID] = {}  # what took the place of a fact that is active here, with that one
    async for lines in in_thread(session.records_of(MemoryType.SEMANTIC)):
        records = await _restorable(session, lines)
        every = [one for _, one in records]
        async with session.database.writing(session.writer.bounds) as connection:
            new = {one.id for one in every} - await stored_ids(connection, tenant, [one.id for one in every])
            found = await find_equal_facts(connection, tenant, every, past=new)
        for number, one in records:
            equal = [fact for fact in found.get(one.id, ()) if fact.id not in session.ids]
            same = next((fact.id for fact in equal if _is_same(one, fact) and fact.id not in taken), None)
            if one.id in new and same is not None:
                taken.add(same)
                mapped.append((number, one.id, same, one.is_current))
            elif one.is_current and one.id in new and equal:
                differing[one.id] = equal[0]
            if not one.is_current and (after := _successor(one)) is not None:
                active = next((fact.id for fact in equal if fact.state is RecordState.ACTIVE), overtaken.get(one.id))
                if active is not None:
                    overtaken.setdefault(after, active)
        check_most(len(differing) + len(overtaken))
    session.contradicted = {id_: _OVERTAKES.format(here) for id_, here in overtaken.items()}
    session.contradicted |= {id_: _DIFFERS.format(fact.id, fact.state.label) for id_, fact in differing.items()}
    for number, id_, here, is_current in mapped:
        if not (is_current and id_ in overtaken):
            session.mapped.add(id_, here)
            session.report.map(number, MemoryType.SEMANTIC.label, id_, here)


async def _restorable(session: ImportSession, lines: Sequence[tuple[int, RecordLine]]) -> list[_Numbered]:
    """Return the records of lines that are valid and that the caller may write."""
    tenant = session.writer.tenant
    scopes = await session.directory.scopes(tenant, {line.scope for _, line in lines}, create=False)

    def computed() -> list[_Numbered]:
        found = []
        for number, line in lines:
            try:
                check_record(line)
                words = partial(words_of, tenant.index_key)
                one = Restorable.of(tenant, line, scope=scopes.get(line.scope, 0), words=words)
            except InvalidInput:
                continue  # refused when all records are read
            if may_write(session.caller, one) is None:
                found.append((number, one))
        return found

    return await asyncio.to_thread(computed)


def _is_same(one: Restorable, fact: EqualFact) -> bool:
    return fact.state is one.line.state and fact.is_as_long


def _successor(one: Restorable) -> UUID | None:
    """Return the fact that took the place of a fact, by its payload."""
    revision = one.line.content.payload.get("revision")
    try:
        return UUID((revision or {})["superseded_by"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
