"""Tells a story in two stores, which differ only in what a caller may not see, and compares what the caller learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

import pytest
from noninterference.answers import difference, ids_in, renamed, texts
from noninterference.readings import Reading
from noninterference.steps import HIDDEN, REDACTED, Sight, Step
from noninterference.stores import UNKNOWN, Bench, Store, shown
from noninterference.truth import Seen, words_of, wrong_in_absence, wrong_in_retrieval

SHORTENING = 40  # stories told to find out which steps a difference needs
NOTHING: Step = {"kind": "nothing", "who": "nobody"}


async def check_pair(
    bench: Bench,
    tenant: str,
    story: tuple[Sight, list[Step]],
    *readings: Reading,
    settled: bool = True,
    counts: Counter[str] | None = None,
) -> Store:
    """Tell the story with its hidden steps and without, and compare all answers and readings; no answer may tell more.

    If they differ, name the steps that matter. Unless `settled`, what the last steps wrote waits for the background
    jobs. `counts` counts what the answers had. Return the store with hidden records.
    """
    sight, steps = story
    full, differs = await _compare(bench, tenant, sight, steps, readings, settled)
    if differs is not None:
        steps, differs = await _shortened(bench, tenant, sight, steps, readings, settled, differs)
        needed = [f"{number}: {step}" for number, step in enumerate(steps) if step is not NOTHING]
        pytest.fail("\n".join([differs, str(sight), *needed]))
    _check_answers(full, _probes(full), counts)
    return full


async def check_one(
    bench: Bench,
    tenant: str,
    story: tuple[Sight, list[Step]],
    *readings: Reading,
    named: bool = False,
    settled: bool = True,
    counts: Counter[str] | None = None,
) -> Store:
    """Tell the story with its hidden steps only, where two stores may differ, and check that no answer tells of them.

    With `named`, hidden steps also contest and merge what the caller sees. Unless `settled`, also the mirror is behind.
    """
    sight, steps = story
    store = await _told(bench, tenant, sight, steps, settled=settled, named=named)
    probes = () if named else _probes(store)
    for read in readings:
        await read(store, probes, len(steps) + 1)
    _check_answers(store, probes, counts)
    return store


async def _told(
    bench: Bench, tenant: str, sight: Sight, steps: Sequence[Step], *, settled: bool, named: bool = False
) -> Store:
    store = Store(bench, tenant, sight)
    await store.run(steps, with_hidden=True, named=named, settled=settled)
    return store


def _probes(full: Store) -> list[UUID]:
    return [made.id for made in full.hidden[:3]]


async def _compare(
    bench: Bench, tenant: str, sight: Sight, steps: Sequence[Step], readings: Sequence[Reading], settled: bool
) -> tuple[Store, str | None]:
    """Return the store with hidden records, and how the answers differ first, None if they are equal."""
    full = await _told(bench, f"{tenant}-with", sight, steps, settled=settled)
    for read in readings:
        await read(full, _probes(full), len(steps) + 1)
    bare = Store(bench, f"{tenant}-without", sight, aimed=full.aimed)
    await bare.run(steps, with_hidden=False, settled=settled)
    for read in readings:
        await read(bare, _probes(full), len(steps) + 1)
    differs = difference(renamed(shown(full)), renamed(shown(bare)))
    # An id in one store only shifts the ranks of later ones; without renaming, it can be seen which one that is.
    return full, differs and f"{differs}\nwithout renaming: {difference(shown(full), shown(bare))}"


async def _shortened(
    bench: Bench,
    tenant: str,
    sight: Sight,
    steps: list[Step],
    readings: Sequence[Reading],
    settled: bool,
    differs: str,
) -> tuple[list[Step], str]:
    """Return the story without steps that are not needed for its two stores to differ, and how they differ."""
    for position in list(reversed(range(len(steps))))[:SHORTENING]:
        shorter = [*steps[:position], NOTHING, *steps[position + 1 :]]
        _, found = await _compare(bench, f"{tenant}-{position}", sight, shorter, readings, settled)
        if found is not None:
            steps, differs = shorter, found
    return steps, differs


def _check_answers(store: Store, probes: Collection[UUID], counts: Counter[str] | None) -> None:
    """Fail with what the caller's answers have that they must not have."""
    found = [*_hidden_in(store, probes), *_wrong_in_requests(store, Counter() if counts is None else counts)]
    if found:
        pytest.fail("\n".join([f"{store.sight}", *found]))


def _hidden_in(store: Store, probes: Collection[UUID]) -> Iterator[str]:
    """Yield the answers that have an id or a word of hidden steps, or a word of records that are redacted."""
    typed = {UNKNOWN, *store.aimed.values(), *probes}  # by the caller, whose words are kept
    for key, answer in shown(store).items():
        if " colleague " in key:
            continue
        told = list(texts(words_of(answer) if key.startswith("request ") else answer))
        for word in (HIDDEN, REDACTED):
            yield from (f"{key} has {word}: {one:.200}" for one in told if word in one)
        yield from (f"{key} has the hidden id {id_}" for id_ in (ids_in(answer) & store.hidden_ids) - typed)


def _wrong_in_requests(store: Store, counts: Counter[str]) -> Iterator[str]:
    if not store.truth.snapshots:
        return
    for given, answer, told in store.requested:
        seen = Seen.of(store.truth, store.sight, given, answer)
        wrong = list(wrong_in_retrieval(seen, given, answer, counts))
        for id_, absence in told.items():
            counts[f"whyNot {absence['__typename']}"] += 1
            wrong += wrong_in_absence(
                Seen(store.truth, store.sight, seen.at, seen.names_times, seen.valid_at), id_, absence, told[UNKNOWN]
            )
        if wrong:
            yield from (f"asked {given}", *wrong)
