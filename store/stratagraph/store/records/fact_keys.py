"""The computed keys of facts, and whether the conditions of two facts can apply at the same time.

See docs/data-model.md, Facts. No I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import canonical_json, folded_text, keyed_hash
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.valid_time import Interval

MAX_FOLDED = 20_000  # characters of a literal that is not ASCII and is compared without case


@dataclass(frozen=True, slots=True, kw_only=True)
class FactEntities:
    """The entities that a fact's subject and object resolved to, None for each that is a literal.

    With `subject_is_ambiguous`, several entities have the subject's name, and the fact is linked to none of them.
    """

    subject: UUID | None = None
    object: UUID | None = None
    subject_is_ambiguous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FactIdentity:
    """The parts of a fact from which its keys are computed: entities as ids, everything else as keyed hashes.

    Of `subject_entity` and `subject_key` one is None, and so is one of `object_entity` and `value_key`.
    """

    subject_entity: UUID | None
    subject_key: bytes | None
    subject_is_ambiguous: bool
    predicate_key: bytes
    object_entity: UUID | None
    value_key: bytes | None
    condition_key: bytes
    stated_key: bytes

    def columns(self) -> dict[str, Any]:
        """Return the parts as columns of the table `fact`; the conditions have their column in `record`."""
        return {
            "subject_entity": self.subject_entity,
            "subject_key": self.subject_key,
            "subject_is_ambiguous": self.subject_is_ambiguous,
            "predicate_key": self.predicate_key,
            "object_entity": self.object_entity,
            "value_key": self.value_key,
            "stated_key": self.stated_key,
        }

    def slot_key(self, tenant: Tenant) -> bytes:
        """Return the key that the facts of this subject and predicate share."""
        return keyed_hash(tenant.index_key, "slot", _part(self.subject_entity, self.subject_key) + self.predicate_key)

    def fact_key(self, tenant: Tenant) -> bytes:
        """Return the key that equal facts share: those of one slot, object, conditions and stated validity."""
        parts = (
            self.slot_key(tenant),
            _part(self.object_entity, self.value_key),
            self.condition_key,
            self.stated_key,
        )
        return keyed_hash(tenant.index_key, "fact", b"".join(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactKeys:
    """The keys of one fact: its identity, the keys computed from it, and when it holds.

    `stated` is the validity as stated, `validity` the effective one, which begins later or ends earlier where other
    facts trim it.
    """

    identity: FactIdentity
    fact: bytes
    slot: bytes
    stated: Interval
    validity: Interval
    single_valued: bool = False

    @property
    def condition(self) -> bytes:
        return self.identity.condition_key


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One (subject, predicate) within a scope and a sensitivity."""

    scope: int
    sensitivity: int
    key: bytes


def slot_arrays(slots: Collection[Slot]) -> dict[str, list[Any]]:
    """Return slots as the arrays that statements take: `scopes`, `sensitivities` and `slots`."""
    return {
        "scopes": [slot.scope for slot in slots],
        "sensitivities": [slot.sensitivity for slot in slots],
        "slots": [slot.key for slot in slots],
    }


def predicate_key(tenant: Tenant, predicate: str) -> bytes:
    """Return the keyed hash of a predicate, as facts with it have it."""
    return keyed_hash(tenant.index_key, "predicate", predicate.encode())


def fact_keys(tenant: Tenant, payload: Mapping[str, Any], entities: FactEntities) -> FactKeys:
    """Compute the keys of a fact from its payload and the entities that it names.

    Raises InvalidInput if the object or a condition has no canonical JSON form.
    """
    validity = payload["validity"]
    conditions = validity.get("conditions") or {}
    stated = Interval.stated_in(validity)
    namespace = "ambiguous" if entities.subject_is_ambiguous else "literal"
    identity = FactIdentity(
        subject_entity=entities.subject,
        subject_key=None if entities.subject is not None else literal_key(tenant, namespace, payload["subject"]),
        subject_is_ambiguous=entities.subject_is_ambiguous,
        predicate_key=predicate_key(tenant, payload["predicate"]),
        object_entity=entities.object,
        value_key=None if entities.object is not None else literal_key(tenant, "literal", payload["object"]),
        condition_key=condition_key(tenant, conditions),
        stated_key=keyed_hash(tenant.index_key, "stated", str(stated).encode()),
    )
    return FactKeys(
        identity=identity,
        fact=identity.fact_key(tenant),
        slot=identity.slot_key(tenant),
        stated=stated,
        validity=stated,
    )


def condition_key(tenant: Tenant, conditions: Mapping[str, Any]) -> bytes:
    """Return the keyed hash of the conditions of a fact; that of `{}` marks the unconditional facts."""
    return keyed_hash(tenant.index_key, "condition", canonical_json(conditions, path=["content", "conditions"]))


def literal_key(tenant: Tenant, namespace: str, value: Any) -> bytes:
    """Return the keyed hash of a literal: strings compared as `folded_text`, other values as canonical JSON.

    Strings over MAX_FOLDED characters are compared exactly: their compatibility form may be 18 times as long.
    """
    folded = folded_text(value) if isinstance(value, str) and (value.isascii() or len(value) <= MAX_FOLDED) else value
    return keyed_hash(tenant.index_key, f"literal:{namespace}", canonical_json(folded, path=["content", "object"]))


def slot_of(scope: int, sensitivity: Sensitivity, keys: FactKeys) -> Slot:
    """Return the slot of a fact with these keys, in a scope given by number and at a sensitivity."""
    return Slot(scope, int(sensitivity), keys.slot)


def contradictory(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Return whether facts of one single-valued slot contradict each other under these conditions.

    A conditional fact specialises an unconditional one and does not contradict it.

    >>> contradictory({}, {}), contradictory({"region": "eu"}, {}), contradictory({"region": "eu"}, {"device": "tv"})
    (True, False, True)
    """
    return bool(ours) == bool(theirs) and not disjoint(ours, theirs)


def disjoint(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Return whether two conditions never apply at the same time: a key of both has no value in common.

    >>> disjoint({"region": "eu"}, {"region": ["us", "uk"]}), disjoint({"region": "eu"}, {"device": "tv"})
    (True, False)
    """
    for name in ours.keys() & theirs.keys():
        values, others = _values(ours[name]), _values(theirs[name])
        if values != others and not any(value in others for value in values):
            return True
    return False


def _part(entity: UUID | None, key: bytes | None) -> bytes:
    """Return an entity or a literal as bytes, so that no entity equals a literal."""
    if entity is not None:
        return b"entity\x00" + entity.bytes
    assert key is not None
    return b"literal\x00" + key


def _values(value: Any) -> list[bytes]:
    """Return the values as canonical JSON, which distinguishes `true` from `1` where Python does not."""
    return [canonical_json(item, path=["conditions"]) for item in (value if isinstance(value, list) else [value])]
