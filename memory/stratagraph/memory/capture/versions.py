"""Plans and skills that are captured again: repeated, or stored as the next version.

See docs/specification.md, Capture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.superseding import supersede_records
from stratagraph.memory.capture.write_set import MAX_SOURCES, WriteSet, sources_of
from stratagraph.memory.records.changes import Effect
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.salience import reinforced
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.episodes import Thread
from stratagraph.store.records.fact_keys import disjoint
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.procedures import FIRST_VERSION, Version, lock_procedures, version_key
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.salience_rows import write_salience

_STATISTICS = {MemoryType.COMPETENCE: "performance", MemoryType.PLAN_GRAPH: "metrics"}
_HANDLES = {MemoryType.COMPETENCE: "skill_name", MemoryType.PLAN_GRAPH: "plan_id"}
_NUMBER = re.compile(r"(\d+)(?!.*\d)")


@dataclass(slots=True)
class StoredVersions:
    """What the plans and skills of a group mean for the stored ones.

    `repeated` pairs a draft with the stored version that it repeats, `displaced` with those that it takes the place of.
    """

    repeated: list[tuple[Draft, Version]]
    displaced: list[tuple[Draft, list[Version]]]
    changed_at: list[datetime]

    @property
    def displaced_ids(self) -> list[UUID]:
        return [version.id for _, versions in self.displaced for version in versions]

    async def settle(self, writes: WriteSet) -> None:
        """Add sources to the repeated versions and reinforce them; supersede the displaced ones."""
        for draft, version in self.repeated:
            await _repeat(writes, draft, version)
        for draft, versions in self.displaced:
            await supersede_records(writes, draft, [version.id for version in versions], by=draft.id)


async def lock_versions(writes: WriteSet) -> StoredVersions:
    """Lock the plans and skills of the group, and decide which drafts repeat a stored version or replace one.

    A lesson that is merged with a stored one is neither.

    A draft with the content of a current version repeats it and creates no record. Any other one becomes a version of
    its own, which takes the place of the current versions except variants (see `_is_variant`). A skill
    without a version gets the next one. Raises InvalidInput for a version that is stored with other content, or that
    was superseded.
    """
    tenant = writes.caller.tenant
    wanted = {
        Thread(
            writes.scopes[draft.scope], int(draft.sensitivity), handle_key(tenant, draft.type, draft.handle or "")
        ): draft
        for draft in writes.drafts
        if draft.type in _HANDLES and draft.position not in writes.primaries
    }
    stored = await lock_procedures(writes.connection, tenant, wanted)
    found = StoredVersions([], [], [version.updated_at for versions in stored.values() for version in versions])
    for procedure, versions in stored.items():
        draft = wanted[procedure]
        same = next((one for one in versions if one.is_current and _is_equal(draft, one)), None)
        if same is not None:
            writes.use_existing(draft, same.id)
            found.repeated.append((draft, same))
            continue
        _set_version(draft, versions, partial(version_key, tenant, procedure.key))
        displaced = [one for one in versions if one.is_current and not _is_variant(draft, one)]
        if displaced:
            found.displaced.append((draft, displaced))
    return found


def next_version(version: str) -> str:
    """Return the next version: the last number in it incremented.

    >>> next_version("3"), next_version("v1.9"), next_version("draft")
    ('4', 'v1.10', 'draft.2')
    """
    if _NUMBER.search(version) is None:
        return f"{version}.2"
    return _NUMBER.sub(lambda number: str(int(number[1]) + 1), version)


def _set_version(draft: Draft, versions: list[Version], key_of: Callable[[str], bytes]) -> None:
    """Give a skill that names no version the next one. Raises InvalidInput where the version named is taken.

    Versions are compared by their keys, because superseded ones may be sealed.
    """
    taken = {one.key: one for one in reversed(versions)}
    named = draft.payload.get("version")
    if named is None:
        newest = next((one for one in versions if one.is_current), versions[0])
        named = next_version(_version(newest.payload))
        while key_of(named) in taken:
            named = next_version(named)
        draft.payload = {**draft.payload, "version": named}
        caption(draft)
    elif (stored := taken.get(key_of(named))) is not None:
        handle = _HANDLES[draft.type]
        what = "stored with other content" if stored.is_current else "stored, and a later one superseded it"
        raise InvalidInput(
            f"content.version: version {shown(named)} of the {handle} {shown(draft.payload[handle])} is {what}; give"
            " this one a new version",
            path=[f"#{draft.position}", "content", "version"],
        )


def _version(payload: Mapping[str, Any]) -> str:
    return payload.get("version") or FIRST_VERSION


def _is_equal(draft: Draft, stored: Version) -> bool:
    """Return whether the draft has the content of a stored version, apart from statistics.

    A draft that names no version is compared without it.
    """
    ignored = {_STATISTICS[draft.type], "version"}
    ours, theirs = (
        {key: value for key, value in payload.items() if key not in ignored}
        for payload in (draft.payload, stored.payload)
    )
    named = draft.payload.get("version")
    return ours == theirs and named in (None, _version(stored.payload))


def _is_variant(draft: Draft, stored: Version) -> bool:
    """Return whether the two apply under different conditions, so that both are current, as after a fork.

    Their conditions exclude each other or, for skills, only one of them has conditions: it specialises the other one.
    """
    if draft.type is MemoryType.PLAN_GRAPH:
        ours, theirs = draft.payload.get("constraints"), stored.payload.get("constraints")
        return isinstance(ours, dict) and isinstance(theirs, dict) and disjoint(ours, theirs)
    shared = [
        (trigger.get("conditions") or {}, other.get("conditions") or {})
        for trigger in draft.payload["triggers"]
        for other in stored.payload["triggers"]
        if trigger["signal"] == other["signal"]
    ]
    return bool(shared) and all(bool(ours) != bool(theirs) or disjoint(ours, theirs) for ours, theirs in shared)


async def _repeat(writes: WriteSet, draft: Draft, version: Version) -> None:
    """Add the draft's sources and statistics to the version that it repeats, and reinforce that if it is active."""
    known = {source["ref"]: source for source in version.provenance.get("sources", [])}
    for source in sources_of(writes, draft):
        # A capture that names no evidence is its own source, by its candidate, since all versions share the handle.
        ref = f"candidate:{draft.candidate}" if source["ref"] == draft.handle else source["ref"]
        if ref != str(version.id):
            known[ref] = {**source, "ref": ref}
    provenance = {**version.provenance, "sources": list(known.values())[-MAX_SOURCES:]}
    statistics = _STATISTICS[draft.type]
    payload = None
    # Those of a learned one are what the service has observed.
    is_stated = version.learned_state is None and draft.payload.get(statistics) is not None
    if is_stated and draft.payload[statistics] != version.payload.get(statistics):
        payload = orjson.dumps({**version.payload, statistics: draft.payload[statistics]}).decode()
    edit = Edit(id=version.id, provenance=orjson.dumps(provenance).decode(), payload=payload, is_revision=False)
    tenant = writes.caller.tenant
    writes.changes += await update_records(writes.connection, writes.directory, tenant, [edit], at=writes.at)
    writes.note_change(draft, version.id, Effect.REINFORCED)
    if version.state is not RecordState.ACTIVE or draft.position in writes.source_records:
        writes.doubtful.add(version.id)
    if version.state is not RecordState.ACTIVE:
        return
    unrestricted = writes.caller.unrestricted()
    # Elevated, because a policy rule may have raised the record above its writer's ceiling.
    async with elevated(writes.connection, unrestricted.bounds):
        records = await Reader(writes.connection, writes.directory, unrestricted, writes.at).records([version.id])
    salience = records[version.id].lifecycle
    assert salience is not None  # the unrestricted caller reads every record in full
    event = reinforced(salience, writes.at)
    await write_salience(writes.connection, tenant, [(version.id, event)])
    await write_audit(
        writes.connection,
        tenant,
        [AuditEvent(record=version.id, action=AuditAction.REINFORCE, rationale="captured again", salience=event.s)],
        actor=writes.caller.trust.actor,
        at=writes.at,
    )
