"""Texts of answers, within bounds."""

from __future__ import annotations

from datetime import UTC, datetime

CHARACTERS = 4  # of a token, about
HIDDEN = "The content of this memory is above the ceiling of this credential"
OF_A_MEMORY = 24  # tokens of a memory's id and its other fields, about


def cut(text: str, most: int) -> str:
    """Return the text, or its beginning where it has more than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def moment(at: datetime) -> str:
    """Return an instant in UTC, in whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Budget:
    """Spends tokens on memories, the best first, until the next one has no room."""

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self._left = tokens

    def take(self, text: str, *, is_first: bool) -> str | None:
        """Return the text of a memory if there is room for it, else None; of the first, what there is room for."""
        needed = OF_A_MEMORY + -(-len(text) // CHARACTERS)
        if needed > self._left:
            if not is_first:
                return None
            text = cut(text, max(CHARACTERS, (self._left - OF_A_MEMORY) * CHARACTERS))
        self._left -= needed
        return text
