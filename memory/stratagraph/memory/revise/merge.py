"""Merging records that state the same into one, with their sources, relations and dependents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.naming import link_names
from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.requests.evidence import accepted_evidence
from stratagraph.memory.revise.merge_entities import merge_entities
from stratagraph.memory.revise.merged_payloads import merged_payload
from stratagraph.memory.revise.noting import masked_in_revision, payload_warnings
from stratagraph.memory.revise.repointing import repoint
from stratagraph.memory.revise.request import Merge
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.supersede import supersede_by_draft
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.procedures import refuse_computed
from stratagraph.store.model.records import MemoryRecord


async def merge(work: UnitOfWork, request: Merge) -> UUID:
    """Merge the records, and return the id of the record that stands for all of them.

    Entities are merged as `merge_entities` does. Records of another type are superseded by a new record of the highest
    sensitivity of all (docs/specification.md, Trust). The records must be of one type and one scope.
    """
    records = await work.targets([request.record_id, *request.others], path=["recordIds"])
    refuse_episodes(records)
    _check_alike(records)
    work.warnings += payload_warnings(request.payload, records[0])
    expected = {request.record_id: request.expected_version}
    if records[0].type is MemoryType.ENTITY:
        return await merge_entities(work, records, request, expected)
    # The most sensitive record leads, the first of them in the order of the request.
    lead = max(records, key=lambda record: record.sensitivity)
    ordered = [lead, *(record for record in records if record.id != lead.id)]
    current = await _unite(work, ordered, request, expected)
    merged = [record.id for record in records if record.id != current]
    await repoint(work, merged, current)
    work.causes |= {*merged, current}
    work.doubtful.add(current)
    return current


def _check_alike(records: Sequence[MemoryRecord]) -> None:
    if len({record.type for record in records}) > 1:
        kinds = ", ".join(sorted({record.type.label for record in records}))
        raise InvalidInput(
            f"recordIds: the records are of different types ({kinds}); give records of one type", path=["recordIds"]
        )
    if records[0].type is MemoryType.WORKING:
        raise InvalidInput("recordIds: working records cannot be merged; supersede one instead", path=["recordIds"])
    if len({record.scope for record in records}) > 1:
        raise InvalidInput(
            "recordIds: the records belong to different scopes; give records of one scope",
            path=["recordIds"],
        )


async def _unite(
    work: UnitOfWork, records: Sequence[MemoryRecord], request: Merge, expected: dict[UUID, int | None]
) -> UUID:
    """Write a new record that supersedes all of them and has the sources of all; return its id."""
    lead = records[0]
    payload = request.payload or merged_payload(records)
    carried = [source for record in records for source in (record.provenance or {}).get("sources", ())]
    evidence = [item for record in records for item in (record.payload or {}).get("evidence") or ()]
    if lead.type is MemoryType.SEMANTIC:
        given = (request.payload or {}).get("evidence") or ()
        payload = {**payload, "evidence": _distinct([*given, *accepted_evidence(evidence, work.at)])}
        if not payload["evidence"]:
            payload["evidence"] = [{"kind": "artifact", "ref": source["ref"]} for source in carried[:1]]
    draft = successor(
        lead,
        payload,
        (),
        caller=work.caller,
        rationale=request.rationale,
        now=work.at,
        seals_from=sealing_level(work.directory.vault),
    )
    if request.payload is not None:
        refuse_computed(request.payload, lead.type, path=["payload"])
        work.warnings += masked_in_revision(draft, "payload")
    draft.inherited_sources = tuple(_distinct(carried))
    writes = await work.writes(draft)
    await link_names(writes)
    return await supersede_by_draft(work, writes, draft, records, expected=expected, keep_disputes=True)


def _distinct(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({repr(sorted(item.items(), key=str)): item for item in items}.values())
