"""The default payload of a merge, made from the payloads of the merged records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.entity_kinds import folded_type
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.payloads.base import count_of
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.visible_text import is_blank


def merged_entity(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the first entity's payload with the names, types and identifiers of all.

    The canonical names of the others become aliases. A summary, a type other than `Other`, and further fields are taken
    from the first entity that has them.
    """
    united = dict(payloads[0])
    names = {normalised_name(united["canonical_name"])}
    aliases = []
    for payload in payloads:
        for alias in [*(payload.get("aliases") or ()), {"value": payload["canonical_name"]}]:
            # A name without a visible character is one that earlier versions took; a merge cannot store it again.
            if normalised_name(alias["value"]) not in names and not is_blank(alias["value"]):
                names.add(normalised_name(alias["value"]))
                aliases.append(alias)
        for field, value in payload.items():
            united.setdefault(field, value)
    identifiers = {
        (normalised_name(entry["namespace"]), entry["value"].strip()): entry
        for payload in reversed(payloads)
        for entry in reversed(payload.get("identifiers") or ())
    }
    types = [
        name
        for payload in payloads
        for name in (payload.get("primary_type"), *(payload.get("types") or ()))
        if folded_type(name)
    ]
    if aliases:
        united["aliases"] = aliases
    if identifiers:
        united["identifiers"] = list(identifiers.values())[::-1]
    if types:
        united["primary_type"] = types[0]
    if len(set(types)) > 1:
        united["types"] = list(dict.fromkeys(types))
    return united


def unmerged_entity(before: dict[str, Any], after: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """Return the payload `current` without what a merge brought, whose payload was `before` and then `after`.

    What the entity learned since stays. Of a list, the entries that the merge added are removed and those that it
    removed are added again; another field gets its earlier value if it has not changed since.
    """
    fields = dict.fromkeys([*current, *before])
    values = {field: _unmerged(before.get(field), after.get(field), current.get(field)) for field in fields}
    return {field: value for field, value in values.items() if value not in (None, [])}


def _unmerged(before: Any, after: Any, current: Any) -> Any:
    if current == after:
        return before
    if not all(isinstance(value, list | None) for value in (before, after, current)):
        return current
    own, merged, present = before or [], after or [], current or []
    kept = [entry for entry in present if entry in own or entry not in merged]
    return kept + [entry for entry in own if entry not in merged and entry not in kept]


def merged_payload(records: Sequence[MemoryRecord]) -> dict[str, Any]:
    """Return the first record's payload; for competences and plans, with the combined statistics of all.

    Counts are added, rates and latencies averaged by how often each record was used, and a competence's failure modes,
    fallbacks and required tools united.
    """
    united = dict(records[0].payload or {})
    payloads = [record.payload or {} for record in records]
    if records[0].type is MemoryType.COMPETENCE:
        united |= _performance(payloads)
        for field in ("failure_modes", "fallbacks", "required_tools"):
            values = list(dict.fromkeys(value for payload in payloads for value in payload.get(field) or ()))
            if values:
                united[field] = values
    elif records[0].type is MemoryType.PLAN_GRAPH:
        united |= _metrics(payloads)
    return united


def _performance(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    blocks = [payload["performance"] for payload in payloads if payload.get("performance")]
    if not blocks:
        return {}
    succeeded = count_of(*(block.get("success_count") for block in blocks))
    failed = count_of(*(block.get("failure_count") for block in blocks))
    weights = [count_of(block.get("success_count"), block.get("failure_count")) for block in blocks]
    merged: dict[str, Any] = {"success_count": succeeded, "failure_count": failed}
    if succeeded + failed:
        merged["success_rate"] = succeeded / (succeeded + failed)
    merged |= _latest_and_mean(blocks, weights, mean="avg_latency_ms", latest="last_used_at")
    return {"performance": merged}


def _metrics(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    blocks = [payload["metrics"] for payload in payloads if payload.get("metrics")]
    if not blocks:
        return {}
    weights = [count_of(block.get("execution_count")) for block in blocks]
    merged: dict[str, Any] = {"execution_count": count_of(*weights)}
    merged |= _latest_and_mean(blocks, weights, mean="avg_latency_ms", latest="last_executed_at")
    merged |= _latest_and_mean(blocks, weights, mean="failure_rate", latest="last_executed_at")
    return {"metrics": merged}


def _latest_and_mean(
    blocks: Sequence[dict[str, Any]], weights: Sequence[int], *, mean: str, latest: str
) -> dict[str, Any]:
    """Return the newest instant, and the mean weighted by how often each was used."""
    merged: dict[str, Any] = {}
    instants = [block[latest] for block in blocks if block.get(latest)]
    if instants:
        merged[latest] = max(instants)
    known = [
        (block[mean], weight) for block, weight in zip(blocks, weights, strict=True) if block.get(mean) is not None
    ]
    total = sum(weight for _, weight in known)
    if total:
        merged[mean] = sum(value * weight for value, weight in known) / total
    elif known:
        merged[mean] = sum(value for value, _ in known) / len(known)
    return merged
