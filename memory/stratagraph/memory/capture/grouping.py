"""Groups of drafts of one request that can be written together."""

from __future__ import annotations

from collections.abc import Sequence

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft


def independent_groups(drafts: Sequence[Draft]) -> list[list[Draft]]:
    """Divide the drafts into consecutive groups in which no draft depends on what another one writes.

    A second fact of a slot must see the first, a second working state updates the first, and captures after an outcome
    belong to the thread's next episode.
    """
    groups: list[list[Draft]] = [[]]
    written: set[tuple[object, ...]] = set()
    for draft in drafts:
        if written.intersection(_keys_read(draft)):
            groups.append([])
            written = set()
        groups[-1].append(draft)
        written.update(_keys_written(draft))
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
    """Return the slot, the working record and the closed thread or episode that the draft writes."""
    partition = (draft.scope, draft.sensitivity)
    payload = draft.payload
    keys: list[tuple[object, ...]] = []
    if "predicate" in payload:
        keys.append(("slot", *partition, payload["subject"], payload["predicate"]))
    if payload.get("kind") == "working":
        keys.append(("working", *partition, payload["thread_id"]))
    if is_outcome(draft):
        keys.append(("closed", *partition, draft.thread) if draft.thread is not None else ("closed", draft.outcome_of))
    elif draft.is_whole_episode and draft.thread is not None:
        keys.append(("closed", *partition, draft.thread))
    return keys
