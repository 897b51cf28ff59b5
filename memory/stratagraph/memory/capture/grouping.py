"""Groups of drafts of one request that can be written together."""

from __future__ import annotations

from collections.abc import Sequence

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.naming import Names
from stratagraph.store.model.canonical import folded_text
from stratagraph.store.model.enums import MemoryType


def independent_groups(drafts: Sequence[Draft], names: Names) -> list[list[Draft]]:
    """Divide the drafts into consecutive groups in which no draft depends on what another one writes.

    The names of all drafts must be resolved, since facts belong to the slot of the entity that is their subject.
    An entity that was created or taught is taught again in a later group, so that its history has both versions.
    A second fact of a slot must see the first, a second working state updates the first, a second version of a
    plan or a skill supersedes the first, and captures after an outcome belong to the thread's next episode.
    """
    groups: list[list[Draft]] = [[]]
    written: set[tuple[object, ...]] = set()
    for draft in drafts:
        named = {("entity", entity) for entity in names.entities_written(draft)}
        if written.intersection([*_keys_read(draft), *named]):
            groups.append([])
            written = set()
        groups[-1].append(draft)
        written.update(_keys_written(draft), named)
    return groups


def _keys_read(draft: Draft) -> list[tuple[object, ...]]:
    """Return the keys that no earlier draft of the group may have written."""
    partition = (draft.scope, draft.sensitivity)
    keys = _keys_written(draft)
    if draft.thread is not None:
        keys.append(("closed", *partition, draft.thread))
    if draft.outcome_of is not None:
        keys.append(("closed", draft.outcome_of))
    return keys


def _keys_written(draft: Draft) -> list[tuple[object, ...]]:
    """Return the slot, the working record, the plan or skill and the closed thread or episode that the draft writes."""
    partition = (draft.scope, draft.sensitivity)
    payload = draft.payload
    keys: list[tuple[object, ...]] = []
    if draft.type is MemoryType.SEMANTIC:
        subject = draft.entities.subject or folded_text(payload["subject"])
        keys.append(("slot", *partition, subject, payload["predicate"]))
    if draft.type is MemoryType.WORKING:
        keys.append(("working", *partition, payload["thread_id"]))
    if draft.type in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH):
        keys.append(("procedure", *partition, draft.type, draft.handle))
    if is_outcome(draft):
        keys.append(("closed", *partition, draft.thread) if draft.thread is not None else ("closed", draft.outcome_of))
    elif draft.is_whole_episode and draft.thread is not None:
        keys.append(("closed", *partition, draft.thread))
    return keys
