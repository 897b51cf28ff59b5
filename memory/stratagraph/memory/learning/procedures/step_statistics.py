"""What was observed of one step over many episodes. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from stratagraph.memory.learning.procedures.arguments import Argument, arguments_of
from stratagraph.memory.learning.procedures.origins import TracedCall
from stratagraph.memory.learning.procedures.witnesses import Witness

MAX_ARGUMENTS = 64  # of one step; the first by their paths


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStatistics:
    """Sums over episodes: `executions` of the step and `failures`, those whose last call failed.

    `calls` counts every call, `failed_calls` those that failed. `latency_ms` is the sum over `timed` executions of the
    milliseconds that their calls took. `place` is the sum of the step's places in its episodes, the first being 0.
    """

    tool: str
    executions: int = 0
    failures: int = 0
    calls: int = 0
    failed_calls: int = 0
    latency_ms: float = 0.0
    timed: int = 0
    place: int = 0
    arguments: Mapping[str, Argument] = field(default_factory=dict)

    @classmethod
    def of(cls, tool: str, calls: Sequence[TracedCall], *, place: int, witness: Witness) -> Self:
        """Return the statistics of one execution."""
        times = [one.call.latency_ms for one in calls if one.call.latency_ms is not None]
        arguments = arguments_of([one.call.args for one in calls], [one.origins for one in calls], witness)
        return cls(
            tool=tool,
            executions=1,
            failures=int(calls[-1].call.failed),
            calls=len(calls),
            failed_calls=sum(1 for one in calls if one.call.failed),
            latency_ms=sum(times),
            timed=int(bool(times)),
            place=place,
            arguments={path: arguments[path] for path in sorted(arguments)[:MAX_ARGUMENTS]},
        )

    def merged(self, other: StepStatistics) -> StepStatistics:
        """Return the sums of both."""
        paths = sorted({*self.arguments, *other.arguments})[:MAX_ARGUMENTS]
        return StepStatistics(
            tool=self.tool,
            executions=self.executions + other.executions,
            failures=self.failures + other.failures,
            calls=self.calls + other.calls,
            failed_calls=self.failed_calls + other.failed_calls,
            latency_ms=self.latency_ms + other.latency_ms,
            timed=self.timed + other.timed,
            place=self.place + other.place,
            arguments={
                path: (self.arguments.get(path) or Argument()).merged(other.arguments.get(path) or Argument())
                for path in paths
            },
        )

    def forgetting(self, episodes: Collection[str]) -> StepStatistics:
        """Return the same counts with the arguments that others than `episodes` showed."""
        kept = {path: one.forgetting(episodes) for path, one in self.arguments.items()}
        return StepStatistics(
            tool=self.tool,
            executions=self.executions,
            failures=self.failures,
            calls=self.calls,
            failed_calls=self.failed_calls,
            latency_ms=self.latency_ms,
            timed=self.timed,
            place=self.place,
            arguments={path: one for path, one in kept.items() if one is not None},
        )

    def as_json(self, episodes: dict[Witness, int]) -> dict[str, Any]:
        """Return the statistics as JSON, which `of_json` reads."""
        return {
            "tool": self.tool,
            "executions": self.executions,
            "failures": self.failures,
            "calls": self.calls,
            "failed_calls": self.failed_calls,
            "latency_ms": self.latency_ms,
            "timed": self.timed,
            "place": self.place,
            "arguments": {path: one.as_json(episodes) for path, one in self.arguments.items()},
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any], episodes: Sequence[Witness]) -> Self:
        """Return the statistics of `as_json`."""
        arguments = {path: Argument.of_json(one, episodes) for path, one in sorted(stored["arguments"].items())}
        return cls(**{**stored, "arguments": arguments})
