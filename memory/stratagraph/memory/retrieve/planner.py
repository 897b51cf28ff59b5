"""Which engine walks: by what walks have cost, by how fresh the mirror is, and by whether it answers at all.

Pure: no I/O, and the time is an argument, in seconds of any clock that only goes forward.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.traversal.neighbourhood import Limits

Preference = Literal["auto", "sql", "neo4j"]
EngineName = Literal["sql", "neo4j"]

SIZES = (32, 128, 512)  # records; what may be found, by which walks are told apart
MAX_LAG_S = 5.0  # beyond it `auto` does without the mirror: recall would suffer, and it is busy catching up
WORTH = 0.9  # `auto` asks the mirror where it takes at most this part of the time; a tie is not worth its staleness
HALF_LIFE_S = 300.0  # after which an observation counts half, so that a day's load does not decide the next one's
MEMORY = 30.0  # observations that count; else a busy class would take as many to notice a change
PRIOR_WEIGHT = 1.0  # observations that the prior counts for
PATIENCE = 4.0  # times what SQL would take, before `auto` gives the mirror up: the walk costs at most five times SQL's
LEAST_PATIENCE_S = 0.05  # a pause of the collector of garbage is no reason to give up
PREFERRED_PATIENCE = 20.0  # times what SQL would take, where the mirror shall take load off the truth
LEAST_PREFERRED_PATIENCE_S = 1.0  # the first walk after a start compiles the statement
MOST_PATIENCE_S = 2.0
REST_S = 5.0  # the mirror is left alone after a failure
PROBE_EVERY_S = 10.0  # of each class of walks, at most


class Work(NamedTuple):
    """A class of walks that cost about the same: how far, and how many records they may find (a place in SIZES)."""

    hops: int
    size: int

    @classmethod
    def of(cls, limits: Limits) -> Work:
        """Whatever is found has an edge that leads to it, so the smaller of the two budgets is the size."""
        return cls(limits.hops, bisect_left(SIZES, min(limits.nodes, limits.edges)))

    @property
    def expanded(self) -> float:
        """About how many records are expanded: each leads to ten, until the budget is used up."""
        most = SIZES[self.size] if self.size < len(SIZES) else 1_000
        return float(min(most, 10**self.hops))


@dataclass(frozen=True, slots=True)
class Prior:
    """What an engine costs before anything is known, in milliseconds: for each level, and for each record expanded."""

    level_ms: float
    record_ms: float

    def ms(self, work: Work) -> float:
        return work.hops * self.level_ms + work.expanded * self.record_ms


# About what the project's sync study measured with both on one machine, where SQL was the quicker one throughout.
PRIORS: dict[EngineName, Prior] = {"sql": Prior(0.3, 0.018), "neo4j": Prior(3.5, 0.045)}


@dataclass(slots=True)
class Cost:
    """What walks of one class take in one engine: the mean of their logarithms, which a few slow ones hardly move.

    Older observations fade, and without newer ones the prior comes back.
    """

    prior_ms: float
    mean: float = 0.0
    weight: float = 0.0
    at: float = 0.0

    def ms(self, now: float) -> float:
        weight = self._faded(now)
        return math.exp((PRIOR_WEIGHT * math.log(self.prior_ms) + weight * self.mean) / (PRIOR_WEIGHT + weight))

    def observe(self, ms: float, now: float) -> None:
        weight = self._faded(now)
        self.mean = (weight * self.mean + math.log(max(ms, 1e-3))) / (weight + 1)
        self.weight, self.at = min(weight + 1, MEMORY), now

    def _faded(self, now: float) -> float:
        return float(self.weight * 0.5 ** (max(0.0, now - self.at) / HALF_LIFE_S))


@dataclass(slots=True)
class Breaker:
    """After a failure the mirror rests, so that a down one does not cost every request its time-out. Then one walk in
    the background, for which nobody waits, tells whether it is back."""

    reason: str | None = None
    until: float = 0.0

    def fail(self, reason: str, now: float) -> bool:
        """True if this is news."""
        news = self.reason is None
        self.reason, self.until = reason, now + REST_S
        return news

    def answered(self) -> bool:
        """True if this is news."""
        news = self.reason is not None
        self.reason = None
        return news

    def trial_is_due(self, now: float) -> bool:
        return self.reason is not None and now >= self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The engine to ask, how long it may take, and why it is not the one that would have been asked."""

    engine: EngineName
    within_s: float = math.inf
    fallback: str | None = None


