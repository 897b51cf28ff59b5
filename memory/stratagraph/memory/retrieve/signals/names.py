"""Names of the question that a record has, or an entity that it is linked to."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return 1 for each record with one of the names: what its words give counts again."""
    names = asked.question.names
    return [1.0 if bits & names else None for bits in rows.words]
