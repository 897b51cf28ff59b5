"""The lifecycle of a record: how its salience decays and how the record may be deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.types.enums import Curve, DeletionPolicy
from stratagraph.store.model.salience import Salience


@strawberry.type(description="Parameters of the decay of a record's salience.")
class Decay:
    curve: Curve = strawberry.field(description="The curve that salience follows between two salience events.")
    half_life_seconds: float = strawberry.field(
        description="Time after which half of the salience is left, in seconds; at least 1."
    )
    min_salience: float = strawberry.field(description="Floor that decay does not go below, from 0 to 1.")
    max_age_seconds: float | None = strawberry.field(
        description="Age at which the salience becomes 0, in seconds since the record was created; null for no limit."
    )
    reinforcement_gain: float = strawberry.field(
        description="Amount that one reinforcement adds to the salience, at least 0; the sum is capped at 1."
    )


@strawberry.type(description="How a record's salience changes with time, and how the record may be deleted.")
class Lifecycle:
    decay: Decay = strawberry.field(description="Parameters of the decay.")
    last_reinforced_at: datetime | None = strawberry.field(
        description="Instant in UTC of the last reinforcement; null before the first."
    )
    pinned: bool = strawberry.field(description="Whether the salience is held at its present value.")
    deletion_policy: DeletionPolicy = strawberry.field(description="Rule for how the record may be deleted.")
    due_at: datetime | None = strawberry.field(
        description="Instant in UTC from which the record may be pruned unless something changes its salience before;"
        " null where time alone never makes it due. A thread's records wait for learning besides."
    )

    @classmethod
    def of(cls, salience: Salience) -> Self:
        return cls(
            decay=Decay(
                curve=salience.decay.curve,
                half_life_seconds=salience.decay.half_life_s,
                min_salience=salience.decay.min_salience,
                max_age_seconds=salience.decay.max_age_s,
                reinforcement_gain=salience.decay.reinforcement_gain,
            ),
            last_reinforced_at=salience.last_reinforced_at,
            pinned=salience.pinned,
            deletion_policy=salience.deletion_policy,
            due_at=salience.due_at(),
        )
