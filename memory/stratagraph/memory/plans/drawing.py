"""A plan prepared for drawing: its steps with places and what was learned of them, its links, and its validity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from stratagraph.memory.plans.groups import fits, grouped
from stratagraph.memory.plans.layout import forward_links, lay_out, longest_path, ranks_of
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.base import count_of
from stratagraph.store.model.payloads.plan_graph import tool_of_step
from stratagraph.store.model.records import MemoryRecord

LABEL_LENGTH = 80  # characters


class StepKind(Enum):
    """What a node of a drawing is."""

    TOOL = "tool"  # a step that uses a tool
    ACTION = "action"  # a step whose operation is described in words
    GROUP = "group"  # several steps


class StepStatus(Enum):
    """What is known of a step's executions."""

    UNTRIED = "untried"  # nothing has been learned of it
    SUCCEEDED = "succeeded"  # it never failed
    UNRELIABLE = "unreliable"  # it failed at times
    FAILED = "failed"  # it always failed


# The statuses by what a group shows of its steps: the first that one of them has.
_WORST_FIRST = (StepStatus.FAILED, StepStatus.UNRELIABLE, StepStatus.UNTRIED, StepStatus.SUCCEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnStep:
    """A step of a plan, or a group of `count` steps, whose `op`, `params` and `guards` are those of its first step.

    `rank` is its column in the drawing and `order` its place in the column; `depth` is the number of links on the
    longest path to it in the whole plan, for a group that to its first step. `executions` and `failures` are None where
    none were captured, and for a group.
    """

    id: str
    label: str
    kind: StepKind
    op: str
    params: Any
    guards: Any
    rank: int
    order: int
    depth: int
    count: int
    status: StepStatus
    executions: int | None
    failures: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLink:
    """A dependency, or `count` dependencies of one kind between the steps of two groups."""

    id: str
    source: str
    target: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A plan, or one group of its steps, to draw: the steps by rank and order, and the links between them.

    `collapsed` tells whether steps were joined into groups. `step_count` and `link_count` are the numbers before that.
    `critical_path` is the longest path of single steps, as the nodes through which it leads.
    The plan was part of the current truth from `valid_from` until before `valid_to`, which is None if it still is.
    """

    record: MemoryRecord
    payload: Mapping[str, Any]
    steps: tuple[DrawnStep, ...]
    links: tuple[DrawnLink, ...]
    critical_path: tuple[str, ...]
    collapsed: bool
    step_count: int
    link_count: int
    valid_from: datetime
    valid_to: datetime | None


def draw_plan(
    record: MemoryRecord, payload: Mapping[str, Any], *, valid_to: datetime | None = None, group: str | None = None
) -> Drawing:
    """Return the drawing of the plan `record`, computed from its `payload`, or that of one `group` of its steps.

    `group` is the id of a group in an earlier answer about the same plan. Raises InvalidInput if there is none.
    """
    nodes = {node["id"]: node for node in payload["nodes"]}
    mark = _group_mark(nodes)
    prefix, chosen = mark, sorted(nodes)
    pairs = {(edge["from"], edge["to"]) for edge in payload["edges"] if edge["from"] in nodes and edge["to"] in nodes}
    depths = ranks_of(chosen, forward_links(chosen, pairs))
    if group is not None:
        prefix, chosen = f"{group}.", _members_of(group, mark, chosen, pairs)
    within = set(chosen)
    pairs = {(source, target) for source, target in pairs if source in within and target in within}
    groups = grouped(chosen, pairs)
    names = [members[0] if len(members) == 1 else f"{prefix}{at}" for at, members in enumerate(groups)]
    shown_as = {id_: name for name, members in zip(names, groups, strict=True) for id_ in members}
    edges = [edge for edge in payload["edges"] if (edge["from"], edge["to"]) in pairs]
    links = _links(edges, shown_as)
    places = lay_out(set(shown_as.values()), ((link.source, link.target) for link in links))
    members_of = dict(zip(names, groups, strict=True))
    steps = []
    for id_, place in places.items():
        members = [nodes[member] for member in sorted(members_of[id_], key=lambda one: (depths[one], one))]
        steps.append(_step(id_, members, depths[members[0]["id"]], rank=place.rank, order=place.order))
    return Drawing(
        record=record,
        payload=payload,
        steps=tuple(steps),
        links=links,
        critical_path=tuple(dict.fromkeys(shown_as[id_] for id_ in longest_path(chosen, pairs))),
        collapsed=not fits(chosen, pairs),
        step_count=len(chosen),
        link_count=len(edges),
        valid_from=record.created_at,
        valid_to=valid_to,
    )


def _group_mark(ids: Mapping[str, Any]) -> str:
    """Return a text with which ids of groups begin and no id of a step does."""
    mark = "#"
    while any(id_.startswith(mark) for id_ in ids):
        mark += "#"
    return mark


def _members_of(group: str, mark: str, ids: Sequence[str], pairs: set[tuple[str, str]]) -> list[str]:
    """Return the steps of a group, whose id is its number, after those of the groups that it is in."""
    chosen = list(ids)
    for number in group.removeprefix(mark).split(".") if group.startswith(mark) else [""]:
        within = set(chosen)
        groups = grouped(chosen, {pair for pair in pairs if within.issuperset(pair)})
        known = {str(at): members for at, members in enumerate(groups) if len(members) > 1}
        if number not in known:
            raise InvalidInput(
                f"group: {shown(group)} is no group of this plan; give the id of a step whose kind is GROUP,"
                " from an answer about the same version of the plan",
                path=["group"],
            )
        chosen = known[number]
    return chosen


def _step(id_: str, members: Sequence[Mapping[str, Any]], depth: int, *, rank: int, order: int) -> DrawnStep:
    """Return a step, or a group of several, given in the order of their depths."""
    first = members[0]
    learned = [_learned(member) for member in members]
    statuses = {_status(*one) for one in learned}
    executions, failures = learned[0] if len(members) == 1 else (None, None)
    return DrawnStep(
        id=id_,
        label=_label(first) if len(members) == 1 else _group_label(members),
        kind=StepKind.GROUP if len(members) > 1 else StepKind.TOOL if tool_of_step(first) else StepKind.ACTION,
        op=first["op"],
        params=first.get("params"),
        guards=first.get("guards"),
        rank=rank,
        order=order,
        depth=depth,
        count=len(members),
        status=next(status for status in _WORST_FIRST if status in statuses),
        executions=executions,
        failures=failures,
    )


def _label(step: Mapping[str, Any]) -> str:
    """Return the label that the step was captured with, else its operation, on one line."""
    given = step.get("label")
    return _shortened(given if isinstance(given, str) and given.strip() else step["op"])


def _group_label(members: Sequence[Mapping[str, Any]]) -> str:
    kinds = list(dict.fromkeys(_label(member) for member in members))
    return _shortened(f"{len(members)} steps: {', '.join(kinds[:3])}{', …' if len(kinds) > 3 else ''}")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LABEL_LENGTH else line[: LABEL_LENGTH - 1].rstrip() + "…"


def _learned(step: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the numbers of a step's executions and failures, from its `metrics`; None where nothing was learned."""
    metrics = step.get("metrics")
    if not isinstance(metrics, Mapping):
        return None, None
    executions, failures = (metrics.get(name) for name in ("execution_count", "failure_count"))
    if not isinstance(executions, int):
        return None, None
    return count_of(executions), count_of(failures) if isinstance(failures, int) else None


def _status(executions: int | None, failures: int | None) -> StepStatus:
    if not executions or failures is None:
        return StepStatus.UNTRIED
    if not failures:
        return StepStatus.SUCCEEDED
    return StepStatus.FAILED if failures >= executions else StepStatus.UNRELIABLE


def _links(edges: Sequence[Mapping[str, Any]], shown_as: Mapping[str, str]) -> tuple[DrawnLink, ...]:
    """Return the links between the nodes shown, those of one kind between the same two as one."""
    counts: dict[tuple[str, str, str], int] = {}
    for edge in edges:
        source, target = shown_as[edge["from"]], shown_as[edge["to"]]
        if source != target or edge["from"] == edge["to"]:
            key = (source, target, edge["kind"])
            counts[key] = counts.get(key, 0) + 1
    return tuple(
        DrawnLink(id=_link_id(source, target, kind), source=source, target=target, kind=kind, count=count)
        for (source, target, kind), count in sorted(counts.items())
    )


def _link_id(source: str, target: str, kind: str) -> str:
    """Return an id that differs between any two links: `a>b:control`, with `%` and `>` within ids escaped."""
    ends = (end.replace("%", "%25").replace(">", "%3E") for end in (source, target))
    return f"{'>'.join(ends)}:{kind}"