@dataclass(slots=True)
class Planner:
    """What one process knows about its engines."""

    preference: Preference
    costs: dict[tuple[EngineName, Work], Cost] = field(default_factory=dict)
    breaker: Breaker = field(default_factory=Breaker)
    probed: dict[Work, float] = field(default_factory=dict)

    def plan(self, work: Work, fresh: Freshness | None, now: float) -> Plan:
        """Which engine should walk, given what the truth knows of its mirror."""
        if self.preference == "sql" or (self.preference == "auto" and not self._pays(work, now)):
            return Plan(engine="sql")
        against = self._against(fresh)
        if against is not None:
            return Plan(engine="sql", fallback=against)
        return Plan(engine="neo4j", within_s=self.patience_s(work, now))

    def cost_ms(self, engine: EngineName, work: Work, now: float) -> float:
        return self._cost(engine, work).ms(now)

    def knows(self, engine: EngineName, work: Work) -> bool:
        """Whether any such walk was timed in that engine."""
        return (engine, work) in self.costs and self.costs[engine, work].weight > 0

    def patience_s(self, work: Work, now: float) -> float:
        """How long the mirror may take before SQL is asked instead."""
        sql_s = self.cost_ms("sql", work, now) / 1_000
        if self.preference == "neo4j":
            return min(MOST_PATIENCE_S, max(LEAST_PREFERRED_PATIENCE_S, PREFERRED_PATIENCE * sql_s))
        return min(MOST_PATIENCE_S, max(LEAST_PATIENCE_S, PATIENCE * sql_s))

    def observe(self, engine: EngineName, work: Work, ms: float, now: float) -> None:
        """A walk that somebody asked for took `ms`."""
        self._cost(engine, work).observe(ms, now)

    def compare(
        self, engine: EngineName, work: Work, ms: float, *, beside: tuple[EngineName, float], now: float
    ) -> None:
        """A probe took `ms` in one engine for what had taken the other as long as `beside` says.

        A walk at a hub tells more about the hub than about the engine. So what is learned is how the two compare, and
        some ten probes tell them apart where raw times would take hundreds.
        """
        other, took = beside
        usual = self.cost_ms(other, work, now)
        self._cost(engine, work).observe(ms * usual / max(took, 1e-3), now)

    def probe(self, work: Work, engine: EngineName, fresh: Freshness | None, now: float) -> EngineName | None:
        """The engine to try in the background on a walk that `engine` has just done, if it is time to. Counts as done.

        Where one engine is preferred the other one's cost does not matter, but whether the mirror is back does.
        """
        if self.preference == "sql" or fresh is None or not fresh.whole:
            return None
        if self.breaker.reason is not None:
            if not self.breaker.trial_is_due(now):
                return None
            self.breaker.until = now + REST_S
            return "neo4j"
        if self.preference == "neo4j" or fresh.seconds > MAX_LAG_S:
            return None
        if now - self.probed.get(work, -math.inf) < PROBE_EVERY_S:
            return None
        self.probed[work] = now
        return "neo4j" if engine == "sql" else "sql"

    def _pays(self, work: Work, now: float) -> bool:
        return self.cost_ms("neo4j", work, now) <= WORTH * self.cost_ms("sql", work, now)

    def _against(self, fresh: Freshness | None) -> str | None:
        """Why the mirror cannot be asked now, if so."""
        if fresh is None:
            return "nothing is known of the mirror yet"
        if not fresh.whole:
            return "the mirror is being filled"
        if self.breaker.reason is not None:
            return f"the mirror failed a moment ago: {self.breaker.reason}"
        if self.preference == "auto" and fresh.seconds > MAX_LAG_S:
            return f"the mirror is {fresh.seconds:.0f} s behind"
        return None

    def _cost(self, engine: EngineName, work: Work) -> Cost:
        cost = self.costs.get((engine, work))
        if cost is None:
            cost = self.costs[engine, work] = Cost(PRIORS[engine].ms(work))
        return cost
