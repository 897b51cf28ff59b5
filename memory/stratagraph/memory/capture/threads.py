"""A thread's captures become its episode: opened, appended to, closed (SPEC §4; design decision 21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.episodes import lock_episodes, set_outcome
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import Forbidden, RecordNotFound
from stratagraph.store.model.words import Terms
from stratagraph.store.records.episodes import (
    Event,
    OpenEpisode,
    Thread,
    WholeEpisode,
    append_events,
    awaiting_outcome,
    call_key,
    find_calls,
    insert_closed_episodes,
    thread_of,
)
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.writing import NewRecord

PART_OF, FOLLOWS, DEPENDS_ON = 0.6, 0.5, 0.8  # weights


@dataclass(slots=True)
class Threads:
    """The episodes of a round, locked, and what joins them."""

    of_draft: dict[int, Thread]
    episodes: dict[Thread, OpenEpisode]
    calls: dict[tuple[UUID, bytes], UUID]
    awaiting: dict[int, UUID]
    events: dict[Thread, list[Event]] = field(default_factory=dict)

    async def append(self, writes: WriteSet) -> None:
        if self.events:
            joined = [(self.episodes[thread], events) for thread, events in self.events.items()]
            await append_events(writes.connection, writes.caller.tenant, joined, at=writes.at)
        await _insert_closed(writes)


async def lock_threads(writes: WriteSet) -> Threads:
    """Lock, and open where need be, the episodes that drafts join or decide."""
    tenant = writes.caller.tenant
    of_draft = {
        draft.position: thread_of(tenant, draft.thread, writes.scopes[draft.scope], draft.sensitivity)
        for draft in writes.drafts
        if draft.thread is not None
    }
    joined = {of_draft[draft.position] for draft in writes.drafts if draft.joins_thread}
    episodes, changes = await lock_episodes(writes.connection, writes.directory, tenant, joined, now=writes.at)
    writes.changes += changes
    awaiting = {}
    for draft in writes.drafts:
        if is_outcome(draft):
            awaiting[draft.position] = await _decided(writes, draft, of_draft.get(draft.position), episodes)
    wanted = {
        (episodes[of_draft[draft.position]].id, call_key(tenant, call))
        for draft in writes.drafts
        if draft.joins_thread and not episodes[of_draft[draft.position]].is_new
        for call in draft.depends_on
    }
    calls = await find_calls(writes.connection, tenant, wanted)
    return Threads(of_draft, episodes, calls, awaiting)


async def _decided(writes: WriteSet, draft: Draft, thread: Thread | None, episodes: dict[Thread, OpenEpisode]) -> UUID:
    """The episode an outcome belongs to: the one its thread has open in this round, or the last without an outcome."""
    if thread is not None and thread in episodes:
        return episodes[thread].id
    if draft.outcome_of is not None:
        await _may_decide(writes, draft, draft.outcome_of)
        found = await awaiting_outcome(writes.connection, writes.caller.tenant, record=draft.outcome_of)
        missing = f"There is no episode {draft.outcome_of} without an outcome that this credential may see."
    else:
        found = await awaiting_outcome(writes.connection, writes.caller.tenant, thread=thread)
        missing = (
            f"The thread {draft.thread!r} has no episode without an outcome; capture an event with this thread_id"
            " (same scope and sensitivity) first."
        )
    if found is None:
        field = "record_id" if draft.outcome_of is not None else "thread_id"
        raise RecordNotFound(draft.outcome_of or draft.thread, missing, path=[f"#{draft.position}", "content", field])
    return found


async def _may_decide(writes: WriteSet, draft: Draft, episode: UUID) -> None:
    """An episode named by its id must be in full sight, and in a scope that the caller may write."""
    reader = Reader(writes.connection, writes.directory, writes.caller, writes.at)
    record = (await reader.records([episode])).get(episode)
    path = [f"#{draft.position}", "content", "record_id"]
    if record is None:
        raise RecordNotFound(episode, path=path)
    if record.redacted:
        raise Forbidden("content.record_id: this episode is above the credential's ceiling", path=path)
    writes.caller.trust.scope_for_write(record.scope)


def join_threads(writes: WriteSet, threads: Threads) -> None:
    """Put the round's drafts into their episodes, in order of arrival, and draw the edges."""
    tenant = writes.caller.tenant
    last: dict[Thread, UUID | None] = {thread: episode.last_record for thread, episode in threads.episodes.items()}
    opened: set[Thread] = set()
    for draft in writes.drafts:
        if not draft.joins_thread:
            continue
        thread = threads.of_draft[draft.position]
        episode = threads.episodes[thread]
        if episode.is_new and thread not in opened:
            opened.add(thread)
            writes.records.append((draft, _episode_record(draft, episode)))
            if episode.previous is not None:
                writes.relate(draft, episode.id, episode.previous, "follows", FOLLOWS)
        before = last[thread]
        if before is not None:
            writes.relate(draft, draft.id, before, "follows", FOLLOWS)
        last[thread] = draft.id
        writes.relate(draft, draft.id, episode.id, "part_of", PART_OF)
        for call in draft.depends_on:
            earlier = threads.calls.get((episode.id, call_key(tenant, call)))
            if earlier is not None:
                writes.relate(draft, draft.id, earlier, "depends_on", DEPENDS_ON)
        own = call_key(tenant, draft.call) if draft.call is not None else None
        if own is not None:
            threads.calls[episode.id, own] = draft.id
        threads.events.setdefault(thread, []).append(Event(record=draft.id, call_key=own))


def _episode_record(draft: Draft, episode: OpenEpisode) -> NewRecord:
    """The episode's own record. It can be found by its words once it is closed."""
    return NewRecord(
        id=episode.id,
        type=MemoryType.EPISODIC,
        scope=draft.scope,
        sensitivity=draft.sensitivity,
        confidence=draft.confidence,
        tags=(),
        name=f"Episode {draft.thread}"[:120],
        text=f"Episode of {draft.thread}, still open.",
        payload={"kind": "episodic", "thread_id": draft.thread, "timeline": []},
        provenance={"sources": [{"kind": "event", "ref": f"thread:{draft.thread}"}], "created_by": "capture/threads"},
        occurred_at=draft.occurred_at,
        decay=draft.decay,
        deletion_policy=draft.deletion_policy,
        terms=Terms([], []),
    )


async def _insert_closed(writes: WriteSet) -> None:
    """Whole episodes that were captured at once: closed from the start, so that an outcome can still find them."""
    tenant = writes.caller.tenant
    closed: Sequence[Draft] = [draft for draft in writes.drafts if draft.closes_itself and draft.thread is not None]
    await insert_closed_episodes(
        writes.connection,
        tenant,
        [
            WholeEpisode(
                id=draft.id,
                thread=thread_of(tenant, draft.thread or "", writes.scopes[draft.scope], draft.sensitivity),
                outcome=draft.outcome,
            )
            for draft in closed
        ],
        at=writes.at,
    )


async def close_with_outcomes(writes: WriteSet, threads: Threads) -> None:
    """Set the outcomes of the round, after its events have joined."""
    for draft in writes.drafts:
        if not is_outcome(draft):
            continue
        assert draft.outcome is not None  # `classify` requires it
        episode = threads.awaiting[draft.position]
        writes.primaries[draft.position] = episode
        reason = draft.request.content.get("reason")
        writes.changes += await set_outcome(
            writes.connection,
            writes.directory,
            writes.caller.tenant,
            episode,
            draft.outcome,
            reason=reason if isinstance(reason, str) else None,
            actor=writes.caller.trust.actor,
            at=writes.at,
        )
