"""What reads a text for facts: a language model. The service has an endpoint for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from stratagraph.store.model.errors import StratagraphError


class ExtractorUnavailable(StratagraphError):
    """The extractor does not answer; check its settings, and that it runs. The message quotes no text of a record."""


class RequestRefused(StratagraphError):
    """The extractor refuses to answer this request, now or later, such as for its length."""

    def __init__(self, requests: int = 1) -> None:
        super().__init__()
        self.requests = requests  # that were sent


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

    `tokens` counts those of the requests and the answer, `requests` those that were sent for it.
    """

    text: str
    tokens: int
    is_whole: bool = True
    requests: int = 1


class Extractor(Protocol):
    """A model that answers with JSON. Safe to call from many tasks of one event loop; never blocks the loop."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def ask(self, messages: list[Message], schema: dict[str, Any]) -> Answer:
        """Return the answer to a request, which should be JSON of `schema`, at the first attempt.

        May send it again in another form where the endpoint refuses one.

        Raises Overloaded, RequestRefused or ExtractorUnavailable.
        """
        ...
