"""The words of a question as it spells them, for explanations. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stratagraph.memory.retrieve.coverage import words_with
from stratagraph.store.model.words import QueryWord, query_words


@dataclass(frozen=True)  # without slots, for the cached words
class AskedWords:
    """The words of the question `text`, by a caller of the tenant with this index key. They are parsed when needed."""

    index_key: bytes
    text: str

    def spelled(self, covered: int) -> list[str]:
        """Return the words that a record has: bit n of `covered` stands for word n, as in `coverage.Question`.

        They are words of the question, in its spelling. The record's other words are not revealed.
        """
        return [word.text for place, word in enumerate(self.words) if covered >> place & 1]

    def covered_by(self, terms: set[int]) -> int:
        """Return the words that a text with these terms has, as bits."""
        return words_with((word.numbers for word in self.words), terms)

    @cached_property
    def words(self) -> list[QueryWord]:
        """All words that a record may have."""
        return query_words(self.index_key, self.text)
