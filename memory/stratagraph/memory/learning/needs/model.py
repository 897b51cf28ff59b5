"""Which tools a task needs, by its words: a model made of kept examples, and what it says of a question. No I/O.

The model is regularised least squares, of each tool on the words of all tasks (Rifkin, Yeo and Poggio, "Regularized
least-squares classification", 2003). Words count by 1 + log of their frequency times their rarity, texts have length 1,
and an example counts by its outcome. The model follows from the set of examples alone: in whatever order or batches
these came, it is the same, and without an example it is the model of the others. What it says of each tool carries over
to combinations of tools that no example has. Beside it, the examples near to a question vote for the sets of tools that
they used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stratagraph.store.learning.examples import Example, split_keys
from stratagraph.store.model.enums import Outcome

# What set these values is in benchmarks/README.md, Learning.
REGULARISATION = 0.2  # lambda of least squares, beside a kernel of texts of length 1
MOST_RAISED = 2.0  # factor by which predictions are raised against the regularisation
LEAST, MOST = 0.02, 0.98  # bounds of the probability of a tool
NEARNESS = 3.0  # power by which the nearness of an example counts when it votes
VOTES_SHARE = 0.5  # weight of the logarithm of the votes beside the likelihood of a set of tools
NO_VOTE = 1e-4  # added to the votes, so that a set without any is not excluded
VOTE = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILURE: 0.1}  # a failed task still shows what it asked for
MAX_TERMS = 400  # different words of one task that count, the most frequent
MAX_TOOLS = 64  # of one task; one with more of them is no example
KNOWN_TOOLS = 500  # of one group that a model knows, those that most examples used
SHARED_TERMS = 20_000  # of one group by which its examples are compared, those that most of them have

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Family:
    """A set of tools that examples used, and the handle keys of the skill and of the plan with these tools."""

    tools: frozenset[bytes]
    skill: bytes
    plan: bytes


@dataclass(frozen=True)
class Needs:
    """What models say of a task: how near the nearest example is, which tools it needs, and the votes of examples.

    `near` is the nearness by all words of the task, and `alike` by those that some example has, both from 0 to 1: what
    a story tells beside a task makes it less near, and no less alike. `probable` is the probability of each known tool,
    and `votes` the weight of the near examples of each family.
    """

    near: float
    alike: float
    probable: Mapping[bytes, float]
    votes: Mapping[Family, float]

    def likelihood(self, tools: Collection[bytes]) -> float:
        """Return the logarithm of the probability that a task needs just these tools."""
        none, odds = self._odds
        return none + math.fsum(odds.get(tool, 0.0) for tool in set(tools))

    def score(self, tools: Collection[bytes]) -> float:
        """Return by how much a procedure with these tools fits the task; scores of one task can be compared."""
        votes = self._votes_of.get(frozenset(tools), 0.0)
        return self.likelihood(tools) + VOTES_SHARE * math.log(votes + NO_VOTE)

    @cached_property
    def _odds(self) -> tuple[float, dict[bytes, float]]:
        """The logarithm of the probability that a task needs no tool, and by how much each tool raises it."""
        odds = {tool: math.log(p) - math.log(1.0 - p) for tool, p in self.probable.items()}
        return math.fsum(math.log(1.0 - p) for p in self.probable.values()), odds

    @cached_property
    def _votes_of(self) -> Mapping[frozenset[bytes], float]:
        votes: dict[frozenset[bytes], float] = {}
        for family, vote in self.votes.items():
            votes[family.tools] = votes.get(family.tools, 0.0) + vote
        return votes


class ToolModel:
    """The model of one group. It may be used from several threads at once."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._terms: Numbers = arrays["terms"]  # ascending
        self._rarity: Floats = arrays["rarity"]
        self._rows: Numbers = arrays["rows"]  # of the examples, one for each of their terms
        self._places: Numbers = arrays["places"]  # of these terms
        self._values: Floats = arrays["values"]
        self._weights: Floats = arrays["weights"]  # examples by tools
        self._mean: Floats = arrays["mean"]  # share of the examples that used each tool, by their weights
        self._family: Numbers = arrays["family"]  # of each example
        self._vote: Floats = arrays["vote"]  # weight of each example, by its outcome
        self._tools = split_keys(arrays["tools"].tobytes())
        uses: NDArray[np.bool_] = arrays["uses"]  # families by tools
        keys = zip(split_keys(arrays["skills"].tobytes(), 32), split_keys(arrays["plans"].tobytes(), 32), strict=True)
        self._families = [
            Family(frozenset(self._tools[at] for at in np.flatnonzero(row)), skill, plan)
            for row, (skill, plan) in zip(uses, keys, strict=True)
        ]
        self._arrays = arrays

    @property
    def examples(self) -> int:
        """Number of examples that the model was made of."""
        return len(self._vote)

    @property
    def size(self) -> int:
        """Bytes that its arrays take."""
        return sum(one.nbytes for one in self._arrays.values())

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Self | None:
        """Return the model of examples, in the order of their episodes; None for none.

        Examples with a tool that is not among the KNOWN_TOOLS are left out.
        """
        counts = Counter(tool for one in examples for tool in one.tools)
        tools = sorted(sorted(counts, key=lambda tool: (-counts[tool], tool))[:KNOWN_TOOLS])
        if len(counts) > KNOWN_TOOLS:
            known = frozenset(tools)
            examples = [one for one in examples if known.issuperset(one.tools)]
        if not examples:
            return None
        column = {tool: at for at, tool in enumerate(tools)}
        used = np.zeros((len(examples), len(tools)), np.float32)
        families: dict[tuple[bytes, ...], int] = {}
        family = np.zeros(len(examples), np.int32)
        keys: list[Example] = []
        for row, one in enumerate(examples):
            used[row, [column[tool] for tool in one.tools]] = 1.0
            if one.tools not in families:
                families[one.tools] = len(keys)
                keys.append(one)
            family[row] = families[one.tools]
        terms, rarity, rows, places, values = _texts(examples)
        votes = np.array([VOTE[one.outcome] for one in examples], np.float32)
        mean = np.average(used, axis=0, weights=votes)
        kernel = _kernel(len(examples), len(terms), rows, places, values)
        kernel[np.diag_indices(len(examples))] += REGULARISATION / votes  # weighted least squares
        weights = _weights(np.linalg.inv(kernel), (used - mean).astype(np.float64), votes)
        uses = np.zeros((len(keys), len(tools)), np.bool_)
        for at, one in enumerate(keys):
            uses[at, [column[tool] for tool in one.tools]] = True
        return cls(
            {
                "terms": terms,
                "rarity": rarity,
                "rows": rows,
                "places": places,
                "values": values,
                "weights": weights.astype(np.float32),
                "mean": mean.astype(np.float32),
                "family": family,
                "vote": votes,
                "tools": np.frombuffer(b"".join(tools), np.uint8),
                "uses": uses,
                "skills": np.frombuffer(b"".join(one.skill for one in keys), np.uint8),
                "plans": np.frombuffer(b"".join(one.plan for one in keys), np.uint8),
            }
        )

    def as_bytes(self) -> bytes:
        """Return the model as bytes, which `of_bytes` reads."""
        written = BytesIO()
        np.savez(written, allow_pickle=False, **self._arrays)
        return written.getvalue()

    @classmethod
    def of_bytes(cls, stored: bytes) -> Self:
        """Return the model of `as_bytes`."""
        with np.load(BytesIO(stored), allow_pickle=False) as arrays:
            return cls({name: arrays[name] for name in arrays.files})

    def needs(self, said: Mapping[int, int]) -> Needs | None:
        """Return what a task needs whose terms occur as often as `said`; None where no example has one of them."""
        asked = np.zeros(len(self._terms), np.float32)
        unknown = 0.0
        rarest = math.log(1.0 + self.examples) + 1.0  # of a term that no example has
        for term, count in said.items():
            at = int(np.searchsorted(self._terms, term))
            weight = 1.0 + math.log(count)
            if at < len(self._terms) and self._terms[at] == term:
                asked[at] = weight * self._rarity[at]
            else:
                unknown += (weight * rarest) ** 2
        known = float(asked @ asked)
        if known <= 0.0:
            return None
        asked /= math.sqrt(known)
        alike = np.bincount(self._rows, self._values * asked[self._places], minlength=self.examples)
        probable = np.clip(self._mean + alike @ self._weights, LEAST, MOST)
        votes = np.bincount(self._family, self._vote * alike**NEARNESS, minlength=len(self._families))
        nearest = min(1.0, float(alike.max()))
        return Needs(
            near=nearest * math.sqrt(known / (known + unknown)),
            alike=nearest,
            probable={tool: float(p) for tool, p in zip(self._tools, probable, strict=True)},
            votes={one: float(vote) for one, vote in zip(self._families, votes, strict=True) if vote > 0.0},
        )


