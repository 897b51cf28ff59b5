"""Facts that get new keys: equal ones become one fact, and those that contradict each other become a dispute.

The keys of a fact follow the entities that it names, so they change when an entity is merged into another one, when a
merge is undone, and when a name is linked to one. Which facts collide is decided before the keys are written, because
the constraints of the database refuse two equal active facts, and two active values of a single-valued slot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from uuid import UUID

import orjson

from stratagraph.memory.capture.write_set import MAX_SOURCES
from stratagraph.memory.propagation.reevaluation import derived_records
from stratagraph.memory.revise.repointing import MovedRelations, relate, repoint
from stratagraph.memory.revise.unit_of_work import UnitOfWork
from stratagraph.store.model.enums import AuditAction, RecordState
from stratagraph.store.model.errors import LimitExceeded
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.fact_keys import FactIdentity, Slot, condition_key, contradictory, predicate_key
from stratagraph.store.records.inserting import NewRelation, latest_evidence
from stratagraph.store.records.keyed_facts import (
    FactContent,
    KeyedFact,
    NewKeys,
    fetch_fact_contents,
    fetch_keyed_facts,
    find_rivals,
    lock_given_slots,
    set_single_valued,
    unite_evidence_times,
    write_fact_keys,
)
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.predicates import single_valued_predicates

MAX_REKEYED = 10_000  # facts that get new keys in one transaction
MAX_RIVALS = 10_000  # stored facts with which they may collide
MAX_PARTIES = 50  # facts in one dispute


@dataclass(slots=True)
class Rekeyed:
    """What giving facts new keys changed: facts as they were before, relations, and slots that became single-valued.

    `facts` has all facts that got new keys, and `others` those that stayed where they are and changed.
    """

    facts: dict[UUID, KeyedFact] = field(default_factory=dict)
    others: dict[UUID, KeyedFact] = field(default_factory=dict)
    relations: MovedRelations = field(default_factory=MovedRelations)
    slots: list[Slot] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A current fact with the slot and the key that it has afterwards; `is_moved` if these are new."""

    fact: KeyedFact
    slot: Slot
    fact_key: bytes
    is_moved: bool


async def rekey_facts(
    work: UnitOfWork,
    ids: Collection[UUID],
    identity_of: Callable[[KeyedFact], FactIdentity],
    *,
    path: list[str],
    inherits: bool = True,
    bounded: bool = True,
    also: Collection[UUID] = (),
) -> Rekeyed:
    """Give facts the identities that `identity_of` returns for them, with the keys computed from these.

    Equal current facts collapse into the oldest, which gets the sources of all; current facts that contradict each
    other in a single-valued slot become one dispute. With `inherits`, a slot is single-valued afterwards if the slot
    from which a fact came was. Versions and history of the other facts do not change, and nothing but the content of
    facts that collide is decrypted. Locks slots, then records, `also` among them, so it must run before other records
    are locked.

    Raises LimitExceeded, naming `path`, beyond MAX_REKEYED facts, MAX_RIVALS stored facts in their slots, or, if
    `bounded`, MAX_PARTIES facts that contradict each other. These limits count only what the caller may read. A slot
    that it may not read and that would exceed the last two takes several values from then on, without a dispute.
    """
    done = Rekeyed()
    connection, tenant = work.connection, work.caller.tenant
    before = await fetch_keyed_facts(connection, tenant, ids)
    readable = sum(_is_readable(work, fact.slot) for fact in before.values())
    _require_at_most(readable, MAX_REKEYED, "facts name the entity", path)
    keys = {id_: NewKeys.of(tenant, fact, identity_of(fact)) for id_, fact in before.items()}
    flags = await _lock_slots(work, before, keys, inherits=inherits)
    single = {keys[id_].slot: flags[keys[id_].slot] for id_ in before}
    if inherits:
        for id_, fact in before.items():
            single[keys[id_].slot] |= flags[fact.slot]
    wanted = [keys[id_].fact_key for id_, fact in before.items() if fact.is_current]
    concerned = {*before, *await _rivals(work, single, wanted, path)}
    derived = await derived_records(connection, work.caller, sorted({*concerned, *also}))
    rows = await lock_records(connection, tenant, {*concerned, *also, *derived})
    work.after(*(row.updated_at for row in rows.values()))
    facts = await fetch_keyed_facts(connection, tenant, concerned)
    done.facts = {id_: facts[id_] for id_ in before if id_ in facts}
    placed = [
        _Placed(fact, keys[id_].slot, keys[id_].fact_key, True)
        if id_ in keys
        else _Placed(fact, fact.slot, fact.fact_key, False)
        for id_, fact in facts.items()
        if fact.is_current
    ]
    staying = await _collapse(work, placed, done)
    for slot, pairs in (await _disputes(work, staying, single, flags)).items():
        parties = {fact.id for pair in pairs for fact in pair}
        if bounded and _is_readable(work, slot):
            _require_at_most(len(parties), MAX_PARTIES, "facts of one subject contradict each other", path)
        elif bounded and len(parties) > MAX_PARTIES:
            single[slot] = False
            continue
        await _dispute(work, pairs, done)
    done.slots = [slot for slot, is_single in single.items() if is_single and not flags[slot]]
    await set_single_valued(connection, tenant, done.slots, single_valued=True)
    opened = [slot for slot, is_single in single.items() if flags[slot] and not is_single]
    await set_single_valued(connection, tenant, opened, single_valued=False)
    written = {id_: keys[id_] for id_ in done.facts}
    await write_fact_keys(connection, tenant, written, single)
    return done


