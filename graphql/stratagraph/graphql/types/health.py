"""The state of the service, as `health` reports it."""

from __future__ import annotations

from datetime import datetime
from typing import Self

import strawberry

from stratagraph.graphql.services import HealthReport, Report


@strawberry.type(description="State of one part of the service.")
class HealthCheck:
    name: str = strawberry.field(
        description="The part that was checked: database, clock, feed, jobs, mirror, embedder or processes."
    )
    ok: bool = strawberry.field(description="Whether the part works.")
    detail: str = strawberry.field(description="State in words, for people; not meant to be parsed.")
    checked_at: datetime = strawberry.field(description="Instant at which the part was checked.")
    age_seconds: float = strawberry.field(description="How long ago the part was checked, in seconds.")
    stale: bool = strawberry.field(
        description="Whether the part could not be checked lately, so that `detail` is of the past."
    )

    @classmethod
    def of(cls, report: Report) -> Self:
        return cls(
            name=report.name,
            ok=report.ok,
            detail=report.detail,
            checked_at=report.checked_at,
            age_seconds=round(report.age_s, 3),
            stale=report.is_stale,
        )


@strawberry.type(description="State of the service.")
class Health:
    ok: bool = strawberry.field(
        description="Whether the service works as it should; `/healthz` answers 503 where it does not. It is false"
        " while the database does not answer, accepts no writes or has no free connection, the clocks differ, a job"
        " keeps failing, or the mirror is behind by more than the configured lag. A server may answer requests all the"
        " same: `/readyz` says whether it does."
    )
    version: str = strawberry.field(description="Release number of the running server.")
    checks: list[HealthCheck] = strawberry.field(description="The checks behind `ok`, one per part of the service.")

    @classmethod
    def of(cls, report: HealthReport, version: str) -> Self:
        return cls(ok=report.ok, version=version, checks=[HealthCheck.of(check) for check in report.checks])