def combined(found: Sequence[tuple[Needs, int]]) -> Needs | None:
    """Return what several models say together, each given with the number of its examples; None for none.

    Of the models that know a tool, each counts by its examples and by its nearness, so that one of other tasks does
    not; and a tool that only models of other tasks know is less probable.
    """
    if not found:
        return None
    near = max(needs.near for needs, _ in found)
    if near <= 0.0:
        return None
    probable: dict[bytes, float] = {}
    for tool in sorted({tool for needs, _ in found for tool in needs.probable}):
        knowing = [(needs.probable[tool], needs.near / near, count) for needs, count in found if tool in needs.probable]
        weights = [count * nearness**NEARNESS for _, nearness, count in knowing]
        mean = sum(p * weight for (p, _, _), weight in zip(knowing, weights, strict=True)) / sum(weights)
        probable[tool] = max(LEAST, mean * max(nearness for _, nearness, _ in knowing))
    votes = Counter[Family]()
    for needs, _ in found:
        votes.update(needs.votes)
    return Needs(near, max(needs.alike for needs, _ in found), probable, votes)


def _texts(examples: Sequence[Example]) -> tuple[Numbers, Floats, Numbers, Numbers, Floats]:
    """Return the terms and their rarity, and of each term of each example its row, its place and its value."""
    lengths = [len(one.terms) for one in examples]
    flat = np.fromiter((term for one in examples for term in one.terms), np.int32, sum(lengths))
    counts = np.fromiter((count for one in examples for count in one.counts), np.float32, sum(lengths))
    rows = np.repeat(np.arange(len(examples), dtype=np.int32), lengths)
    terms, places, having = np.unique(flat, return_inverse=True, return_counts=True)
    rarity = (np.log((1.0 + len(examples)) / (1.0 + having)) + 1.0).astype(np.float32)
    values = (1.0 + np.log(counts)) * rarity[places]
    norms = np.sqrt(np.bincount(rows, values * values, minlength=len(examples)))
    values = values / norms[rows]
    return terms, rarity, rows, places.astype(np.int32), values.astype(np.float32)


