"""What captures teach entities that existed before: aliases, identifiers, types, and the fields of a captured entity.

See docs/specification.md, Entities.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import orjson

from stratagraph.memory.capture.caption import entity_caption, shortened
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.records.changes import Effect
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.canonical import normalised_identifier, normalised_name
from stratagraph.store.model.entity_kinds import folded_type
from stratagraph.store.model.enums import AuditAction
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.entities import Mention
from stratagraph.store.records.link_requests import insert_link_requests
from stratagraph.store.records.locking import lock_records
from stratagraph.store.records.reading import Reader


async def lock_taught(writes: WriteSet) -> list[datetime]:
    """Lock the entities that the write set teaches, and return when each was last changed."""
    rows = await lock_records(
        writes.connection, writes.caller.tenant, {teaching.entity for teaching in writes.teachings}
    )
    return [row.updated_at for row in rows.values()]


async def finish_names(writes: WriteSet) -> None:
    """Teach the entities that the write set names, and request that earlier records are linked to new names.

    Call it when the records of the write set have been inserted.
    """
    await teach(writes)
    await insert_link_requests(writes.connection, writes.caller.tenant, writes.newly_named, at=writes.at)


async def teach(writes: WriteSet) -> None:
    """Revise the entities that the write set teaches, in the order of its drafts.

    A draft of another scope or sensitivity than the entity teaches terms only, which were written when its names were
    resolved.
    """
    if not writes.teachings:
        return
    unrestricted, tenant = writes.caller.unrestricted(), writes.caller.tenant
    async with elevated(writes.connection, unrestricted.bounds):
        reader = Reader(writes.connection, writes.directory, unrestricted, writes.at)
        records = await reader.records({teaching.entity for teaching in writes.teachings})
    payloads = {id_: record.payload or {} for id_, record in records.items()}
    edits, events = [], []
    for teaching in writes.teachings:
        record, draft = records[teaching.entity], teaching.draft
        if (record.scope, record.sensitivity) != (draft.scope, draft.names_sensitivity):
            continue
        before = payloads[teaching.entity]
        after = learned(before, teaching.mention, teaching.payload, may_rename=draft.request.imported is not None)
        if after == before:
            continue
        payloads[teaching.entity] = after
        name, text = entity_caption(after)
        edits.append(
            Edit(
                id=teaching.entity,
                name=shortened(name),
                text=text,
                payload=orjson.dumps(after).decode(),
                terms=record_terms(tenant.index_key, text, name),
            )
        )
        why = draft.request.reason_to_remember or "a capture says more about this entity"
        events.append(
            AuditEvent(record=teaching.entity, action=AuditAction.REVISE, rationale=why, sensitivity=draft.sensitivity)
        )
        writes.note_change(draft, teaching.entity, Effect.REVISED)
    writes.changes += await update_records(writes.connection, writes.directory, tenant, edits, at=writes.at)
    await write_audit(writes.connection, tenant, events, actor=writes.caller.trust.actor, at=writes.at)


def learned(
    known: Mapping[str, Any], mention: Mention, payload: Mapping[str, Any] | None, *, may_rename: bool = False
) -> dict[str, Any]:
    """Return an entity's payload, extended by what a mention and the payload of a captured entity add to it.

    Names become aliases, and a type becomes the primary one where that is missing or `Other`. Further fields of
    `payload`, such as the summary, replace those of the entity. With `may_rename`, a new name whose aliases include the
    entity's own becomes the entity's name, and the former name an alias: an import says so of a renamed file.
    """
    given = dict(payload or {})
    united = dict(known)
    names = {
        normalised_name(name)
        for name in (known["canonical_name"], *(alias["value"] for alias in known.get("aliases") or ()))
    }
    said = [{"value": mention.name}, *(given.get("aliases") or [{"value": alias} for alias in mention.aliases])]
    aliases = list(known.get("aliases") or ())
    is_named = payload is not None and _is_address(known) and normalised_name(mention.name) not in names
    if is_named or (may_rename and _is_renamed(known["canonical_name"], names, mention)):
        united["canonical_name"] = mention.name
        aliases.append({"value": known["canonical_name"]})
        names.add(normalised_name(mention.name))
    for alias in said:
        if normalised_name(alias["value"]) not in names:
            names.add(normalised_name(alias["value"]))
            aliases.append(alias)
    identifiers = list(known.get("identifiers") or ())
    have = {normalised_identifier(entry["namespace"], entry["value"]) for entry in identifiers}
    for namespace, value in mention.identifiers:
        if normalised_identifier(namespace, value) not in have:
            have.add(normalised_identifier(namespace, value))
            identifiers.append({"namespace": namespace, "value": value})
    united |= {field: values for field, values in (("aliases", aliases), ("identifiers", identifiers)) if values}
    _add_types(united, [mention.type, *mention.types])
    own = ("kind", "canonical_name", "aliases", "identifiers", "primary_type", "types")
    return united | {field: value for field, value in given.items() if field not in own and value is not None}


def _is_address(known: Mapping[str, Any]) -> bool:
    """Return whether an entity is only called by its e-mail address, until a capture gives its name."""
    name = normalised_identifier("email", known["canonical_name"])
    return any(normalised_identifier(one["namespace"], one["value"]) == name for one in known.get("identifiers") or ())


def _is_renamed(name: str, known: Collection[str], mention: Mention) -> bool:
    aliases = {normalised_name(alias) for alias in mention.aliases}
    return normalised_name(name) in aliases and normalised_name(mention.name) not in known


def _add_types(united: dict[str, Any], said: list[str | None]) -> None:
    """Set the primary type where it says nothing; otherwise list further types."""
    for name in said:
        if name is None or folded_type(name) is None:
            continue
        if folded_type(united.get("primary_type")) is None:
            united["primary_type"] = name
            continue
        listed = united.get("types") or []
        if normalised_name(name) not in {normalised_name(one) for one in (united["primary_type"], *listed)}:
            united["types"] = [*listed, name]
