"""Vector search: find candidate records whose texts are near the question's in meaning.

Where the caller may read at most EXACT records, the vectors of all of them are compared, so that the answer depends on
readable records alone. Of more, pgvector's HNSW index finds them: what the caller may not read is left out as the index
is walked, and the walk goes on until it has found enough. Where it would pass over so many vectors that comparing all
readable ones costs less, or has ended without finding enough, these are compared after all. Which records a walk passes
over may depend on the graph, in which hidden vectors are too. See docs/embedders.md, What a caller may learn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import sending

EXACT = 10_000  # readable records; up to this number, every vector is compared


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionVector:
    """A question as a vector of length 1, by the model with the number `model` (see `embeddings`).

    Records whose cosine similarity to it is below `lowest` are not related to the question.
    """

    model: int
    vector: Sequence[float]
    lowest: float


class VectorSearch:
    """The search of the records nearest to one question."""

    def __init__(self, question: QuestionVector, *, types: Collection[MemoryType], limit: int) -> None:
        self._question = question
        self._types = [int(memory_type) for memory_type in types]
        self._limit = limit

    def searching(self, *, documents: int, now: datetime) -> Sending:
        """Return the statement that finds the nearest records for `similarities_of`.

        `documents` is the number of records that the caller may read in full.
        """
        parameters = {
            "model": self._question.model,
            "dimensions": len(self._question.vector),
            "question": vector_literal(self._question.vector),
            "types": self._types,
            "now": now,
            "lowest": self._question.lowest,
            "limit": self._limit,
        }
        if documents <= EXACT:
            return sending("search_vectors_exactly", parameters)
        return sending("search_vectors_by_index", {**parameters, "documents": documents})


def similarities_of(rows: Sequence[Mapping[Any, Any]]) -> list[tuple[UUID, float]]:
    """Return the ids and cosine similarities of the rows of a search, nearest first."""
    return [(row["id"], row["similarity"]) for row in rows]


def nearness(similarity: float, lowest: float) -> float:
    """Return how near in meaning two texts are, from 0 at the cosine similarity `lowest` to 1 at equal vectors.

    >>> nearness(0.75, 0.5), nearness(0.5, 0.5), nearness(1.001, 0.5)
    (0.5, 0.0, 1.0)
    """
    return max(0.0, min(1.0, (similarity - lowest) / (1 - lowest)))


def vector_literal(vector: Sequence[float]) -> str:
    """Return a vector in pgvector's text form.

    >>> vector_literal([0.6, -0.8])
    '[0.6,-0.8]'
    """
    return "[" + ",".join([f"{value:.6g}" for value in vector]) + "]"
