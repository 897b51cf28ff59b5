"""The limits of fair use, as the settings give them."""

from __future__ import annotations

from dataclasses import dataclass, field

from stratagraph.store.keys.rate_buckets import Rate
from stratagraph.store.postgres.database import POOL_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class FairUse:
    """The limits of one process. `rate` and `single_user_rate` hold for all processes of a service together.

    `requests` is the number of requests that one credential may send to one process; the single user is exempt.

    `heavy_cost` is the cost from which an operation is heavy; `heavy` of these run at a time, one of each credential.
    `running` operations run at a time, `running_share` of each credential, and `waiting` of each credential wait for
    each kind of slot. `transfers` requests with a large body or an artifact run at a time, `transfers_share` of each
    credential. `subscriptions` are open at a time, `subscriptions_share` of each credential. One credential holds at
    most `connections_share` connections of the database. The single user may have all of each.
    """

    rate: Rate = field(default_factory=lambda: Rate(per_second=500, burst=5_000))
    requests: Rate = field(default_factory=lambda: Rate(per_second=100, burst=200))
    single_user_rate: Rate = field(default_factory=lambda: Rate(per_second=5_000, burst=100_000))
    deadline_s: float = 30.0
    heavy_cost: float = 200.0
    heavy: int = 1
    running: int = 16
    running_share: int = 4
    waiting: int = 32
    transfers: int = 8
    transfers_share: int = 2
    subscriptions: int = 1_000
    subscriptions_share: int = 100
    connections: int = POOL_SIZE
    connections_share: int = 3
