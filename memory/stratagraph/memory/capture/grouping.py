"""Groups of drafts of one request that can be written together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.naming import Names
from stratagraph.memory.capture.slots import LockedSlots
from stratagraph.memory.lessons.block import lesson_of
from stratagraph.store.model.canonical import folded_text
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import LimitExceeded
from stratagraph.store.records.fact_keys import Slot

MAX_CONTENDING = 50  # facts of one slot in a request that may contradict each other


def require_few_contending(drafts: Iterable[Draft]) -> None:
    """Raise LimitExceeded, naming the first draft too many, where over MAX_CONTENDING facts contend for one slot.

    Those contend that have a revision policy, conditions or a bounded validity: each is written after all before it,
    and compared with them. This depends on the request alone, not on stored facts, of which the caller may not see
    some.
    """
    contending: Counter[tuple[object, ...]] = Counter()
    for draft in drafts:
        if draft.type is not MemoryType.SEMANTIC:
            continue
        validity = draft.payload["validity"]
        if draft.payload.get("revision_policy") or any(validity.get(key) for key in ("start", "end", "conditions")):
            slot = _slot(draft)
            contending[slot] += 1
            if contending[slot] > MAX_CONTENDING:
                raise LimitExceeded(
                    f"content: over {MAX_CONTENDING} facts of this request have one subject and predicate, and a"
                    " revision_policy, conditions or a validity; send them in several requests",
                    path=[f"#{draft.position}", "content"],
                )


def _slot(draft: Draft) -> tuple[object, ...]:
    subject = draft.entities.subject or folded_text(draft.payload["subject"])
    return ("slot", draft.scope, draft.sensitivity, subject, draft.payload["predicate"])


def independent_groups(drafts: Sequence[Draft], names: Names, slots: LockedSlots) -> list[list[Draft]]:
    """Divide the drafts into consecutive groups in which no draft depends on what another one writes.

    `names` are the resolved names and `slots` the locked slots of all drafts.
    An entity that was created or taught is taught again in a later group, so that its history has both versions.
    An equal fact, and a second one of a slot where facts contradict each other, must see the first; so many different
    facts of another slot can be written at once. A second working state updates the first, a second version of a
    plan or a skill supersedes the first, a lesson may retire the one before it, and captures after an outcome belong to
    the thread's next episode.
    """
    groups: list[list[Draft]] = [[]]
    written: set[tuple[object, ...]] = set()
    contended = slots.contended(drafts)
    for draft in drafts:
        own = _keys_written(draft, slots, contended)
        named = {("entity", entity) for entity in names.entities_written(draft)}
        if written.intersection([*own, *_keys_read(draft), *named]):
            groups.append([])
            written = set()
        groups[-1].append(draft)
        written.update(own, named)
    return groups


def _keys_read(draft: Draft) -> list[tuple[object, ...]]:
    """Return the keys that no earlier draft of the group may have written, besides those that the draft writes."""
    partition = (draft.scope, draft.sensitivity)
    keys: list[tuple[object, ...]] = []
    if draft.thread is not None:
        keys.append(("closed", *partition, draft.thread))
    if draft.outcome_of is not None:
        keys.append(("closed", draft.outcome_of))
    return keys


def _keys_written(draft: Draft, slots: LockedSlots, contended: Collection[Slot]) -> list[tuple[object, ...]]:
    """Return what the draft writes: a slot or fact, a working record, a plan or skill, a closed thread or episode."""
    partition = (draft.scope, draft.sensitivity)
    payload = draft.payload
    keys: list[tuple[object, ...]] = []
    slot = slots.of_draft.get(draft.position)
    if slot in contended:
        keys.append(("slot", slot))
    elif slot is not None:
        assert draft.fact is not None  # locking the slot has set it
        keys.append(("fact", slot, draft.fact.fact))
    if draft.type is MemoryType.WORKING:
        keys.append(("working", *partition, payload["thread_id"]))
    if draft.type in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH):
        keys.append(("procedure", *partition, draft.type, draft.handle))
    if draft.type is MemoryType.COMPETENCE and lesson_of(payload) is not None:
        keys.append(("lesson", *partition))
    if is_outcome(draft):
        keys.append(("closed", *partition, draft.thread) if draft.thread is not None else ("closed", draft.outcome_of))
    elif draft.is_whole_episode and draft.thread is not None:
        keys.append(("closed", *partition, draft.thread))
    return keys
