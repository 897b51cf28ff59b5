"""What a stage of learning is, what it is given, and what it reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, Self
from uuid import UUID

from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.learner import Learner
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.learning.groups import Group
from stratagraph.store.postgres.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of learning. `now` is the instant at which it began, fixed for the whole run, also when it is resumed."""

    id: UUID
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningBatch:
    """Some due episodes of one group, in the order of their closing instants and ids, and what a stage needs for them.

    `connection` is in the transaction of the batch, in which every stage learns and the episodes are marked; a stage
    neither commits nor opens another one. `caller` may read exactly what its group may: its scope and unscoped records,
    up to its sensitivity. What is learned of this group must follow from records of exactly its scope and sensitivity.
    `learner` writes as the actor `consolidation/<stage>`, and logs what it writes, so that the run can be undone.
    """

    connection: Connection
    directory: Directory
    caller: Caller
    group: Group
    run: Run
    episodes: tuple[Episode, ...]
    learner: Learner


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """What a stage did in one batch, or in all batches of a run: numbers that can be added.

    `inputs` counts what it looked at (episodes, or pairs of a comparison), `outputs` the records that it created or
    revised, `merges` those that it joined or reinforced. `skips` counts by reason, in words for people, what it left
    out. `cost` has further totals by unit, such as {"tokens": 1200}.
    """

    inputs: int = 0
    outputs: int = 0
    merges: int = 0
    skips: Mapping[str, int] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)

    def __add__(self, other: Self) -> StageReport:
        return StageReport(
            inputs=self.inputs + other.inputs,
            outputs=self.outputs + other.outputs,
            merges=self.merges + other.merges,
            skips=dict(Counter(self.skips) + Counter(other.skips)),
            cost={unit: self.cost.get(unit, 0.0) + other.cost.get(unit, 0.0) for unit in [*self.cost, *other.cost]},
        )

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON, from which `from_json` makes it again."""
        return {
            "inputs": self.inputs,
            "outputs": self.outputs,
            "merges": self.merges,
            "skips": dict(self.skips),
            "cost": dict(self.cost),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the report of `as_json`."""
        return cls(**{name: stored[name] for name in ("inputs", "outputs", "merges", "skips", "cost")})


class Stage(Protocol):
    """One kind of learning. It is called once for each batch of due episodes, in the order of `stages.build_stages`.

    `name` names the stage in reports, on the command line and in the mark on episodes; it never changes. It may be
    called again with the same episodes only after a rollback: whatever it decides must follow from the batch, the
    stored records and `run.now`, never from a clock, a random number, the order of a set, or state that it keeps.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    async def learn(self, batch: LearningBatch) -> StageReport:
        """Learn from the episodes of the batch, by the writes of `batch.learner`.

        An exception rolls the batch back; it is then halved, and an episode that fails alone is set aside and tried
        again later.
        """
        ...
