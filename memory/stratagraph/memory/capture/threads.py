"""Episodes of threads: opened, appended to and closed by captures (docs/specification.md, Capture)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.episodes import lock_episodes, set_outcome
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.requests.warnings import WarningCode
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import Forbidden, InvalidInput, RecordNotFound
from stratagraph.store.model.words import Terms
from stratagraph.store.records.episode_endings import (
    NewClosedEpisode,
    insert_closed_episodes,
    lock_episode_without_outcome,
)
from stratagraph.store.records.episodes import (
    Event,
    OpenEpisode,
    Thread,
    append_events,
    call_key,
    find_calls,
    thread_of,
)
from stratagraph.store.records.inserting import NewRecord
from stratagraph.store.records.reading import Reader

PART_OF, FOLLOWS, DEPENDS_ON = 0.6, 0.5, 0.8  # weights of these relations
_CALLS = " to it. Capture a call, with its call_id and thread_id, before those that depend on it"


@dataclass(slots=True)
class Threads:
    """The locked episodes of a group of drafts.

    `calls` maps an episode and a call's key to the record of that call. `awaiting` maps the position of an outcome to
    the episode that it closes. `events` are the events to append.
    """

    of_draft: dict[int, Thread]
    episodes: dict[Thread, OpenEpisode]
    calls: dict[tuple[UUID, bytes], UUID]
    awaiting: dict[int, UUID]
    events: dict[Thread, list[Event]] = field(default_factory=dict)

    async def append(self, writes: WriteSet) -> None:
        """Append the events to their episodes, and insert the group's whole episodes as closed ones."""
        if self.events:
            joined = [(self.episodes[thread], events) for thread, events in self.events.items()]
            await append_events(writes.connection, writes.caller.tenant, joined, at=writes.at)
        await _insert_closed(writes)


async def lock_threads(writes: WriteSet) -> Threads:
    """Lock the episodes that the drafts join or close, opening those that do not exist.

    Raises RecordNotFound or Forbidden for an outcome whose episode does not exist for the caller.
    """
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
            awaiting[draft.position] = await _episode_of_outcome(writes, draft, of_draft.get(draft.position), episodes)
    wanted = {
        (episodes[of_draft[draft.position]].id, call_key(tenant, call))
        for draft in writes.drafts
        if draft.joins_thread and not episodes[of_draft[draft.position]].is_new
        for call in draft.depends_on
    }
    calls = await find_calls(writes.connection, tenant, wanted)
    return Threads(of_draft, episodes, calls, awaiting)


async def _episode_of_outcome(
    writes: WriteSet, draft: Draft, thread: Thread | None, episodes: dict[Thread, OpenEpisode]
) -> UUID:
    """Return the episode that an outcome closes: the open one of its thread, or the last one without an outcome."""
    if thread is not None and thread in episodes:
        return episodes[thread].id
    if draft.outcome_of is not None:
        await _check_episode(writes, draft, draft.outcome_of)
        found = await lock_episode_without_outcome(writes.connection, writes.caller.tenant, record=draft.outcome_of)
        missing = f"content.record_id: no episode {draft.outcome_of} without an outcome is visible to this credential."
    else:
        found = await lock_episode_without_outcome(writes.connection, writes.caller.tenant, thread=thread)
        missing = (
            f"content.thread_id: the thread {draft.thread!r} has no episode without an outcome; capture an event with"
            " this thread_id, of the same scope and sensitivity, first."
        )
    if found is None:
        field = "record_id" if draft.outcome_of is not None else "thread_id"
        raise RecordNotFound(draft.outcome_of or draft.thread, missing, path=[f"#{draft.position}", "content", field])
    return found


async def _check_episode(writes: WriteSet, draft: Draft, episode: UUID) -> None:
    """Refuse an episode that is not fully visible to the caller, or in a scope that the caller may not write to."""
    reader = Reader(writes.connection, writes.directory, writes.caller, writes.at)
    record = (await reader.records([episode])).get(episode)
    path = [f"#{draft.position}", "content", "record_id"]
    if record is None:
        raise RecordNotFound(episode, path=path)
    if record.redacted:
        raise Forbidden(
            f"content.record_id: the episode {episode} is above the credential's ceiling"
            f" ({writes.caller.trust.ceiling.label}); use a credential with a higher one",
            path=path,
        )
    writes.caller.trust.scope_for_write(record.scope)
    if draft.outcome_reason is not None and record.sensitivity < draft.sensitivity:
        raise InvalidInput(
            f"sensitivity: the outcome is {draft.sensitivity.label}, but its reason becomes part of the episode, which"
            f" is {record.sensitivity.label}; capture it at {record.sensitivity.label}, or leave the reason out",
            path=[f"#{draft.position}", "sensitivity"],
        )


def join_threads(writes: WriteSet, threads: Threads) -> None:
    """Add the drafts to their episodes in order, with the relations part_of, follows and depends_on."""
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
            else:
                problem = (
                    f"names the call {shown(call)}, which the thread's open episode does not have; nothing is related"
                )
                writes.warn(draft, WarningCode.CALL_NOT_FOUND, ("content", "depends_on"), problem + _CALLS)
        own = call_key(tenant, draft.call) if draft.call is not None else None
        if own is not None:
            threads.calls[episode.id, own] = draft.id
        threads.events.setdefault(thread, []).append(Event(record=draft.id, call_key=own))


def _episode_record(draft: Draft, episode: OpenEpisode) -> NewRecord:
    """Return the record of a new episode. It has no search terms until the episode is closed."""
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
    """Insert the episodes that were captured whole as closed ones, so that a later outcome finds them."""
    tenant = writes.caller.tenant
    closed: Sequence[Draft] = [draft for draft in writes.drafts if draft.is_whole_episode and draft.thread is not None]
    await insert_closed_episodes(
        writes.connection,
        tenant,
        [
            NewClosedEpisode(
                id=draft.id,
                thread=thread_of(tenant, draft.thread or "", writes.scopes[draft.scope], draft.sensitivity),
                outcome=draft.outcome,
            )
            for draft in closed
        ],
        at=writes.at,
    )


async def close_with_outcomes(writes: WriteSet, threads: Threads) -> None:
    """Set the outcomes of the group, after its events were appended, and close the episodes."""
    created = {record.id for _, record in writes.records}
    for draft in writes.drafts:
        if not is_outcome(draft):
            continue
        assert draft.outcome is not None  # `classify` requires it
        episode = threads.awaiting[draft.position]
        writes.primaries[draft.position] = episode
        if episode not in created:
            writes.note_change(draft, episode, Effect.REVISED)
        writes.changes += await set_outcome(
            writes.connection,
            writes.directory,
            writes.caller.tenant,
            episode,
            draft.outcome,
            reason=draft.outcome_reason,
            actor=writes.caller.trust.actor,
            at=writes.at,
        )
