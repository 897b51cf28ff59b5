"""Entities whose name or alias a question misspells: found by trigrams, and compared letter by letter.

Only words that no readable record has are looked up, so an ordinary question costs nothing. The index leads with the
tenant, so that the names of one tenant cost another one nothing. Sealed names have no trigrams at rest and are found
only as they are spelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.model.analysis.folding import WORD, folded
from stratagraph.store.model.words import QueryWord
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import fetch_together, sending

MAX_WORDS = 4  # unknown words of one question, from its beginning
SHORTEST = 5  # letters; of a shorter word, most words of a language are one letter away
LONGEST = 32
LONG = 8  # letters from which two of them may be wrong
ALIKE = (
    2_000  # readable entities with a name like a word; of more, none is found: the word does not tell which is meant
)
CONSIDERED = 50  # names per word, the most similar ones, that are compared letter by letter


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarName:
    """An entity whose name or alias `name` is like a word of the question. `similarity` is 1 − errors / letters."""

    entity: UUID
    word: str
    name: str
    similarity: float


def unknown_words(words: Iterable[QueryWord], frequencies: Mapping[int, int]) -> list[str]:
    """Return the words of a question that no readable record has and that may be misspelt names, at most MAX_WORDS."""
    found = [
        word.text
        for word in words
        if SHORTEST <= len(word.text) <= LONGEST
        and word.text.isalpha()
        and not any(frequencies.get(number) for number in word.numbers)
    ]
    return found[:MAX_WORDS]


async def find_similar_names(connection: AsyncConnection, words: Sequence[str], *, limit: int) -> list[SimilarName]:
    """Return at most `limit` names like one of the words, which the caller may read in full, the most alike first."""
    (rows,) = await fetch_together(connection, finding_similar_names(words))
    return similar_names(rows, limit=limit)


def finding_similar_names(words: Sequence[str]) -> Sending:
    """Return the statement that finds names like one of the words, which the caller may read in full."""
    return sending("find_similar_names", {"words": list(words), "most": CONSIDERED, "bound": ALIKE})


def similar_names(rows: Iterable[Mapping[str, Any]], *, limit: int) -> list[SimilarName]:
    """Return the entities of the rows with a name or alias that differs from the word by a typo, or two if it is long.

    At most `limit`, the most alike first, each entity once.
    """
    found: dict[UUID, SimilarName] = {}
    for row in rows:
        word = folded(row["word"])
        allowed = 2 if len(word) >= LONG else 1
        errors, name = min((_errors(word, name, most=allowed), name) for name in row["names"])
        if not errors or errors > allowed:  # word search finds a name that has the word itself
            continue
        one = SimilarName(entity=row["entity"], word=row["word"], name=name, similarity=1 - errors / len(word))
        if one.entity not in found or one.similarity > found[one.entity].similarity:
            found[one.entity] = one
    return sorted(found.values(), key=lambda one: (-one.similarity, one.entity))[:limit]


def _errors(word: str, name: str, *, most: int) -> int:
    """Return the distance of a folded word to the nearest word of a name; most + 1 if none is near."""
    return min((distance(word, folded(part), most=most) for part in WORD.findall(name)), default=most + 1)


def distance(one: str, other: str, *, most: int) -> int:
    """Return the number of letters to insert, delete, replace or swap to make the words equal; most + 1 if more.

    Optimal string alignment (Damerau, 1964), in time of the product of the lengths.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, another in enumerate(other, 1):
            least = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != another))
            is_swap = row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == another
            current.append(min(least, before[column - 2] + 1) if is_swap else least)
        if min(current) > most:
            return most + 1
        before, last = last, current
    return min(last[-1], most + 1)
