"""The circuit breaker of the mirror. Pure: the time is an argument, in seconds of any clock that never runs back."""

from __future__ import annotations

from dataclasses import dataclass

REST_S = 5.0  # seconds for which a mirror that failed is not asked


@dataclass(slots=True)
class Breaker:
    """Open after a failure, so that a mirror that is down does not cost every request its deadline.

    Once REST_S has passed, one trial in the background shows whether the mirror answers again; no request waits for it.
    `failure` is the reason of the last failure while the breaker is open, and None while it is closed.
    """

    failure: str | None = None
    trial_due_at: float = 0.0

    def open(self, failure: str, now: float) -> bool:
        """Open for another REST_S seconds; return True if it was closed."""
        was_closed = self.failure is None
        self.failure, self.trial_due_at = failure, now + REST_S
        return was_closed

    def close(self) -> bool:
        """Close; return True if it was open."""
        was_open = self.failure is not None
        self.failure = None
        return was_open

    def start_trial(self, now: float) -> bool:
        """Return True if a trial is due, and put off the next one by REST_S seconds."""
        if self.failure is None or now < self.trial_due_at:
            return False
        self.trial_due_at = now + REST_S
        return True
