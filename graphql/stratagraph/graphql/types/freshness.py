"""Which engine answered a graph query, and how current its data was."""

from __future__ import annotations

import strawberry

from stratagraph.graphql.types.enums import Engine


@strawberry.type(description="Engine that answered, and how current its data was.")
class Freshness:
    engine: Engine = strawberry.field(description="The engine that traversed the graph.")
    fallback: str | None = strawberry.field(
        description="Why the Neo4j mirror was not used; null where the preferred engine answered."
    )
    mirror_lag_seconds: float | None = strawberry.field(
        description="How far the mirror was behind the database at most, in seconds: it had every change committed"
        " earlier than that. Null without a mirror, and where that is not known."
    )
