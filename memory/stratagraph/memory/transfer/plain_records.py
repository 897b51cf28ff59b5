"""Records as a reader gets them, made of the lines of an export, so that every form of export reads the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.exported import AuditLine, LifecycleForm, RecordLine, RelationLine
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.salience import Decay, Salience
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.episode_timelines import assemble_episodes
from stratagraph.store.records.lessons import counted_lessons
from stratagraph.store.records.reading import rendered_payload

MOST_EVENTS = 10_000  # of an episode


async def plain_records(
    connection: Connection, caller: Caller, lines: Sequence[RecordLine], *, now: datetime
) -> list[MemoryRecord]:
    """Return the records of lines, with the timelines of episodes, the counts of lessons, and their salience now."""
    records = [_record(line, caller.tenant.name, now) for line in lines]
    counts = [
        {
            "id": line.id,
            "retrievals": line.lesson.retrievals,
            "helpful": line.lesson.helpful,
            "retrieved_at": line.lesson.retrieved_at,
        }
        for line in lines
        if line.lesson is not None and line.lesson.retrieved_at is not None
    ]
    records = counted_lessons(records, counts)
    payloads = await assemble_episodes(connection, caller, records, most=MOST_EVENTS)
    return [replace(one, payload=payloads[one.id]) if one.id in payloads else one for one in records]


def plain_relations(lines: Collection[RelationLine]) -> list[Relation]:
    """Return the relations of lines that have not ended."""
    return [
        Relation(
            id=line.id,
            source=line.source,
            target=line.target,
            predicate=line.predicate,
            weight=line.weight,
            created_at=line.created_at,
        )
        for line in lines
        if line.ended_at is None
    ]


def plain_entries(lines: Collection[AuditLine]) -> list[AuditEntry]:
    """Return the entries of an audit log, numbered from 1."""
    return [
        AuditEntry(seq=seq, action=line.action, actor=line.actor, timestamp=line.at, rationale=line.rationale)
        for seq, line in enumerate(lines, 1)
    ]


def _record(line: RecordLine, tenant: str, now: datetime) -> MemoryRecord:
    content = line.content
    salience = _salience(line.lifecycle, line.created_at, line.state)
    return MemoryRecord(
        id=line.id,
        tenant=tenant,
        type=line.type,
        scope=line.scope,
        sensitivity=line.sensitivity,
        state=line.state,
        confidence=line.confidence,
        salience=salience.at(now),
        tags=line.tags,
        created_at=line.created_at,
        occurred_at=line.occurred_at,
        updated_at=line.updated_at,
        version=line.version,
        name=content.name,
        text=content.text,
        payload=rendered_payload(line.type, line.state, content.payload),
        lifecycle=salience,
        provenance=content.provenance,
        interpretation=content.interpretation,
        valid_from=line.fact.validity.start if line.fact is not None else None,
        valid_to=line.fact.validity.end if line.fact is not None else None,
    )


def _salience(form: LifecycleForm, created_at: datetime, state: RecordState) -> Salience:
    return Salience(
        s=form.s,
        t0=form.t0,
        created_at=created_at,
        decay=Decay(
            curve=form.curve,
            half_life_s=form.half_life_s,
            min_salience=form.min_salience,
            max_age_s=form.max_age_s,
            reinforcement_gain=form.reinforcement_gain,
            params=form.params,
        ),
        pinned=form.pinned,
        deletion_policy=form.deletion_policy,
        last_reinforced_at=form.last_reinforced_at,
        is_withdrawn=state > RecordState.CONTESTED,
    )
