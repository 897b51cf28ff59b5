"""Whether a record of an export may be stored beside what this instance has, is there already, or contradicts it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.records.erased_sources import Source
from stratagraph.store.transfer.known import Known, StoredRecord
from stratagraph.store.transfer.restorable import Restorable


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a record: it is new if there is no `reason` to refuse it and it is not `is_known`."""

    reason: str | None = None
    is_known: bool = False

    @property
    def is_new(self) -> bool:
        return self.reason is None and not self.is_known


NEW, KNOWN = Verdict(), Verdict(is_known=True)
NOTHING: Mapping[UUID, str] = MappingProxyType({})


def judge(
    one: Restorable,
    known: Known,
    *,
    restore_erased: bool,
    lost: Collection[UUID] = (),
    contradicted: Mapping[UUID, str] = NOTHING,
) -> Verdict:
    """Return what becomes of a record, by what the store has.

    `lost` are records of the file that are not stored, `contradicted` facts whose reasons are known already.
    """
    stored = known.records.get(one.id)
    if stored is not None:
        return _compared(one, stored, known)
    reason = (
        (None if restore_erased else removal(one, known))
        or _missing_entity(one, lost)
        or (contradicted.get(one.id) if one.is_current else None)
        or _contradiction(one, known)
    )
    return NEW if reason is None else Verdict(reason)


def removal(one: Restorable, known: Known) -> str | None:
    """Return why a record that was removed here is not stored again; None if it was not."""
    tombstone = known.tombstones.get(one.id)
    if tombstone is not None:
        return f"was {tombstone.cause.label} here on {tombstone.at:%Y-%m-%d}; give --restore-erased to store it again"
    if known.erased & one.sources:
        return "what it was captured from was erased here; give --restore-erased to store it again"
    return None


def _missing_entity(one: Restorable, lost: Collection[UUID]) -> str | None:
    fact = one.line.fact
    ends = () if fact is None else (fact.subject_entity, fact.object_entity)
    entity = next((id_ for id_ in ends if id_ is not None and id_ in lost), None)
    return None if entity is None else f"is about the entity {entity} of the file, which is refused"


def _contradiction(one: Restorable, known: Known) -> str | None:
    here, there = ("several values", "one") if one.is_single_valued else ("one value", "several")
    found = {
        "the fact {} says the same and is active; retract one of the two, then import again": known.equal.get(one.id),
        "the fact {} holds another value of the same slot at the same time; retract or supersede one of the two, then"
        " import again": known.rivals.get(one.id),
        "the record {} is the working state of the same thread; finish or delete that one first": known.working.get(
            one.id
        ),
        "the episode {} of the same thread is open; capture its outcome first, which closes it": known.episodes.get(
            one.id
        ),
    }
    if one.slot is not None and known.slots.get(one.slot, one.is_single_valued) != one.is_single_valued:
        return f"its subject and predicate have {here} at a time here, and {there} in the file"
    if taken := known.taken.get(one.id):
        return _taken(sorted(taken))
    return next((reason.format(other) for reason, other in found.items() if other is not None), None)


def _taken(entities: Sequence[UUID]) -> str:
    if len(entities) > 1:
        return f"its identifiers are those of several entities, {', '.join(map(str, entities))}; merge these here"
    return (
        f"has an identifier of the entity {entities[0]}, which is the same as another entity of the file; merge the two"
        " there, and export again"
    )


def _compared(one: Restorable, stored: StoredRecord, known: Known) -> Verdict:
    """Return whether a record with the same id is the same one, by its log: as it was in the file, or changed since."""
    log = list(known.logs.get(one.id, ()))
    own = [(entry.action.value, entry.actor, entry.at) for entry in one.line.audit]
    is_same = (stored.type, stored.created_at) == (one.line.type, one.line.created_at)
    if is_same and len(own) < len(log) and log[: len(own)] == own:
        return KNOWN
    if is_same and own == log:
        content = one.line.content
        said = (content.name, content.text, content.payload, one.line.state, one.line.version)
        here = (
            stored.content["name"],
            stored.content["text"],
            stored.content["payload"],
            stored.state,
            stored.version,
        )
        return KNOWN if said == here else Verdict("is stored here with other content; use --new-ids for a copy")
    if is_same and own[: len(log)] == log:
        return Verdict("is stored here as it was earlier; delete it here first, or use --new-ids for a copy")
    return Verdict("another record is stored here under this id; use --new-ids for a copy")


def may_write(caller: Caller, one: Restorable) -> str | None:
    """Return why the caller may not write a record of this scope and sensitivity; None if it may."""
    trust, line = caller.trust, one.line
    if line.sensitivity > trust.ceiling:
        return f"is {line.sensitivity.label}, above this credential's ceiling {trust.ceiling.label}"
    if trust.scopes is not None and (line.scope == UNSCOPED or line.scope not in trust.scopes):
        return "is of a scope that this credential does not cover"
    return None


def erased_sources(records: Collection[Restorable], known: Known) -> set[Source]:
    """Return the sources of records that an erasure has named, which these records restore."""
    return {source for one in records for source in one.sources} & known.erased
