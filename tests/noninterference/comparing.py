"""Tells a story in two stores and compares what the caller learns of them."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

import pytest
from noninterference.answers import difference, ids_in, renamed, texts
from noninterference.steps import HIDDEN, REDACTED, Sight, Step, story
from noninterference.stores import UNKNOWN, Bench, Store, shown

SHORTENING = 40  # stories told to find out which steps a difference needs
NOTHING: Step = {"kind": "nothing", "who": "nobody"}


async def check_story(bench: Bench, seed: int, *, most: int, asked: int) -> Store:
    """Tell the story of `seed` twice, and compare the answers; if they differ, name the steps that matter.

    Returns the store with hidden records.
    """
    sight, steps = story(random.Random(seed), most)
    return await check_steps(bench, f"story-{seed}", sight, steps, asked=asked)


async def check_steps(
    bench: Bench,
    tenant: str,
    sight: Sight,
    steps: list[Step],
    *,
    asked: int,
    only: Collection[str] | None = None,
) -> Store:
    """Tell a story twice, and compare the answers, as `check_story` does; with `only`, those of these operations."""
    full, differs = await compare(bench, tenant, sight, steps, asked, only)
    if differs is not None:
        steps, differs = await shortened(bench, tenant, sight, steps, asked, differs)
        needed = [f"{number}: {step}" for number, step in enumerate(steps) if step is not NOTHING]
        pytest.fail("\n".join([differs, str(sight), *needed]))
    return full


async def compare(
    bench: Bench,
    tenant: str,
    sight: Sight,
    steps: Sequence[Step],
    asked: int,
    only: Collection[str] | None = None,
) -> tuple[Store, str | None]:
    """Return the store with hidden records, and how the answers differ first, None if they are equal."""
    full = Store(bench, f"{tenant}-with", sight)
    await full.run(steps, with_hidden=True)
    probes = [made.id for made in full.hidden[:3]]
    await full.ask_everything(probes, len(steps) + 1, most=asked, only=only)
    bare = Store(bench, f"{tenant}-without", sight, aimed=full.aimed)
    await bare.run(steps, with_hidden=False)
    await bare.ask_everything(probes, len(steps) + 1, most=asked, only=only)
    differs = difference(renamed(shown(full)), renamed(shown(bare)))
    # An id in one store only shifts the ranks of later ones; without renaming, it can be seen which one that is.
    return full, differs and f"{differs}\nwithout renaming: {difference(shown(full), shown(bare))}"


async def shortened(
    bench: Bench, tenant: str, sight: Sight, steps: list[Step], asked: int, differs: str
) -> tuple[list[Step], str]:
    """Return the story without steps that are not needed for its two stores to differ, and how they differ."""
    for position in list(reversed(range(len(steps))))[:SHORTENING]:
        shorter = [*steps[:position], NOTHING, *steps[position + 1 :]]
        _, found = await compare(bench, f"{tenant}-{position}", sight, shorter, asked)
        if found is not None:
            steps, differs = shorter, found
    return steps, differs


async def check_secrecy(bench: Bench, seed: int, *, most: int, asked: int) -> None:
    """Let hidden steps also contest and merge what the caller sees; no answer has an id or a word of theirs."""
    sight, steps = story(random.Random(seed), most)
    store = Store(bench, f"secret-{seed}", sight)
    await store.run(steps, with_hidden=True, named=True)
    await store.ask_everything((), len(steps) + 1, most=asked)
    answers = shown(store)
    mine = {key: one for key, one in answers.items() if " colleague " not in key}
    found = " ".join(texts(mine))
    assert HIDDEN not in found
    assert REDACTED not in found
    typed = {UNKNOWN, *store.aimed.values()}  # by the caller, whose words are kept
    assert not (ids_in(answers) & store.hidden_ids) - typed
