"""Options that the imports share, and what they mean."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from stratagraph.store.model.enums import DeletionPolicy
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.trust import SINGLE_USER, Trust

if TYPE_CHECKING:
    from stratagraph.memory.capture.request import Retention

Scope = Annotated[str | None, typer.Option(help="Scope of the imported records, such as project:x. Default: unscoped.")]
HalfLife = Annotated[float, typer.Option(help="Days in which the salience halves, above 0 and below 100000.")]
Prune = Annotated[
    bool, typer.Option("--auto-prune", help="Let the service prune the records once their salience has decayed.")
]
RestoreErased = Annotated[
    bool, typer.Option("--restore-erased", help="Import again what was erased; it counts as erased no longer.")
]


def zone_of(name: str | None) -> ZoneInfo | None:
    """Return the zone of that name. Raises InvalidInput if there is none."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"--timezone: there is no zone {name!r}; use a name such as Europe/Berlin or UTC", path=["--timezone"]
        ) from None


def importer(tenant: str) -> Trust:
    """Return the trust of an import: full access to the tenant, since the command runs with access to the database."""
    return replace(SINGLE_USER, tenant=tenant, actor="import")


def retention_of(half_life_days: float, auto_prune: bool) -> Retention:
    """Return the lifecycle of imported records. Raises InvalidInput for a half-life that is out of bounds."""
    from stratagraph.memory.capture.request import Retention

    if not 0 < half_life_days < 100_000:
        raise InvalidInput(
            f"--half-life-days: {half_life_days:g} is not above 0 and below 100000 days", path=["--half-life-days"]
        )
    return Retention(
        half_life_s=max(1.0, timedelta(days=half_life_days).total_seconds()),
        deletion_policy=DeletionPolicy.AUTO_PRUNE if auto_prune else DeletionPolicy.MANUAL_ONLY,
    )
