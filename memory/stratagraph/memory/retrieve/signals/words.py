"""The words of the question that a record has itself, by BM25 or, where that was not computed, by their rarity."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return the weight of each record's words. That of a misspelt name counts by its similarity."""
    question = asked.question
    found: list[float | None] = [question.weight(bits) for bits in rows.words]
    for row, similarity in rows.similarity.items():
        found[row] = question.weight(rows.words[row]) * similarity
    for row, score in rows.scores:
        found[row] = score + question.weight_apart(rows.words[row])
    return found
