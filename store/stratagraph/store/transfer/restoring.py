"""Inserting records, relations, episodes and tombstones of an export as they were, in a transaction that holds locks.

Row versions are numbered anew: the versions of a record from 1 up. Content is sealed by the policy of this instance,
and the audit log of a record is chained anew, with the actions, actors, times and rationales that it had.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.audit.events import ChainedEntries, lock_heads
from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing import contents
from stratagraph.store.keys.sealing.vault import Sealer
from stratagraph.store.model.exported import (
    AuditLine,
    Content,
    PastLifecycle,
    PastVersion,
    PredicateLine,
    RecordLine,
    RelationLine,
    TombstoneLine,
)
from stratagraph.store.model.exported.lines import CAUSES
from stratagraph.store.model.valid_time import Side
from stratagraph.store.model.words import Terms
from stratagraph.store.postgres.bulk import array_literal, insert_rows
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables
from stratagraph.store.records.entities import insert_terms
from stratagraph.store.records.episodes import call_key
from stratagraph.store.records.fact_keys import Slot, slot_arrays
from stratagraph.store.records.facts import lock_known_slots
from stratagraph.store.records.lessons import lesson_key
from stratagraph.store.records.procedures import PROCEDURES, version_key
from stratagraph.store.records.salience_rows import salience_row
from stratagraph.store.transfer.known import Happened
from stratagraph.store.transfer.restorable import Restorable, range_of


async def restore_slots(connection: AsyncConnection, tenant: Tenant, flags: Mapping[Slot, bool]) -> dict[Slot, bool]:
    """Lock slots in sorted order, making those that do not exist as single-valued as `flags` says; return what is so.

    A slot that exists stays as it is.
    """
    if not flags:
        return {}
    ordered = sorted(flags)
    await run(
        connection,
        "restore_slots",
        tenant=tenant.id,
        **slot_arrays(ordered),
        single=[flags[slot] for slot in ordered],
    )
    return await lock_known_slots(connection, tenant, ordered)


async def restore_records(
    connection: AsyncConnection,
    tenant: Tenant,
    records: Sequence[Restorable],
    *,
    logs: Mapping[UUID, Sequence[Happened]],
) -> list[Change]:
    """Insert records with their history, salience, audit logs and names; return the changes to append to the feed.

    `logs` has the entries that a record's log has here already, where it was removed before: the log goes on with those
    of the file that it lacks.
    """
    if not records:
        return []
    sealed = {one.id for one in records if tenant.keyring.seals(one.line.sensitivity)}
    has_secrets = bool(sealed) or any(_is_secret(tenant, entry) for one in records for entry in one.line.audit)
    sealer = await tenant.keyring.sealer(connection) if has_secrets else None
    rows = [_record_row(tenant, one, sealer if one.id in sealed else None) for one in records]
    await insert_rows(connection, tables.record, rows)
    await insert_rows(
        connection,
        tables.word_change,
        [
            {
                "tenant": tenant.id,
                "record": one.id,
                "scope": one.scope,
                "sensitivity": int(one.line.sensitivity),
                "step": 1,
                "terms": [0, *one.terms.numbers],  # 0 counts the record itself
            }
            for one in records
        ],
    )
    await insert_rows(connection, tables.fact, [_fact_row(tenant, one) for one in records if one.keys is not None])
    await insert_rows(connection, tables.salience, [_salience_row(tenant, one) for one in records])
    await insert_rows(
        connection,
        tables.record_history,
        [
            _history_row(tenant, one, number, past, terms, sealer if one.id in sealed else None)
            for one in records
            for number, (past, terms) in enumerate(zip(one.line.history, one.past_terms, strict=True), 1)
        ],
    )
    await insert_rows(
        connection,
        tables.lifecycle_history,
        [_lifecycle_row(tenant, one.id, past) for one in records for past in one.line.past_lifecycles],
    )
    await insert_rows(connection, tables.lesson_use, [_use_row(tenant, one.line) for one in records if _is_used(one)])
    await insert_terms(
        connection,
        tenant,
        [(one.id, term, one.scope, int(one.line.sensitivity)) for one in records for term in one.terms_of_names],
    )
    entries = {one.id: one.line.audit for one in records}
    await restore_logs(connection, tenant, entries, logs=logs, sealed=sealed, sealer=sealer)
    return [Change(kind=Kind.RECORD, id=one.id, version=_row_version(one.line)) for one in records]


def _row_version(line: RecordLine) -> int:
    return len(line.history) + 1


def _is_used(one: Restorable) -> bool:
    return one.line.lesson is not None and one.line.lesson.retrieved_at is not None


def _content(content: Content) -> dict[str, Any]:
    return {name: getattr(content, name) for name in contents.FIELDS}


def _columns(id_: UUID, content: Content, sealer: Sealer | None) -> dict[str, Any]:
    values = _content(content)
    return contents.plain_columns(values) if sealer is None else contents.sealed_columns(sealer, id_, values)


def _record_row(tenant: Tenant, one: Restorable, sealer: Sealer | None) -> dict[str, Any]:
    line, keys, handle = one.line, one.keys, one.handle_key
    lesson = lesson_key(tenant, line.type, line.content.payload)
    authors = line.lesson.authors if line.lesson is not None else ()
    is_procedure = handle is not None and line.type in PROCEDURES
    return {
        "tenant": tenant.id,
        "id": line.id,
        "type": int(line.type),
        "scope": one.scope,
        "sensitivity": int(line.sensitivity),
        "state": int(line.state),
        "confidence": line.confidence,
        "tags": line.tags,
        **_columns(line.id, line.content, sealer),
        "created_at": line.created_at,
        "occurred_at": line.occurred_at,
        "updated_at": line.updated_at,
        "version": line.version,
        "row_version": _row_version(line),
        "handle_key": handle,
        "fact_key": keys.fact if keys else None,
        "slot_key": keys.slot if keys else None,
        "condition_key": keys.condition if keys else None,
        "single_valued": one.is_single_valued if keys else None,
        "validity": one.validity,
        "terms": one.terms.numbers,
        "impacts": one.terms.as_sparsevec(),
        "named_times": "{" + ",".join(map(range_of, line.named_times)) + "}" if line.named_times else None,
        "lesson_key": lesson,
        "lesson_authors": list(authors) if lesson is not None else None,
        "version_key": (
            version_key(tenant, handle, line.content.payload.get("version"))
            if is_procedure and handle is not None
            else None
        ),
    }


def _fact_row(tenant: Tenant, one: Restorable) -> dict[str, Any]:
    line, keys = one.line, one.keys
    assert keys is not None  # the caller has chosen facts
    assert line.fact is not None
    return {
        "tenant": tenant.id,
        "id": line.id,
        **keys.identity.columns(),
        "stated": range_of(line.fact.stated),
        "evidence_at": line.fact.evidence_at,
        "scope": one.scope,
        "sensitivity": int(line.sensitivity),
    }


def _salience_row(tenant: Tenant, one: Restorable) -> dict[str, Any]:
    return salience_row(tenant, one.id, one.salience)


def _history_row(
    tenant: Tenant, one: Restorable, number: int, past: PastVersion, terms: Terms, sealer: Sealer | None
) -> dict[str, Any]:
    return {
        "tenant": tenant.id,
        "id": one.id,
        "row_version": number,
        "from_at": past.from_at,
        "to_at": past.to_at,
        "type": int(one.line.type),
        "scope": one.scope,
        "sensitivity": int(past.sensitivity),
        "state": int(past.state),
        "confidence": past.confidence,
        "tags": past.tags,
        **_columns(one.id, past.content, sealer),
        "occurred_at": past.occurred_at,
        "version": past.version,
        "terms": terms.numbers,
        "impacts": terms.as_sparsevec(),
        "validity": None if past.validity is None else range_of(past.validity),
    }


def _lifecycle_row(tenant: Tenant, id_: UUID, past: PastLifecycle) -> dict[str, Any]:
    return {
        "tenant": tenant.id,
        "id": id_,
        "to_at": past.to_at,
        "curve": int(past.curve),
        "half_life_s": past.half_life_s,
        "min_salience": past.min_salience,
        "max_age_s": past.max_age_s,
        "reinforcement_gain": past.reinforcement_gain,
        "params": past.params,
        "pinned": past.pinned,
        "deletion_policy": int(past.deletion_policy),
    }


def _use_row(tenant: Tenant, line: RecordLine) -> dict[str, Any]:
    assert line.lesson is not None  # the caller has chosen lessons
    return {
        "tenant": tenant.id,
        "id": line.id,
        "retrievals": line.lesson.retrievals,
        "helpful": line.lesson.helpful,
        "retrieved_at": line.lesson.retrieved_at,
    }


def _is_secret(tenant: Tenant, entry: AuditLine) -> bool:
    """Return whether a rationale is sealed because of what it is about, whatever its record."""
    return entry.sensitivity is not None and tenant.keyring.seals(entry.sensitivity)


async def restore_logs(
    connection: AsyncConnection,
    tenant: Tenant,
    entries: Mapping[UUID, Sequence[AuditLine]],
    *,
    logs: Mapping[UUID, Sequence[Happened]],
    sealed: Collection[UUID],
    sealer: Sealer | None,
) -> None:
    """Append entries to the logs of records, each with its own action, actor and time.

    Those that a log has already, by `logs`, are left out. `sealed` are the records whose rationales are sealed.
    """
    heads, _ = await lock_heads(connection, tenant, {id_ for id_ in entries if logs.get(id_)})
    chained = ChainedEntries(tenant, heads)
    for id_, lines in entries.items():
        had = set(logs.get(id_, ()))
        for line in lines:
            if had and (line.action.value, line.actor, line.at) in had:
                continue
            chained.add(
                id_,
                line.action,
                line.actor,
                line.at,
                salience=line.salience,
                rationale=line.rationale,
                sensitivity=line.sensitivity,
                sealer=sealer if id_ in sealed or _is_secret(tenant, line) else None,
            )
    await chained.insert(connection)


async def restore_artifact_references(connection: AsyncConnection, tenant: Tenant, lines: Sequence[RecordLine]) -> int:
    """Insert the references of records to artifacts that are stored here; return how many there are."""
    uses = [(bytes.fromhex(use.sha256), line.id, use.media_type) for line in lines for use in line.artifacts]
    if not uses:
        return 0
    return await run(
        connection,
        "restore_artifact_references",
        tenant=tenant.id,
        hashes=[sha256 for sha256, _, _ in uses],
        records=[record for _, record, _ in uses],
        media_types=[media_type for _, _, media_type in uses],
    )


async def restore_relations(
    connection: AsyncConnection, directory: Directory, tenant: Tenant, relations: Sequence[RelationLine]
) -> list[Change]:
    """Insert relations as they were, open and ended ones; return the changes to append to the feed.

    Those whose id or place is taken, or one of whose ends is not stored, are skipped. Raises LimitExceeded if the
    tenant would have too many predicates.
    """
    if not relations:
        return []
    numbers = await directory.predicates(tenant, {one.predicate for one in relations})
    rows = await fetch(
        connection,
        "restore_relations",
        tenant=tenant.id,
        ids=[one.id for one in relations],
        sources=[one.source for one in relations],
        targets=[one.target for one in relations],
        predicates=[numbers[one.predicate] for one in relations],
        weights=[one.weight for one in relations],
        created=[one.created_at for one in relations],
        ended=[one.ended_at for one in relations],
        ends=sorted({end for one in relations for end in (one.source, one.target)}),
    )
    return [Change(kind=Kind.RELATION, id=row["id"], version=row["row_version"]) for row in rows]


async def restore_episodes(
    connection: AsyncConnection, tenant: Tenant, episodes: Sequence[Restorable], calls: Mapping[UUID, str]
) -> list[UUID]:
    """Insert the states of episodes with their members, and return the ids of those inserted; known ones stay.

    `calls` has the ids of the tool calls of members, by record. Members that are not stored are left out.
    """
    states = [(one, state, key) for one in episodes if (state := one.line.episode) and (key := one.thread_key)]
    if not states:
        return []
    rows = await fetch(
        connection,
        "restore_episodes",
        tenant=tenant.id,
        ids=[one.id for one, _, _ in states],
        threads=[key for _, _, key in states],
        scopes=[one.scope for one, _, _ in states],
        sensitivities=[int(one.line.sensitivity) for one, _, _ in states],
        opened=[state.opened_at for _, state, _ in states],
        closes=[state.closes_at for _, state, _ in states],
        closed=[state.closed_at for _, state, _ in states],
        outcomes=[None if state.outcome is None else int(state.outcome) for _, state, _ in states],
        events=[len(state.members) for _, state, _ in states],
        learned=[state.learned_at for _, state, _ in states],
        stages=[array_literal(state.learned_stages) for _, state, _ in states],
        awaiting=[state.awaits_skill for _, state, _ in states],
    )
    inserted = {row["id"] for row in rows}
    members = [
        (one.id, position, member)
        for one, state, _ in states
        if one.id in inserted
        for position, member in enumerate(state.members, 1)
    ]
    if members:
        keys = [call_key(tenant, calls[member]) if member in calls else None for _, _, member in members]
        await run(
            connection,
            "restore_members",
            tenant=tenant.id,
            episodes=[episode for episode, _, _ in members],
            positions=[position for _, position, _ in members],
            records=[member for _, _, member in members],
            calls=keys,
        )
    return sorted(inserted)


async def calls_of_members(
    connection: AsyncConnection, tenant: Tenant, episodes: Sequence[Restorable]
) -> dict[UUID, str]:
    """Return the ids of the tool calls of the members of episodes, by record, on which later calls may depend."""
    members = {member for one in episodes if one.line.episode is not None for member in one.line.episode.members}
    if not members:
        return {}
    rows = await fetch(connection, "find_member_calls", tenant=tenant.id, ids=sorted(members))
    found = {}
    for row, content in zip(rows, await contents.open_contents(tenant.keyring, rows), strict=True):
        nodes = [] if content is None else content["payload"].get("tool_graph") or []
        call = row["call"] if content is None else next((node.get("id") for node in nodes), None)
        if isinstance(call, str) and call != str(row["id"]):
            found[row["id"]] = call
    return found


async def set_words(connection: AsyncConnection, tenant: Tenant, words: Mapping[UUID, Terms]) -> None:
    """Give restored episodes, which were stored without, the terms by which their members' words find them."""
    if words:
        await run(
            connection,
            "set_words",
            tenant=tenant.id,
            ids=list(words),
            terms=[array_literal(one.numbers) for one in words.values()],
            impacts=[one.as_sparsevec() for one in words.values()],
        )


