"""Two stores that differ only in what a caller may not see at all give it equal answers (docs/specification.md, Trust).

A story is told twice, in two tenants: with its hidden steps and without. The answers to the caller's own steps and to
every query are compared, with ids and instants replaced by their rank. Exempt are timing, freshness and health.
`make soak` tells more stories.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from fix_memory import NOON, memory_of
from noninterference.answers import difference, ids_in, renamed, texts
from noninterference.questions import EXEMPT, fields_of, questions
from noninterference.steps import HIDDEN, REDACTED, SIGHTS, Sight, Step, story
from noninterference.stores import UNKNOWN, Bench, OneKeyDirectory, Store, inject_ids, shown

from stratagraph.memory.engines.service import Engines
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.postgres.database import Database

QUESTIONS = 4  # of each operation, chosen at random
SHORTENING = 0  # stories told to find out which steps a difference needs
NOTHING: Step = {"kind": "nothing", "who": "nobody"}


@pytest.fixture
def bench(database: Database, monkeypatch: pytest.MonkeyPatch) -> Bench:
    memory = memory_of(database, OneKeyDirectory(database, Vault(database, LocalMasterKey(bytes(32)))))
    return Bench(memory, Engines(), inject_ids(monkeypatch, memory))


def test_every_query_is_asked() -> None:
    asked = questions(SIGHTS[0], [UNKNOWN], [], NOON)
    assert asked.keys() | EXEMPT == fields_of("Query").keys()


@pytest.mark.parametrize("seed", range(3))
async def test_hidden_records_change_no_answer(bench: Bench, seed: int) -> None:
    await check_story(bench, seed, most=24, asked=QUESTIONS)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_100))
async def test_hidden_records_change_no_answer_in_many_stories(bench: Bench, seed: int) -> None:
    await check_story(bench, seed, most=40, asked=100)


@pytest.mark.parametrize("seed", [0])
async def test_no_answer_holds_what_is_hidden(bench: Bench, seed: int) -> None:
    await check_secrecy(bench, seed, most=24, asked=QUESTIONS)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_050))
async def test_no_answer_holds_what_is_hidden_in_many_stories(bench: Bench, seed: int) -> None:
    await check_secrecy(bench, seed, most=40, asked=100)


async def check_story(bench: Bench, seed: int, *, most: int, asked: int) -> None:
    """Tell the story of `seed` twice, and compare the answers; if they differ, name the steps that matter."""
    sight, steps = story(random.Random(seed), most)
    differs = await compare(bench, f"story-{seed}", sight, steps, asked)
    if differs is not None:
        steps, differs = await shortened(bench, f"story-{seed}", sight, steps, asked, differs)
        needed = [f"{number}: {step}" for number, step in enumerate(steps) if step is not NOTHING]
        pytest.fail("\n".join([differs, str(sight), *needed]))


async def compare(bench: Bench, tenant: str, sight: Sight, steps: Sequence[Step], asked: int) -> str | None:
    """Return how the answers of the two stores differ first; None if they are equal."""
    full = Store(bench, f"{tenant}-with", sight)
    await full.run(steps, with_hidden=True)
    probes = [made.id for made in full.hidden[:3]]
    await full.ask_everything(probes, len(steps) + 1, most=asked)
    bare = Store(bench, f"{tenant}-without", sight, aimed=full.aimed)
    await bare.run(steps, with_hidden=False)
    await bare.ask_everything(probes, len(steps) + 1, most=asked)
    differs = difference(renamed(shown(full)), renamed(shown(bare)))
    # An id in one store only shifts the ranks of later ones; without renaming, it can be seen which one that is.
    return differs and f"{differs}\nwithout renaming: {difference(shown(full), shown(bare))}"


async def shortened(
    bench: Bench, tenant: str, sight: Sight, steps: list[Step], asked: int, differs: str
) -> tuple[list[Step], str]:
    """Return the story without steps that are not needed for its two stores to differ, and how they differ."""
    for position in list(reversed(range(len(steps))))[:SHORTENING]:
        shorter = [*steps[:position], NOTHING, *steps[position + 1 :]]
        found = await compare(bench, f"{tenant}-{position}", sight, shorter, asked)
        if found is not None:
            steps, differs = shorter, found
    return steps, differs


async def check_secrecy(bench: Bench, seed: int, *, most: int, asked: int) -> None:
    """Let hidden steps also contest and merge what the caller sees; no answer has an id or a word of theirs."""
    sight, steps = story(random.Random(seed), most)
    store = Store(bench, f"secret-{seed}", sight)
    await store.run(steps, with_hidden=True, named=True)
    for position in store.aimed:  # their answers repeat the id that the caller gave
        store.answers = {key: one for key, one in store.answers.items() if not key.startswith(f"{position} ")}
    await store.ask_everything((), len(steps) + 1, most=asked)
    answers = shown(store)
    mine = {key: one for key, one in answers.items() if " colleague " not in key}
    found = " ".join(texts(mine))
    assert HIDDEN not in found
    assert REDACTED not in found
    assert not (ids_in(answers) & store.hidden_ids) - {UNKNOWN}
