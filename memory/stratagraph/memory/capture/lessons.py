"""Lessons that are learned again, and those that are retired when a scope has too many.

A lesson is a competence with a `lesson` block. One whose task is known in its scope and sensitivity, or that repeats a
lesson in other words, is merged with that one. See docs/specification.md, Lessons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import MAX_SOURCES, WriteSet, sources_of
from stratagraph.memory.lessons.block import Standing, lesson_of
from stratagraph.memory.lessons.merging import merged_payload, says_the_same, without_claims
from stratagraph.memory.lessons.utility import KEPT, beyond
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.withdrawal import withdraw
from stratagraph.memory.secrets.masking import masked_text
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import Access, AuditAction, MemoryType, RecordState
from stratagraph.store.model.salience import reinforced
from stratagraph.store.model.words import record_terms
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.lessons import LessonGroup, StoredLesson, lesson_key, lock_lessons
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.salience_rows import write_salience

RETIRED = f"retired: over {KEPT} lessons of this scope and sensitivity are known"


@dataclass(slots=True)
class StoredLessons:
    """What the lessons of a group of drafts mean for the stored ones, which are locked.

    `merged` pairs a draft with the stored lesson that it is merged with; `created` are the drafts that become new ones.
    """

    stored: Mapping[LessonGroup, list[StoredLesson]]
    merged: list[tuple[Draft, StoredLesson]]
    created: list[Draft]

    @property
    def changed_at(self) -> list[datetime]:
        """When each stored lesson was last changed, as any of them may be retired."""
        return [lesson.updated_at for lessons in self.stored.values() for lesson in lessons]

    async def settle(self, writes: WriteSet) -> None:
        """Merge what was learned again into the stored lessons, and reinforce those that are active."""
        for draft, lesson in self.merged:
            await _merge(writes, draft, lesson)

    async def retire(self, writes: WriteSet) -> None:
        """Retire the lessons beyond those that are kept, once the new ones are written."""
        learned_again = {lesson.id: draft for draft, lesson in self.merged}
        for group, lessons in self.stored.items():
            new = [draft for draft in self.created if _group_of(writes, draft) == group]
            if len(lessons) + len(new) <= KEPT:
                continue
            standings = {lesson.id: _standing(lesson, learned_again.get(lesson.id)) for lesson in lessons}
            standings |= {
                draft.id: Standing.of(
                    draft.payload,
                    learned_at=draft.occurred_at,
                    confidence=draft.confidence,
                    author=writes.caller.trust.identity,
                )
                for draft in new
            }
            retired = beyond(standings, kept=KEPT)
            writes.changes += await withdraw(
                writes.connection,
                writes.directory,
                writes.caller,
                retired,
                RecordState.SUPERSEDED,
                rationale=RETIRED,
                at=writes.at,
            )
            cause = next((draft for draft in writes.drafts if _group_of(writes, draft) == group), writes.drafts[0])
            for id_ in retired:
                writes.note_change(cause, id_, Effect.SUPERSEDED)


async def lock_known_lessons(writes: WriteSet) -> StoredLessons:
    """Lock the lessons of the scopes and sensitivities of this group's lessons, and decide which of them are known.

    A draft that is merged creates no record. Every lesson of the group gets the time when it was learned, where its
    block has none. That a lesson is verified is for a caller with access `admin` to say.
    """
    tenant = writes.caller.tenant
    if writes.caller.trust.access < Access.ADMIN:
        for draft in writes.drafts:
            if draft.type is MemoryType.COMPETENCE:
                draft.payload = without_claims(draft.payload)
    keys = {draft.position: lesson_key(tenant, draft.type, draft.payload) for draft in writes.drafts}
    drafts = [draft for draft in writes.drafts if keys[draft.position] is not None]
    stored = await lock_lessons(writes.connection, tenant, {_group_of(writes, draft) for draft in drafts})
    found = StoredLessons(stored, [], [])
    for draft in drafts:
        lesson = {"timestamp": rfc3339(draft.occurred_at), **(lesson_of(draft.payload) or {})}
        draft.payload = {**draft.payload, "lesson": lesson}
        known = stored[_group_of(writes, draft)]
        same = next((one for one in known if one.key == keys[draft.position]), None)
        same = same or next((one for one in known if one.id == draft.request.repeats), None)
        if same is None:
            found.created.append(draft)
        else:
            writes.use_existing(draft, same.id)
            found.merged.append((draft, same))
    return found


def _group_of(writes: WriteSet, draft: Draft) -> LessonGroup:
    return LessonGroup(writes.scopes[draft.scope], int(draft.sensitivity))


def _standing(lesson: StoredLesson, learned_again: Draft | None) -> Standing:
    """Return the standing of a stored lesson; if it was learned again, as it is after the merge."""
    payload, at = lesson.counted_payload, lesson.learned_at
    if learned_again is not None:
        payload, at = _merged(learned_again, payload, at), max(at, learned_again.occurred_at)
    author = lesson.authors[0] if lesson.authors else ""
    return Standing.of(payload, learned_at=at, confidence=lesson.confidence, author=author)


def _merged(draft: Draft, stored: Mapping[str, Any], learned_at: datetime) -> dict[str, Any]:
    return merged_payload(stored, draft.payload, is_newer=draft.occurred_at >= learned_at)


async def _merge(writes: WriteSet, draft: Draft, lesson: StoredLesson) -> None:
    """Merge a draft into a stored lesson: its version grows only if the lesson says something new."""
    tenant = writes.caller.tenant
    draft.payload = _merged(draft, lesson.payload, lesson.learned_at)
    caption(draft)
    # The payload may have its secrets, if it is sealed; what is searched never has.
    text, _ = masked_text(draft.text, tenant.index_key)
    is_new = not says_the_same(draft.payload, lesson.payload)
    known = {source["ref"]: source for source in lesson.provenance.get("sources", [])}
    for source in sources_of(writes, draft):
        ref = f"candidate:{draft.candidate}" if source["ref"] == draft.handle else source["ref"]
        if ref != str(lesson.id):
            known[ref] = {**source, "ref": ref}
    provenance = {**lesson.provenance, "sources": list(known.values())[-MAX_SOURCES:]}
    edit = Edit(
        id=lesson.id,
        text=text if is_new else None,
        terms=record_terms(tenant.index_key, text, lesson.name) if is_new else None,
        payload=orjson.dumps(draft.payload).decode(),
        provenance=orjson.dumps(provenance).decode(),
        occurred_at=max(lesson.learned_at, draft.occurred_at),
        lesson_authors=tuple(dict.fromkeys([*lesson.authors, writes.caller.trust.identity])) if is_new else None,
        is_revision=is_new,
    )
    writes.changes += await update_records(writes.connection, writes.directory, tenant, [edit], at=writes.at)
    writes.note_change(draft, lesson.id, Effect.REVISED if is_new else Effect.REINFORCED)
    if draft.position in writes.source_records:
        writes.doubtful.add(lesson.id)
    unrestricted = writes.caller.unrestricted()
    # Elevated, because a policy rule may have raised the lesson above its writer's ceiling.
    async with elevated(writes.connection, unrestricted.bounds):
        record = (await Reader(writes.connection, writes.directory, unrestricted, writes.at).records([lesson.id]))[
            lesson.id
        ]
    events = [AuditEvent(record=lesson.id, action=AuditAction.REVISE, rationale="learned again")] if is_new else []
    if record.state is RecordState.ACTIVE and record.lifecycle is not None:
        salience = reinforced(record.lifecycle, writes.at)
        await write_salience(writes.connection, tenant, [(lesson.id, salience)])
        events.append(
            AuditEvent(record=lesson.id, action=AuditAction.REINFORCE, rationale="learned again", salience=salience.s)
        )
    await write_audit(writes.connection, tenant, events, actor=writes.caller.trust.actor, at=writes.at)
