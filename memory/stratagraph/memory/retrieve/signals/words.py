"""The words of the question that a record has itself, by BM25."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows


def gather(asked: Asked, rows: Rows) -> list[float]:
    """Return the BM25 score of each record; names count by their rarity, those of linked entities as well.

    That of a misspelt name counts by its similarity.
    """
    question = asked.question
    found = []
    for head, bits in zip(rows.heads, rows.words, strict=True):
        own = question.words_at(head.covered)
        found.append(head.score + question.weight_apart(own) + question.weight(bits & ~own))
    for row, similarity in rows.similarity.items():
        found[row] = question.weight(rows.words[row]) * similarity
    return found
