"""Canonical forms of plans: equal exactly for plans that are the same graph with other names."""

from __future__ import annotations

import time

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.learning.plans.canonical import Link, canonical

Graph = tuple[dict[str, str], frozenset[Link]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Return a small DAG with few labels, so that two of them are often isomorphic."""
    count = draw(st.integers(1, 5))
    labels = {f"n{number}": draw(st.sampled_from("ab")) for number in range(count)}
    pairs = [(one, two) for two in range(count) for one in range(two)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    links = frozenset((f"n{one}", f"n{two}", draw(st.sampled_from(["data", "control"]))) for one, two in chosen)
    return labels, links


def as_networkx(graph: Graph) -> nx.DiGraph[str]:
    labels, links = graph
    found: nx.DiGraph[str] = nx.DiGraph()
    for node, label in labels.items():
        found.add_node(node, label=label)
    for source, target, kind in links:
        found.add_edge(source, target, kind=kind)
    return found


def are_isomorphic(one: Graph, other: Graph) -> bool:
    return nx.is_isomorphic(
        as_networkx(one),
        as_networkx(other),
        node_match=lambda a, b: a["label"] == b["label"],
        edge_match=lambda a, b: a["kind"] == b["kind"],
    )


@given(graphs(), graphs())
def test_forms_are_equal_exactly_for_isomorphic_graphs(one: Graph, other: Graph) -> None:
    assert (canonical(*one).form == canonical(*other).form) == are_isomorphic(one, other)


@given(graphs(), st.randoms(use_true_random=False))
def test_the_form_does_not_depend_on_names(graph: Graph, random: object) -> None:
    labels, links = graph
    names = list(labels)
    random.shuffle(names)  # type: ignore[attr-defined]
    other = {node: f"m{names.index(node)}" for node in labels}
    moved = (
        {other[node]: label for node, label in labels.items()},
        frozenset((other[source], other[target], kind) for source, target, kind in links),
    )
    assert canonical(*moved).form == canonical(*graph).form


@pytest.mark.parametrize(("chains", "length"), [(12, 2), (30, 1), (6, 4)])
def test_equal_branches_are_compared_once_each(chains: int, length: int) -> None:
    """Without the automorphisms that are found on the way, 12 equal chains would be compared in 12! orders."""

    def of(names: list[str]) -> Graph:
        labels, links = {"root": "root"}, set()
        for name in names:
            before = "root"
            for step in range(length):
                labels[f"{name}.{step}"] = "step"
                links.add((before, f"{name}.{step}", "data"))
                before = f"{name}.{step}"
        return labels, frozenset(links)

    forward = [f"c{number:02}" for number in range(chains)]
    assert canonical(*of(forward)).form == canonical(*of(forward[::-1])).form


def test_graphs_that_colour_refinement_cannot_tell_apart_have_different_forms() -> None:
    """Two triangles of undirected links, and one hexagon: every node has two neighbours like itself."""

    def both_ways(pairs: list[tuple[int, int]]) -> Graph:
        links = {(f"n{one}", f"n{two}", "data") for one, two in pairs} | {
            (f"n{two}", f"n{one}", "data") for one, two in pairs
        }
        return {f"n{number}": "a" for number in range(6)}, frozenset(links)

    triangles = both_ways([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    hexagon = both_ways([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
    assert canonical(*triangles).form != canonical(*hexagon).form


@pytest.mark.parametrize("shape", ["apart", "chain", "branches"])
@pytest.mark.parametrize("count", [200, 2000])
def test_a_plan_of_very_many_equal_steps_has_its_form_at_once(shape: str, count: int) -> None:
    """Within a second, and whatever its steps are called."""
    links_of = {
        "apart": [],
        "chain": [(n, n + 1) for n in range(count - 1)],
        "branches": [(0, n) for n in range(1, count)],
    }

    def of(names: list[str]) -> Graph:
        return dict.fromkeys(names, "step"), frozenset((names[one], names[two], "data") for one, two in links_of[shape])

    names = [f"n{number:04}" for number in range(count)]
    began = time.process_time()
    form = canonical(*of(names)).form
    assert time.process_time() - began < 1
    assert canonical(*of(names[::-1])).form == form
    assert canonical(*of(names[1:] + names[:1])).form == form
    labels, links = of(names)
    assert canonical(labels | {names[0]: "other"}, links).form != form


def test_forms_of_graphs_that_need_little_work_do_not_change() -> None:
    """Names of learned steps are made from them."""
    labels = {"a": "x", "b": "x", "c": "y"}
    found = canonical(labels, [("a", "c", "data"), ("b", "c", "control")])
    assert found.form == (("x", "x", "y"), ((0, 2, "control"), (1, 2, "data")))
    assert found.order == ("b", "a", "c")
