"""The number of examples of a long property test: few in the suite, ten times as many under `make soak`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

SOAK = 10  # times as many examples


def examples(number: int) -> settings:
    """Return settings with `number` examples and no deadline; with SOAK times as many in the profile of `make soak`."""
    times = SOAK if settings.get_current_profile_name() == "soak" else 1
    return settings(max_examples=number * times, deadline=None, suppress_health_check=list(HealthCheck))
