"""Drawings of plans: places of steps, groups of steps in large plans, and what is learned of steps."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from fix_examples import examples
from fix_memory import NOON, record_of
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.plans.drawing import Drawing, StepKind, StepStatus, draw_plan
from stratagraph.memory.plans.groups import MAX_LINKS, MAX_NODES, grouped
from stratagraph.memory.plans.layout import Pair, crossings, forward_links, lay_out, longest_path
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput

RECORD = record_of(MemoryType.PLAN_GRAPH)
IDS = st.integers(0, 11).map(str)
GRAPHS = st.tuples(st.lists(IDS, min_size=1, unique=True), st.lists(st.tuples(IDS, IDS), max_size=40))  # with circles


def known(ids: Sequence[str], links: Iterable[Pair]) -> list[Pair]:
    return [(source, target) for source, target in links if source in ids and target in ids]


def payload_of(ids: Iterable[str], links: Iterable[Pair], **more: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "plan_id": "p",
        "version": "1",
        "nodes": [{"id": id_, "op": f"op{id_}", **more.get(id_, {})} for id_ in ids],
        "edges": [{"from": source, "to": target, "kind": "control"} for source, target in links],
    }


def columns_of(places: Mapping[str, Any]) -> list[list[str]]:
    columns: dict[int, list[str]] = {}
    for id_, place in places.items():
        columns.setdefault(place.rank, []).append(id_)
    return [columns[rank] for rank in sorted(columns)]


@given(GRAPHS)
@examples(100)
def test_every_step_has_a_place_of_its_own_and_links_lead_to_higher_ranks(graph: tuple[list[str], list[Pair]]) -> None:
    ids, links = graph[0], known(*graph)
    places = lay_out(ids, links)
    assert set(places) == set(ids)
    assert len(set(places.values())) == len(ids)
    for column in columns_of(places):
        assert [places[id_].order for id_ in column] == list(range(len(column)))
    forward = forward_links(sorted(ids), links)
    for source, target in forward:
        assert places[source].rank < places[target].rank
    for id_ in ids:
        before = [places[source].rank for source, target in forward if target == id_]
        assert places[id_].rank == max(before, default=-1) + 1
    path = longest_path(ids, links)
    assert len(path) == max(place.rank for place in places.values()) + 1
    assert set(pairwise(path)) <= forward


@given(GRAPHS)
@examples(100)
def test_only_links_that_close_a_circle_are_left_out(graph: tuple[list[str], list[Pair]]) -> None:
    ids, links = sorted(graph[0]), known(*graph)
    forward = forward_links(ids, links)

    def reaches(near: str, far: str) -> bool:
        seen, waiting = {near}, [near]
        while waiting:
            here = waiting.pop()
            for source, target in forward:
                if source == here and target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return far in seen

    assert forward <= set(links)
    assert all(source != target and not reaches(target, source) for source, target in forward)
    assert all(reaches(target, source) for source, target in set(links) - forward)


@given(GRAPHS, st.randoms())
@examples(50)
def test_a_layout_depends_on_no_order_and_crosses_no_more_than_one_by_id(
    graph: tuple[list[str], list[Pair]], rng: random.Random
) -> None:
    ids, links = list(graph[0]), known(*graph)
    layout = lay_out(ids, links)
    rng.shuffle(ids)
    rng.shuffle(links)
    assert lay_out(ids, links + links[:1]) == layout
    columns = columns_of(layout)
    forward = forward_links(sorted(ids), links)
    assert crossings(columns, forward) == counted(columns, forward)
    assert crossings(columns, forward) <= crossings([sorted(column) for column in columns], forward)


def counted(columns: Sequence[Sequence[str]], links: Iterable[Pair]) -> int:
    at = {id_: (rank, order) for rank, column in enumerate(columns) for order, id_ in enumerate(column)}
    near = sorted({(at[a], at[b]) for a, b in links if at[b][0] == at[a][0] + 1})
    return sum(a[0] == c[0] and a[1] < c[1] and b[1] > d[1] for i, (a, b) in enumerate(near) for c, d in near[i + 1 :])


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=40), st.randoms())
@examples(50)
def test_a_forest_is_laid_out_without_crossings(parents: list[int], rng: random.Random) -> None:
    ids = [f"n{at}" for at in range(len(parents))]
    rng.shuffle(ids)
    links = [(ids[parent % at], ids[at]) for at, parent in enumerate(parents) if at and parent % 7]
    layout = lay_out(ids, links)
    assert crossings(columns_of(layout), links) == 0


def random_plan(rng: random.Random) -> tuple[list[str], list[Pair]]:
    """Return a plan of any shape: a chain, a fan, ranks, or at random, with up to some thousand steps."""
    size = rng.choice([1, 5, 499, 500, 501, 700, 1_500])
    ids = [f"s{at}" for at in range(size)]
    match rng.choice(["chain", "fan", "ranks", "chains", "random", "circle"]):
        case "chain":
            links = list(pairwise(ids))
        case "fan":
            links = [(ids[0], id_) for id_ in ids[1:]]
        case "ranks":
            width = rng.randint(2, 60)
            links = [
                (ids[near], ids[far])
                for near in range(size)
                for far in range((near // width + 1) * width, min(size, (near // width + 2) * width))
                if rng.random() < 0.2
            ]
        case "chains":
            length = rng.choice([2, 10, 650])
            links = [(id_, ids[at + 1]) for at, id_ in enumerate(ids[:-1]) if at % length != length - 1]
        case "circle":
            links = [(id_, ids[(at + 1) % size]) for at, id_ in enumerate(ids)]
        case _:
            ends = [sorted(rng.sample(range(size), 2)) for _ in range(3 * size if size > 1 else 0)]
            links = [(ids[near], ids[far]) for near, far in ends]
    return ids, links


@given(st.integers(0, 10**9))
@examples(15)
def test_a_plan_of_any_size_is_shown_within_the_bounds_with_every_step_counted_once(seed: int) -> None:
    rng = random.Random(seed)
    ids, links = random_plan(rng)
    payload = payload_of(ids, links)
    drawing = draw_plan(RECORD, payload)
    check(drawing)
    assert drawing.collapsed == (len(ids) > MAX_NODES or len(set(links)) > MAX_LINKS)
    assert (drawing.step_count, drawing.link_count) == (len(ids), len(links))
    assert sum(step.count for step in drawing.steps) == len(ids)
    counts = {step.id: step.count for step in drawing.steps}
    longest = len(longest_path(ids, links))  # in steps, however they are grouped
    assert sum(counts[id_] for id_ in drawing.critical_path) >= longest
    if not drawing.collapsed:
        assert {step.id for step in drawing.steps} == set(ids)
        assert {(link.source, link.target) for link in drawing.links} == set(links)
        assert all(step.depth == step.rank for step in drawing.steps)
        assert len(drawing.critical_path) == longest
    assert opened(payload, drawing, rng) == drawing.step_count


def check(drawing: Drawing) -> None:
    """Check the bounds of a drawing, and that its links join its steps and lead to higher ranks where they can."""
    assert len(drawing.steps) <= MAX_NODES
    assert len({(link.source, link.target) for link in drawing.links}) <= MAX_LINKS
    assert len({step.id for step in drawing.steps}) == len(drawing.steps)
    assert len({(step.rank, step.order) for step in drawing.steps}) == len(drawing.steps)
    assert len({link.id for link in drawing.links}) == len(drawing.links)
    ranks = {step.id: step.rank for step in drawing.steps}
    assert all({link.source, link.target} <= ranks.keys() for link in drawing.links)
    assert [(step.rank, step.order) for step in drawing.steps] == sorted(
        (step.rank, step.order) for step in drawing.steps
    )
    assert len(set(drawing.critical_path)) == len(drawing.critical_path) > 0
    assert set(pairwise(drawing.critical_path)) <= {(link.source, link.target) for link in drawing.links}


def opened(payload: Mapping[str, Any], drawing: Drawing, rng: random.Random, depth: int = 0) -> int:
    """Return the number of steps shown, with those of groups, some of which are opened until only steps are left."""
    assert depth < 9, "opening groups must come to an end"
    groups = [step for step in drawing.steps if step.kind is StepKind.GROUP]
    for step in rng.sample(groups, min(2, len(groups))):
        inner = draw_plan(RECORD, payload, group=step.id)
        check(inner)
        assert inner.step_count == step.count > 1
        assert opened(payload, inner, rng, depth + 1) == step.count
    return sum(step.count for step in drawing.steps)


def members(ids: Sequence[str], links: Sequence[Pair], depth: int = 0) -> list[str]:
    """Return all steps by opening every group, group by group."""
    assert depth < 9
    found: list[str] = []
    for group in grouped(ids, links):
        within = set(group)
        inner = [pair for pair in links if within.issuperset(pair)]
        found += group if len(group) == 1 else members(group, inner, depth + 1)
    return found


@given(st.integers(0, 10**9))
@examples(10)
def test_no_chain_is_cut_unless_it_is_all_that_there_is(seed: int) -> None:
    ids, links = random_plan(random.Random(seed))
    groups = grouped(ids, links)
    if len(groups) == len(ids):
        return  # small enough to be shown step by step
    forward = forward_links(sorted(ids), links)
    after: dict[str, list[str]] = {id_: [] for id_ in ids}
    before: dict[str, list[str]] = {id_: [] for id_ in ids}
    for source, target in forward:
        after[source].append(target)
        before[target].append(source)
    in_chains = {(near, far) for near, far in forward if (after[near], before[far]) == ([far], [near])}
    group = {id_: at for at, members in enumerate(groups) for id_ in members}
    cuts = sum(group[near] != group[far] for near, far in in_chains)
    if len(in_chains) == len(ids) - 1:  # a single chain
        assert len(groups) == -(-len(ids) // MAX_NODES)
        assert max(map(len, groups)) - min(map(len, groups)) <= 1
        assert cuts == len(groups) - 1
    else:
        assert cuts == 0
        if len(ids) - len(in_chains) <= MAX_NODES and len(forward) - len(in_chains) <= MAX_LINKS:
            assert len(groups) == len(ids) - len(in_chains), "one group for each chain"


@given(st.integers(0, 10**9))
@examples(8)
def test_every_step_is_in_exactly_one_group_at_any_depth(seed: int) -> None:
    ids, links = random_plan(random.Random(seed))
    assert sorted(members(ids, links)) == sorted(ids)


def test_groups_of_a_plan_without_circles_form_no_circle() -> None:
    for seed in range(10):
        ids, links = random_plan(random.Random(seed))
        forward = forward_links(sorted(ids), links)
        groups = grouped(ids, forward)
        number = {id_: str(at) for at, members in enumerate(groups) for id_ in members}
        joined = {(number[a], number[b]) for a, b in forward if number[a] != number[b]}
        assert forward_links(sorted(set(number.values())), joined) == joined


def test_chains_become_groups_before_ranks_do() -> None:
    ids = [f"{chain:03}.{at}" for chain in range(100) for at in range(6)]
    links = [(id_, ids[at + 1]) for at, id_ in enumerate(ids[:-1]) if at % 6 != 5]
    drawing = draw_plan(RECORD, payload_of(ids, links))
    assert [(step.count, step.kind) for step in drawing.steps] == [(6, StepKind.GROUP)] * 100
    assert drawing.links == ()
    first = drawing.steps[0]
    assert first.label == "6 steps: op000.0, op000.1, op000.2, …"
    inner = draw_plan(RECORD, payload_of(ids, links), group=first.id)
    assert [(step.id, step.rank, step.depth) for step in inner.steps] == [(f"000.{at}", at, at) for at in range(6)]


def test_the_depth_of_a_grouped_step_is_that_in_the_whole_plan() -> None:
    ids = [f"{at:04}" for at in range(1_200)]
    drawing = draw_plan(RECORD, payload_of(ids, pairwise(ids)))
    assert [(step.rank, step.depth, step.count) for step in drawing.steps] == [
        (0, 0, 400),
        (1, 400, 400),
        (2, 800, 400),
    ]
    assert [link.count for link in drawing.links] == [1, 1]
    inner = draw_plan(RECORD, drawing.payload, group=drawing.steps[1].id)
    assert [(step.rank, step.depth, step.count) for step in inner.steps[:2]] == [(0, 400, 1), (1, 401, 1)]


def test_the_critical_path_leads_through_a_chain_however_short_its_group_looks() -> None:
    chain = [f"c{at:03}" for at in range(600)]
    way = ["start", "left", "middle", "right"]
    links = [("start", chain[0]), *pairwise(chain), *pairwise(way), ("start", "right")]
    drawing = draw_plan(RECORD, payload_of([*way, *chain], links))
    (group,) = (step for step in drawing.steps if step.kind is StepKind.GROUP and step.count == 600)
    assert drawing.critical_path == ("start", group.id)
    assert len(drawing.steps) == 4, "start, the chain, left to middle, and right"
    inner = draw_plan(RECORD, drawing.payload, group=group.id)
    assert [step.count for step in inner.steps] == [300, 300]
    assert inner.critical_path == tuple(step.id for step in inner.steps)


@pytest.mark.parametrize("group", ["", "#", "#9", "#-1", "#0.0", "s1", "##0", "#٣"])
def test_an_unknown_group_is_refused(group: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        draw_plan(RECORD, payload_of(["s1"], []), group=group)
    assert refused.value.path == ["group"]


def test_a_step_whose_id_looks_like_a_group_s_is_no_group() -> None:
    ids = ["#0", *(f"s{at}" for at in range(600))]
    drawing = draw_plan(RECORD, payload_of(ids, []))
    assert {step.id[:2] for step in drawing.steps if step.kind is StepKind.GROUP} == {"##"}
    group = next(step for step in drawing.steps if step.kind is StepKind.GROUP)
    assert draw_plan(RECORD, drawing.payload, group=group.id).step_count == group.count


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        (None, (None, None, StepStatus.UNTRIED)),
        ({}, (None, None, StepStatus.UNTRIED)),
        ({"execution_count": 0, "failure_count": 0}, (0, 0, StepStatus.UNTRIED)),
        ({"execution_count": 3}, (3, None, StepStatus.UNTRIED)),
        ({"execution_count": 3, "failure_count": 0}, (3, 0, StepStatus.SUCCEEDED)),
        ({"execution_count": 3, "failure_count": 1}, (3, 1, StepStatus.UNRELIABLE)),
        ({"execution_count": 3, "failure_count": 3}, (3, 3, StepStatus.FAILED)),
        ({"execution_count": "many"}, (None, None, StepStatus.UNTRIED)),
    ],
)
def test_a_step_shows_what_was_learned_of_it(
    metrics: Mapping[str, Any] | None, shown: tuple[int | None, int | None, StepStatus]
) -> None:
    more = {"metrics": metrics} if metrics is not None else {}
    (step,) = draw_plan(RECORD, payload_of(["a"], [], a=more)).steps
    assert (step.executions, step.failures, step.status) == shown


def test_a_group_shows_the_worst_of_its_steps() -> None:
    ids = [f"{at:04}" for at in range(501)]
    failed = {"metrics": {"execution_count": 1, "failure_count": 1}}
    drawing = draw_plan(RECORD, payload_of(ids, [], **{ids[0]: failed}))
    assert sum(step.status is StepStatus.FAILED for step in drawing.steps) == 1
    groups = [step for step in drawing.steps if step.kind is StepKind.GROUP]
    assert groups
    assert all((step.executions, step.failures) == (None, None) for step in groups)


def test_labels_and_kinds_and_ids_of_links() -> None:
    payload = payload_of(["a>b", "c", "d"], [("a>b", "c"), ("c", "d")], c={"op": "look at the log"})
    payload["nodes"][2] |= {"op": "ask the team", "params": {"tool": "chat"}, "label": "Ask\n the team"}
    payload["edges"] += [{"from": "c", "to": "d", "kind": "data"}, {"from": "c", "to": "d", "kind": "control"}]
    drawing = draw_plan(RECORD, payload, valid_to=NOON + timedelta(days=1))
    assert [(step.label, step.kind) for step in drawing.steps] == [
        ("opa>b", StepKind.TOOL),
        ("look at the log", StepKind.ACTION),
        ("Ask the team", StepKind.TOOL),
    ]
    assert [(link.id, link.count) for link in drawing.links] == [
        ("a%3Eb>c:control", 1),
        ("c>d:control", 2),
        ("c>d:data", 1),
    ]
    assert (drawing.valid_from, drawing.valid_to) == (NOON, NOON + timedelta(days=1))
