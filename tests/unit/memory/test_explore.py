"""The best paths between two records, and plan steps in a given order, compared with exhaustive search."""

from __future__ import annotations

import math
from itertools import pairwise, permutations, product
from typing import Any
from uuid import UUID

import networkx as nx
from fix_memory import NOON
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.explore.routes import adjacency_of, best_routes
from stratagraph.store.model.records import Relation
from stratagraph.store.traversal.plan_steps import STEPS_APART, steps_in_order

RECORDS = 6
WEIGHTS = (0.0, 0.25, 0.5, 0.5, 1.0, 1 / 3)
OPS = ("build", "test", "ship")


def relation(number: int, ends: tuple[int, int], weight: float) -> Relation:
    source, target = (UUID(int=end) for end in ends)
    return Relation(id=UUID(int=number), source=source, target=target, predicate="p", weight=weight, created_at=NOON)


ends = st.tuples(st.integers(0, RECORDS - 1), st.integers(0, RECORDS - 1)).filter(lambda pair: pair[0] != pair[1])
relations = st.lists(st.tuples(ends, st.sampled_from(WEIGHTS)), max_size=18).map(
    lambda found: [relation(number, *one) for number, one in enumerate(found, 1)]
)


@given(relations, st.integers(1, 10), st.integers(1, 6))
def test_the_best_paths_come_first_and_none_is_missing(found: list[Relation], k: int, max_hops: int) -> None:
    around = adjacency_of(found)
    start, goal = UUID(int=0), UUID(int=RECORDS - 1)
    inner = [UUID(int=number) for number in range(1, RECORDS - 1)]
    every = [
        (start, *between, goal)
        for size in range(min(len(inner), max_hops - 1) + 1)
        for between in permutations(inner, size)
        if all(far in around.get(near, {}) for near, far in pairwise((start, *between, goal)))
    ]
    weights = {ids: math.prod(around[near][far].weight for near, far in pairwise(ids)) for ids in every}
    expected = sorted(every, key=lambda ids: (len(ids), -round(weights[ids], 12), [id_.int for id_ in ids]))
    routes, whole = best_routes(around, start, goal, k=k, max_hops=max_hops)
    assert whole
    assert [route.ids for route in routes] == expected[:k]
    for route in routes:
        assert math.isclose(route.weight, weights[route.ids])
        for (near, far), one in zip(pairwise(route.ids), route.relations, strict=True):
            assert {near, far} == {one.source, one.target}
            assert one.weight == max(other.weight for other in found if {other.source, other.target} == {near, far})


def test_path_search_ends_in_a_graph_with_too_many_paths_to_enumerate() -> None:
    """Records 2 to 59 are all joined with each other; record 0 is joined with all of them, record 1 with none."""
    clique = [
        relation(100 * near + far, (near, far), 1.0) for near in range(2, 60) for far in range(2, 60) if near < far
    ]
    start, goal = UUID(int=0), UUID(int=1)
    joined = [*clique, *(relation(10_000 + far, (0, far), 1.0) for far in range(2, 60))]
    routes, whole = best_routes(adjacency_of(joined), start, goal, k=10, max_hops=6)
    assert (routes, whole) == ([], True)
    joined.append(relation(20_000, (2, 1), 1.0))
    routes, whole = best_routes(adjacency_of(joined), start, goal, k=10, max_hops=6)
    assert whole
    assert [len(route.relations) for route in routes] == [2, *[3] * 9]


plans = st.integers(1, 6).flatmap(
    lambda size: st.tuples(
        st.lists(st.sampled_from(OPS), min_size=size, max_size=size),
        st.sets(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda pair: pair[0] < pair[1])),
    )
)


@given(plans, st.lists(st.sampled_from(OPS), min_size=1, max_size=4))
def test_steps_are_found_in_order_exactly_if_the_plan_has_them(
    plan: tuple[list[str], set[tuple[int, int]]], ops: list[str]
) -> None:
    of, edges = plan
    payload = {
        "nodes": [{"id": f"s{number}", "op": op} for number, op in enumerate(of)],
        "edges": [{"from": f"s{near}", "to": f"s{far}", "kind": "data"} for near, far in edges],
    }
    after: Any = nx.transitive_closure(nx.DiGraph(edges)).edges
    candidates = product(*([number for number, op in enumerate(of) if op == wanted] for wanted in ops))
    possible = [steps for steps in candidates if all(pair in after for pair in pairwise(steps))]
    found = steps_in_order(payload, ops)
    if found is None:
        assert not possible
    else:
        assert tuple(int(step[1:]) for step in found) in possible


def test_steps_are_found_up_to_the_maximum_distance_apart() -> None:
    for apart, found in ((STEPS_APART, True), (STEPS_APART + 1, False)):
        nodes = [{"id": str(number), "op": f"op{number}"} for number in range(apart + 1)]
        edges = [{"from": str(number), "to": str(number + 1)} for number in range(apart)]
        steps = steps_in_order({"nodes": nodes, "edges": edges}, ["op0", f"op{apart}"])
        assert (steps is not None) is found
