"""Which stored lessons a text is near to in meaning, by their vectors, where there is an embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

from stratagraph.memory.embedding.embedder import Embedder, Refused, Vector
from stratagraph.memory.embedding.filling import text_of
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import error_kind
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Database
from stratagraph.store.search.embeddings import Unembedded, list_models

SAME = 0.15  # cosine distance below which two lessons say the same
RELATED = 0.45  # cosine distance up to which a lesson is about a question
PATIENCE_S = 2.0  # seconds for which a lesson waits for the embedder; then only an equal task is the same
UNEMBEDDED = 32  # lessons without a vector yet, the newest, that are compared by vectors made for the purpose
_log = get_logger(__name__)


class LessonSimilarity:
    """Compares new lessons with stored ones. One per process; safe to call from many tasks."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    async def vectors_of(self, texts: Sequence[str]) -> list[Vector] | None:
        """Return the vectors of texts that may be sent, or None if there are none in time. Never raises."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self._embedder.embed(texts)
        except Exception as error:  # a defect in an embedder must not keep a lesson from being learned
            _log.info("embedder does not answer; lessons are compared by their tasks alone", error=error_kind(error))
            return None
        return [one for one in found if not isinstance(one, Refused)] if all(map(_is_vector, found)) else None

    async def model_of(self, vector: Vector) -> int | None:
        """Return the number of the model that made a vector; None if no vectors of it are stored."""
        return next(
            (
                one.id
                for one in await list_models(self._database)
                if one.name == self._embedder.name and one.dimensions == len(vector)
            ),
            None,
        )


def embedded_text(record: MemoryRecord) -> str:
    """Return the text by which the vector of a record is made."""
    return text_of(
        Unembedded(tenant=0, id=record.id, updated_at=record.updated_at, name=record.name or "", text=record.text or "")
    )


def near(similarities: Mapping[UUID, float]) -> list[UUID]:
    """Return the records whose distance, 1 - similarity, is less than SAME, the nearest first."""
    return [
        id_ for away, id_ in sorted((1 - similarity, id_) for id_, similarity in similarities.items()) if away < SAME
    ]


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine similarity of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def _is_vector(one: Vector | Refused) -> bool:
    return not isinstance(one, Refused)
