"""The number of examples of a long test: few in the suite, ten times as many under `make soak`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

SOAK = 10  # times as many examples


def repeated(number: int) -> int:
    """Return `number`, and SOAK times as many in the profile of `make soak`."""
    return number * (SOAK if settings.get_current_profile_name() == "soak" else 1)


def examples(number: int) -> settings:
    """Return settings with `number` examples and no deadline; with SOAK times as many in the profile of `make soak`."""
    return settings(max_examples=repeated(number), deadline=None, suppress_health_check=list(HealthCheck))
