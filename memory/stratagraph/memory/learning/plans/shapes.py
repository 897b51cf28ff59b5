"""The steps and links of a plan, merged from the structures that its episodes had. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from stratagraph.memory.learning.procedures.observation import Observation
from stratagraph.memory.learning.procedures.step_statistics import StepStatistics
from stratagraph.memory.learning.procedures.steps import CONTROL, DATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A merged plan: its steps in order, their tools, and the links, with the number of episodes that had each.

    `steps` and `links` lead from earlier to later steps only, so that they form a DAG. `episodes` is the number of
    episodes that were merged; a step or link that fewer of them had is a branch.
    """

    order: tuple[str, ...]
    tools: Mapping[str, str]
    taken: Mapping[str, int]
    links: Mapping[tuple[str, str], tuple[str, int]]
    episodes: int


def ordered_steps(steps: Mapping[str, StepStatistics]) -> list[str]:
    """Return the names of steps by their mean place in the episodes; ties by name."""

    def mean_place(name: str) -> Fraction:
        return Fraction(steps[name].place, max(1, steps[name].executions))

    return sorted(steps, key=lambda name: (mean_place(name), name))


def shape_of(observed: Observation) -> Shape:
    """Return the plan of all structures that succeeded, or of all structures if none did.

    A link that goes against the usual order of its steps is left out, as is a link of control whose ends a longer way
    joins too.
    """
    structures = [one for one in observed.structures if one.outcomes.get("success")] or list(observed.structures)
    taken: dict[str, int] = {}
    tools: dict[str, str] = {}
    found: dict[tuple[str, str], tuple[str, int]] = {}
    for one in structures:
        for name, tool in one.steps:
            taken[name] = taken.get(name, 0) + one.episodes
            tools[name] = tool
        for source, target, kind in one.links:
            known_kind, count = found.get((source, target), (kind, 0))
            found[source, target] = (DATA if DATA in (kind, known_kind) else CONTROL, count + one.episodes)
    order = [name for name in ordered_steps(observed.steps) if name in taken]
    place = {name: at for at, name in enumerate(order)}
    links = {pair: link for pair, link in sorted(found.items()) if place[pair[0]] < place[pair[1]]}
    return Shape(
        order=tuple(order),
        tools=tools,
        taken=taken,
        links=_without_detours(links, place),
        episodes=sum(one.episodes for one in structures),
    )


def _without_detours(
    links: Mapping[tuple[str, str], tuple[str, int]], place: Mapping[str, int]
) -> dict[tuple[str, str], tuple[str, int]]:
    after: dict[str, list[str]] = {}
    for source, target in links:
        after.setdefault(source, []).append(target)

    def is_detour(source: str, target: str) -> bool:
        open_, seen = [one for one in after[source] if one != target], set[str]()
        while open_:
            one = open_.pop()
            if one == target:
                return True
            if one not in seen and place[one] < place[target]:
                seen.add(one)
                open_ += after.get(one, [])
        return False

    return {pair: link for pair, link in links.items() if link[0] == DATA or not is_detour(*pair)}


def branches_of(shape: Shape) -> list[dict[str, object]]:
    """Return the steps after which episodes diverged: each with its next steps and the share of episodes of each link.

    A step whose every next step was always taken is no branch.
    """
    after: dict[str, list[tuple[str, int]]] = {}
    for (source, target), (_, count) in shape.links.items():
        after.setdefault(source, []).append((target, count))
    found: list[dict[str, object]] = []
    for source in shape.order:
        choices = sorted(after.get(source, ()), key=lambda one: (-one[1], one[0]))
        if any(count < shape.taken[source] for _, count in choices):
            to = [{"step": target, "share": count / shape.taken[source]} for target, count in choices]
            found.append({"after": source, "to": to})
    return found


def critical_path(shape: Shape, steps: Mapping[str, StepStatistics]) -> tuple[Sequence[str], float | None]:
    """Return the path that takes longest, by the mean milliseconds of its steps, and how long it takes.

    Without any latency, it is the path with the most steps, and the time is None.
    """
    is_timed = any(steps[name].timed for name in shape.order)

    def cost(name: str) -> float:
        if not is_timed:
            return 1.0
        return steps[name].latency_ms / steps[name].timed if steps[name].timed else 0.0

    best: dict[str, tuple[float, tuple[str, ...]]] = {}
    for name in shape.order:
        before = [best[source] for source, target in shape.links if target == name]
        length, path = max(before, key=lambda one: (one[0], one[1]), default=(0.0, ()))
        best[name] = (length + cost(name), (*path, name))
    if not best:
        return (), None
    length, path = max(best.values(), key=lambda one: (one[0], one[1]))
    return path, length if is_timed else None
