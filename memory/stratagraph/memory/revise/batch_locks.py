"""The locks of a batch of revisions, taken before the first of them in the order of all writers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.naming import lock_names_ahead
from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.capture.slots import lock_slots_of_facts
from stratagraph.memory.revise.in_place import edited_entity
from stratagraph.memory.revise.request import Amend, Fork, Revise, Supersede
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.supersede import amended_payload
from stratagraph.memory.revise.unit_of_work import CURRENT, UnitOfWork
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.facts import slots_of
from stratagraph.store.records.reading import Reader


async def lock_batch(
    connection: Connection, directory: Directory, caller: Caller, requests: Sequence[Revise], *, at: datetime
) -> datetime:
    """Lock what the revisions will change, as far as it is known beforehand; return the instant of the first of them.

    That is the names in their payloads, the slots of the facts that they replace and write, and the records that they
    name. So batches and other writers take these locks in one order. Records that the caller may not read in full are
    left out, and so are payloads that are wrong: the revision is then refused.
    """
    work = UnitOfWork(connection, directory, caller, at, "")
    named = {id_ for request in requests for id_ in request.named}
    found = await Reader(connection, directory, caller, at).records(named)
    work.known |= {id_: record for id_, record in found.items() if not record.redacted}
    drafts = list(_drafts(work, requests))
    entities = [id_ for id_, one in work.known.items() if one.type is MemoryType.ENTITY and one.state in CURRENT]
    scopes = await directory.scopes(caller.tenant, {UNSCOPED, *(draft.scope for draft in drafts)}, create=False)
    facts = await lock_names_ahead(connection, caller.tenant, drafts, scopes, changing=entities)
    stored = await slots_of(connection, caller.tenant, list(work.known))
    await lock_slots_of_facts(connection, caller.tenant, facts, scopes, also=dict.fromkeys(stored.values()))
    await work.lock(list(work.known))
    return work.at


def _drafts(work: UnitOfWork, requests: Sequence[Revise]) -> Iterable[Draft]:
    """Yield the drafts that the revisions will write, by the payloads that their records have now."""
    for position, request in enumerate(requests):
        old = work.known.get(request.record_id)
        if old is None or not isinstance(request, Supersede | Amend | Fork) or old.type is MemoryType.EPISODIC:
            continue
        try:
            if isinstance(request, Amend):
                payload = amended_payload(old, request, work.at)
            elif old.type is MemoryType.ENTITY:
                payload = edited_entity(old, request.payload)
            else:
                payload = request.payload
            draft = successor(
                old,
                payload,
                request.evidence,
                caller=work.caller,
                rationale=request.rationale,
                now=work.at,
                seals_from=sealing_level(work.directory.vault),
            )
        except StratagraphError:
            continue  # raised again when it is the revision's turn
        draft.position = position
        yield draft
