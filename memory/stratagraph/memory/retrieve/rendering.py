"""An answer as text for a prompt, within a budget of tokens; each line cites its record. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from stratagraph.memory.capture.caption import fact_sentence
from stratagraph.memory.qualifiers import qualifiers
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord

CHARACTERS_PER_TOKEN = 4  # of English text, with the common tokenizers
LINE = 600  # characters of one record's text


def render(records: Iterable[MemoryRecord], *, token_budget: int) -> str:
    """Return one line per record, in their order, ending before the first that would exceed `token_budget` tokens.

    A line begins with the record's type, date and qualifiers, and ends with its id as `[id]`, for example
    `- (semantic, 2026-06-01, contested, until 2027-01-01) Alice works at Acme [0190…]`. Redacted records are skipped.
    """
    left = token_budget * CHARACTERS_PER_TOKEN
    lines = []
    for record in records:
        if record.redacted or record.text is None:
            continue
        text = " ".join(_text(record, record.text).split())
        shown = text if len(text) <= LINE else text[: LINE - 1] + "…"
        about = ", ".join([record.type.label, f"{record.occurred_at:%Y-%m-%d}", *qualifiers(record)])
        line = f"- ({about}) {shown} [{record.id}]"
        if len(line) + 1 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    return "\n".join(lines)


def _text(record: MemoryRecord, text: str) -> str:
    """Return the text to show: that of a fact without its stated validity, since the effective one may be shorter."""
    if record.type is not MemoryType.SEMANTIC or record.payload is None:
        return text
    before, sentence, _ = text.partition(fact_sentence(record.payload))
    return before + sentence
