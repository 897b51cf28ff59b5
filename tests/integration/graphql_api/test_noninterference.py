"""Two stores that differ only in what a caller may not see give it equal answers (docs/specification.md, Trust)."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from fix_memory import NOON, memory_of
from noninterference.answers import difference, renamed
from noninterference.questions import EXEMPT, fields_of, questions
from noninterference.steps import SIGHTS, Sight, Step, story
from noninterference.stores import UNKNOWN, Bench, OneKeyDirectory, Store, inject_ids, shown

from stratagraph.memory.engines.service import Engines
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database


@pytest.fixture
def bench(database: Database, monkeypatch: pytest.MonkeyPatch) -> Bench:
    memory = memory_of(database, OneKeyDirectory(database, Vault(database, LocalMasterKey(bytes(32)))))
    return Bench(memory, Engines(), inject_ids(monkeypatch, memory))


def test_every_query_is_asked() -> None:
    asked = questions(SIGHTS[0], [UNKNOWN], [], NOON)
    assert asked.keys() | EXEMPT == fields_of("Query").keys()


async def compare(bench: Bench, tenant: str, sight: Sight, steps: Sequence[Step]) -> tuple[Store, str | None]:
    full = Store(bench, f"{tenant}-with", sight)
    await full.run(steps, with_hidden=True)
    probes = [made.id for made in full.hidden[:3]]
    await full.ask_everything(probes, len(steps) + 1, most=MOST)
    bare = Store(bench, f"{tenant}-without", sight, aimed=full.aimed)
    BARE.append(bare)
    await bare.run(steps, with_hidden=False)
    await bare.ask_everything(probes, len(steps) + 1, most=MOST)
    if difference(renamed(shown(full)), renamed(shown(bare))): print('RAW', difference(shown(full), shown(bare)))
    return full, difference(renamed(shown(full)), renamed(shown(bare)))


async def shortest(bench: Bench, tenant: str, sight: Sight, steps: list[Step]) -> tuple[list[Step], str | None]:
    """Return a story without steps that are not needed for its two stores to differ, and how they differ."""
    found = None
    position = len(steps)
    while position:
        position -= 1
        shorter = [*steps[:position], {"kind": "nothing", "who": "nobody"}, *steps[position + 1 :]]
        if steps[position]["who"] != "nobody":
            _, differs = await compare(bench, f"{tenant}-{position}", sight, shorter)
            if differs is not None:
                steps, found = shorter, differs
    return steps, found


MOST = int(os.environ.get('MOST','6'))
BARE=[]
SEEDS = [int(x) for x in os.environ.get("SEEDS", "1,2,3,4").split(",")]


@pytest.mark.parametrize("seed", SEEDS)
async def test_hidden_records_change_no_answer(bench: Bench, seed: int) -> None:
    sight, steps = story(random.Random(seed), 24)
    full, differs = await compare(bench, f"n{seed}", sight, steps)
    print(Counter(full.outcomes))
    if differs is not None:
        print('DIFF', differs)
        if os.environ.get('DBG'):
            for n, st in enumerate(steps): print(n, st)
            print(full.seen); print(BARE[-1].seen)
        if os.environ.get('NOSHRINK'): pytest.fail(differs)
        steps, found = await shortest(bench, f"n{seed}", sight, steps)
        pytest.fail(f"{found or differs}\n{sight}\n" + "\n".join(f"{n} {s}" for n, s in enumerate(steps) if s["who"] != "nobody"))
