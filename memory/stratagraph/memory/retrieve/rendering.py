"""An answer as text for a prompt, within a budget of tokens; each line cites its record. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stratagraph.store.model.records import MemoryRecord

CHARACTERS_PER_TOKEN = 4  # of English text, with the common tokenizers
LINE = 600  # characters of one record's text


def render(records: Iterable[MemoryRecord], *, token_budget: int) -> str:
    """Return one line per record, in their order, ending before the first that would exceed `token_budget` tokens.

    A line ends with the record's id as `[id]`. Redacted records are skipped.
    """
    left = token_budget * CHARACTERS_PER_TOKEN
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
