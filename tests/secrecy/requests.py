"""Any caller and any request of `retrieveGraph`: values for each of its arguments, valid ones and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fix_memory import NOON
from graphql import GraphQLInputObjectType
from hypothesis import strategies as st
from noninterference.questions import graphql_schema
from noninterference.steps import LEVELS
from noninterference.stores import STEP
from secrecy.stores import CURRENT_MARK, NAMES, PLACE_MARK, PREDICATES, SCOPES, TAG_MARK, WORDS, MarkedStore

from stratagraph.store.model.enums import Access, MemoryType, Sensitivity
from stratagraph.store.model.trust import Trust

Json = dict[str, Any]
ELSEWHERE = "project:cedar"  # where nothing is

_MARKS = st.builds(
    lambda form, number: form.format(number),
    st.sampled_from([PLACE_MARK, CURRENT_MARK, TAG_MARK, "Firm " + PLACE_MARK, "Works " + PLACE_MARK]),
    st.integers(0, 13),
)
_PARTS = (
    st.sampled_from([*NAMES, "Alise Stone", "Quary", *(one.replace("_", " ") for one in PREDICATES), *WORDS])
    | st.sampled_from(["last week", "in June 2026", "the latest", "before", '"Acme Corp"', '"of Quarry"', "why?"])
    | _MARKS
)
_TASKS = st.lists(_PARTS, min_size=2, max_size=5).map(" ".join)

# By argument. An instant or a sequence is made when the store is there.
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "taskDescriptor": _TASKS,
    "memoryTypes": st.lists(st.sampled_from([one.name for one in MemoryType]), max_size=3),
    "minSalience": st.sampled_from([0.0, 0.4, 0.9, 1.0]),
    "rootLimit": st.sampled_from([1, 2, 3, 10, 100]),
    "nodeLimit": st.sampled_from([1, 2, 5, 25, 1000]),
    "edgeLimit": st.sampled_from([0, 1, 3, 100, 5000]),
    "maxHops": st.sampled_from([0, 1, 2, 3, 6]),
    "context": st.dictionaries(st.sampled_from(["env", "os"]), st.sampled_from(["prod", "linux"]) | _MARKS),
    "asOf": st.integers(-1, 13),  # the number of a step, as far as there are so many
    "atLeastSequence": st.just("last"),
    "tokenBudget": st.sampled_from([1, 60, 500, 4000]),
    # The caller's own, unless ELSEWHERE is among them, and a level up to the ceiling, unless it is the last.
    "scopes": st.lists(st.sampled_from([*SCOPES, *SCOPES, ELSEWHERE]), max_size=2),
    "maxSensitivity": st.sampled_from([*Sensitivity, None]),
}
_FUTURE = 10**6
# Refused, and the refusal must not tell anything either.
_REFUSED: tuple[Json, ...] = (
    {"taskDescriptor": " "}, {"minSalience": 1.5}, {"rootLimit": 0}, {"maxHops": 7}, {"asOf": _FUTURE},
    {"tokenBudget": 0}, {"atLeastSequence": "0"}, {"context": ["env"]},
)  # fmt: skip
LARGE = {"rootLimit": 100, "nodeLimit": 1000, "edgeLimit": 5000, "maxHops": 3, "tokenBudget": 4000}
_NEEDED = {"taskDescriptor"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A caller by its scopes and ceiling, the arguments of its request, and whether vectors are searched, too."""

    scopes: frozenset[str] | None
    ceiling: Sensitivity
    arguments: Mapping[str, Any]
    by_vectors: bool

    def trust(self, tenant: str) -> Trust:
        return Trust(tenant=tenant, actor="caller", access=Access.READ, ceiling=self.ceiling, scopes=self.scopes)

    def input(self, store: MarkedStore) -> Json:
        """Return the input of the request to a store."""
        given = dict(self.arguments)
        if "asOf" in given:
            last = given["asOf"] if given["asOf"] == _FUTURE else min(given["asOf"], len(store.steps) - 1)
            given["asOf"] = (NOON + (last + 0.7) * STEP).isoformat()
        if "scopes" in given and self.scopes is not None and ELSEWHERE not in given["scopes"]:
            given["scopes"] = [one for one in given["scopes"] if one in self.scopes]
        if "maxSensitivity" in given:
            level = given["maxSensitivity"]
            given["maxSensitivity"] = LEVELS[-1 if level is None else min(level, self.ceiling)]
        if given.get("atLeastSequence") == "last":
            given["atLeastSequence"] = store.sequence
        return given


def _varied(arguments: Json) -> st.SearchStrategy[Json]:
    """Return the arguments as they are, with large limits, or with one that is refused."""
    large = [LARGE | arguments] * 8 + [arguments | LARGE] * 16
    return st.sampled_from([*large, *[arguments] * 8, *(arguments | refused for refused in _REFUSED)])


REQUESTS = st.lists(
    st.builds(
        Asked,
        scopes=st.none() | st.frozensets(st.sampled_from(SCOPES[1:])),
        ceiling=st.sampled_from(list(Sensitivity)),
        arguments=st.fixed_dictionaries(
            {name: ARGUMENTS[name] for name in _NEEDED},
            optional={name: values for name, values in ARGUMENTS.items() if name not in _NEEDED},
        ).flatmap(_varied),
        by_vectors=st.booleans(),
    ),
    min_size=8,
    max_size=16,
)


def arguments_of_schema() -> set[str]:
    """Return the names of all arguments that `retrieveGraph` has."""
    type_ = graphql_schema().get_type("RetrieveGraphInput")
    assert isinstance(type_, GraphQLInputObjectType)
    return set(type_.fields)
