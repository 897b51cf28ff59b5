"""The bound on the times that callers give for what has happened (docs/specification.md, Capture)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.errors import InvalidInput

MAX_AHEAD = timedelta(minutes=5)  # of the service's clock, for the time of an event or of evidence


def refuse_future(instant: datetime, now: datetime, *, path: Sequence[str]) -> None:
    """Raise InvalidInput if the time of an event lies more than MAX_AHEAD after `now`."""
    if instant > now + MAX_AHEAD:
        raise InvalidInput(
            f"{'.'.join(path)}: {rfc3339(instant)} is more than {MAX_AHEAD.seconds // 60} minutes ahead of the"
            f" service's clock ({rfc3339(now)}); an event has happened already. Correct the time, or give what will"
            " hold later as a fact with validity.start.",
            path=list(path),
        )
