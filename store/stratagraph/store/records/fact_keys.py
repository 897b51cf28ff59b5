"""The computed keys of facts, and whether two validities can apply at the same time.

See docs/data-model.md, Facts. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import canonical_json, keyed_hash
from stratagraph.store.model.enums import Sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class FactKeys:
    """The keyed hashes of a fact, its slot and its condition, and its validity as a tstzrange in text form."""

    fact: bytes
    slot: bytes
    condition: bytes
    validity: str
    single_valued: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One (subject, predicate) within a scope and a sensitivity."""

    scope: int
    sensitivity: int
    key: bytes


def fact_keys(tenant: Tenant, payload: Mapping[str, Any], *, single_valued: bool = False) -> FactKeys:
    """Compute the keys of a fact from its payload. Raises InvalidInput if the object has no canonical JSON form."""
    key, validity = tenant.index_key, payload["validity"]
    identity = {name: payload[name] for name in ("subject", "predicate", "object", "validity")}
    conditions = validity.get("conditions") or {}
    return FactKeys(
        fact=keyed_hash(key, "fact", canonical_json(identity, path=["content"])),
        slot=slot_key(tenant, payload["subject"], payload["predicate"]),
        condition=keyed_hash(key, "condition", canonical_json(conditions, path=["content", "conditions"])),
        validity=f"[{validity.get('start', '')},{validity.get('end', '')})",
        single_valued=single_valued,
    )


def slot_key(tenant: Tenant, subject: str, predicate: str) -> bytes:
    """Return the keyed hash of a (subject, predicate)."""
    identity = canonical_json({"subject": subject, "predicate": predicate}, path=["content"])
    return keyed_hash(tenant.index_key, "slot", identity)


def slot_of(scope: int, sensitivity: Sensitivity, keys: FactKeys) -> Slot:
    """Return the slot of a fact with these keys, in a scope given by number and at a sensitivity."""
    return Slot(scope, int(sensitivity), keys.slot)


def disjoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two validities exclude each other, so that they never apply at the same time.

    They are disjoint if a condition that both name has no value in common, or if one ends before the other starts.
    """
    ours, theirs = one.get("conditions") or {}, other.get("conditions") or {}
    for name in ours.keys() & theirs.keys():
        values, others = _values(ours[name]), _values(theirs[name])
        if not any(value in others for value in values):
            return True
    return _ends_before(one.get("end"), other.get("start")) or _ends_before(other.get("end"), one.get("start"))


def _values(value: Any) -> list[bytes]:
    """Return the values as canonical JSON, which distinguishes `true` from `1` where Python does not."""
    return [canonical_json(item, path=["conditions"]) for item in (value if isinstance(value, list) else [value])]


def _ends_before(end: str | None, start: str | None) -> bool:
    if end is None or start is None:
        return False
    return datetime.fromisoformat(end) <= datetime.fromisoformat(start)
