"""Asking a model about some texts: with pauses while it is overloaded, and again after a bad answer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from stratagraph.memory.learning.extraction.answers import BadAnswer, Read, read_answer
from stratagraph.memory.learning.extraction.extractor import (
    Answer,
    Extractor,
    ExtractorUnavailable,
    Message,
    Overloaded,
)
from stratagraph.memory.learning.extraction.limits import Budget
from stratagraph.memory.learning.extraction.prompt import SCHEMA, Item, correction, messages
from stratagraph.store.model.errors import StratagraphError

ATTEMPTS = 5  # at one request, while the endpoint is overloaded or does not answer
FIRST_PAUSE_S = 0.5  # before the second attempt; doubles with each further one
LONGEST_PAUSE_S = 30.0  # also where the endpoint asks for a longer one; the job comes back later
ANSWERS = 2  # asked for one part: a bad one is asked for again
CHARACTERS_A_TOKEN = 4  # about, for an estimate of the tokens of a request


class AnswerUnusable(StratagraphError):
    """The model's answer did not have the form that was asked for, twice."""


class BudgetSpentError(Exception):
    """The budget does not suffice for another request."""


class NotToBeSent(Exception):
    """The texts must not leave the process any more: one was erased, or is at or above the encryption level now."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked. `budget` is counted down. A request is sent `attempts` times while it is overloaded."""

    extractor: Extractor
    budget: Budget
    first_pause_s: float = FIRST_PAUSE_S
    attempts: int = ATTEMPTS

    async def read(
        self, part: Sequence[Item], predicates: Sequence[str], *, may_send: Callable[[], Awaitable[bool]]
    ) -> Read | None:
        """Return what the model finds in `part`; None if the budget does not suffice.

        `may_send` is awaited right before each request that holds the texts. Raises NotToBeSent, AnswerUnusable,
        RequestRefused or ExtractorUnavailable.
        """
        request = messages(part, predicates)
        asked = request
        for _ in range(ANSWERS):
            try:
                answer = await self._answer(asked, may_send)
            except BudgetSpentError:
                return None
            try:
                if not answer.is_whole:
                    raise BadAnswer("it was cut at the limit of its length; state fewer facts")
                return read_answer(answer.text, part, predicates)
            except BadAnswer as error:
                asked = [*request, *correction(answer.text, str(error))]
        raise AnswerUnusable

    async def _answer(self, asked: list[Message], may_send: Callable[[], Awaitable[bool]]) -> Answer:
        """Return the answer to a request. Raises BudgetSpentError, and what `read` raises."""

        async def admit() -> None:
            if self.budget.is_spent or self.budget.tokens < tokens_of(asked):
                raise BudgetSpentError
            if not await may_send():
                raise NotToBeSent
            self.budget.requests -= 1

        pause_s = self.first_pause_s
        for attempt in range(1, self.attempts + 1):
            try:
                answer = await self.extractor.ask(asked, SCHEMA, admit=admit)
            except Overloaded as error:
                if attempt == self.attempts:
                    raise ExtractorUnavailable(
                        f"The extractor does not answer: {error.reason}; check STRATAGRAPH_EXTRACTOR_URL and the"
                        " endpoint's load"
                    ) from None
                wanted_s = pause_s if error.pause_s is None else error.pause_s
                await asyncio.sleep(min(wanted_s * random.uniform(1.0, 1.5), LONGEST_PAUSE_S))
                pause_s *= 2
            else:
                self.budget.tokens -= answer.tokens
                return answer
        raise AssertionError("the last attempt returns or raises")


def tokens_of(asked: Sequence[Message]) -> int:
    """Return about the number of tokens of a request."""
    return sum(len(message.content) for message in asked) // CHARACTERS_A_TOKEN
