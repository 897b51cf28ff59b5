"""The structures that the episodes of a procedure had: steps, links, and how often each was carried out. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from stratagraph.memory.learning.plans.canonical import Link
from stratagraph.memory.learning.procedures.steps import Steps
from stratagraph.memory.learning.procedures.witnesses import (
    Witness,
    Witnesses,
    newest,
    without,
    witnesses_as_json,
    witnesses_of_json,
)

MAX_STRUCTURES = 16  # kept of one procedure: those with the fewest steps, so that it stays the simplest way


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The tools by the names of the steps, the links between these, and the number of episodes by outcome."""

    hash: str
    steps: tuple[tuple[str, str], ...]
    links: tuple[Link, ...]
    outcomes: Mapping[str, int]
    by: Witnesses

    @classmethod
    def of(cls, steps: Steps, outcome: str, witness: Witness) -> Self:
        """Return the structure of one episode."""
        return cls(
            hash=steps.structure,
            steps=tuple(sorted((step.name, step.tool) for step in steps.steps)),
            links=steps.links,
            outcomes={outcome: 1},
            by=(witness,),
        )

    @property
    def episodes(self) -> int:
        return sum(self.outcomes.values())

    def forgetting(self, episodes: Collection[str]) -> Structure | None:
        """Return the structure as others than `episodes` showed it; None if none is known to have."""
        by = without(self.by, episodes)
        if not by:
            return None
        return Structure(hash=self.hash, steps=self.steps, links=self.links, outcomes=self.outcomes, by=by)

    def as_json(self, episodes: dict[Witness, int]) -> dict[str, Any]:
        """Return the structure as JSON, which `of_json` reads."""
        return {
            "hash": self.hash,
            "steps": [list(one) for one in self.steps],
            "links": [list(one) for one in self.links],
            "outcomes": dict(self.outcomes),
            "by": witnesses_as_json(self.by, episodes),
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any], episodes: Sequence[Witness]) -> Self:
        """Return the structure of `as_json`."""
        return cls(
            hash=stored["hash"],
            steps=tuple((name, tool) for name, tool in stored["steps"]),
            links=tuple((source, target, kind) for source, target, kind in stored["links"]),
            outcomes=dict(sorted(stored["outcomes"].items())),
            by=witnesses_of_json(stored["by"], episodes),
        )


def simplest(structures: Iterable[Structure]) -> tuple[Structure, ...]:
    """Return the structures, equal ones as one, the simplest first; of more than MAX_STRUCTURES, the simplest."""
    found: dict[str, Structure] = {}
    for one in structures:
        known = found.get(one.hash)
        found[one.hash] = one if known is None else _united(known, one)
    return tuple(sorted(found.values(), key=lambda one: (len(one.steps), one.hash))[:MAX_STRUCTURES])


def _united(one: Structure, other: Structure) -> Structure:
    outcomes = dict(sorted((Counter(one.outcomes) + Counter(other.outcomes)).items()))
    by = newest((*one.by, *other.by))
    return Structure(hash=one.hash, steps=one.steps, links=one.links, outcomes=outcomes, by=by)
