"""How much one run may ask of a language model."""

from __future__ import annotations

from dataclasses import dataclass

REQUESTS = 200  # unless the settings say otherwise
TOKENS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may ask for: requests, and tokens of requests and answers together."""

    requests: int = REQUESTS
    tokens: int = TOKENS


@dataclass(slots=True)
class Budget:
    """What is left of the limits of a run. A request that has been sent counts, whatever came of it."""

    requests: int
    tokens: int

    @property
    def is_spent(self) -> bool:
        return self.requests <= 0 or self.tokens <= 0
