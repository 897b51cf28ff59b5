"""Facts that repeat the words of an event among the candidates: the event stands for them. Pure.

Learning states what was said in successful episodes as facts, `agent_turn observed in <the words>`
(docs/learning.md, Structural facts). Such a fact says nothing that the turn does not say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from stratagraph.memory.learning.structural_facts import PREDICATE
from stratagraph.memory.retrieve.rank import Why
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.sketches import SKETCH, Sketch
from stratagraph.store.model.words import record_terms

MISSING = 0.1  # part of a fact's words that its event may lack, such as a word that was cut
LEAST = 4  # words by which a long event is recognised


@dataclass(frozen=True, slots=True)
class Quotation:
    """What a structural fact of a turn says: its key or text as a fact, and the sketch of the words that it quotes."""

    fact: bytes | str
    words: Sketch


@lru_cache(maxsize=1_000)
def frame_terms(index_key: bytes) -> tuple[int, ...]:
    """Return the terms that each structural fact of a turn has in addition to the words that it quotes."""
    return tuple(record_terms(index_key, f"{SourceKind.AGENT_TURN.value} {PREDICATE.replace('_', ' ')}").numbers)


def with_quoted(
    order: Sequence[tuple[UUID, float]],
    duplicates: Mapping[UUID, Sequence[UUID]],
    why: Mapping[UUID, Why],
    fits: Mapping[UUID, float],
    quotations: Mapping[UUID, Sketch],
    events: Mapping[UUID, Sketch],
) -> tuple[list[tuple[UUID, float]], dict[UUID, list[UUID]]]:
    """Return candidates, best first, and what they stand for, with each quotation behind the event that it quotes.

    The event takes the place of the better one of the two. It must have all words of the question that the quotation
    has, and both must lie within the times that the question names, or both outside (`fits`).
    """
    stands = {id_: list(others) for id_, others in duplicates.items()}
    quoted: dict[UUID, UUID] = {}
    for id_, _ in order:
        if id_ not in quotations:
            continue
        covered, fit = why[id_].covered, fits.get(id_) == 1
        for event, words in events.items():
            if covered & ~why[event].covered or (fits.get(event) == 1) != fit:
                continue
            if _says(words, quotations[id_]):
                quoted[id_] = event
                stands.setdefault(event, []).extend([id_, *stands.pop(id_, ())])
                break
    kept: dict[UUID, float] = {}
    for id_, score in order:
        kept.setdefault(quoted.get(id_, id_), score)
    return list(kept.items()), stands


def _says(event: Sketch, quotation: Sketch) -> bool:
    """Return whether an event has the words of a quotation, as far as the sketches of both tell."""
    known = quotation
    if len(event) == SKETCH:  # of its words, those up to the last one are known
        last = max(event)
        known = frozenset(word for word in quotation if word <= last)
        if len(known) < LEAST:
            return False
    return bool(known) and len(known - event) <= MISSING * len(known)
