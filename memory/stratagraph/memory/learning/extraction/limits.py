"""How much may be asked of a language model for one tenant between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

REQUESTS = 200  # unless the settings say otherwise
TOKENS = 500_000
INTERVAL = timedelta(hours=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What may be asked for on behalf of one tenant: requests, and tokens of requests and answers together.

    In one run, and beside the runs within their `interval`.
    """

    requests: int = REQUESTS
    tokens: int = TOKENS
    interval: timedelta = INTERVAL

    @property
    def is_nothing(self) -> bool:
        """Whether nothing may be asked."""
        return self.requests <= 0 or self.tokens <= 0

    def shared(self, share: float) -> Limits:
        """Return a share of the limits, at least one request."""
        return replace(
            self, requests=min(self.requests, max(1, int(self.requests * share))), tokens=int(self.tokens * share)
        )


@dataclass(slots=True)
class Budget:
    """What is left of the limits of a run. A request that has been sent counts, whatever came of it."""

    requests: int
    tokens: int

    @classmethod
    def left(cls, limits: Limits, *spent: Mapping[str, float]) -> Budget:
        """Return what is left of `limits` after the costs `spent`, by unit as in the report of a run."""
        requests, tokens = (int(sum(costs.get(unit, 0) for costs in spent)) for unit in ("requests", "tokens"))
        return cls(limits.requests - requests, limits.tokens - tokens)

    @property
    def is_spent(self) -> bool:
        return self.requests <= 0 or self.tokens <= 0

    def exceeds(self, limits: Limits) -> bool:
        """Return whether more than `limits` is left, in requests and in tokens."""
        return self.requests > limits.requests and self.tokens > limits.tokens

    def spend_all(self) -> None:
        """Leave nothing of the budget."""
        self.requests = self.tokens = 0

    def cost_since(self, before: Budget) -> dict[str, float]:
        """Return what was spent since the budget was `before`, by unit; empty if nothing was."""
        requests, tokens = before.requests - self.requests, before.tokens - self.tokens
        return {"requests": float(requests), "tokens": float(tokens)} if requests or tokens else {}
