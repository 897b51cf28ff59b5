"""The steps of an episode: runs of calls of one tool, named by their place in the structure. No I/O."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from stratagraph.memory.learning.plans.canonical import Link, canonical
from stratagraph.memory.learning.procedures.origins import TracedCall

MAX_RUNS = 3  # steps of one tool in one episode; later calls of the tool belong to the last of them
MAX_STEPS = 64  # steps of one episode; calls of further tools are left out
DATA, CONTROL = "data", "control"


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """A step of one episode: the calls of one tool without another tool between them, retries included."""

    name: str
    tool: str
    calls: tuple[TracedCall, ...]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of an episode in the order in which they began, the links between them, and the structure's hash.

    Links of the kind DATA lead from a step to one that took an argument from its results, those of the kind CONTROL to
    one that depended on it otherwise. Two episodes whose structures are isomorphic have equal hashes, and their steps
    have the same names.
    """

    steps: tuple[EpisodeStep, ...]
    links: tuple[Link, ...]
    structure: str


def steps_of(traced: Sequence[TracedCall]) -> Steps:
    """Return the steps of an episode with at least one call."""
    runs = _runs(traced)
    place = {one.call.id: number for number, run in enumerate(runs) for one in run}
    pairs: dict[tuple[int, int], str] = {}
    for number, run in enumerate(runs):
        for one in run:
            fed = {place[id_] for id_ in one.fed_by if id_ in place}
            for other in fed | {place[id_] for id_ in one.call.depends_on if id_ in place}:
                if other < number:
                    kind = DATA if other in fed or pairs.get((other, number)) == DATA else CONTROL
                    pairs[other, number] = kind
    links = [(str(source), str(target), kind) for (source, target), kind in _without_detours(pairs).items()]
    labels = {str(number): run[0].call.tool for number, run in enumerate(runs)}
    names, structure = _named(labels, links)
    steps = tuple(EpisodeStep(names[str(number)], run[0].call.tool, tuple(run)) for number, run in enumerate(runs))
    return Steps(steps, tuple(sorted((names[one], names[two], kind) for one, two, kind in links)), structure)


def _runs(traced: Sequence[TracedCall]) -> list[list[TracedCall]]:
    runs: list[list[TracedCall]] = []
    of_tool: dict[str, list[list[TracedCall]]] = {}
    for number, one in enumerate(traced):
        tool = one.call.tool
        mine = of_tool.setdefault(tool, [])
        continues = number > 0 and traced[number - 1].call.tool == tool
        if mine and (continues or len(mine) == MAX_RUNS or len(runs) == MAX_STEPS):
            mine[-1].append(one)
        elif len(runs) < MAX_STEPS:
            mine.append([one])
            runs.append(mine[-1])
    return runs


def _without_detours(pairs: Mapping[tuple[int, int], str]) -> dict[tuple[int, int], str]:
    """Return the links without those of control whose ends are joined by a longer path, which says the same."""
    after: dict[int, set[int]] = {}
    for source, target in pairs:
        after.setdefault(source, set()).add(target)

    def is_joined(source: int, target: int) -> bool:
        open_, seen = [one for one in after.get(source, ()) if one != target], set[int]()
        while open_:
            one = open_.pop()
            if one == target:
                return True
            if one not in seen and one < target:
                seen.add(one)
                open_ += after.get(one, ())
        return False

    return {pair: kind for pair, kind in pairs.items() if kind == DATA or not is_joined(*pair)}


def _named(labels: Mapping[str, str], links: Sequence[Link]) -> tuple[dict[str, str], str]:
    """Return a name for each node, which depends on the structure alone, and the hash of the structure.

    The n-th step of a tool, those nearer to the beginning first, is called `<tool>` or `<tool>#<n>`, with a greater
    number where a tool has that name.
    """
    found = canonical(labels, links)
    depth: dict[str, int] = {}
    for source, target, _ in sorted(links, key=lambda link: int(link[1])):  # steps are numbered in order
        depth[target] = max(depth.get(target, 0), depth.get(source, 0) + 1)
    place = {node: at for at, node in enumerate(found.order)}
    names: dict[str, str] = {}
    tools = {*labels.values()}
    counts: dict[str, int] = {}
    for node in sorted(labels, key=lambda one: (depth.get(one, 0), place[one])):
        tool = labels[node]
        counts[tool] = counts.get(tool, 0) + 1
        while counts[tool] > 1 and f"{tool}#{counts[tool]}" in tools:
            counts[tool] += 1
        names[node] = tool if counts[tool] == 1 else f"{tool}#{counts[tool]}"
    return names, hashlib.sha256(orjson.dumps(found.form)).hexdigest()[:32]