async def restore_trims(connection: AsyncConnection, tenant: Tenant, lines: Sequence[RecordLine]) -> int:
    """Insert the trims of facts by others that are stored; return the number of those inserted.

    A fact that was changed since it was restored keeps the trims that it has.
    """
    trims = [(line, trim) for line in lines if line.fact is not None for trim in line.fact.trims]
    if not trims:
        return 0
    return await run(
        connection,
        "restore_trims",
        tenant=tenant.id,
        facts=[line.id for line, _ in trims],
        changed=[line.updated_at for line, _ in trims],
        by_facts=[trim.by for _, trim in trims],
        sides=[int(Side.START if trim.side == "start" else Side.END) for _, trim in trims],
        instants=[trim.at for _, trim in trims],
    )


async def restore_tombstones(
    connection: AsyncConnection, tenant: Tenant, lines: Sequence[TombstoneLine], scopes: Mapping[str, int]
) -> set[UUID]:
    """Insert the tombstones of records that are not stored here, and return their ids; known ones stay.

    Needs a transaction of a role that may write tombstones. Their logs follow by `restore_logs`.
    """
    if not lines:
        return set()
    rows = await fetch(
        connection,
        "restore_tombstones",
        tenant=tenant.id,
        ids=[one.id for one in lines],
        types=[int(one.type) for one in lines],
        scopes=[scopes[one.scope] for one in lines],
        sensitivities=[int(one.sensitivity) for one in lines],
        causes=[1 + CAUSES.index(one.cause) for one in lines],
        instants=[one.at for one in lines],
        entities=[array_literal(one.entities) for one in lines],
        learned=[array_literal(one.learned) for one in lines],
    )
    return {row["id"] for row in rows}


async def delete_tombstones(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> None:
    """Delete the tombstones of records that were restored. Needs a transaction of a role that may delete them."""
    if ids:
        await run(connection, "delete_tombstones", tenant=tenant.id, ids=sorted(ids))


async def restore_predicates(
    connection: AsyncConnection, tenant: Tenant, lines: Sequence[PredicateLine]
) -> list[PredicateLine]:
    """Register predicates that are not registered, and return those that are registered in another way."""
    rows = await insert_rows(
        connection,
        tables.fact_predicate,
        [
            {
                "tenant": tenant.id,
                "predicate": one.predicate,
                "single_valued": one.single_valued,
                "object_kind": one.object_kind,
            }
            for one in lines
        ],
        suffix="ON CONFLICT (tenant, predicate) DO NOTHING RETURNING predicate",
    )
    new = {predicate for (predicate,) in rows}
    return [one for one in lines if one.predicate not in new]
