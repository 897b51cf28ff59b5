"""The words of a question, and those of them that a record has. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stratagraph.store.model.words import QueryWord, query_terms, query_words


@dataclass(frozen=True)  # without slots, for the cached words
class Question:
    """A question by a caller of the tenant with this index key. Its words are parsed when they are first needed."""

    index_key: bytes
    text: str

    def words(self, covered: int) -> list[str]:
        """Return the words of the question that a record has, by the bits of its covered terms.

        So they are words of the question, in its spelling: of the record's other words nothing is told.
        """
        present = {term for place, term in enumerate(self._terms) if covered >> place & 1}
        return [word.text for word in self._words if not present.isdisjoint(word.numbers)]

    @property
    def all_words(self) -> list[str]:
        """All words that a record may have."""
        return [word.text for word in self._words]

    @cached_property
    def _terms(self) -> list[int]:
        return query_terms(self.index_key, self.text)

    @cached_property
    def _words(self) -> list[QueryWord]:
        return query_words(self.index_key, self.text)
