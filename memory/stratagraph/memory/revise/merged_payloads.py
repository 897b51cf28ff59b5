"""The default payload of a merge, made from the payloads of the merged records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord


def merged_entity(records: Sequence[MemoryRecord]) -> dict[str, Any]:
    """Return the first entity's payload with the names, types and identifiers of all.

    The canonical names of the others become aliases.
    """
    payloads = [record.payload or {} for record in records]
    united = dict(payloads[0])
    names = {united["canonical_name"].casefold()}
    aliases = []
    for payload in payloads:
        for alias in [*(payload.get("aliases") or ()), {"value": payload["canonical_name"]}]:
            if alias["value"].casefold() not in names:
                names.add(alias["value"].casefold())
                aliases.append(alias)
    identifiers = {
        (entry["namespace"], entry["value"]): entry
        for payload in payloads
        for entry in payload.get("identifiers") or ()
    }
    types = [
        name for payload in payloads for name in (payload.get("primary_type"), *(payload.get("types") or ())) if name
    ]
    if aliases:
        united["aliases"] = aliases
    if identifiers:
        united["identifiers"] = list(identifiers.values())
    if len(set(types)) > 1:
        united["types"] = list(dict.fromkeys(types))
    return united


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
    succeeded = sum(block.get("success_count") or 0 for block in blocks)
    failed = sum(block.get("failure_count") or 0 for block in blocks)
    weights = [(block.get("success_count") or 0) + (block.get("failure_count") or 0) for block in blocks]
    merged: dict[str, Any] = {"success_count": succeeded, "failure_count": failed}
    if succeeded + failed:
        merged["success_rate"] = succeeded / (succeeded + failed)
    merged |= _latest_and_mean(blocks, weights, mean="avg_latency_ms", latest="last_used_at")
    return {"performance": merged}


def _metrics(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    blocks = [payload["metrics"] for payload in payloads if payload.get("metrics")]
    if not blocks:
        return {}
    weights = [block.get("execution_count") or 0 for block in blocks]
    merged: dict[str, Any] = {"execution_count": sum(weights)}
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
