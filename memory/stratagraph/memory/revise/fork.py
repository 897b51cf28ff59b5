"""Forking a variant of a record, for conditions that exclude those of the record."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.naming import link_names
from stratagraph.memory.capture.new_records import new_record
from stratagraph.memory.capture.secrets import sealing_level
from stratagraph.memory.revise.in_place import CHANGED_IN_PLACE
from stratagraph.memory.revise.lessons import lesson_authors
from stratagraph.memory.revise.noting import masked_in_revision, payload_warnings
from stratagraph.memory.revise.request import Fork
from stratagraph.memory.revise.slots import equal_fact, lock_slot, settle_slot
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import AuditAction, MemoryType
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import ConditionsOverlap, InvalidInput
from stratagraph.store.model.payloads.procedures import refuse_computed
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.fact_keys import disjoint

FORKED_FROM = "forked_from"


async def fork(work: UnitOfWork, request: Fork) -> UUID:
    """Write a variant of the record as a new record, and return the variant's id. Both are then current.

    Raises ConditionsOverlap unless its conditions exclude those of the record and, for a fact, of all other conditional
    facts of the slot. An unconditional fact is specialised by the variant and need not be excluded.
    """
    old = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([old])
    if old.type in CHANGED_IN_PLACE:
        raise InvalidInput(
            f"recordId: {old.type.label} records cannot be forked; use supersede, which changes them in place",
            path=["recordId"],
        )
    if not request.conditions:
        raise InvalidInput(
            "conditions: is empty; give at least one key, since the variant holds only under these conditions",
            path=["conditions"],
        )
    work.warnings += payload_warnings(request.payload, old)
    payload = _conditioned(old, request)
    draft = successor(
        old,
        payload,
        request.evidence,
        caller=work.caller,
        rationale=request.rationale,
        now=work.at,
        seals_from=sealing_level(work.directory.vault),
    )
    refuse_computed(request.payload, old.type, path=["payload"])
    work.warnings += masked_in_revision(draft, "payload")
    if old.type is not MemoryType.SEMANTIC and not _excludes(old.type, old.payload or {}, draft.payload):
        raise ConditionsOverlap(
            "conditions: the record and this variant can apply together; give other values for a key of the record",
            path=["conditions"],
        )
    writes = await work.writes(draft)
    await link_names(writes)
    held = await lock_slot(work, writes, [old]) if old.type is MemoryType.SEMANTIC else None
    rows = await work.lock([old.id], with_derived=False)
    require_version(rows[old.id], request.expected_version)
    require_current(rows)
    writes.at = work.at
    if held is not None:
        same = equal_fact(held, draft)
        if same is not None:
            raise ConditionsOverlap(
                f"payload: fact {same.id} already says this, with the same conditions; change the object or the"
                " conditions",
                path=["payload"],
            )
        await settle_slot(writes, draft, held)
    if draft.type is MemoryType.COMPETENCE:
        # A variant counts as its own writer's.
        authors = await lesson_authors(work, [old.id])
        draft.lesson_authors = tuple(dict.fromkeys([work.caller.trust.identity, *authors]))
    writes.records.append((draft, new_record(writes, draft)))
    writes.relate(draft, draft.id, old.id, FORKED_FROM, 0.8)
    await work.write(writes)
    work.touched.append(old.id)
    event = AuditEvent(record=old.id, action=AuditAction.FORK, rationale=f"forked as {draft.id}: {work.rationale}")
    await work.audit([event])
    return draft.id


def _conditioned(old: MemoryRecord, request: Fork) -> dict[str, Any]:
    """Return the payload with the fork's conditions added, at the place where its type has them."""
    payload = dict(request.payload)
    known = old.payload or {}
    match old.type:
        case MemoryType.SEMANTIC:
            validity = _object(payload.get("validity"), "validity")
            conditions = {**_object(validity.get("conditions"), "validity", "conditions"), **request.conditions}
            timed = {key: validity[key] for key in ("start", "end") if key in validity}
            payload["validity"] = {"mode": "conditional", "conditions": conditions, **timed}
            payload.setdefault("subject", known.get("subject"))
            payload.setdefault("predicate", known.get("predicate"))
            payload["revision_policy"] = "fork"
            if isinstance(payload["predicate"], str):
                with suppress(ValueError):  # one without a word differs from that of the fact
                    payload["predicate"] = fact_predicate(payload["predicate"])
            if (payload["subject"], payload["predicate"]) != (known.get("subject"), known.get("predicate")):
                raise InvalidInput(
                    "payload.subject: a fork must keep the subject and predicate of the forked fact; leave both out,"
                    " or capture a new fact",
                    path=["payload", "subject"],
                )
        case MemoryType.COMPETENCE:
            triggers = payload.get("triggers") or known.get("triggers") or []
            if not isinstance(triggers, list):
                raise InvalidInput(
                    f"payload.triggers: must be a list of triggers {{signal, conditions}}, not {json_type(triggers)}",
                    path=["payload", "triggers"],
                )
            payload["triggers"] = [
                _conditioned_trigger(_object(trigger, "triggers", str(place)), place, request.conditions)
                for place, trigger in enumerate(triggers)
            ]
        case _:
            constraints = payload.get("constraints")
            payload["constraints"] = {**(constraints if isinstance(constraints, dict) else {}), **request.conditions}
    return payload


def _conditioned_trigger(trigger: dict[str, Any], place: int, conditions: dict[str, Any]) -> dict[str, Any]:
    known = _object(trigger.get("conditions"), "triggers", str(place), "conditions")
    return {**trigger, "conditions": {**known, **conditions}}


def _object(value: Any, *path: str) -> dict[str, Any]:
    """Return a JSON object of the payload, empty for null. Raises InvalidInput for any other value."""
    if value is not None and not isinstance(value, dict):
        place = ["payload", *path]
        raise InvalidInput(f"{'.'.join(place)}: must be a JSON object, not {json_type(value)}", path=place)
    return dict(value or {})


def _excludes(memory_type: MemoryType, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether two skills or plans never apply to the same case."""
    if memory_type is MemoryType.PLAN_GRAPH:
        ours, theirs = old.get("constraints"), new.get("constraints")
        return isinstance(ours, dict) and isinstance(theirs, dict) and disjoint(ours, theirs)
    return all(
        disjoint(trigger.get("conditions") or {}, other.get("conditions") or {})
        for trigger in old.get("triggers") or ()
        for other in new.get("triggers") or ()
        if trigger["signal"] == other["signal"]
    )
