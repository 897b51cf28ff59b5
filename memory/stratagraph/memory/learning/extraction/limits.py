"""How much one run may ask of a language model for one tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REQUESTS = 200  # unless the settings say otherwise
TOKENS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may ask for on behalf of one tenant: requests, and tokens of requests and answers together."""

    requests: int = REQUESTS
    tokens: int = TOKENS


@dataclass(slots=True)
class Budget:
    """What is left of the limits of a run. A request that has been sent counts, whatever came of it."""

    requests: int
    tokens: int

    @classmethod
    def left(cls, limits: Limits, spent: Mapping[str, float]) -> Budget:
        """Return what is left of `limits` after the costs `spent`, by unit as in the report of a run."""
        return cls(limits.requests - int(spent.get("requests", 0)), limits.tokens - int(spent.get("tokens", 0)))

    @property
    def is_spent(self) -> bool:
        return self.requests <= 0 or self.tokens <= 0

    def spend_all(self) -> None:
        """Leave nothing of the budget."""
        self.requests = self.tokens = 0

    def cost_since(self, before: Budget) -> dict[str, float]:
        """Return what was spent since the budget was `before`, by unit; empty if nothing was."""
        requests, tokens = before.requests - self.requests, before.tokens - self.tokens
        return {"requests": float(requests), "tokens": float(tokens)} if requests or tokens else {}
