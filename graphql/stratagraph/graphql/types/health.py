"""The state of the service, as `health` reports it."""

from __future__ import annotations

import strawberry


@strawberry.type(description="State of one part of the service.")
class HealthCheck:
    name: str = strawberry.field(description="The part that was checked: database, feed, jobs or mirror.")
    ok: bool = strawberry.field(description="Whether the part works.")
    detail: str = strawberry.field(description="State in words, for people; not meant to be parsed.")


@strawberry.type(description="State of the service.")
class Health:
    ok: bool = strawberry.field(
        description="Whether the service can read and write. Neither a failing mirror nor a failing job counts"
        " against it."
    )
    version: str = strawberry.field(description="Release number of the running server.")
    checks: list[HealthCheck] = strawberry.field(description="The checks behind `ok`, one per part of the service.")
