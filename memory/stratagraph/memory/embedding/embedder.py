"""What turns texts into vectors. The service has an endpoint and a local model; both are an `Embedder`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.search.embeddings import MAX_DIMENSIONS

MAX_CHARACTERS = 8_000  # of one text, about 2,000 tokens; the rest is left out
PROBE = "memory"  # a text of which every model makes a vector
Use = Literal["question", "record"]
Vector = Sequence[float]


class EmbedderUnavailable(StratagraphError):
    """The embedder does not answer; check its settings, and that it runs. The message quotes no text of a record."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The embedder takes no vector of this text, now or later. `reason` never quotes the text."""

    reason: str


@dataclass(slots=True)
class Usage:
    """What an embedder has been asked in this process, by use: texts embedded, failed calls, and seconds of calls."""

    texts: dict[Use, int] = field(default_factory=lambda: {"question": 0, "record": 0})
    failures: dict[Use, int] = field(default_factory=lambda: {"question": 0, "record": 0})
    seconds: dict[Use, float] = field(default_factory=lambda: {"question": 0.0, "record": 0.0})


class Embedder(Protocol):
    """Turns texts into vectors of length 1. Safe to call from many tasks of one event loop; never blocks the loop."""

    @property
    def name(self) -> str:
        """The model, which vectors are stored under."""
        ...

    @property
    def dimensions(self) -> int | None:
        """The number of dimensions that the settings ask for; None for the model's own."""
        ...

    @property
    def usage(self) -> Usage: ...

    async def prepare(self) -> None:
        """Make what questions need ready, so that the first one need not wait for it. Raises EmbedderUnavailable."""
        ...

    def answers_as(self, name: str, dimensions: int) -> bool:
        """Return whether questions can be embedded by this model, which may be one that was configured before."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector | Refused]:
        """Return a vector for each text, or why there is none; all vectors have the same number of dimensions.

        Waits and tries again while the embedder is overloaded. Raises EmbedderUnavailable.
        """
        ...

    async def embed_question(self, forms: Sequence[str], *, name: str, dimensions: int) -> list[Vector]:
        """Return a vector for each form of a question by a model for which `answers_as` is true, at the first attempt.

        Raises EmbedderUnavailable, also if a form is refused.
        """
        ...


def unit_vector(values: Sequence[object]) -> Vector | Refused:
    """Return the vector scaled to length 1, or why it is none.

    >>> unit_vector([3.0, 4.0])
    [0.6, 0.8]
    >>> unit_vector([0.0, 0.0])
    Refused(reason='its vector has no direction')
    """
    if not 1 <= len(values) <= MAX_DIMENSIONS:
        return Refused(f"its vector has {len(values)} dimensions, not 1 to {MAX_DIMENSIONS}")
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if len(numbers) != len(values) or not all(map(math.isfinite, numbers)):
        return Refused("its vector has values that are no finite numbers")
    length = math.hypot(*numbers)
    if not math.isfinite(length) or length < 1e-9:
        return Refused("its vector has no direction")
    return [number / length for number in numbers]
