"""What reads a text for facts: a language model. The service has an endpoint for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from stratagraph.store.model.errors import StratagraphError

# Awaited before each request. What it raises keeps the request from being sent.
Admission: TypeAlias = Callable[[], Awaitable[None]]


class ExtractorUnavailable(StratagraphError):
    """The extractor does not answer; check its settings, and that it runs. The message quotes no text of a record."""


class RequestRefused(StratagraphError):
    """The extractor refuses to answer this request, now or later, such as for its length."""


class Overloaded(Exception):
    """The extractor may answer later: after `pause_s` seconds, if it says so. `reason` quotes no text of a record."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pause_s = pause_s


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered. `is_whole` is False if it was cut at a limit.

    `tokens` counts those of the request and the answer.
    """

    text: str
    tokens: int
    is_whole: bool = True


class Extractor(Protocol):
    """A model that answers with JSON. Safe to call from many tasks of one event loop; never blocks the loop."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def ask(self, messages: list[Message], schema: dict[str, Any], *, admit: Admission) -> Answer:
        """Return the answer to `messages`, which should be JSON of `schema`.

        Where the endpoint refuses one form of the request, the next form is sent. `admit` is awaited right before each
        of these requests; an exception of it is passed on, and nothing more is sent. Raises Overloaded, RequestRefused
        or ExtractorUnavailable.
        """
        ...
