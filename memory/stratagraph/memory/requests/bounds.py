"""The bounds of times and numbers in requests (docs/specification.md, Capture)."""

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


def check_between(name: str, value: float, least: int, most: int) -> None:
    """Raise InvalidInput, whose path is the argument `name`, unless `value` is from `least` to `most`."""
    if not least <= value <= most:
        raise InvalidInput(
            f"{name}: {value} is not between {least} and {most}; choose a number in that range", path=[name]
        )
