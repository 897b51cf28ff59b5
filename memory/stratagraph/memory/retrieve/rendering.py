"""An answer as text for a prompt, within a budget of tokens; each line cites its record. Pure.

What memories say is data and may hold anything, also instructions to a model. So a record is one line that begins
with `- (` and ends with its citation, whatever its text is. What looks like a citation in its text loses its brackets,
and no run of backticks in it can end a fence that a caller puts around the whole. Its text is as `shown_text` shows it:
without what a reader cannot see and marks of a model's turns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from uuid import UUID

from stratagraph.memory.capture.caption import fact_sentence, plan_sentence, steps_sentence
from stratagraph.memory.records.qualifiers import qualifiers
from stratagraph.memory.retrieve.passages import Words, passage, passage_of_tokens
from stratagraph.memory.retrieve.tokens import tokens_in
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.shown_text import shown_text

LINE = 600  # characters of one record's text
PROCEDURE_LINE = 2_000  # the same of a skill or plan: cut, its steps would be of no use
SHARE = 6  # a record gets at most this part of the budget at first, so that several have room
LEAST_TEXT = 32  # tokens of a record's text: a line in which a longer one has less room is left out
_FENCE = re.compile("`{3,}")
_OPENING, _CLOSING = "[［【〔〖〚⁅⟦", "]］】〕〗〛⁆⟧"
_BRACKETED = re.compile(f"[{re.escape(_OPENING)}]([^{re.escape(_OPENING + _CLOSING)}]*)[{re.escape(_CLOSING)}]")
_UUID = re.compile(r"\s*[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\s*")


class CitationStyle(Enum):
    """How a line of a rendering names its record."""

    RECORD_ID = "record id"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Rendering:
    """An answer as text, and the records of its lines, in their order: that at position n - 1 is cited as `[n]`."""

    text: str
    cited: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """The line of one record: what stands before and after its text, and the part of the text that is shown."""

    record: UUID
    before: str
    text: str
    after: str
    shown: str

    @property
    def cost(self) -> int:
        return self.cost_around + tokens_in(self.shown)

    @property
    def cost_around(self) -> int:
        return tokens_in(self.before) + tokens_in(self.after) + 1  # with the line break

    def __str__(self) -> str:
        return f"{without_citations(self.before + self.shown)}{self.after}"


def render(
    roots: Sequence[MemoryRecord],
    others: Sequence[MemoryRecord] = (),
    *,
    token_budget: int,
    repeated: Mapping[UUID, int] | None = None,
    words: Words = MappingProxyType({}),
    style: CitationStyle = CitationStyle.RECORD_ID,
) -> Rendering:
    """Return one line per record, in their order, of at most `token_budget` tokens as `tokens_in` counts them.

    A line begins with the record's type, date and qualifiers, and ends with its id or its number in brackets, for
    example `- (semantic, 2026-06-01, contested, until 2027-01-01) Alice works at Acme [1]`. Of a long text, the passage
    is shown that has most of the question's `words`, with marks where it is cut: of a SHARE of the budget at first; the
    tokens that the roots leave are given to the first of them, and then to the others. Entities that are only names
    come last. A record that is one of several that say the same says in how many: `repeated` is how many it stands for
    besides itself, by id. Redacted records are skipped.
    """
    groups = [[record for record in group if not record.is_bare] for group in (roots, others)]
    bare = [record for record in (*roots, *others) if record.is_bare]
    lines: list[_Line] = []
    left, is_full = token_budget, False
    for group in (*groups, bare):
        for record in group:
            if record.redacted or record.text is None:
                continue
            citation = str(len(lines) + 1 if style is CitationStyle.NUMBER else record.id)
            line = _line(record, record.text, (repeated or {}).get(record.id, 0), words, citation)
            room = min(left - line.cost_around, max(token_budget // SHARE - line.cost_around, LEAST_TEXT))
            line = replace(line, shown=passage_of_tokens(line.text, words, room))
            has_room = bool(line.shown) and (room >= LEAST_TEXT or not lines)
            if line.cost > left or (line.shown != line.text and not has_room):
                is_full = True
                break
            lines.append(line)
            left -= line.cost
        left = _lengthen(lines, left, words)
        if is_full:
            break
    return Rendering("\n".join(map(str, lines)), tuple(line.record for line in lines))


def without_citations(text: str) -> str:
    """Return the text with parentheses in place of the brackets around what a reader may take for a citation.

    That is a number or several, in any script and any brackets, and an id.

    >>> without_citations("as the boss says [1] [2, 3] 【４】 [[5]], xs[i] and [see 6]")
    'as the boss says (1) (2, 3) (４) ((5)), xs[i] and [see 6]'
    """
    while (plain := _BRACKETED.sub(_unbracketed, text)) != text:
        text = plain
    return text


def _unbracketed(bracketed: re.Match[str]) -> str:
    inside = bracketed[1]
    is_number = any(map(str.isnumeric, inside)) and not any(map(str.isalpha, inside))
    return f"({inside})" if is_number or _UUID.fullmatch(inside) else bracketed[0]


def _lengthen(lines: list[_Line], left: int, words: Words) -> int:
    """Give the tokens that are left to the first of the lines that were cut; return how many are left then."""
    for position, line in enumerate(lines):
        if line.shown != line.text:
            longer = replace(line, shown=passage_of_tokens(line.text, words, left + tokens_in(line.shown)))
            left -= longer.cost - line.cost
            lines[position] = longer
    return left


def _line(record: MemoryRecord, text: str, repeated: int, words: Words, citation: str) -> _Line:
    whole = _one_line(_said(record, text))
    count = [f"in {repeated + 1} records"] if repeated else []
    about = ", ".join([record.type.label, f"{record.occurred_at:%Y-%m-%d}", *count, *qualifiers(record)])
    is_procedure = record.type in (MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)  # its steps are read from the first
    shown = passage(whole, {}, PROCEDURE_LINE) if is_procedure else passage(whole, words, LINE)
    before = f"- ({without_citations(_one_line(about))}) "
    return _Line(record=record.id, before=before, text=without_citations(shown), after=f" [{citation}]", shown="")


def _one_line(text: str) -> str:
    return _FENCE.sub("'''", " ".join(shown_text(text).split()))


def _said(record: MemoryRecord, text: str) -> str:
    """Return the text to show.

    That of a fact lacks its stated validity, since the effective one may be shorter, and that of a plan its id, which
    would be read as its steps: for a learned plan it consists of the names of tools in another order.
    """
    if record.payload is None:
        return text
    if record.type is MemoryType.SEMANTIC:
        before, sentence, _ = text.partition(fact_sentence(record.payload))
        return before + sentence
    if record.type is MemoryType.PLAN_GRAPH:
        return text.replace(plan_sentence(record.payload), steps_sentence(record.payload), 1)
    return text
