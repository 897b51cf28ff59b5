"""The audit log of a record, page by page; of a removed record under the trust check of the record when it existed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_jobs import run_jobs
from fix_memory import Memory, trust_of

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.revise.request import Delete, Pin
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust

MEDIUM, HIGH = Sensitivity.MEDIUM, Sensitivity.HIGH
READERS = {
    "all": trust_of(),
    "its scope and level": trust_of(scopes={"project:a"}, ceiling=HIGH),
    "one level below": trust_of(ceiling=MEDIUM),  # would see the record redacted
    "far below": trust_of(ceiling=Sensitivity.LOW),
    "another scope": trust_of(scopes={"project:b"}),
    "another tenant": trust_of(tenant="rival"),
}


async def removed(memory: Memory, how: str) -> tuple[UUID, list[str]]:
    """Capture a record with an audit log and remove it; return its id and the actions and rationales to expect."""
    more: dict[str, Any] = {"scope": "project:a", "sensitivity": HIGH, "reason_to_remember": "heard it"}
    kept = (await memory.turn("hello", **more)).primary.id
    if how == "none":
        return kept, ["create heard it"]
    if how == "pruned":
        memory.clock.forward(timedelta(hours=11))
        await run_jobs(memory)
        return kept, ["create heard it", "delete pruned: salience fell below 0.001"]
    if how == "erased":
        await memory.erasure.erase(memory.trust, Erase(record_id=kept, rationale="ticket"))
        return kept, ["create", "delete"]
    fact = (await memory.observe("Ann", "likes", "tea", **more)).primary.id
    await memory.revision.revise(memory.trust, Pin(record_id=fact, pinned=True, rationale="dear"))
    await memory.revision.revise(memory.trust, Delete(record_id=fact, rationale="wrong"))
    return fact, ["create heard it", "revise dear", "delete wrong"]


async def log(memory: Memory, id_: UUID, trust: Trust) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = await memory.lookup.audit_log(trust, id_, first=2, after=after)
        found += [" ".join(filter(None, (entry.action, entry.rationale))) for entry in page.entries]
        if not page.has_next:
            return found
        after = page.end_cursor


@pytest.mark.parametrize("how", ["none", "deleted", "pruned", "erased"])
async def test_who_could_read_a_record_can_read_its_audit_log_after_its_removal(memory: Memory, how: str) -> None:
    id_, expected = await removed(memory, how)
    unknown = {name: await log(memory, new_id(), trust) for name, trust in READERS.items()}
    assert set(map(tuple, unknown.values())) == {()}
    found = {name: await log(memory, id_, trust) for name, trust in READERS.items()}
    assert found == unknown | {"all": expected, "its scope and level": expected}


async def test_an_invalid_page_of_the_audit_log_is_refused(memory: Memory) -> None:
    wrong: list[dict[str, Any]] = [{"first": 0}, {"first": 101}, {"after": "nonsense"}]
    for more in wrong:
        with pytest.raises(InvalidInput):
            await memory.lookup.audit_log(memory.trust, new_id(), **more)
