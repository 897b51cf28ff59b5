"""A canonical form of directed graphs with labels: equal for two graphs exactly if one is the other renamed. No I/O.

Colours are refined as in the Weisfeiler-Leman test, which alone does not distinguish all graphs; where it leaves a
choice, each possible node is singled out in turn, and the smallest form wins. Choices that an automorphism found before
makes equal are tried once (McKay and Piperno, "Practical graph isomorphism, II", 2014).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MAX_LEAVES = 200  # orders compared; only graphs of strange symmetry need more, and then two equal ones may differ
MOST_WORK = 200_000  # nodes and links looked at, some tenths of a second; beyond, the refined colours are the form
Link = tuple[str, str, str]  # from, to, kind
Form = tuple[tuple[str, ...], tuple[tuple[int, int, str], ...]]  # labels in order; links between places in that order
_Colours = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Canonical:
    """The form of a graph, and the order of its nodes in which it was written."""

    form: Form
    order: tuple[str, ...]


def canonical(labels: Mapping[str, str], links: Collection[Link]) -> Canonical:
    """Return the canonical form of a graph, given the label of each node and the links between them.

    Two graphs with equal forms are isomorphic, labels and kinds of links included. The converse holds too, but for
    graphs whose symmetries need more than MAX_LEAVES comparisons. For a graph that needs more than MOST_WORK, the form
    is that of its refined colours, with links between colours: equal for graphs that refinement does not distinguish.
    """
    return _Search(labels, sorted(set(links))).search()


@dataclass(slots=True)
class _Choice:
    """Nodes that the colours do not distinguish, and those singled out so far; `chosen` led to these colours."""

    colours: dict[str, int]
    chosen: tuple[str, ...]
    cell: list[str]
    at: int = 0
    tried: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Search:
    labels: Mapping[str, str]
    links: Sequence[Link]
    best: Canonical | None = None
    best_path: tuple[str, ...] = ()
    leaves: int = 0
    work: int = 0
    automorphisms: list[dict[str, str]] = field(default_factory=list)
    _around: dict[str, list[tuple[bool, str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._around = {node: [] for node in self.labels}
        for source, target, kind in self.links:
            self._around[source].append((True, kind, target))
            self._around[target].append((False, kind, source))

    def refined(self, colours: _Colours) -> dict[str, int]:
        """Return colours that distinguish nodes with different labels or neighbours, too; ranks keep their order."""
        current = dict(colours)
        while True:
            keys = {
                node: (
                    colour,
                    self.labels[node],
                    tuple(sorted((out, kind, current[other]) for out, kind, other in self._around[node])),
                )
                for node, colour in current.items()
            }
            ranks = {key: rank for rank, key in enumerate(sorted(set(keys.values())))}
            after = {node: ranks[key] for node, key in keys.items()}
            self.work += len(keys) + 2 * len(self.links)
            if len(ranks) == len(set(current.values())) or self.work >= MOST_WORK:
                return after
            current = after

    def search(self) -> Canonical:
        """Return the smallest form of the orders of the nodes that the labels and links leave open.

        Orders known to give equal forms are left out. Where a way leads to the form of the best order, the search goes
        back to where it left the way to that order: what it has left there is the same with other names.
        """
        first = self.refined(dict.fromkeys(self.labels, 0))
        open_ = [_Choice(first, (), self._first_cell(first))]
        while open_:
            if self.work >= MOST_WORK:
                return self._coloured(first)
            choice = open_[-1]
            if not choice.cell:
                open_.pop()
                if self._compare(tuple(sorted(choice.colours, key=choice.colours.__getitem__)), choice.chosen):
                    while open_ and self.best_path[: len(open_[-1].chosen)] != open_[-1].chosen:
                        open_.pop()
                continue
            node = self._next_of(choice)
            if node is None:
                open_.pop()
                continue
            choice.tried.append(node)
            marked = {other: 2 * colour + (other != node) for other, colour in choice.colours.items()}
            after = self.refined(marked)
            open_.append(_Choice(after, (*choice.chosen, node), self._first_cell(after)))
        assert self.best is not None
        return self.best

    def _coloured(self, colours: _Colours) -> Canonical:
        """Return the form of the colours, which does not depend on names, and an order of the nodes by them."""
        order = tuple(sorted(colours, key=lambda node: (colours[node], node)))
        links = sorted((colours[source], colours[target], kind) for source, target, kind in self.links)
        return Canonical((tuple(self.labels[node] for node in order), tuple(links)), order)

    def _next_of(self, choice: _Choice) -> str | None:
        """Return the next node to single out; None if there is none that is not known to be like one tried before."""
        if self.leaves >= MAX_LEAVES and choice.tried:
            return None
        while choice.at < len(choice.cell):
            node = choice.cell[choice.at]
            choice.at += 1
            if not any(node in self._orbit(one, choice.chosen) for one in choice.tried):
                return node
        return None

    def _first_cell(self, colours: _Colours) -> list[str]:
        """Return the nodes of the first colour that several have, in order of their names; empty without one."""
        cells: dict[int, list[str]] = {}
        for node in sorted(colours):
            cells.setdefault(colours[node], []).append(node)
        return next((cells[colour] for colour in sorted(cells) if len(cells[colour]) > 1), [])

    def _orbit(self, node: str, fixed: Iterable[str]) -> set[str]:
        """Return the nodes to which the automorphisms that keep `fixed` in place are known to move `node`."""
        moves = [one for one in self.automorphisms if all(one[kept] == kept for kept in fixed)]
        orbit, open_ = {node}, [node]
        while open_:
            reached = open_.pop()
            for move in moves:
                if move[reached] not in orbit:
                    orbit.add(move[reached])
                    open_.append(move[reached])
        self.work += len(orbit) * len(moves)
        return orbit

    def _compare(self, order: tuple[str, ...], chosen: tuple[str, ...]) -> bool:
        """Compare one order of all nodes with the best one; return whether it gives the same form."""
        self.leaves += 1
        self.work += len(order) + len(self.links)
        place = {node: at for at, node in enumerate(order)}
        links = sorted((place[source], place[target], kind) for source, target, kind in self.links)
        form = (tuple(self.labels[node] for node in order), tuple(links))
        if self.best is not None and form == self.best.form:
            there = dict(zip(self.best.order, order, strict=True))
            self.automorphisms += [there, {value: key for key, value in there.items()}]
            return True
        if self.best is None or form < self.best.form:
            self.best, self.best_path = Canonical(form, order), chosen
        return False