async def _rivals(work: UnitOfWork, single: dict[Slot, bool], wanted: Collection[bytes], path: list[str]) -> list[UUID]:
    """Return the stored facts with which facts that get new keys may collide.

    Slots that the caller may not read become multi-valued in `single` if they have more than MAX_RIVALS such facts.
    """
    connection, tenant = work.connection, work.caller.tenant
    readable = {slot: is_single for slot, is_single in single.items() if _is_readable(work, slot)}
    rivals = await find_rivals(connection, tenant, readable, wanted, most=MAX_RIVALS + 1)
    _require_at_most(len(rivals), MAX_RIVALS, "stored facts share their subjects and predicates", path)
    hidden = {slot: is_single for slot, is_single in single.items() if slot not in readable}
    others = await find_rivals(connection, tenant, hidden, wanted, most=MAX_RIVALS + 1)
    if len(others) > MAX_RIVALS:
        hidden = dict.fromkeys(hidden, False)
        single |= hidden
        others = await find_rivals(connection, tenant, hidden, wanted, most=None)
    return rivals + others


def _is_readable(work: UnitOfWork, slot: Slot) -> bool:
    return work.caller.may_read(slot.scope, slot.sensitivity)


async def _lock_slots(
    work: UnitOfWork, before: Mapping[UUID, KeyedFact], keys: Mapping[UUID, NewKeys], *, inherits: bool
) -> dict[Slot, bool]:
    """Lock the present and the new slots of facts, creating new ones; return whether each is single-valued.

    With `inherits`, a new one begins so if the slot from which a fact comes is single-valued and its predicate is
    registered as that, so that it would begin so for a capture, too.
    """
    connection, tenant = work.connection, work.caller.tenant
    names = await single_valued_predicates(connection, tenant) if inherits else ()
    registered = {predicate_key(tenant, name) for name in names}
    created: dict[Slot, bool] = {}
    for id_, fact in before.items():
        slot = keys[id_].slot
        created[slot] = created.get(slot, False) or (fact.single_valued and fact.identity.predicate_key in registered)
    for fact in before.values():
        created.setdefault(fact.slot, fact.single_valued)
    return await lock_given_slots(connection, tenant, created)


async def _collapse(work: UnitOfWork, placed: Sequence[_Placed], done: Rekeyed) -> list[_Placed]:
    """Make one fact of each group of equal ones; return the facts that remain."""
    groups: dict[tuple[Slot, bytes], list[_Placed]] = {}
    for one in placed:  # the oldest first
        groups.setdefault((one.slot, one.fact_key), []).append(one)
    remaining = [group[0] for group in groups.values()]
    equal = [group for group in groups.values() if len(group) > 1 and any(one.is_moved for one in group)]
    remaining += [one for group in groups.values() if group not in equal for one in group[1:]]
    ids = [one.fact.id for group in equal for one in group]
    contents = await fetch_fact_contents(work.connection, work.caller.tenant, ids)
    for group in equal:
        kept, *others = [one.fact for one in group]
        _note(done, group)
        await work.replace([fact.id for fact in others], RecordState.SUPERSEDED, by=kept.id, keep_disputes=True)
        await _unite_sources(work, {one.fact.id: contents[one.fact.id] for one in group})
        done.relations.add(await repoint(work, [fact.id for fact in others], kept.id))
        done.relations.add(
            await relate(
                work,
                [NewRelation(source=kept.id, target=fact.id, predicate="supersedes", weight=1.0) for fact in others],
            )
        )
        work.causes |= {fact.id for fact in others}
        work.doubtful.add(kept.id)
    return remaining


