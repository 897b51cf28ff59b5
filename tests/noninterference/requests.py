"""Random requests of `retrieveGraph`: values for each of its arguments, valid ones and others."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fix_memory import NOON
from graphql import GraphQLInputObjectType
from noninterference.questions import graphql_schema
from noninterference.steps import HIDDEN, LEVELS, NAMES, REDACTED, STEP, WORDS, Sight

from stratagraph.store.model.enums import MemoryType

Json = dict[str, Any]
ELSEWHERE = "project:cedar"  # where nothing is
_PARTS = (
    *NAMES, "Alise Stone", "Quary", "Alice Reed", "Bob Marley", "Quarrie", "Acmee", "lives in", "knows", *WORDS,
    "last week", "in June 2026", "the latest", "before",
    '"Acme Corp"', '"of Quarry"', "why?", HIDDEN, REDACTED, "zs1s", "zs2s", "zs3s",
)  # fmt: skip
LARGE = {"rootLimit": 100, "nodeLimit": 1000, "edgeLimit": 5000, "maxHops": 3, "tokenBudget": 4000}
LAST = "last"  # instead of the sequence of the last write of the store that is asked
# Refused, and the refusal must not tell anything either.
_REFUSED: tuple[Json, ...] = (
    {"taskDescriptor": " "}, {"minSalience": 1.5}, {"rootLimit": 0}, {"maxHops": 7},
    {"asOf": "2999-01-01T00:00:00Z"}, {"tokenBudget": 0}, {"atLeastSequence": "0"}, {"context": ["env"]},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, of a story of so many steps."""

    rng: random.Random
    sight: Sight
    steps: int

    def instant(self) -> str:
        return (NOON + (self.rng.randint(-1, self.steps - 1) + 0.7) * STEP).isoformat()

    def scopes(self) -> list[str]:
        """Return scopes of the caller's own, rarely with one that has nothing; or one that it may not ask for."""
        own = ["", *(self.sight.scopes if self.sight.scopes is not None else ("project:a", "project:b"))]
        return self.rng.sample([*own, ELSEWHERE], self.rng.randint(0, 2))

    def level(self) -> str:
        return self.rng.choice(LEVELS[: self.sight.ceiling + 1] if self.rng.random() < 0.9 else LEVELS)


ARGUMENTS: Mapping[str, Callable[[Asking], Any]] = {
    "taskDescriptor": lambda by: " ".join(by.rng.choices(_PARTS, k=by.rng.randint(2, 5))),
    "memoryTypes": lambda by: by.rng.sample([one.name for one in MemoryType], by.rng.randint(0, 3)),
    "minSalience": lambda by: by.rng.choice([0.0, 0.4, 0.9, 1.0]),
    "minStrength": lambda by: by.rng.choice([0.0, 0.2, 0.6, 1.0]),
    "excludeThreadIds": lambda by: by.rng.sample(["t", "u", "w", HIDDEN], by.rng.randint(0, 2)),
    "rootLimit": lambda by: by.rng.choice([1, 2, 3, 10, 100]),
    "nodeLimit": lambda by: by.rng.choice([1, 2, 5, 25, 1000]),
    "edgeLimit": lambda by: by.rng.choice([0, 1, 3, 100, 5000]),
    "maxHops": lambda by: by.rng.choice([0, 1, 2, 3, 6]),
    "hopTypes": lambda by: [
        by.rng.sample([one.name for one in MemoryType], by.rng.randint(0, 3)) for _ in range(by.rng.randint(0, 2))
    ],
    "citationStyle": lambda by: by.rng.choice(["RECORD_ID", "NUMBER"]),
    "context": lambda by: {by.rng.choice(["env", "os"]): by.rng.choice(["prod", "linux", HIDDEN])},
    "asOf": Asking.instant,
    "validAt": Asking.instant,
    "atLeastSequence": lambda _: LAST,
    "tokenBudget": lambda by: by.rng.choice([1, 60, 500, 4000]),
    "scopes": Asking.scopes,
    "maxSensitivity": Asking.level,
}


def requests(rng: random.Random, sight: Sight, steps: int, number: int) -> list[Json]:
    """Return inputs of requests; half of them are for nearly everything, and a few are refused."""
    by = Asking(rng, sight, steps)
    made = []
    for _ in range(number):
        given = {name: value(by) for name, value in ARGUMENTS.items() if rng.random() < 0.5}
        given["taskDescriptor"] = given.get("taskDescriptor") or ARGUMENTS["taskDescriptor"](by)
        large = [given | LARGE] * 16 + [LARGE | given] * 8 + [given] * 8
        made.append(rng.choice([*large, *(given | refused for refused in _REFUSED)]))
    return made


def arguments_of_schema() -> set[str]:
    """Return the names of all arguments that `retrieveGraph` has."""
    type_ = graphql_schema().get_type("RetrieveGraphInput")
    assert isinstance(type_, GraphQLInputObjectType)
    return set(type_.fields)
