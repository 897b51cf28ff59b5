"""The vector of a question: made in time, or not at all.

A question waits for its vector for a fraction of a second at most. If the embedder does not answer in that time, words
and names answer alone, and the answer says so. After some failures in a row it is not asked for a while.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from stratagraph.memory.embedding.embedder import MAX_CHARACTERS, Embedder, EmbedderUnavailable
from stratagraph.memory.secrets.masking import masked_text
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.analysis.languages import is_function_word, language_of
from stratagraph.store.model.errors import StoreUnavailable, error_kind
from stratagraph.store.postgres.database import Database
from stratagraph.store.search.embeddings import EmbeddingModel, ModelState, list_models
from stratagraph.store.search.vector_search import QuestionVector

PATIENCE_S = 0.3  # for which a question waits for its vector, unless the settings say otherwise
LOWEST = 0.3  # cosine similarity from which a record is related to a question, unless the settings say otherwise
AT_ONCE = 8  # questions of one process that are embedded at a time
FAILURES = 3  # in a row, after which the embedder is not asked for FIRST_PAUSE_S
FIRST_PAUSE_S = 2.0  # doubles with each further failure, up to LONGEST_PAUSE_S
LONGEST_PAUSE_S = 60.0
MODEL_FRESH_S = 2.0  # for which the model that answers is remembered
_log = get_logger(__name__)
PLAIN = 1.5  # weight of the form without names in the mean, beside 1 of the question as it is
CAPITALS = "german"  # in which every noun is written as names are
_WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?(?:['’]\w+)?")
_LETTERS = re.compile(r"[^\W\d_]+")
_GAPS = re.compile(r"\s+(?=[?!.,;:]|$)|(?<=\s)\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedQuestion:
    """A question's vector, or why there is none: `fallback` is None with a vector, and without an embedder."""

    vector: QuestionVector | None = None
    fallback: str | None = None


class _NotAsked(Exception):
    """The patience with a question ended before the embedder was asked, which says nothing about the embedder."""