async def _unite_sources(work: UnitOfWork, contents: Mapping[UUID, FactContent]) -> None:
    """Give the first fact the sources of all, at most MAX_SOURCES of them, and the time of their latest evidence."""
    kept, first = next(iter(contents.items()))
    sources = {
        source["ref"]: source
        for content in reversed(list(contents.values()))
        for source in content.provenance.get("sources", ())
        if source["ref"] != str(kept)
    }
    provenance = {**first.provenance, "sources": list(sources.values())[-MAX_SOURCES:]}
    edit = Edit(id=kept, provenance=orjson.dumps(provenance).decode(), is_revision=False)
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, [edit], at=work.at)
    latest = latest_evidence(provenance, first.occurred_at)
    await unite_evidence_times(work.connection, work.caller.tenant, kept, list(contents), at=latest)
    work.touched.append(kept)


async def _disputes(
    work: UnitOfWork,
    placed: Iterable[_Placed],
    single: Mapping[Slot, bool],
    flags: Mapping[Slot, bool],
) -> dict[Slot, list[tuple[KeyedFact, KeyedFact]]]:
    """Return the disputes that arise, by slot: the pairs of facts that contradict each other, the older one first."""
    slots: dict[Slot, list[_Placed]] = {}
    for one in placed:
        if single[one.slot]:
            slots.setdefault(one.slot, []).append(one)
    pairs = [
        (one, other)
        for group in slots.values()
        for one, other in combinations(group, 2)
        if one.fact.overlaps(other.fact) and not _were_settled(one, other, flags)
    ]
    pairs = await _with_common_conditions(work, pairs)
    disputes: dict[Slot, list[tuple[KeyedFact, KeyedFact]]] = {}
    for one, other in pairs:
        disputes.setdefault(one.slot, []).append((one.fact, other.fact))
    return disputes


def _were_settled(one: _Placed, other: _Placed, flags: Mapping[Slot, bool]) -> bool:
    """Return whether the two facts were in one single-valued slot before, so that they contradict as they did then."""
    return one.fact.slot == other.fact.slot and flags[one.fact.slot]


async def _with_common_conditions(
    work: UnitOfWork, pairs: Sequence[tuple[_Placed, _Placed]]
) -> list[tuple[_Placed, _Placed]]:
    """Return the pairs that are both unconditional, or have conditions that can hold at the same time."""
    always = condition_key(work.caller.tenant, {})
    certain, unknown = [], []
    for pair in pairs:
        one, other = (placed.fact.identity.condition_key for placed in pair)
        if one == other:
            certain.append(pair)
        elif always not in (one, other):
            unknown.append(pair)
    ids = {placed.fact.id for pair in unknown for placed in pair}
    contents = await fetch_fact_contents(work.connection, work.caller.tenant, ids)
    conditions = {id_: content.validity.get("conditions") or {} for id_, content in contents.items()}
    return certain + [
        (one, other) for one, other in unknown if contradictory(conditions[one.fact.id], conditions[other.fact.id])
    ]


async def _dispute(work: UnitOfWork, pairs: Sequence[tuple[KeyedFact, KeyedFact]], done: Rekeyed) -> None:
    """Contest all facts of the pairs, and relate those that contradict each other."""
    facts = {fact.id: fact for pair in pairs for fact in pair}
    for fact in facts.values():
        if fact.id not in done.facts:
            done.others[fact.id] = fact
    active = [fact.id for fact in facts.values() if fact.state is RecordState.ACTIVE]
    await work.set_state(active, RecordState.CONTESTED, action=AuditAction.CONTEST)
    done.relations.add(
        await relate(
            work,
            [
                NewRelation(source=older.id, target=newer.id, predicate="contested_by", weight=1.0)
                for older, newer in pairs
            ],
        )
    )
    work.causes |= set(active)


def _note(done: Rekeyed, group: Iterable[_Placed]) -> None:
    """Note the facts of a group that keep their keys and change."""
    done.others |= {one.fact.id: one.fact for one in group if not one.is_moved}


def _require_at_most(number: int, most: int, what: str, path: list[str]) -> None:
    if number > most:
        raise LimitExceeded(
            f"{path[0]}: more than {most} {what}; retract or merge some of these facts first", path=path
        )
