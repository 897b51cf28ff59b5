"""How candidates are fused and weighted. Pure.

Words say how well a record fits, names that it is about what was named, recency breaks ties. Salience and
confidence weigh within bounds: multiplied in bare, they would bury every episode after a day (design decision 12).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord

NAMED = 0.9  # an entity named in the descriptor, against 1.0 for the best match by words
RECENT = 0.05  # the newest record; the others fall off with their rank
SALIENCE_FLOOR = 0.7  # share of the score that no loss of salience takes
CONFIDENCE_FLOOR = 0.8
HOP = 0.5  # what is left of a score one hop away, at weight 1

# Layers in the order in which an agent wants them where scores tie (SPEC §6).
_LAYERS = (
    MemoryType.WORKING,
    MemoryType.ENTITY,
    MemoryType.SEMANTIC,
    MemoryType.COMPETENCE,
    MemoryType.PLAN_GRAPH,
    MemoryType.EPISODIC,
)


@dataclass(slots=True, kw_only=True)
class Why:
    """What made a record a candidate; each part in [0, 1]."""

    words: float = 0.0
    names: list[str] = field(default_factory=list)
    recency: float = 0.0
    via: UUID | None = None

    @property
    def fused(self) -> float:
        return self.words + (NAMED if self.names else 0.0) + self.recency


def fuse(
    words: Sequence[tuple[UUID, float]], named: Iterable[tuple[UUID, str]], recent: Sequence[UUID]
) -> dict[UUID, Why]:
    """One entry per candidate, whatever found it. Word scores are taken relative to the best.

    Being recent lifts what was found otherwise; by itself it answers only where nothing else does.
    """
    found: dict[UUID, Why] = {}
    best = words[0][1] if words else 1.0
    for id_, score in words:
        found[id_] = Why(words=score / best)
    for id_, name in named:
        found.setdefault(id_, Why()).names.append(name)
    fallback = not found
    for rank, id_ in enumerate(recent):
        if fallback or id_ in found:
            found.setdefault(id_, Why()).recency = RECENT / (1 + rank)
    return found


def score(record: MemoryRecord, why: Why) -> float:
    return (
        why.fused
        * (SALIENCE_FLOOR + (1 - SALIENCE_FLOOR) * record.salience)
        * (CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * record.confidence)
    )


def ranked(records: Mapping[UUID, MemoryRecord], why: Mapping[UUID, Why]) -> list[tuple[UUID, float]]:
    """Candidates with their scores, best first; ties by layer, then newest, then id."""
    scored = [(id_, score(record, why[id_])) for id_, record in records.items()]
    return sorted(
        scored,
        key=lambda item: (
            -item[1],
            _LAYERS.index(records[item[0]].type),
            -records[item[0]].occurred_at.timestamp(),
            item[0].int,
        ),
    )
