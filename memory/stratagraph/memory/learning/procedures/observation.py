"""Everything that was observed of one skill or plan, as a state that can be merged, shrunk and stored. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import reduce
from typing import Any, Self

from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.procedures import tasks as tasks_
from stratagraph.memory.learning.procedures.effects import ToolEvidence, evidence_of
from stratagraph.memory.learning.procedures.errors import failures_of, reason_of, remedies_of
from stratagraph.memory.learning.procedures.origins import trace_calls
from stratagraph.memory.learning.procedures.step_statistics import StepStatistics
from stratagraph.memory.learning.procedures.steps import Steps, steps_of
from stratagraph.memory.learning.procedures.structures import Structure, simplest
from stratagraph.memory.learning.procedures.tasks import Task, newest_tasks, tasks_of
from stratagraph.memory.learning.procedures.witnesses import ShownValues, Witness
from stratagraph.store.model.clock import rfc3339

MAX_FAILURES = 24  # different failure modes and fallbacks that are kept, those seen last
MAX_CONDITIONS = 32  # keys of environments
MAX_SETTINGS = 6  # different values of one of them; more are no condition
OUTCOMES = ("success", "failure", "partial")  # an episode without an outcome teaches nothing of a procedure


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What was observed of the procedure with the tools `tools`, a sorted tuple.

    `outcomes` counts episodes by outcome, and `latency_ms` is the sum of the milliseconds that `timed` of them took.
    `last_at` is when the last one closed (RFC 3339). `conditions` are the values of the environments of successes.
    `evidence` shows which tools change state.
    """

    tools: tuple[str, ...]
    outcomes: Mapping[str, int] = field(default_factory=dict)
    latency_ms: float = 0.0
    timed: int = 0
    last_at: str = ""
    tasks: tuple[Task, ...] = ()
    conditions: Mapping[str, ShownValues] = field(default_factory=dict)
    steps: Mapping[str, StepStatistics] = field(default_factory=dict)
    structures: tuple[Structure, ...] = ()
    failures: ShownValues = field(default_factory=ShownValues)
    remedies: ShownValues = field(default_factory=ShownValues)
    evidence: Mapping[str, ToolEvidence] = field(default_factory=dict)

    @property
    def successes(self) -> int:
        return self.outcomes.get("success", 0)

    @property
    def failed(self) -> int:
        return self.outcomes.get("failure", 0)

    @property
    def episodes(self) -> int:
        return sum(self.outcomes.values())

    def merged(self, other: Observation) -> Observation:
        """Return what was observed in both, which must have the same tools and no episode in common."""
        conditions = {
            key: _values_of(self, key).merged(_values_of(other, key), most=MAX_SETTINGS)
            for key in sorted({*self.conditions, *other.conditions})[:MAX_CONDITIONS]
        }
        return Observation(
            tools=self.tools,
            outcomes=dict(sorted((Counter(self.outcomes) + Counter(other.outcomes)).items())),
            latency_ms=self.latency_ms + other.latency_ms,
            timed=self.timed + other.timed,
            last_at=max(self.last_at, other.last_at),
            tasks=newest_tasks((*self.tasks, *other.tasks)),
            conditions=conditions,
            steps=_united(self.steps, other.steps, StepStatistics.merged),
            structures=simplest((*self.structures, *other.structures)),
            failures=self.failures.newest_merged(other.failures, most=MAX_FAILURES),
            remedies=self.remedies.newest_merged(other.remedies, most=MAX_FAILURES),
            evidence=_united(self.evidence, other.evidence, ToolEvidence.merged),
        )

    def forgetting(self, episodes: Collection[str]) -> Observation:
        """Return the observation without words, values and structures that only `episodes` are known to have shown.

        The counts stay: they say nothing of an episode. One structure stays in any case, since all episodes of a
        procedure used the same tools.
        """
        known = (one.forgetting(episodes) for one in self.structures)
        kept = [one for one in known if one is not None] or list(self.structures[:1])
        conditions = {key: one.forgetting(episodes) for key, one in self.conditions.items()}
        return replace(
            self,
            tasks=tasks_.forgetting(self.tasks, episodes),
            conditions={key: one for key, one in conditions.items() if one.values},
            steps={name: one.forgetting(episodes) for name, one in self.steps.items()},
            structures=tuple(kept),
            failures=self.failures.forgetting(episodes),
            remedies=self.remedies.forgetting(episodes),
        )

    def rests_on(self, episodes: Collection[str]) -> bool:
        """Return whether one of `episodes` is known to have shown something of it."""
        witnesses: dict[Witness, int] = {}
        self._parts(witnesses)
        return any(one.episode in episodes for one in witnesses)

    def as_json(self) -> dict[str, Any]:
        """Return the observation as JSON, which `of_json` reads.

        Episodes are named once, under `episodes`, and by their numbers there everywhere else.
        """
        episodes: dict[Witness, int] = {}
        return {**self._parts(episodes), "episodes": [[one.at, one.episode] for one in episodes]}

    def _parts(self, episodes: dict[Witness, int]) -> dict[str, Any]:
        """Return the parts of the JSON with the numbers of episodes, which are added to `episodes`."""
        return {
            "tools": list(self.tools),
            "outcomes": dict(self.outcomes),
            "latency_ms": self.latency_ms,
            "timed": self.timed,
            "last_at": self.last_at,
            "tasks": [one.as_json(episodes) for one in self.tasks],
            "conditions": {key: one.as_json(episodes) for key, one in self.conditions.items()},
            "steps": {name: one.as_json(episodes) for name, one in self.steps.items()},
            "structures": [one.as_json(episodes) for one in self.structures],
            "failures": self.failures.as_json(episodes),
            "remedies": self.remedies.as_json(episodes),
            "evidence": {tool: one.as_json() for tool, one in self.evidence.items()},
        }

    @classmethod
    def of_state(cls, state: Mapping[str, Any] | None) -> Self | None:
        """Return the observation of a stored state; None without one, and for one that cannot be read."""
        try:
            return None if state is None else cls.of_json(state)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the observation of `as_json`, whatever the order of the keys in `stored` is."""
        episodes = [Witness(str(at), str(id_)) for at, id_ in stored["episodes"]]
        return cls(
            tools=tuple(stored["tools"]),
            outcomes=dict(sorted(stored["outcomes"].items())),
            latency_ms=float(stored["latency_ms"]),
            timed=int(stored["timed"]),
            last_at=str(stored["last_at"]),
            tasks=tuple(Task.of_json(one, episodes) for one in stored["tasks"]),
            conditions={key: ShownValues.of_json(one, episodes) for key, one in sorted(stored["conditions"].items())},
            steps={name: StepStatistics.of_json(one, episodes) for name, one in sorted(stored["steps"].items())},
            structures=tuple(Structure.of_json(one, episodes) for one in stored["structures"]),
            failures=ShownValues.of_json(stored["failures"], episodes),
            remedies=ShownValues.of_json(stored["remedies"], episodes),
            evidence={tool: ToolEvidence.of_json(one) for tool, one in sorted(stored["evidence"].items())},
        )


def observe(episode: Episode) -> Observation | None:
    """Return what one episode shows; None for one without a call or without an outcome."""
    if not episode.calls or episode.outcome not in OUTCOMES:
        return None
    at = rfc3339(episode.closed_at.astimezone(UTC))
    witness = Witness(at, str(episode.id))
    traced = trace_calls(episode)
    steps = steps_of(traced)
    took = _took_ms(episode)
    calls = [one.call for one in traced]
    failures = [*failures_of(calls), *([reason] if (reason := reason_of(episode)) else [])]
    return Observation(
        tools=tuple(sorted({call.tool for call in calls})),
        outcomes={episode.outcome: 1},
        latency_ms=took or 0.0,
        timed=int(took is not None),
        last_at=at,
        tasks=tasks_of(episode, episode.outcome, witness),
        conditions=_conditions(episode, witness),
        steps=_statistics(steps, witness),
        structures=(Structure.of(steps, episode.outcome, witness),),
        failures=_shown(failures, witness),
        remedies=_shown(remedies_of(calls), witness) if episode.outcome == "success" else ShownValues(),
        evidence=evidence_of(traced),
    )


def _took_ms(episode: Episode) -> float | None:
    """Return the milliseconds that the calls of an episode took together; None if none of them was timed."""
    times = [call.latency_ms for call in episode.calls if call.latency_ms is not None]
    return sum(times) if times else None


def _statistics(steps: Steps, witness: Witness) -> dict[str, StepStatistics]:
    found = {
        step.name: StepStatistics.of(step.tool, step.calls, place=place, witness=witness)
        for place, step in enumerate(steps.steps)
    }
    return dict(sorted(found.items()))


def _conditions(episode: Episode, witness: Witness) -> dict[str, ShownValues]:
    if episode.outcome != "success":
        return {}
    plain = {
        key: value
        for key, value in sorted(episode.environment.items())
        if isinstance(value, str | int | float | bool) and len(str(value)) <= 200
    }
    return {key: ShownValues.one(value, witness) for key, value in list(plain.items())[:MAX_CONDITIONS]}


def _shown(texts: Any, witness: Witness) -> ShownValues:
    one = (ShownValues.one(text, witness, count=count) for text, count in sorted(Counter(texts).items()))
    return reduce(lambda found, more: found.newest_merged(more, most=MAX_FAILURES), one, ShownValues())


def _values_of(observation: Observation, key: str) -> ShownValues:
    return observation.conditions.get(key) or ShownValues()


def _united(one: Mapping[str, Any], other: Mapping[str, Any], merge: Any) -> dict[str, Any]:
    found = dict(one)
    for key, value in other.items():
        found[key] = merge(found[key], value) if key in found else value
    return dict(sorted(found.items()))