def _kernel(examples: int, terms: int, rows: Numbers, places: Numbers, values: Floats) -> NDArray[np.float64]:
    """Return the products of all pairs of texts, by the SHARED_TERMS. Other terms only count beside themselves."""
    having = np.bincount(places, minlength=terms)
    shared = having > 1
    if int(shared.sum()) > SHARED_TERMS:
        shared = np.zeros(terms, np.bool_)
        shared[np.argsort(-having, kind="stable")[:SHARED_TERMS]] = True
    column = np.cumsum(shared) - 1
    kept = shared[places]
    texts = np.zeros((examples, int(shared.sum())), np.float32)
    texts[rows[kept], column[places[kept]]] = values[kept]
    kernel = (texts @ texts.T).astype(np.float64)
    kernel[np.diag_indices(examples)] = np.bincount(rows, values * values, minlength=examples)
    return kernel


def _weights(inverse: NDArray[Any], used: NDArray[Any], votes: Floats) -> NDArray[Any]:
    """Return the weights of examples, given the inverse of the kernel and by how much each is above the mean.

    Regularisation draws predictions towards the mean; how much, the predictions of each example by the others tell
    (Rifkin and Lippert, "Notes on regularized least squares", 2007), and the weights are raised by it.
    """
    weights = inverse @ used
    by_others = used - weights / np.diag(inverse)[:, None]
    explained = float((votes @ (by_others * by_others)).sum())
    raised = float((votes @ (by_others * used)).sum()) / explained if explained > 0.0 else 1.0
    raised_weights: NDArray[Any] = weights * min(MOST_RAISED, max(1.0, raised))
    return raised_weights
