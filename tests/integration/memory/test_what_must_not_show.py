"""What must not show is in no answer of `retrieveGraph` or `whyNot`, in any field, under any arguments.

Superseded and retracted records, facts that have expired or are not valid yet, records of foreign scopes and too
sensitive ones, in random stores: as roots, as neighbours, at the ends of relations, in the rendering, in explanations
and in errors. As of a past instant, what was current then shows, to who may see it then and now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest
from fix_examples import examples
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from noninterference.stores import Bench, inject_ids, story_memory
from secrecy.asking import Vectors, check_all, with_vectors
from secrecy.requests import ARGUMENTS, LARGE, REQUESTS, Asked, arguments_of_schema
from secrecy.stores import SCOPES, STEPS, Step, fill, settle

from stratagraph.memory.engines.service import Engines
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.database import Database

AMBER, BIRCH = SCOPES[1:]
LOW, MEDIUM, HYPER = Sensitivity.LOW, Sensitivity.MEDIUM, Sensitivity.HYPER
# One of each that must not show, among others that must.
EVERY_STATE = [
    Step("fact", "", LOW, "always", 0, None, 1),
    Step("fact", "", LOW, "before", 3, None, 1),
    Step("fact", "", LOW, "after", 6, None, 1),
    Step("fact", "", MEDIUM, "always", 0, None, 1),
    Step("fact", "", HYPER, "always", 0, None, 1),
    Step("fact", AMBER, LOW, "always", 0, None, 1),
    Step("fact", BIRCH, LOW, "always", 0, None, 1),
    Step("skill", "", LOW, "always", 0, "retract", 0),
    Step("turn", AMBER, LOW, "always", 0, "supersede", 5),
]
EVERYTHING = {"taskDescriptor": "Alice Stone granite", **LARGE}
AS_OF = [
    Asked(scopes, LOW, {**EVERYTHING, **at}, by_vectors=False)
    for scopes in (None, frozenset({AMBER}))
    for at in ({}, {"asOf": 5})
]
SEEN = ("nodes", "roots", "edges", "redacted", "of the past", "hidden", "not current", "renderings", "selections")


@pytest.fixture
def bench(database: Database, monkeypatch: pytest.MonkeyPatch) -> Bench:
    memory = story_memory(database)
    return Bench(memory, Engines(), inject_ids(monkeypatch, memory))


@pytest.fixture
async def vectors(bench: Bench) -> AsyncIterator[Vectors]:
    async with with_vectors(bench) as made:
        yield made


@pytest.fixture
def counts() -> Iterator[Counter[str]]:
    """What the answers of all examples had, none of which may be missing in the end."""
    counted: Counter[str] = Counter()
    yield counted
    print("\n" + "\n".join(f"{number:6} {what}" for what, number in sorted(counted.items())))
    assert not [what for what in SEEN if not counted[what]], "the examples show hardly anything"


def test_every_argument_is_drawn() -> None:
    assert arguments_of_schema() == ARGUMENTS.keys()


@settings(examples(5), phases=[phase for phase in Phase if phase is not Phase.explain])
@example(steps=EVERY_STATE, settled=True, asked=AS_OF)
@given(steps=STEPS, settled=st.booleans(), asked=REQUESTS)
async def test_what_must_not_show_is_in_no_answer(
    bench: Bench, vectors: Vectors, counts: Counter[str], steps: list[Step], settled: bool, asked: list[Asked]
) -> None:
    """Also while words, vectors and names of the last records wait for the background jobs."""
    counts["stores"] += 1
    store = await fill(bench, f"store-{counts['stores']}", steps)
    if settled:
        await settle(bench, store)
        await vectors.fill()
    await check_all(bench, store, asked, counts, vectors)
