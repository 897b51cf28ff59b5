"""Text that is not valid Unicode, or that PostgreSQL cannot store, is refused wherever a caller may send it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from fix_memory import Memory

from stratagraph.memory.engines.service import Engines
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.explore.service import Explore
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.records.predicates import Predicates
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import ResolveContest, Retract, Revise, Unmerge
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.fact_predicates import FactPredicate

Request = Callable[[Memory, str], Awaitable[object]]


def revision(kind: type[Revise]) -> Request:
    def request(memory: Memory, text: str) -> Awaitable[object]:
        return memory.revision.revise(memory.trust, kind(record_id=UUID(int=7), rationale="x", idempotency_key=text))

    return request


def retrieved(memory: Memory, text: str) -> Awaitable[object]:
    return memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="x", scopes=(text,)))


def plans(memory: Memory, text: str) -> Awaitable[object]:
    explore = Explore(memory.database, memory.directory, memory.clock, Engines())
    return explore.plans(memory.trust, ["build", text], first=10)


REQUESTS: dict[str, tuple[list[str], Request]] = {
    "the key of unmerge": (["idempotencyKey"], revision(Unmerge)),
    "the key of resolveContest": (["idempotencyKey"], revision(ResolveContest)),
    "the key of retract": (["idempotencyKey"], revision(Retract)),
    "the key of erase": (
        ["idempotencyKey"],
        lambda memory, text: memory.erasure.erase(
            memory.trust, Erase(record_id=UUID(int=7), rationale="x", idempotency_key=text)
        ),
    ),
    "a predicate": (
        ["name"],
        lambda memory, text: Predicates(memory.database, memory.directory).set(memory.trust, text, FactPredicate()),
    ),
    "the name of entities": (
        ["name"],
        lambda memory, text: memory.lookup.entities(memory.trust, text, scope=None, first=10),
    ),
    "the scope of entities": (
        ["scope"],
        lambda memory, text: memory.lookup.entities(memory.trust, "x", scope=text, first=10),
    ),
    "a tag": (
        ["filter", "tags", "0"],
        lambda memory, text: memory.lookup.records(memory.trust, RecordFilter(all_tags=[text])),
    ),
    "the scope of records": (
        ["filter", "scopes", "0"],
        lambda memory, text: memory.lookup.records(memory.trust, RecordFilter(scopes=[text])),
    ),
    "the id of a plan": (["id"], lambda memory, text: memory.lookup.plan(memory.trust, text, None)),
    "the scopes of a retrieval": (["scopes", "0"], retrieved),
    "an op of plans": (["ops", "1"], plans),
}


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "a\x00b"], ids=ascii)
@pytest.mark.parametrize(("path", "request_of"), REQUESTS.values(), ids=REQUESTS.keys())
async def test_malformed_text_is_refused_with_the_field_that_has_it(
    memory: Memory, path: list[str], request_of: Request, text: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await request_of(memory, text)
    assert refused.value.path == path