class QuestionEmbedder:
    """Embeds questions by the model whose vectors are stored. One per process; safe to call from many tasks."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        *,
        patience_s: float = PATIENCE_S,
        lowest: float = LOWEST,
    ) -> None:
        self._database = database
        self._embedder = embedder
        self._patience_s = patience_s
        self._lowest = lowest
        self._model: EmbeddingModel | None = None
        self._model_until = 0.0
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._failures = 0
        self._paused_at = self._paused_until = 0.0

    @property
    def is_paused(self) -> bool:
        """Whether the embedder is not asked at present, because it failed several times in a row."""
        return time.monotonic() < self._paused_until

    async def embed(self, question: str, *, names_apart: bool = False) -> EmbeddedQuestion:
        """Return the question's vector, or why there is none. Never raises, and never waits longer than the patience.

        Secrets are masked before the question is sent. With `names_apart`, the vector is the mean of those of the
        question with its names and without (see `forms_of`).
        """
        if self.is_paused:
            return EmbeddedQuestion(fallback="the embedder failed several times and is not asked for a while")
        if self._failures >= FAILURES:
            self._pause()  # for the other questions, while this one tries
        began = time.monotonic()
        try:
            asked = masked_text(question, None)[0][:MAX_CHARACTERS]
            vector = await self._vector(forms_of(asked) if names_apart else [asked])
        except StoreUnavailable:
            return EmbeddedQuestion(fallback="the vectors are not available")
        except _NotAsked:
            return EmbeddedQuestion(fallback=f"the embedder was busy for {self._patience_s:g} s")
        except Exception as error:  # a defect in an embedder must not keep words from answering
            return EmbeddedQuestion(fallback=self._failed(error, began))
        if self._failures >= FAILURES:
            _log.info("embedder answers questions again")
        self._failures, self._paused_until = 0, 0.0
        if vector is None:
            return EmbeddedQuestion(fallback="no record has a vector of this embedder yet")
        return EmbeddedQuestion(vector=vector)

    async def _vector(self, forms: Sequence[str]) -> QuestionVector | None:
        """Return the mean of the vectors of a question's forms, or None if no vectors are stored.

        Raises TimeoutError once the patience has ended, or _NotAsked where the embedder had not been asked by then.
        """
        is_asked = False
        try:
            async with asyncio.timeout(self._patience_s):
                model = await self._serving()
                if model is None:
                    return None
                async with self._at_once:
                    is_asked = True
                    made = await self._embedder.embed_question(forms, name=model.name, dimensions=model.dimensions)
        except TimeoutError:
            if is_asked:
                raise
            raise _NotAsked from None
        return QuestionVector(model=model.id, vector=mean(made), lowest=self._lowest)

    def _failed(self, error: Exception, began: float) -> str:
        """Count a failure, pause after several in a row, and return what the caller is told.

        Questions that were asked at the same time fail for one reason: those asked before the present pause began do
        not make the next one longer.
        """
        is_news = began >= self._paused_at
        self._failures += is_news
        if is_news and self._failures >= FAILURES:
            self._pause()
        if is_news and self._failures == FAILURES:
            reason = error.message if isinstance(error, EmbedderUnavailable) else error_kind(error)
            _log.warning("embedder does not answer questions; words answer alone", reason=reason)
        if isinstance(error, TimeoutError):
            return f"the embedder did not answer within {self._patience_s:g} s"
        return "the embedder is not available"

    def _pause(self) -> None:
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(max(0, self._failures - FAILURES), 20), LONGEST_PAUSE_S)
        self._paused_at = time.monotonic()
        self._paused_until = self._paused_at + pause_s

    async def _serving(self) -> EmbeddingModel | None:
        """Return the model to search by, which is looked up again after MODEL_FRESH_S."""
        if time.monotonic() >= self._model_until:
            self._model = serving_model(await list_models(self._database), self._embedder)
            self._model_until = time.monotonic() + MODEL_FRESH_S
        return self._model


def serving_model(models: list[EmbeddingModel], embedder: Embedder) -> EmbeddingModel | None:
    """Return the model whose vectors answer: the configured one as soon as all records have a vector of it.

    Until then the newest one that was complete before and that questions can still be embedded by, and without one the
    configured model with the vectors that there are.
    """
    able = [one for one in models if embedder.answers_as(one.name, one.dimensions)]
    configured = [one for one in able if one.state is not ModelState.LEFT and one.name == embedder.name]
    complete = [one for one in able if one.filled_at is not None]
    if configured and configured[-1].filled_at is not None:
        return configured[-1]
    return next(reversed(complete), None) or next(reversed(configured), None)


def forms_of(question: str) -> list[str]:
    """Return the question, and the same without its names if it has some and asks for something else too.

    A name is a word with a capital that is not the first one.

    >>> forms_of("What did Ann's sister paint in Oslo?")
    ["What did Ann's sister paint in Oslo?", 'What did sister paint in?']
    >>> forms_of("what is the retry budget?"), forms_of("Who is Ann?")
    (['what is the retry budget?'], ['Who is Ann?'])
    """
    words = {word.lower() for word in _LETTERS.findall(question)}
    if language_of(words, least=1) == CAPITALS:
        return [question]
    named = [found for found in list(_WORD.finditer(question))[1:] if found[0][0].isupper()]
    if not named:
        return [question]
    kept, end = [], 0
    for found in named:
        kept.append(question[end : found.start()])
        end = found.end()
    plain = _GAPS.sub("", "".join([*kept, question[end:]])).strip()
    asks_more = any(not is_function_word(word.lower()) for word in _LETTERS.findall(plain))
    return [question, plain] if asks_more else [question]


def mean(vectors: Sequence[Sequence[float]]) -> Sequence[float]:
    """Return the mean of the vectors of a question's forms, of length 1 as they are.

    >>> mean([[1.0, 0.0], [0.0, 1.0]]), mean([[0.6, 0.8]])
    ([0.5547001962252291, 0.8320502943378437], [0.6, 0.8])
    """
    if len(vectors) == 1:
        return vectors[0]
    whole, plain = vectors
    total = [one + PLAIN * other for one, other in zip(whole, plain, strict=True)]
    length = math.hypot(*total)  # not 0, since the second one is longer
    return [value / length for value in total]
