"""What was retrieved as text for a prompt, within a budget of tokens, each line citing its record. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stratagraph.store.model.records import MemoryRecord

LETTERS_PER_TOKEN = 4  # of English, on the common tokenizers; the budget is kept on the safe side by whole lines
LINE = 600  # letters of one record


def render(records: Iterable[MemoryRecord], *, token_budget: int) -> str:
    """Best first, as many as fit. `[id]` at a line's end is the record it comes from."""
    left = token_budget * LETTERS_PER_TOKEN
    lines = []
    for record in records:
        if record.redacted or record.text is None:
            continue
        text = " ".join(record.text.split())
        shown = text if len(text) <= LINE else text[: LINE - 1] + "…"
        line = f"- ({record.type.label}, {record.occurred_at:%Y-%m-%d}) {shown} [{record.id}]"
        if len(line) + 1 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    return "\n".join(lines)
